/// InputMemory: the memory that the inputs of a stream's batches lie in, and the copies of it that devices have.
#pragma once

#include <any>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace trireme {

/// Host memory that all inputs of a stream of batches lie in. Once each device of an engine has a copy of it, the
/// inputs of batches stay where they lie, and only their places go to the devices. `copied` is for any thread, all else
/// for that of the device.
template <class T>
class InputMemory {
 public:
  /// Memory of these numbers, for so many devices.
  InputMemory(std::span<T const> numbers, std::size_t devices)
      : numbers_(numbers), devices_(devices), missing_(devices) {}

  /// The numbers, row after row.
  std::span<T const> numbers() const { return numbers_; }
  /// True if the number at this address is one of them.
  bool holds(T const* number) const {
    return !std::less<>()(number, numbers_.data()) && std::less<>()(number, numbers_.data() + numbers_.size());
  }

  /// Notes that a device takes so many numbers from the host; true once, when it has taken as many as the memory has
  /// before: a copy of all would have cost no more, and there is a use for it.
  bool take(std::size_t device, std::size_t count) {
    Device& of = devices_[device];
    bool const pays = of.taken >= numbers_.size() && !of.asked;
    of.asked = of.asked || pays;
    of.taken += count;
    return pays;
  }

  /// Keeps a device's copy as long as the stream.
  void keep(std::size_t device, std::any copy) {
    devices_[device].copy = std::move(copy);
    missing_.fetch_sub(1, std::memory_order_acq_rel);
  }
  /// A device's copy; empty if it has none.
  std::any const& copy(std::size_t device) const { return devices_[device].copy; }
  /// True if each device has a copy.
  bool copied() const { return missing_.load(std::memory_order_acquire) == 0; }

 private:
  struct Device {
    std::size_t taken = 0;
    bool asked = false;
    std::any copy{};
  };

  std::span<T const> numbers_;
  std::vector<Device> devices_;
  std::atomic<std::size_t> missing_;
};

}  // namespace trireme
