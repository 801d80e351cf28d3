/// Batches for PJRT devices, assembled in host memory that a CPU's device reads in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/pjrt/runtime/buffer.hpp"

namespace trireme::pjrt {

/// Host memory that a device may read in place: aligned as PJRT's client for CPUs requires.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t bytes)
      : memory_(std::aligned_alloc(alignment, std::max(alignment, (bytes + alignment - 1) / alignment * alignment))) {
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0, bytes);
  }
  template <class T>
  T* as() {
    return static_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::size_t alignment = 64;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

/// Array that is repeatedly written on the host and lent to a device.
class Lent {
 public:
  Lent() = default;
  explicit Lent(TensorType const& type) : type_(type), memory_(type.bytes()) {}
  Lent(Lent&&) = default;
  Lent& operator=(Lent&&) = delete;
  /// Waits until the device no longer reads the memory, since a run that an exception ends may leave steps in flight.
  ~Lent() {
    try {
      take_back();
    } catch (PluginError const&) {  // the operation failed, so nothing reads the memory any more
    }
  }

  /// The memory to write to; waits until the device no longer reads the values that it was lent before.
  template <class T>
  T* write() {
    take_back();
    return memory_.as<T>();
  }
  Buffer const& lend(Client const& client, std::size_t device) {
    auto lent = lend_to_device(client, device, type_, memory_.as<void>());
    buffer_ = std::move(lent.buffer);
    host_done_ = std::move(lent.host_done);
    return buffer_;
  }

 private:
  void take_back() {
    buffer_.destroy();
    host_done_.await();
  }

  TensorType type_;
  HostMemory memory_;
  Event host_done_;
  Buffer buffer_;
};

/// One replica's rows of a batch, padded with zeros to `capacity` rows.
template <class T, class L>
class ReplicaBatch {
 public:
  ReplicaBatch(std::vector<std::size_t> const& input, std::vector<std::size_t> const& target, std::size_t capacity,
               std::size_t words)
      : capacity_(capacity),
        x_(lowering::tensor_type<T>(input)),
        y_(lowering::tensor_type<L>(target)),
        weight_(lowering::tensor_type<double>({capacity})),
        words_(lowering::tensor_type<std::uint32_t>({words})),
        input_size_(lowering::tensor_type<T>(input).size() / capacity),
        target_size_(lowering::tensor_type<L>(target).size() / capacity) {}

  /// Copies the rows of x, contiguous or scattered, and lends them to the device.
  Buffer const& put_x(Client const& client, std::size_t device, Batch<T, L> const& batch, RowRange const& rows) {
    T* const to = x_.template write<T>();
    std::size_t const count = rows.end - rows.begin;
    if (batch.x)
      std::copy_n(batch.x + rows.begin * input_size_, count * input_size_, to);
    else
      for (std::size_t row = 0; row < count; ++row)
        std::copy_n(batch.x_rows[rows.begin + row], input_size_, to + row * input_size_);
    std::fill(to + count * input_size_, to + std::max(count, filled_) * input_size_, T{0});
    filled_ = count;
    return x_.lend(client, device);
  }
  Buffer const& put_y(Client const& client, std::size_t device, Batch<T, L> const& batch, RowRange const& rows) {
    L* const to = y_.template write<L>();
    std::size_t const size = (rows.end - rows.begin) * target_size_;
    std::copy_n(batch.y + rows.begin * target_size_, size, to);
    std::fill(to + size, to + capacity_ * target_size_, L{0});
    return y_.lend(client, device);
  }
  Buffer const& put_weight(Client const& client, std::size_t device, Batch<T, L> const& batch, RowRange const& rows) {
    double* const to = weight_.template write<double>();
    std::copy(batch.weight + rows.begin, batch.weight + rows.end, to);
    return weight_.lend(client, device);
  }
  /// `fill(words)` writes the words.
  template <class Fill>
  Buffer const& put_words(Client const& client, std::size_t device, Fill const& fill) {
    fill(words_.template write<std::uint32_t>());
    return words_.lend(client, device);
  }

 private:
  std::size_t capacity_;
  Lent x_, y_, weight_, words_;
  std::size_t input_size_, target_size_;
  std::size_t filled_ = 0;  ///< rows that are not zero
};

}  // namespace trireme::pjrt
