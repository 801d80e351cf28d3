/// Definitions of trireme/mpi/fault/expired_records.hpp.
#pragma once

#include "trireme/mpi/fault/expired_records.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "trireme/core/hash.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/status_directory.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

TRIREME_INLINE ExpiredRecords::ExpiredRecords(StatusDirectory const& own, Limits const& limits)
    : own_(own), limits_(limits) {
  struct stat status{};
  now_ = ::fstat(own.descriptor().get(), &status) == 0 ? static_cast<std::int64_t>(status.st_mtime)
                                                       : std::numeric_limits<std::int64_t>::min() / 2;
  ::gethostname(host_.data(), host_.size() - 1);
}

TRIREME_INLINE std::size_t ExpiredRecords::remove() noexcept {
  using Clock = std::chrono::steady_clock;
  auto const end = Clock::now() + limits_.time;
  std::size_t removed = 0;
  try {
    std::vector<std::string> names = directory_entries(own_.parent(), limits_.entries);
    std::erase_if(names, [this](std::string const& name) { return !is_run_name(name) || name == own_.name(); });
    // Each run begins elsewhere, since some file systems list the newest first, and several runs may start at once.
    std::size_t const first = data::hash_bytes(own_.name().data(), own_.name().size());
    for (std::size_t i = 0; i < names.size() && removed < limits_.directories && limits_.inspected > 0; ++i) {
      if (Clock::now() >= end) break;
      if (remove_run(names[(first % names.size() + i) % names.size()])) ++removed;
    }
  } catch (std::exception const&) {  // no memory: a later run removes the others
  }
  return removed;
}

TRIREME_INLINE bool ExpiredRecords::is_run_name(std::string_view name) {
  constexpr std::string_view prefix = "trireme-", digits = "0123456789abcdef";
  constexpr std::size_t number = 16;
  return name.starts_with(prefix) && name.size() > prefix.size() + 1 + number &&
         name[name.size() - number - 1] == '-' &&
         name.substr(name.size() - number).find_first_not_of(digits) == name.npos;
}

TRIREME_INLINE bool ExpiredRecords::is_run_file(std::string_view name) {
  if (name == "failure.txt") return true;
  constexpr std::string_view prefix = "rank-", suffix = ".status";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return false;
  std::string_view const number = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return number.find_first_not_of("0123456789") == number.npos;
}

TRIREME_INLINE bool ExpiredRecords::remove_run(std::string const& name) {
  if (!spend(1)) return false;
  int const parent = own_.parent().get();
  // Looked at before it is opened: opening may start a device or mount a file system.
  struct stat status{};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode) ||
      !is_old(status.st_mtime))
    return false;
  Descriptor const directory(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory || ::fstat(directory.get(), &status) != 0 || !is_private(status) || !is_old(status.st_mtime))
    return false;
  std::vector<std::string> const files = directory_entries(directory, limits_.inspected + 1);
  if (!spend(files.size()) || !std::ranges::all_of(files, is_run_file)) return false;
  if (!std::ranges::all_of(files, [&](std::string const& file) { return is_removable(directory, file); })) return false;
  for (std::string const& file : files) ::unlinkat(directory.get(), file.c_str(), 0);
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

TRIREME_INLINE bool ExpiredRecords::spend(std::size_t count) {
  if (count > limits_.inspected) return false;  // others may have fewer files
  limits_.inspected -= count;
  return true;
}

TRIREME_INLINE bool ExpiredRecords::is_removable(Descriptor const& directory, std::string const& file) const {
  struct stat status{};
  if (::fstatat(directory.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || !is_old(status.st_mtime))
    return false;
  // A message, or the record of another version or of a process that was killed while it made the file.
  if (!file.ends_with(".status") || status.st_size != sizeof(StatusRecord)) return true;
  Descriptor const opened(::openat(directory.get(), file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!opened) return false;
  StatusRecord record;
  void* const memory = &record;
  return ::pread(opened.get(), memory, sizeof record, 0) == static_cast<ssize_t>(sizeof record) && !may_live(record);
}

TRIREME_INLINE bool ExpiredRecords::may_live(StatusRecord& record) const {
  if (std::memcmp(record.magic.data(), StatusRecord::kind.data(), record.magic.size()) != 0) return false;
  if (record.host != host_ || record.process_namespace != process_namespace()) return false;
  if (Heartbeat::is_marked(record)) return false;  // even if another process has its number now
  return record.process > 0 && (::kill(static_cast<pid_t>(record.process), 0) == 0 || errno == EPERM);
}

}  // namespace trireme::detail
