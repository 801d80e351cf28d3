/// Values of an execution space as messages take them: from host memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"

namespace trireme {

/// Where the host reads the space's memory it is used as it is; elsewhere there is a copy, whose memory is kept.
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
  /// Where to put n values that are to be written to `data`; `placed` does so.
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
