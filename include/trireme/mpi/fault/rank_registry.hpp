/// Rank registry: the status records of the processes of a node, in one directory, and the choice of the process that
/// writes the message when the run has failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/status_directory.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

/// Not collective, and without MPI, since a watchdog calls it too, in a process whose main thread hangs.
class RankRegistry {
 public:
  using Record = StatusRecord;

  RankRegistry() = default;
  RankRegistry(RankRegistry const&) = delete;
  RankRegistry& operator=(RankRegistry const&) = delete;
  ~RankRegistry() { close(false); }

  /// The registry that waits report to.
  static RankRegistry*& current();

  /// Opens the directory of the run, `parent/name`, and makes it if no other process has. \throws FileError
  void open(std::string const& parent, std::string const& name) { directory_.open(parent, name); }

  /// Makes this process's file there. \param run  the run's own number, the same on all ranks
  /// \throws FileError
  void create(std::uint64_t run, std::size_t rank, std::size_t ranks);

  /// Removes the directory if it is empty. Once no process is about to use it: an `open` or `create` that finds it gone
  /// would report that in place of the reason.
  void remove_if_empty() const { directory_.remove_if_empty(); }

  /// Makes a record that no other process sees, for this process's watchdog.
  void create_unshared(std::uint64_t run, std::size_t rank, std::size_t ranks);

  /// True if other processes of the node can see the record.
  bool is_shared() const { return static_cast<bool>(directory_); }

  /// Finds the others on this node, once all have made their files.
  void find_others();

  /// Sets the time at which this process's file was changed to now: other runs take it as a sign of life.
  void refresh() const {
    if (is_shared()) directory_.touch(file_);
  }

  /// Removes the directories of runs that failed long ago (ExpiredRecords). One process does it for all whose files lie
  /// in one directory, on one node or several: that of the lowest rank.
  void remove_expired() const;

  /// The other processes of this node, in no order.
  std::vector<Record*> const& others() const { return others_; }
  /// The process of this node that follows `record` in the ring of ranks, or null where this one does. Each watches the
  /// next one, since the system wakes one process when another is gone.
  Record* next_after(Record const& record) const;
  Record const& own() const { return *own_; }

  /// True if this process is the one to report the failure: no other process has claimed it before. The message is then
  /// kept beside the records. Allocates nothing.
  bool claim(std::string_view message) const;

  /// \param in_order  true if the run has ended well, and its records can be removed
  void close(bool in_order);

 private:
  void begin(void* memory, std::uint64_t run, std::size_t rank, std::size_t ranks);

  void add(std::string const& file);

  StatusDirectory directory_;
  std::string file_;
  Record* own_ = nullptr;
  std::vector<Record*> others_;
  bool is_lowest_ = false;  ///< of the ranks with files in the directory
};

/// From now on children that this process forks have no record, and leave those of the ranks as they are.
void leave_records_to_ranks();

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/mpi/fault/rank_registry.ipp"
#endif
