/// Definitions of trireme/mpi/fault/rank_registry.hpp.
#pragma once

#include "trireme/mpi/fault/rank_registry.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/expired_records.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/status_directory.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme::detail {

TRIREME_INLINE RankRegistry*& RankRegistry::current() {
  static RankRegistry* board = nullptr;
  return board;
}

TRIREME_INLINE void leave_records_to_ranks() {
  static bool const begun = ::pthread_atfork(nullptr, nullptr, [] {
                              forked = true;
                              current_status = &private_status;
                              current_neighbour = nullptr;
                              RankRegistry::current() = nullptr;
                            }) == 0;
  static_cast<void>(begun);
}

TRIREME_INLINE void RankRegistry::create(std::uint64_t run, std::size_t rank, std::size_t ranks) {
  std::string const file = formatted("rank-{}.status", rank);
  Descriptor const made = directory_.create(file, sizeof(Record));
  void* const memory = ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
  if (memory == MAP_FAILED) {
    directory_.remove(file);
    throw FileError(directory_.path(), "cannot be mapped, for the status records of the run");
  }
  file_ = file;
  begin(memory, run, rank, ranks);
}

TRIREME_INLINE void RankRegistry::create_unshared(std::uint64_t run, std::size_t rank, std::size_t ranks) {
  if (own_ != nullptr) Heartbeat::end(*own_);
  close(true);
  directory_ = {};
  void* const memory = ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) begin(memory, run, rank, ranks);
}

TRIREME_INLINE void RankRegistry::find_others() {
  if (!is_shared()) return;
  // Of two numbers without leading zeros the shorter one is lower.
  auto const is_lower = [](std::string const& a, std::string const& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  is_lowest_ = true;
  for (std::string const& file : directory_.files())
    if (file.starts_with("rank-") && file.ends_with(".status")) {
      add(file);
      is_lowest_ = is_lowest_ && !is_lower(file, file_);
    }
  current_neighbour = next_after(*own_);
}

TRIREME_INLINE RankRegistry::Record* RankRegistry::next_after(Record const& record) const {
  auto const distance = [this](Record const& of) { return (of.rank + own_->ranks - own_->rank) % own_->ranks; };
  Record* next = nullptr;
  for (Record* const other : others_)
    if (distance(*other) > distance(record) && (next == nullptr || distance(*other) < distance(*next))) next = other;
  return next;
}

TRIREME_INLINE void RankRegistry::remove_expired() const {
  if (is_shared() && is_lowest_) ExpiredRecords(directory_, {}).remove();
}

TRIREME_INLINE bool RankRegistry::claim(std::string_view message) const {
  if (!is_shared()) return true;
  Descriptor const file = directory_.create("failure.txt");
  if (!file) return errno != EEXIST;  // without the file rather twice than never
  [[maybe_unused]] ssize_t written = ::write(file.get(), message.data(), message.size());
  written = ::write(file.get(), "\n", 1);
  return true;
}

TRIREME_INLINE void RankRegistry::close(bool in_order) {
  if (own_ == nullptr) return;
  if (in_order) own_->state.store(Record::State::ended, std::memory_order_release);
  if (current() == this) current() = nullptr;
  current_status = &private_status;
  current_neighbour = nullptr;
  for (Record* const other : others_) ::munmap(other, sizeof(Record));
  others_.clear();
  ::munmap(own_, sizeof(Record));
  own_ = nullptr;
  if (!in_order || !is_shared()) return;
  directory_.remove(file_);
  directory_.remove_if_empty();
}

TRIREME_INLINE void RankRegistry::begin(void* memory, std::uint64_t run, std::size_t rank, std::size_t ranks) {
  own_ = new (memory) Record;
  own_->run = run;
  own_->process = ::getpid();
  own_->process_namespace = process_namespace();
  own_->rank = static_cast<std::uint32_t>(rank);
  own_->ranks = static_cast<std::uint32_t>(ranks);
  std::int64_t const now = steady_clock_now();
  own_->since_1970 = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count() - now;
  ::gethostname(own_->host.data(), own_->host.size() - 1);
  own_->since.store(now, std::memory_order_relaxed);
  own_->alive.store(now, std::memory_order_relaxed);
  std::memcpy(own_->magic.data(), Record::kind.data(), own_->magic.size());
  Heartbeat::begin(*own_);
  current_status = own_;
  current() = this;
}

TRIREME_INLINE void RankRegistry::add(std::string const& file) {
  if (file == file_) return;
  Descriptor const found = directory_.find(file, sizeof(Record));
  if (!found) return;
  void* const memory = ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, found.get(), 0);
  if (memory == MAP_FAILED) return;
  auto* const record = static_cast<Record*>(memory);
  // On a file system that nodes share there are records of other nodes too, whose memory cannot be mapped here.
  bool const ours = std::memcmp(record->magic.data(), Record::kind.data(), record->magic.size()) == 0 &&
                    record->run == own_->run && record->host == own_->host &&
                    record->process_namespace == own_->process_namespace;
  if (ours)
    others_.push_back(record);
  else
    ::munmap(memory, sizeof(Record));
}

}  // namespace trireme::detail
