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
#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/pjrt/runtime/buffer.hpp"

namespace trireme::pjrt {

/// Host memory that a device may read in place: aligned as PJRT's client for CPUs requires.
class HostMemory {
 public:
  HostMemory() = default;
  /// So many bytes of zeros.
  explicit HostMemory(std::size_t bytes)
      : memory_(std::aligned_alloc(alignment, std::max(alignment, (bytes + alignment - 1) / alignment * alignment))) {
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0, bytes);
  }
  /// Memory as elements of T.
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

/// Devices of a client, one after the other.
struct DeviceRange {
  std::size_t first, count;
};

/// Array that is repeatedly written on the host and lent to the devices of a replica.
class Lent {
 public:
  Lent() = default;
  /// Array of this type, of zeros.
  explicit Lent(TensorType const& type) : type_(type), memory_(type.bytes()) {}
  Lent(Lent&&) = default;
  Lent& operator=(Lent&&) = delete;
  /// Waits until no device reads the memory any more, since a run that an exception ends may leave steps in flight.
  ~Lent() {
    while (!lent_.empty()) {
      try {
        take_back();
      } catch (PluginError const&) {  // the operation failed, so that device no longer reads the memory
      }
    }
  }

  /// The memory to write to; waits until the devices no longer read the values that they were lent before.
  template <class T>
  T* write() {
    take_back();
    return memory_.as<T>();
  }
  /// One buffer for each of the devices.
  std::vector<Upload> const& lend(Client const& client, DeviceRange const& devices) {
    take_back();
    for (std::size_t i = 0; i < devices.count; ++i)
      lent_.push_back(lend_to_device(client, devices.first + i, type_, memory_.as<void>()));
    return lent_;
  }

 private:
  void take_back() {
    while (!lent_.empty()) {
      Upload last = std::move(lent_.back());
      lent_.pop_back();
      last.buffer.destroy();
      last.host_done.await();
    }
  }

  TensorType type_;
  HostMemory memory_;
  std::vector<Upload> lent_;
};

/// One replica's rows of a batch, padded with zeros to `capacity` rows.
template <class T, class L>
class ReplicaBatch {
 public:
  /// Arrays of `input` and `target` extents, of `capacity` rows, and of so many words.
  ReplicaBatch(std::vector<std::size_t> const& input, std::vector<std::size_t> const& target, std::size_t capacity,
               std::size_t words)
      : capacity_(capacity),
        x_(lowering::tensor_type<T>(input)),
        y_(lowering::tensor_type<L>(target)),
        weight_(lowering::tensor_type<double>({capacity})),
        words_(lowering::tensor_type<std::uint32_t>({words})),
        input_size_(lowering::tensor_type<T>(input).size() / capacity),
        target_size_(lowering::tensor_type<L>(target).size() / capacity) {}

  /// Copies the rows of x, contiguous or scattered, and lends them to the devices.
  std::vector<Upload> const& put_x(Client const& client, DeviceRange const& devices, Batch<T, L> const& batch,
                                   RowRange const& rows) {
    T* const to = x_.template write<T>();
    std::size_t const count = rows.end - rows.begin;
    trireme::detail::gather_rows(batch.x.from_row(rows.begin, input_size_), count, input_size_, to);
    std::fill(to + count * input_size_, to + std::max(count, filled_) * input_size_, T{0});
    filled_ = count;
    return x_.lend(client, devices);
  }
  /// Copies the targets of the rows, and lends them to the devices.
  std::vector<Upload> const& put_y(Client const& client, DeviceRange const& devices, Batch<T, L> const& batch,
                                   RowRange const& rows) {
    L* const to = y_.template write<L>();
    std::size_t const size = (rows.end - rows.begin) * target_size_;
    std::copy_n(batch.y + rows.begin * target_size_, size, to);
    std::fill(to + size, to + capacity_ * target_size_, L{0});
    return y_.lend(client, devices);
  }
  /// Copies the sample weights of the rows, and lends them to the devices.
  std::vector<Upload> const& put_weight(Client const& client, DeviceRange const& devices, Batch<T, L> const& batch,
                                        RowRange const& rows) {
    double* const to = weight_.template write<double>();
    std::copy(batch.weight + rows.begin, batch.weight + rows.end, to);
    return weight_.lend(client, devices);
  }
  /// `fill(words)` writes the words.
  template <class Fill>
  std::vector<Upload> const& put_words(Client const& client, DeviceRange const& devices, Fill const& fill) {
    fill(words_.template write<std::uint32_t>());
    return words_.lend(client, devices);
  }

 private:
  std::size_t capacity_;
  Lent x_, y_, weight_, words_;
  std::size_t input_size_, target_size_;
  std::size_t filled_ = 0;  ///< rows that are not zero
};

}  // namespace trireme::pjrt
