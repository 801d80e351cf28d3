/// InputMemory: the memory that the inputs of a stream's batches lie in, and an engine's copy of it.
#pragma once

#include <any>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace trireme {

/// Host memory that all inputs of a stream of batches lie in. Once an engine has a copy of it on its device, the inputs
/// of batches stay where they lie, and only their places go to the device. `copied` is for any thread, all else for the
/// engine's.
template <class T>
class InputMemory {
 public:
  /// Memory of these numbers.
  explicit InputMemory(std::span<T const> numbers) : numbers_(numbers) {}

  /// The numbers, row after row.
  std::span<T const> numbers() const { return numbers_; }
  /// True if the number at this address is one of them.
  bool holds(T const* number) const {
    return !std::less<>()(number, numbers_.data()) && std::less<>()(number, numbers_.data() + numbers_.size());
  }

  /// Notes that the engine takes so many numbers from the host; true once, when it has taken as many as the memory has
  /// before: a copy of all would have cost no more, and there is a use for it.
  bool take(std::size_t count) {
    bool const pays = taken_ >= numbers_.size() && !asked_;
    asked_ = asked_ || pays;
    taken_ += count;
    return pays;
  }

  /// Keeps the engine's copy as long as the stream.
  void keep(std::any copy) {
    copy_ = std::move(copy);
    copied_.store(true, std::memory_order_release);
  }
  /// True if an engine has a copy.
  bool copied() const { return copied_.load(std::memory_order_acquire); }
  /// What the engine keeps.
  std::any const& copy() const { return copy_; }

 private:
  std::span<T const> numbers_;
  std::size_t taken_ = 0;
  bool asked_ = false;
  std::any copy_;
  std::atomic<bool> copied_ = false;
};

}  // namespace trireme
