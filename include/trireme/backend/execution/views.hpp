/// One-dimensional views: of existing memory, allocated, filled and copied; memory of an instance is its device's.
///
/// Same as Kokkos, but fills, and copies where the host reads the memory, without the loops for other layouts and index
/// types that Kokkos would compile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/huge_pages.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// True if the host can read the memory of each of the views.
template <class... View>
inline constexpr bool host_reads =
    (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible && ...);

/// A view of host memory that it does not own.
template <class T>
auto host_view(T* data, std::size_t count) {
  return Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(data, count);
}
template <class Values>
auto host_view(Values&& values) {
  return host_view(values.data(), values.size());
}
/// A view of memory of a space that it does not own.
template <class Space, class T>
auto space_view(T* data, std::size_t count) {
  return Kokkos::View<T*, typename Space::memory_space, Kokkos::MemoryUnmanaged>(data, count);
}

namespace kernels {

template <class T>
struct Fill {
  T* values;
  T value;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { values[i] = value; }
};

}  // namespace kernels

namespace detail {

/// By a kernel of trireme's: that of Kokkos 4.7 holds a View whose layout CUDA's compiler and the host's take for
/// different ones, so that it writes other numbers to other places.
template <class Space, class View>
void enqueue_fill(Space const& space, View const& view, typename View::non_const_value_type value) {
  static_assert(View::rank == 1);
  using Indices = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
  LaunchTurn const turn;
  Kokkos::parallel_for(tool_label("trireme: fill_view"), Indices(space, 0, view.extent(0)),
                       kernels::Fill<typename View::non_const_value_type>{view.data(), value});
}

}  // namespace detail

/// Complete on return, as `copy_view`.
template <class View>
void fill_view(View const& view, typename View::non_const_value_type value) {
  Kokkos::fence(tool_label("trireme: fill_view"));
  if constexpr (host_reads<View>) {
    std::fill_n(view.data(), view.extent(0), value);
  } else {
    typename View::execution_space const space;
    detail::enqueue_fill(space, view, value);
    space.fence(tool_label("trireme: fill_view"));
  }
}
/// The same in memory of the space's own device, which kernels of other instances may be unable to reach.
template <class Space, class View>
void fill_view(Space const& space, View const& view, typename View::non_const_value_type value) {
  if constexpr (host_reads<View>) {
    fill_view(view, value);
  } else {
    detail::enqueue_fill(space, view, value);
    space.fence(tool_label("trireme: fill_view"));
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

/// The same, after the space's earlier work and before its later work if that is on a device; complete on return on a
/// host.
template <class Space, class To, class From>
void copy_view(Space const& space, To const& to, From const& from) {
  if constexpr (host_reads<To, From>) {
    space.fence(tool_label("trireme: copy_view"));
    std::copy_n(from.data(), from.extent(0), to.data());
  } else {
    Kokkos::deep_copy(space, to, from);
  }
}

/// New memory with uninitialized values.
template <class View>
View uninitialized_view(char const* label, std::size_t count) {
  View const view(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)), count);
  if constexpr (std::is_same_v<typename View::memory_space, Kokkos::HostSpace>)
    detail::ask_for_huge_pages(view.data(), count * sizeof(typename View::value_type));
  return view;
}

/// The same on the space's own device.
template <class View, class Space>
View uninitialized_view(Space const& space, char const* label, std::size_t count) {
  if constexpr (host_reads<View>)
    return uninitialized_view<View>(label, count);
  else
    return View(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, std::string(label)), count);
}

/// New memory, filled with a value.
template <class View>
View make_view(char const* label, std::size_t count, typename View::non_const_value_type value = {}) {
  View const view = uninitialized_view<View>(label, count);
  fill_view(view, value);
  return view;
}

/// The same on the space's own device.
template <class View, class Space>
  requires Kokkos::is_execution_space_v<Space>
View make_view(Space const& space, char const* label, std::size_t count,
               typename View::non_const_value_type value = {}) {
  View const view = uninitialized_view<View>(space, label, count);
  fill_view(space, view, value);
  return view;
}

/// A copy in memory of its own, on the space's device.
template <class Space, class View>
View clone_view(Space const& space, char const* label, View const& view) {
  View const clone = uninitialized_view<View>(space, label, view.extent(0));
  copy_view(clone, view);
  return clone;
}

/// A copy of a view's values as a std::vector.
template <class View>
auto to_host(View const& view) {
  std::vector<typename View::non_const_value_type> values(view.extent(0));
  copy_view(host_view(values), view);
  return values;
}

#ifdef TRIREME_COMPILED
extern template Kokkos::View<float*, Kokkos::HostSpace> uninitialized_view(char const*, std::size_t);
extern template Kokkos::View<double*, Kokkos::HostSpace> uninitialized_view(char const*, std::size_t);
extern template Kokkos::View<std::byte*, Kokkos::HostSpace> uninitialized_view(char const*, std::size_t);
#endif

}  // namespace trireme
