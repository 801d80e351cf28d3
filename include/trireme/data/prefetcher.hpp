/// A thread that fills slots ahead of their use.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace trireme::data {

/// Runs `producer.start(epoch, first)` and `producer.fill(slot)` on one thread of its own, which calls neither MPI nor
/// Kokkos, up to `ahead` slots in advance.
template <class Producer, class Slot>
class Prefetcher {
 public:
  /// Starts the thread, which waits for `start`; a `next` before that begins with slot `first` of the epoch. So nothing
  /// is produced and dropped before the first pass, and an error of its beginning is not lost.
  Prefetcher(Producer producer, std::size_t ahead, std::uint64_t epoch, std::size_t first);
  Prefetcher(Prefetcher const&) = delete;
  Prefetcher& operator=(Prefetcher const&) = delete;
  ~Prefetcher();

  /// The next slot, or null at the end. It and the one before stay untouched until the next call. Rethrows an exception
  /// of the producer, once the slots that it filled before have been handed out.
  Slot const* next();

  /// Drops what was filled ahead and begins anew.
  void start(std::uint64_t epoch, std::size_t first);

 private:
  static constexpr std::size_t in_use = 2;  // the slot handed out last and the one before

  void begin();
  void produce();

  Producer producer_;
  std::size_t ahead_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t epoch_;
  std::size_t first_;
  std::uint64_t run_ = 0;     // counts beginnings
  std::size_t produced_ = 0;  // slots filled, those dropped by start not counted
  std::size_t consumed_ = 0;  // and handed out
  bool ended_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

template <class Producer, class Slot>
Prefetcher<Producer, Slot>::Prefetcher(Producer producer, std::size_t ahead, std::uint64_t epoch, std::size_t first)
    : producer_(std::move(producer)), ahead_(ahead), slots_(ahead + in_use), epoch_(epoch), first_(first) {
  thread_ = std::thread([this] { produce(); });
}

template <class Producer, class Slot>
Prefetcher<Producer, Slot>::~Prefetcher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

template <class Producer, class Slot>
Slot const* Prefetcher<Producer, Slot>::next() {
  std::unique_lock lock(mutex_);
  if (run_ == 0) begin();
  changed_.wait(lock, [this] { return produced_ > consumed_ || ended_; });
  if (produced_ == consumed_) {
    if (error_) std::rethrow_exception(error_);
    return nullptr;
  }
  Slot const* const slot = &slots_[consumed_++ % slots_.size()];
  lock.unlock();
  changed_.notify_all();
  return slot;
}

template <class Producer, class Slot>
void Prefetcher<Producer, Slot>::start(std::uint64_t epoch, std::size_t first) {
  std::lock_guard lock(mutex_);
  epoch_ = epoch;
  first_ = first;
  produced_ = consumed_;  // not 0: the slots in use stay untouched
  ended_ = false;
  error_ = nullptr;
  begin();
}

template <class Producer, class Slot>
void Prefetcher<Producer, Slot>::begin() {
  ++run_;
  changed_.notify_all();
}

template <class Producer, class Slot>
void Prefetcher<Producer, Slot>::produce() {
  std::uint64_t run = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || run != run_ || (run > 0 && !ended_ && produced_ < consumed_ + ahead_); });
    if (stop_) return;
    bool const begins = run != run_;
    run = run_;
    std::uint64_t const epoch = epoch_;
    std::size_t const first = first_;
    Slot& slot = slots_[produced_ % slots_.size()];
    lock.unlock();
    bool filled = false;
    std::exception_ptr error;
    try {
      if (begins) producer_.start(epoch, first);
      filled = producer_.fill(slot);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (run != run_) continue;  // begun anew meanwhile
    if (filled) {
      ++produced_;
    } else {
      ended_ = true;
      error_ = error;
    }
    changed_.notify_all();
  }
}

}  // namespace trireme::data
