/// Builder: the operations of StableHLO for writing programs. Those of ElementwiseBuilder are joined by operations on
/// shapes, sums, products and steps of a loop.
///
/// Every operation takes and returns typed values, so that tensors of different static extents do not compile. Source
/// of the operations: https://openxla.org/stablehlo/spec.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/elementwise_builder.hpp"
#include "trireme/pjrt/lowering/value.hpp"

namespace trireme::lowering {

/// 0, 1, 2 ...: axes, or replicas.
inline std::vector<std::size_t> first_numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

class Builder : public ElementwiseBuilder {
 public:
  using ElementwiseBuilder::ElementwiseBuilder;

  // ---- shapes

  /// The same elements, in the same order, with other extents.
  template <class E, class T, class F>
  Value<T, E> reshape(Value<T, F> const& x, E const& extents) {
    return emit_call<T>(extents, formatted("stablehlo.reshape %v{}", x.id), formatted("({})", type_text(x)));
  }

  /// A tensor with the same number everywhere.
  template <class T, class E>
  Value<T, E> fill(Scalar<T> const& x, E const& extents) {
    return broadcast(x, extents, {});
  }
  /// A vector along the last axis, the same for all others.
  template <class T, std::size_t C, std::size_t... E>
  Value<T, Extents<E...>> along_back(Value<T, Extents<C>> const& x, Extents<E...> const& extents) {
    require_same(x.extents, back_of(extents));
    return broadcast(x, extents, {sizeof...(E) - 1});
  }
  /// A tensor without the last axis, repeated along it.
  template <class T, class F, std::size_t... E>
  Value<T, Extents<E...>> repeat_back(Value<T, F> const& x, Extents<E...> const& extents) {
    require_same(x.extents, without_back(extents));
    return broadcast(x, extents, first_numbers(sizeof...(E) - 1));
  }
  /// A number for each row, the same for all of its elements.
  template <class T, std::size_t N, std::size_t... E>
  Value<T, Extents<E...>> along_front(Value<T, Extents<N>> const& x, Extents<E...> const& extents) {
    return broadcast(x, extents, {0});
  }

  /// A tensor whose axes become the axes `axes` of the result, which repeats it along the others.
  template <class T, class E, class F>
  Value<T, E> repeat(Value<T, F> const& x, E const& extents, std::vector<std::size_t> const& axes) {
    return broadcast(x, extents, axes);
  }
  /// Axis i of the result is axis `axes[i]` of x.
  template <class E, class T, class F>
  Value<T, E> transpose(Value<T, F> const& x, E const& extents, std::vector<std::size_t> const& axes) {
    return emit_call<T>(extents, formatted("stablehlo.transpose %v{}, dims = [{}]", x.id, fmt::join(axes, ", ")),
                        formatted("({})", type_text(x)));
  }

  /// Elements [begin, end) of a vector.
  template <std::size_t Size, class T, class E>
  Value<T, Extents<Size>> slice(Value<T, E> const& x, std::size_t begin) {
    return emit_call<T>(Extents<Size>{}, formatted("stablehlo.slice %v{} [{}:{}]", x.id, begin, begin + Size),
                        formatted("({})", type_text(x)));
  }
  /// One element of a vector.
  template <class T, class E>
  Scalar<T> element(Value<T, E> const& x, std::size_t index) {
    return reshape(slice<1>(x, index), NoExtents{});
  }
  /// The part [begin, end) of each axis, every stride-th.
  template <class E, class T, class F>
  Value<T, E> slice(Value<T, F> const& x, E const& extents, std::vector<std::array<std::size_t, 3>> const& ranges) {
    std::vector<std::string> parts;
    for (auto const& [begin, end, stride] : ranges) parts.push_back(formatted("{}:{}:{}", begin, end, stride));
    return emit_call<T>(extents, formatted("stablehlo.slice %v{} [{}]", x.id, fmt::join(parts, ", ")),
                        formatted("({})", type_text(x)));
  }

  /// Vectors one after the other; of none, a vector without elements, since StableHLO concatenates one or more.
  template <class T>
  Value<T, AnyExtents> concatenate(std::vector<Value<T, AnyExtents>> const& vectors) {
    std::size_t size = 0;
    if (vectors.empty()) return emit<T>(AnyExtents{{size}}, "stablehlo.constant dense<>");
    std::vector<std::string> names, types;
    for (auto const& vector : vectors) {
      size += vector.extents.values.at(0);
      names.push_back(formatted("%v{}", vector.id));
      types.push_back(type_text(vector));
    }
    return emit_call<T>(AnyExtents{{size}}, formatted("stablehlo.concatenate {}, dim = 0", fmt::join(names, ", ")),
                        formatted("({})", fmt::join(types, ", ")));
  }

  /// Tensors side by side along the last axis; `out` are the extents of the result.
  template <class Out, class T, class... E>
  Value<T, Out> concatenate_back(Out const& out, Value<T, E> const&... parts) {
    return concatenate(out, Out::rank - 1, parts...);
  }
  /// Tensors side by side along an axis; `out` are the extents of the result.
  template <class Out, class T, class... E>
  Value<T, Out> concatenate(Out const& out, std::size_t axis, Value<T, E> const&... parts) {
    std::vector<std::string> const names{formatted("%v{}", parts.id)...}, types{type_text(parts)...};
    return emit_call<T>(out, formatted("stablehlo.concatenate {}, dim = {}", fmt::join(names, ", "), axis),
                        formatted("({})", fmt::join(types, ", ")));
  }
  /// The columns of x from `begin` on, as many as the last of the extents.
  template <class T, class E, class Out>
  Value<T, Out> columns(Value<T, E> const& x, std::size_t begin, Out const& out) {
    std::vector<std::array<std::size_t, 3>> ranges;
    for (std::size_t const extent : out.to_vector()) ranges.push_back({0, extent, 1});
    ranges.back()[0] = begin;
    ranges.back()[1] += begin;
    return slice(x, out, ranges);
  }

  // ---- sums

  template <class T, std::size_t... E>
  auto sum_back(Value<T, Extents<E...>> const& x) {
    return reduce("add", T{0}, x, without_back(x.extents), {sizeof...(E) - 1});
  }
  template <class T, std::size_t... E>
  auto max_back(Value<T, Extents<E...>> const& x) {
    return reduce("maximum", -std::numeric_limits<T>::infinity(), x, without_back(x.extents), {sizeof...(E) - 1});
  }
  template <class T, std::size_t... E>
  auto min_back(Value<T, Extents<E...>> const& x) {
    return reduce("minimum", std::numeric_limits<T>::max(), x, without_back(x.extents), {sizeof...(E) - 1});
  }
  /// Sums over all axes except the last.
  template <class T, std::size_t... E>
  auto sum_to_back(Value<T, Extents<E...>> const& x) {
    return reduce("add", T{0}, x, back_of(x.extents), first_numbers(sizeof...(E) - 1));
  }
  /// Sums over some axes.
  template <class Out, class T, class E>
  Value<T, Out> sum_over(Value<T, E> const& x, Out const& out, std::vector<std::size_t> const& axes) {
    return reduce("add", T{0}, x, out, axes);
  }
  template <class T, class E>
  Scalar<T> sum_all(Value<T, E> const& x) {
    return reduce("add", T{0}, x, NoExtents{}, first_numbers(x.extents.to_vector().size()));
  }

  // ---- products

  /// (..., k) times (k, n): (..., n).
  template <class T, std::size_t... E, std::size_t K, std::size_t N>
  auto product(Value<T, Extents<E...>> const& x, Value<T, Extents<K, N>> const& w) {
    require_same(back_of(x.extents), Extents<K>{{w.extents[0]}});
    auto const out = replace_back<N>(x.extents, w.extents[1]);
    return dot(x, w, out, {sizeof...(E) - 1}, {0});
  }
  /// (..., n) times the transpose of (k, n): (..., k).
  template <class T, std::size_t... E, std::size_t K, std::size_t N>
  auto product_transposed(Value<T, Extents<E...>> const& y, Value<T, Extents<K, N>> const& w) {
    require_same(back_of(y.extents), Extents<N>{{w.extents[1]}});
    auto const out = replace_back<K>(y.extents, w.extents[0]);
    return dot(y, w, out, {sizeof...(E) - 1}, {1});
  }
  /// (..., k) and (..., n) summed over all axes except the last: (k, n).
  template <class T, std::size_t... E, std::size_t... F>
  auto product_over_rows(Value<T, Extents<E...>> const& x, Value<T, Extents<F...>> const& y) {
    require_same(without_back(x.extents), without_back(y.extents));
    using Out =
        Extents<Extents<E...>::static_extents[sizeof...(E) - 1], Extents<F...>::static_extents[sizeof...(F) - 1]>;
    auto const rows = first_numbers(sizeof...(E) - 1);
    return dot(x, y, Out{{x.extents.back(), y.extents.back()}}, rows, rows);
  }
  /// Products of matrices, one for each element of the `batch` axes, summed over the `summed` ones. The result has the
  /// axes of the batch, the others of a, and the others of b.
  template <class Out, class T, class E, class F>
  Value<T, Out> products(Value<T, E> const& a, Value<T, F> const& b, Out const& out,
                         std::array<std::vector<std::size_t>, 2> const& batch,
                         std::array<std::vector<std::size_t>, 2> const& summed) {
    if (batch[0].empty()) return dot(a, b, out, summed[0], summed[1]);
    return emit_call<T>(
        out,
        formatted("stablehlo.dot_general %v{}, %v{}, batching_dims = [{}] x [{}], contracting_dims = [{}] x [{}], "
                  "precision = [{}, {}]",
                  a.id, b.id, fmt::join(batch[0], ", "), fmt::join(batch[1], ", "), fmt::join(summed[0], ", "),
                  fmt::join(summed[1], ", "), operand_precision(), operand_precision()),
        formatted("({}, {})", type_text(a), type_text(b)));
  }

  // ---- devices of a replica

  /// x, divided along an axis by the devices, or whole on each. They exchange x itself where it is not, and nothing
  /// that is computed from it.
  template <class T, class E>
  Value<T, E> placed(Value<T, E> const& x, std::optional<std::size_t> axis) {
    if (shards() == 1) return x;
    return emit_call<T>(x.extents,
                        formatted("stablehlo.custom_call @Sharding(%v{}) {{mhlo.sharding = \"{}\"}}", x.id,
                                  sharding_text(x.extents.to_vector().size(), axis, shards())),
                        formatted("({})", type_text(x)));
  }
  /// x, whole on each device.
  template <class T, class E>
  Value<T, E> whole(Value<T, E> const& x) {
    return placed(x, std::nullopt);
  }

  // ---- steps of a loop

  /// x[index] of the first axis, without it.
  template <class Out, class T, class E>
  Value<T, Out> at(Value<T, E> const& x, Scalar<std::int32_t> const& index, Out const& out) {
    std::vector<std::size_t> const extents = out.to_vector();
    std::vector<std::size_t> sizes = extents;
    sizes.insert(sizes.begin(), 1);
    auto const slice = emit_call<T>(AnyExtents{sizes},
                                    formatted("stablehlo.dynamic_slice %v{}, {}, sizes = [{}]", x.id,
                                              starts(index, extents.size()), fmt::join(sizes, ", ")),
                                    formatted("({}{})", type_text(x), index_types(sizes.size())));
    return reshape(slice, out);
  }
  /// x with `value` as x[index] of the first axis.
  template <class T, class E, class F>
  Value<T, E> set_at(Value<T, E> const& x, Scalar<std::int32_t> const& index, Value<T, F> const& value) {
    std::vector<std::size_t> extents = value.extents.to_vector();
    extents.insert(extents.begin(), 1);
    auto const update = reshape(value, AnyExtents{extents});
    return emit_call<T>(
        x.extents,
        formatted("stablehlo.dynamic_update_slice %v{}, %v{}, {}", x.id, update.id, starts(index, extents.size() - 1)),
        formatted("({}, {}{})", type_text(x), type_text(update), index_types(extents.size())));
  }

 private:
  /// First indices of a slice of one element of the first axis.
  std::string starts(Scalar<std::int32_t> const& index, std::size_t other_axes) {
    std::string text = formatted("%v{}", index.id);
    if (other_axes == 0) return text;
    auto const zero = constant<std::int32_t>(0);
    for (std::size_t axis = 0; axis < other_axes; ++axis) text += formatted(", %v{}", zero.id);
    return text;
  }
  static std::string index_types(std::size_t count) {
    std::string text;
    for (std::size_t axis = 0; axis < count; ++axis) text += ", tensor<i32>";
    return text;
  }

  template <class T, class E, class F>
  Value<T, E> broadcast(Value<T, F> const& x, E const& extents, std::vector<std::size_t> const& axes) {
    return emit_call<T>(extents, formatted("stablehlo.broadcast_in_dim %v{}, dims = [{}]", x.id, fmt::join(axes, ", ")),
                        formatted("({})", type_text(x)));
  }

  template <class T, class E, class Out>
  Value<T, Out> reduce(std::string_view operation, T start, Value<T, E> const& x, Out const& out,
                       std::vector<std::size_t> const& axes) {
    auto const initial = constant<T>(start);
    return emit_call<T>(out,
                        formatted("stablehlo.reduce(%v{} init: %v{}) applies stablehlo.{} across dimensions = [{}]",
                                  x.id, initial.id, operation, fmt::join(axes, ", ")),
                        formatted("({}, {})", type_text(x), type_text(initial)));
  }

  template <class T, class E, class F, class Out>
  Value<T, Out> dot(Value<T, E> const& a, Value<T, F> const& b, Out const& out, std::vector<std::size_t> const& left,
                    std::vector<std::size_t> const& right) {
    return emit_call<T>(
        out,
        formatted("stablehlo.dot_general %v{}, %v{}, contracting_dims = [{}] x [{}], precision = [{}, {}]", a.id, b.id,
                  fmt::join(left, ", "), fmt::join(right, ", "), operand_precision(), operand_precision()),
        formatted("({}, {})", type_text(a), type_text(b)));
  }
};

}  // namespace trireme::lowering
