/// Numbers of a reference case in the memory of an execution context, on a host or a device.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"

namespace trireme::test {

/// A context whose formulas are programs: it has functions of its own in place of kernels.
template <class Context>
concept RunsPrograms = requires { Context::runs_programs; };

template <class Context>
std::string name_of_context() {
  if constexpr (requires(Context const& context) { context.space(); })
    return std::string(" on ") + std::remove_cvref_t<decltype(std::declval<Context const&>().space())>::name();
  else
    return " on a thread";
}

/// Numbers in the memory of a context's kernels.
template <class Context, class T>
using ContextView = Kokkos::View<T*, typename Context::memory_space>;
template <class Context, class T>
ContextView<Context, T> in_memory_of(std::vector<T> const& values) {
  auto const view = uninitialized_view<ContextView<Context, T>>("trireme: numbers of a case", values.size());
  copy_view(view, host_view(values));
  return view;
}

}  // namespace trireme::test
