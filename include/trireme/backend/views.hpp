/// Views of one dimension: made, filled and copied.
///
/// As Kokkos does it, but where the host reads the memory, without the loops for other layouts and index types that
/// Kokkos would compile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <Kokkos_Core.hpp>

#include "trireme/backend/profiling.hpp"

namespace trireme {

template <class... View>
inline constexpr bool host_reads =
    (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible && ...);

/// Complete on return, as `copy_view`.
template <class View>
void fill_view(View const& view, typename View::non_const_value_type value) {
  if constexpr (host_reads<View>) {
    Kokkos::fence(tool_label("trireme: fill_view"));
    std::fill_n(view.data(), view.extent(0), value);
  } else {
    Kokkos::deep_copy(view, value);
  }
}

/// to = from, which have the same extent and may lie in different memories.
template <class To, class From>
void copy_view(To const& to, From const& from) {
  if constexpr (host_reads<To, From>) {
    Kokkos::fence(tool_label("trireme: copy_view"));
    std::copy_n(from.data(), from.extent(0), to.data());
  } else {
    Kokkos::deep_copy(to, from);
  }
}

template <class View>
View make_view(char const* label, std::size_t count, typename View::non_const_value_type value = {}) {
  View const view(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)), count);
  fill_view(view, value);
  return view;
}

}  // namespace trireme
