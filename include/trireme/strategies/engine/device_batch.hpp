/// A batch in the memory of the execution space; not copied if that is the host's.
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/device_instances.hpp"
#include "trireme/backend/execution/pinned_space.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/rows_view.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/input_memory.hpp"
#include "trireme/models/head.hpp"

namespace trireme {

namespace kernels {

/// to (rows, size) = rows of an array that begin at these elements of it.
template <class T>
struct GatherRows {
  T const* from;
  std::uint64_t const* begin;
  std::size_t size;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] = from[begin[i / size] + i % size]; }
};

}  // namespace kernels

/// Batches reach a device through pinned host memory and its stream, so that the host waits for no step: it fills the
/// next slot while the device works on earlier batches. After as many inputs have come that way as the memory has that
/// they lie in (InputMemory), all of that is copied to the device, if it takes at most an eighth of what is free there;
/// from then on inputs come from the copy. By then steps have allocated their memory. What is left is for validation on
/// larger batches, and for other processes on the device, which make their copies at the same time.
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
      T const* const kept = kept_inputs(space, batch);
      Layout const at = layout(batch, appended.size(), kept);
      std::byte* const host = next_slot(space, at.end);
      std::byte* const device = device_.data();
      fill_slot(host, at, batch, kept);
      if (!appended.empty()) std::memcpy(host + at.appended, appended.data(), appended.size());
      if (std::size_t const first = kept ? at.y : 0; first < at.end)
        copy_view(space, space_view<Space>(device + first, at.end - first), pinned_view(host + first, at.end - first));
      if (kept) take_kept(space, batch, kept, reinterpret_cast<T*>(device), device + at.places);
      appended_ = device + at.appended;
      return {reinterpret_cast<T const*>(device), batch.y ? reinterpret_cast<L const*>(device + at.y) : nullptr,
              batch.weight ? reinterpret_cast<double const*>(device + at.weight) : nullptr, batch.rows};
    }
  }

  /// The device's address of what was appended to the last batch.
  std::byte const* appended() const { return appended_; }

 private:
  using Inputs = Kokkos::View<T const*, typename Space::memory_space>;

  static constexpr std::size_t most_slots = 16, pinned_bytes = std::size_t{64} << 20;

  /// Offsets of the parts of a slot, and of the device's memory for a batch. The inputs come first, and behind all, of
  /// scattered rows in the device's copy, the index of the first number of each.
  struct Layout {
    std::size_t y, weight, appended, places, end;
  };
  static bool has_inputs(Batch<T, L> const& batch) { return batch.x.is_scattered() || batch.x.block(); }
  Layout layout(Batch<T, L> const& batch, std::size_t appended, bool kept) const {
    Layout at{};
    at.y = has_inputs(batch) ? aligned(batch.rows * input_size_ * sizeof(T)) : 0;
    at.weight = at.y + (batch.y ? aligned(batch.rows * target_size_ * sizeof(L)) : 0);
    at.appended = at.weight + (batch.weight ? aligned(batch.rows * sizeof(double)) : 0);
    at.places = at.appended + aligned(appended);
    at.end = kept && batch.x.is_scattered() ? at.places + batch.rows * sizeof(std::uint64_t) : at.appended + appended;
    return at;
  }
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 127) / 128 * 128; }
  static auto pinned_view(std::byte const* data, std::size_t bytes) {
    return Kokkos::View<std::byte const*, detail::PinnedSpace, Kokkos::MemoryUnmanaged>(data, bytes);
  }

  void fill_slot(std::byte* host, Layout const& at, Batch<T, L> const& batch, bool kept) const {
    if (batch.rows == 0) return;
    if (batch.y) std::memcpy(host + at.y, batch.y, batch.rows * target_size_ * sizeof(L));
    if (batch.weight) std::memcpy(host + at.weight, batch.weight, batch.rows * sizeof(double));
    if (!has_inputs(batch)) return;
    if (!kept) {
      detail::gather_rows(batch.x, batch.rows, input_size_, reinterpret_cast<T*>(host));
    } else if (batch.x.is_scattered()) {
      T const* const numbers = batch.memory->numbers().data();
      auto* const place = reinterpret_cast<std::uint64_t*>(host + at.places);
      for (std::size_t row = 0; row < batch.rows; ++row)
        place[row] = static_cast<std::uint64_t>(batch.x.row(row, input_size_) - numbers);
    }
  }

  /// The device's copy of the memory that the inputs of a batch lie in; null if it has none.
  T const* kept_inputs(Space const& space, Batch<T, L> const& batch) {
    InputMemory<T>* const memory = batch.memory;
    if (!memory || batch.rows == 0 || !has_inputs(batch)) return nullptr;
    if (batch.x.is_scattered() || memory->holds(batch.x.block()))
      if (auto const* const copy = std::any_cast<Inputs>(&memory->copy(batch.device))) return copy->data();
    // The batches after this one find the copy.
    if (memory->take(batch.device, batch.rows * input_size_)) keep_inputs(space, *memory, batch.device);
    return nullptr;
  }
  void keep_inputs(Space const& space, InputMemory<T>& memory, std::size_t device) {
    if constexpr (requires { DeviceRuntime<Space>::free_memory(space); }) {
      auto const numbers = memory.numbers();
      if (numbers.size_bytes() > DeviceRuntime<Space>::free_memory(space) / 8) return;
      Kokkos::View<T*, typename Space::memory_space> copy;
      try {
        copy = uninitialized_view<decltype(copy)>(space, "trireme::inputs", numbers.size());
      } catch (std::exception const&) {
        return;  // other processes may have taken the memory meanwhile; batches come from the host then
      }
      copy_view(space, copy, host_view(numbers.data(), numbers.size()));
      memory.keep(device, Inputs(copy));
    }
  }
  /// to (rows, inputs) = the rows of a batch in the copy, `places` being those of scattered ones.
  void take_kept(Space const& space, Batch<T, L> const& batch, T const* kept, T* to, std::byte const* places) const {
    std::size_t const count = batch.rows * input_size_;
    if (!batch.x.is_scattered()) {
      T const* const from = kept + (batch.x.block() - batch.memory->numbers().data());
      return copy_view(space, space_view<Space>(to, count), space_view<Space>(from, count));
    }
    using Indices = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
    detail::LaunchTurn const turn;
    Kokkos::parallel_for(tool_label("trireme: gather_rows"), Indices(space, 0, count),
                         kernels::GatherRows<T>{kept, reinterpret_cast<std::uint64_t const*>(places), input_size_, to});
  }

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
