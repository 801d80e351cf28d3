/// ExpiredRecords: the status records of runs that failed long ago, which a later run removes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/mpi/fault/status_directory.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

/// Directories of runs beside that of this one. One of them has expired if its user made it for the records of a run,
/// nothing else lies in it, no record names a living process of this machine, and none has changed for `Limits::age`;
/// the watchdog of a living process touches its record every hour, for machines that share the folder.
class ExpiredRecords {
 public:
  /// Bounds of the work, since a run waits for it at its start.
  struct Limits {
    std::chrono::seconds age = std::chrono::hours(7 * 24);
    std::size_t entries = 20'000;         ///< of the folder, that are read
    std::size_t inspected = 1'000;        ///< directories of runs, and files in them
    std::size_t directories = 100;        ///< that are removed
    std::chrono::milliseconds time{500};  ///< after which none is begun
  };

  /// \param own  the directory of this run; its time is that of the file system, which may be another machine's.
  ExpiredRecords(StatusDirectory const& own, Limits const& limits);

  /// Removes what has expired. Waits for no other process, and leaves what it cannot remove; several runs may do it at
  /// once. \return number of directories
  std::size_t remove() noexcept;

  /// True for `trireme-<job>-<16 hexadecimal digits>`.
  static bool is_run_name(std::string_view name);
  /// True for the files that a run writes: `rank-<number>.status` and `failure.txt`.
  static bool is_run_file(std::string_view name);

 private:
  bool remove_run(std::string const& name);

  /// Takes `count` from the number of files that may be inspected; false if it is used up.
  bool spend(std::size_t count);

  bool is_old(std::int64_t seconds) const { return now_ - seconds >= limits_.age.count(); }

  /// True for an old file of this user that belongs to no living process.
  bool is_removable(Descriptor const& directory, std::string const& file) const;

  /// True if a process of the record's number lives on this machine, and no sign says that the record's own is gone.
  bool may_live(StatusRecord& record) const;

  StatusDirectory const& own_;
  Limits limits_;
  std::int64_t now_ = 0;
  std::array<char, 200> host_{};
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/expired_records.ipp"
#endif
