/// A batch in the memory of the execution space; not copied if that is the host's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/pinned_space.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/head.hpp"

namespace trireme {

/// Batches reach a device through pinned host memory and its stream, so that the host waits for no step: it fills the
/// next slot while the device works on earlier batches.
template <class T, class L, class Space>
class DeviceBatch {
 public:
  /// Slots for samples of `input_size` numbers and targets of `target_size`.
  DeviceBatch(std::size_t input_size, std::size_t target_size) : input_size_(input_size), target_size_(target_size) {}

  /// The batch's host memory may be changed on return. What the slice names stays until the next call's copy, which the
  /// space makes after its work so far.
  Slice<T, L> upload(Space const& space, Batch<T, L> const& batch) { return upload(space, batch, {}); }
  /// The same on a device, with bytes of the caller behind the batch, which lie at `appended()` there.
  Slice<T, L> upload(Space const& space, Batch<T, L> const& batch, std::span<std::byte const> appended) {
    if constexpr (is_host_space<Space>) {
      return {batch.x, batch.y, batch.weight, batch.rows};
    } else {
      std::size_t const x = aligned(batch.rows * input_size_ * sizeof(T));
      std::size_t const y = batch.y ? aligned(batch.rows * target_size_ * sizeof(L)) : 0;
      std::size_t const weight = batch.weight ? aligned(batch.rows * sizeof(double)) : 0;
      std::size_t const bytes = x + y + weight + appended.size();
      std::byte* const host = next_slot(space, bytes);
      if (batch.rows > 0) {
        // No engine of a device takes scattered rows.
        std::memcpy(host, batch.x.block(), batch.rows * input_size_ * sizeof(T));
        if (batch.y) std::memcpy(host + x, batch.y, batch.rows * target_size_ * sizeof(L));
        if (batch.weight) std::memcpy(host + x + y, batch.weight, batch.rows * sizeof(double));
      }
      if (!appended.empty()) std::memcpy(host + x + y + weight, appended.data(), appended.size());
      if (bytes > 0)
        copy_view(space, space_view<Space>(device_.data(), bytes),
                  Kokkos::View<std::byte const*, detail::PinnedSpace, Kokkos::MemoryUnmanaged>(host, bytes));
      std::byte* const device = device_.data();
      appended_ = device + x + y + weight;
      return {reinterpret_cast<T const*>(device), batch.y ? reinterpret_cast<L const*>(device + x) : nullptr,
              batch.weight ? reinterpret_cast<double const*>(device + x + y) : nullptr, batch.rows};
    }
  }

  /// The device's address of what was appended to the last batch.
  std::byte const* appended() const { return appended_; }

 private:
  static constexpr std::size_t most_slots = 16, pinned_bytes = std::size_t{64} << 20;

  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 127) / 128 * 128; }

  /// Pinned memory for `bytes` bytes. The device is waited for once a round of slots.
  std::byte* next_slot(Space const& space, std::size_t bytes) {
    if (bytes > slot_bytes_ || slot_ == slots_) {
      space.fence(tool_label("trireme: batches copied before their host memory is used again"));
      slot_ = 0;
    }
    if (bytes > slot_bytes_) {
      slot_bytes_ = bytes;
      slots_ = std::clamp<std::size_t>(pinned_bytes / bytes, 2, most_slots);
      pinned_ = uninitialized_view<decltype(pinned_)>("trireme::pinned_batches", slots_ * bytes);
      device_ = uninitialized_view<decltype(device_)>(space, "trireme::batch", bytes);
    }
    return pinned_.data() + slot_++ * slot_bytes_;
  }

  std::size_t input_size_, target_size_;
  std::size_t slot_bytes_ = 0, slots_ = 0, slot_ = 0;
  std::byte const* appended_ = nullptr;
  Kokkos::View<std::byte*, detail::PinnedSpace> pinned_;
  Kokkos::View<std::byte*, typename Space::memory_space> device_;
};

/// Predictions for the rows of a batch, in host memory: out (rows, output) = f(rows, x, y), which computes y from x in
/// the memory of the space. May be under way on host spaces when it returns.
template <class T, class L, class Space, class F>
void predict_batch(DeviceBatch<T, L, Space>& batches, Space const& space, Batch<T, L> const& batch, std::size_t output,
                   T* out, F const& f) {
  auto const slice = batches.upload(space, {.x = batch.x, .rows = batch.rows});
  if constexpr (is_host_space<Space>) {
    f(slice.rows, slice.x.block(), out);
  } else {
    auto const y = uninitialized_view<Kokkos::View<T*, typename Space::memory_space>>(space, "trireme::prediction",
                                                                                      batch.rows * output);
    f(slice.rows, slice.x.block(), y.data());
    copy_view(host_view(out, y.extent(0)), y);
  }
}

}  // namespace trireme
