/// Datasets over samples that each process owns.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/data_shard.hpp"
#include "trireme/data/from_tensor_slices.hpp"

namespace trireme::data {

/// Source of the number of samples of every process: a Communicator, or a SingleProcess.
template <class C>
concept SharesSizes = requires(C const& communicator, std::size_t size) {
  { communicator.rank() } -> std::convertible_to<std::size_t>;
  communicator.allgather(size);
};

/// Strategy, whose processes are its group.
template <class S>
concept HasGroup = requires(S const& strategy) {
  { strategy.group() } -> SharesSizes;
};

/// Dataset over arrays that this process alone holds: samples along the first axis of x and their targets along that of
/// y. They are never moved: each process shuffles its own and gives each global batch a part in proportion to how many
/// it has. A process may have none. The arrays have to outlive the dataset, unless they are temporaries.
///
/// \param where  a strategy or a Communicator (the call is collective then), or `LocalSizes` that are known already.
/// \param x, y, sample_weight  as for `from_tensor_slices`, with this process's samples.
///
/// Compile-time errors: an array, or what else has no processes, in place of `where`; what is no array behind it; more
/// than one array of weights.
/// \throws ShapeError on all processes if the numbers of samples differ between arrays; on this one if they differ from
/// the LocalSizes.
template <class Where, SampleArrays XArray, SampleArrays YArray, TensorLike... WArray>
auto from_local_slices(Where const& where, XArray&& x, YArray&& y, WArray&&... sample_weight);

namespace detail {

/// An error of one process is thrown by all, so that none waits for the others.
template <class Where, class F>
auto on_all(Where const& where, F const& f) {
  if constexpr (HasGroup<Where>)
    return on_all(where.group(), f);
  else if constexpr (requires { where.together(f); })
    return where.together(f);
  else
    return f();
}

template <class Where>
LocalSizes gather_sizes(Where const& where, std::size_t samples) {
  if constexpr (std::is_same_v<Where, LocalSizes>) {
    if (where.index >= where.sizes.size() || where.sizes[where.index] != samples)
      throw ShapeError(formatted("{} samples of process {} do not agree with the sizes given", samples, where.index));
    return where;
  } else if constexpr (HasGroup<Where>) {
    return gather_sizes(where.group(), samples);
  } else {
    static_assert(SharesSizes<Where>,
                  "trireme: from_local_slices takes the strategy (or a Communicator) first, then x and y");
    std::vector<std::size_t> const sizes = where.allgather(samples);
    return {sizes, where.rank()};
  }
}

template <class...>
inline constexpr bool are_local_slices = false;
template <class Where, SampleArrays X, SampleArrays Y, TensorLike... W>
inline constexpr bool are_local_slices<Where, X, Y, W...> = true;

/// True if a strategy stands before two arrays or more; does not compile if it does not.
template <class... Given>
consteval bool require_where() {
  constexpr bool has_where = sizeof...(Given) > 2 && !SampleArrays<std::tuple_element_t<0, std::tuple<Given..., int>>>;
  static_assert(has_where, "trireme: from_local_slices takes the strategy (or a Communicator) first, then x and y");
  return has_where;
}

}  // namespace detail

template <class Where, SampleArrays XArray, SampleArrays YArray, TensorLike... WArray>
auto from_local_slices(Where const& where, XArray&& x, YArray&& y, WArray&&... sample_weight) {
  static_assert(detail::require_where<Where, XArray, YArray>());
  static_assert(sizeof...(WArray) <= 1, "trireme: from_local_slices takes x, y and at most one array of weights");
  auto same = detail::on_all(where, [&] {
    return from_tensor_slices(std::forward<XArray>(x), std::forward<YArray>(y), std::forward<WArray>(sample_weight)...);
  });
  SampleDescription description = same.description();
  description.local = detail::gather_sizes(where, same.source()->size().value());
  return decltype(same)(same.source(), std::move(description));
}

// Overload for the calls that do not fit the one above: it does not compile, and says what fits.
/// \cond
template <class... Given>
  requires(!detail::are_local_slices<Given...>)
Dataset<float, std::int32_t> from_local_slices(Given&&...) {
  if constexpr (detail::require_where<Given...>())
    []<class Where, class... Arrays>(std::type_identity<std::tuple<Where, Arrays...>>) {
      static_assert(detail::require_arrays<Arrays...>());
    }(std::type_identity<std::tuple<Given...>>());
  return {nullptr, {}};
}
/// \endcond

}  // namespace trireme::data
