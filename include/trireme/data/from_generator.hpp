/// Datasets from a function that produces samples one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/data/dataset.hpp"
#include "trireme/data/generator_source.hpp"

namespace trireme::data {

/// Dataset of a generator: `make()`, or `make(pass)`, is called at the start of each pass and returns a callable that
/// fills (std::span<X> sample, std::span<Y> target) and returns true, or returns false at the end. Source:
/// `tf.data.Dataset.from_generator`.
///
/// Every process runs the same stream and keeps its rows of each batch, so the generator has to produce the same on all
/// of them. It is called on the prefetch thread if there is one, and has to call neither MPI nor Kokkos then. A run
/// that is resumed replays it. Objects to which `make` refers have to outlive the dataset. A generator with a member
/// `seek(position)` need not produce samples that are only dropped. Not collective.
///
/// \param x_extents, y_extents  extents of one sample and of one target, {} for one number: the spans hold so many,
/// row-major.
///
/// Compile-time errors: a generator of another signature, or one in the place of the function that makes it.
/// \throws ValueError from `fit` or `evaluate`, when it shows, if there is no sample, or fewer batches than the
/// requested steps (`repeat()` makes it go on).
template <class X = float, class Y = std::int32_t, class Make>
Dataset<X, Y> from_generator(std::vector<std::size_t> x_extents, std::vector<std::size_t> y_extents, Make make) {
  SampleDescription description{std::move(x_extents), std::move(y_extents)};
  if constexpr (require_generator<X, Y, Make>()) {
    std::size_t const x_size = description.x_size(), y_size = description.y_size();
    return {std::make_shared<GeneratorSource<X, Y, Make>>(x_size, y_size, std::move(make)), std::move(description)};
  }
  return {nullptr, std::move(description)};
}

namespace detail {

template <class... Given>
consteval bool require_extents() {
  static_assert(sizeof...(Given) == 3,
                "trireme: from_generator takes the extents of a sample and of a target before the function: "
                "from_generator<float, float>({3}, {1}, make)");
  return true;
}

}  // namespace detail

// Overloads for the calls that do not fit the one above: they do not compile, and say what fits.
/// \cond
template <class X = float, class Y = std::int32_t, class... Given>
  requires(sizeof...(Given) != 3)
Dataset<X, Y> from_generator(Given&&...) {
  static_assert(detail::require_extents<Given...>());
  return {nullptr, {}};
}
// Extents in braces, from which no type is deduced, without those of the target.
template <class X = float, class Y = std::int32_t, class Make>
Dataset<X, Y> from_generator(std::vector<std::size_t> const&, Make const&) {
  static_assert(detail::require_extents<Make>());
  return {nullptr, {}};
}
/// \endcond

}  // namespace trireme::data
