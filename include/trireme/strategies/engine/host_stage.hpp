/// Values of an execution space in host memory, for messages.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"

namespace trireme {

/// Uses the space's memory directly where the host reads it; elsewhere a copy, whose memory is kept.
template <class T, class Space>
class HostStage {
  static constexpr bool direct = is_host_space<Space>;

 public:
  /// The n values at `data`, complete; valid until the next call.
  std::span<T> read(T* data, std::size_t n) {
    auto const values = place(data, n);
    if constexpr (!direct) Kokkos::deep_copy(host_view(values), space_view<Space>(data, n));
    return values;
  }
  /// Memory for n values to be written to `data`; `placed` writes them.
  std::span<T> place(T* data, std::size_t n) {
    if constexpr (direct) return {data, n};
    if (buffer_.size() < n) buffer_.resize(n);
    return {buffer_.data(), n};
  }
  void placed([[maybe_unused]] T* data, [[maybe_unused]] std::size_t n) {
    if constexpr (!direct) Kokkos::deep_copy(space_view<Space>(data, n), host_view(buffer_.data(), n));
  }

 private:
  std::vector<T> buffer_;
};

}  // namespace trireme
