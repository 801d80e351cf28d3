/// StepNumber: the number of an optimizer step as layers receive it, which recorded kernels read from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <Kokkos_Macros.hpp>

#include "trireme/core/streams.hpp"

namespace trireme {

/// A random stream of a layer in any step.
struct StreamName {
  std::uint64_t seed;
  Purpose purpose;
  std::uint32_t layer, micro_step;

  /// The stream in a step.
  RowStream in_step(std::uint64_t step) const { return {seed, layer, step, micro_step, purpose}; }
  friend bool operator==(StreamName const&, StreamName const&) = default;
};

/// The random streams of a recorded step, which lie in the device's memory: kernels that hold a stream of their own
/// would draw the same numbers at each launch.
class StepStreams {
 public:
  /// Begins a step whose streams, so far `count()`, lie at `first` on the device.
  void begin(RowStream const* first) {
    first_ = first;
    there_ = names_.size();
    read_ = false;
  }
  /// The device's address of a stream; null if it is not there before the next step.
  RowStream const* find(StreamName const& name) {
    std::size_t i = 0;
    while (i < names_.size() && names_[i] != name) ++i;
    if (i == names_.size()) names_.push_back(name);
    return i < there_ ? first_ + i : nullptr;
  }
  /// Number of streams that layers have asked for.
  std::size_t count() const { return names_.size(); }
  /// Writes the streams of a step to `to`.
  void write(std::uint64_t step, std::byte* to) const {
    for (StreamName const& name : names_) {
      RowStream const stream = name.in_step(step);
      std::memcpy(to, &stream, sizeof stream);
      to += sizeof stream;
    }
  }

  /// Notes that host code has read the step's number, which it may have put into a kernel.
  void note_read() { read_ = true; }
  /// True if the step cannot be recorded as it was enqueued.
  bool read_on_host() const { return read_; }
  /// True if all streams of this step are in the device's memory.
  bool complete() const { return there_ == names_.size(); }

 private:
  std::vector<StreamName> names_;
  RowStream const* first_ = nullptr;
  std::size_t there_ = 0;
  bool read_ = false;
};

/// Number of an optimizer step: an integer. In a kernel of a recorded step it is that of the current launch.
class StepNumber {
 public:
  /// A number of its own.
  constexpr StepNumber(std::uint64_t number = 0) : number_(number) {}
  /// A number that also lies at `device` in the memory of a device.
  StepNumber(std::uint64_t number, std::uint64_t const* device, StepStreams& streams)
      : number_(number), device_(device), streams_(&streams) {}

  /// The number. Read by host code of a layer, it keeps the step from being recorded.
  KOKKOS_FUNCTION operator std::uint64_t() const {
    KOKKOS_IF_ON_HOST((if (streams_) streams_->note_read(); return number_;))
    KOKKOS_IF_ON_DEVICE((return device_ ? *device_ : number_;))
  }
  /// Makes it the next number.
  StepNumber& operator++() {
    ++number_;
    return *this;
  }

  /// The number for what is not put into a kernel: reading it is not noted.
  std::uint64_t unnoted() const { return number_; }
  /// Streams in a device's memory, or null.
  StepStreams* streams() const { return streams_; }

 private:
  std::uint64_t number_;
  [[maybe_unused]] std::uint64_t const* device_ = nullptr;  // which host code does not read
  StepStreams* streams_ = nullptr;
};

}  // namespace trireme
