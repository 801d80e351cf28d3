/// Embedding in a program: rows of its table are gathered, and their gradients scattered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/core/text.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/pjrt/lowering/layer.hpp"

namespace trireme::lowering {

template <std::size_t Vocabulary, std::size_t Dim>
struct LayerLowering<Embedding<Vocabulary, Dim>> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Embedding<Vocabulary, Dim> const& layer, Value<T, E> const& x) {
    Builder& b = trace.builder();
    std::size_t const positions = x.extents.size(), dim = layer.dim;
    Extents<dynamic, dynamic> const rows{{positions, dim}};
    auto const table = trace.parameter(Extents<Vocabulary, Dim>{{layer.vocabulary, layer.dim}}, {0, 1});
    auto const flat = b.reshape(x, Extents<dynamic>{{positions}});
    auto const zero = b.constant_like<T>(T{0}, flat);
    auto const end = b.constant_like<T>(static_cast<T>(std::size_t{layer.vocabulary}), flat);
    // A number that is no index reads zeros and trains nothing, as in the kernels.
    auto const is_index = b.binary<"and">(b.compare<"GE">(flat, zero), b.compare<"LT">(flat, end));
    auto const indices =
        b.reshape(b.convert<std::int32_t>(b.select(is_index, flat, zero)), Extents<dynamic, 1>{{positions, 1}});
    auto const is_read = b.repeat_back(is_index, rows);
    auto const none = b.constant<T>(T{0}, rows);
    auto const read = b.emit_call<T>(
        rows,
        formatted("\"stablehlo.gather\"(%v{}, %v{}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
                  "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: "
                  "1, {}>, indices_are_sorted = false}}>",
                  table.value.id, indices.id, dim),
        formatted("({}, {})", type_text(table.value), type_text(indices)));
    auto const out = with_rows(x.extents[0], layer.output(without_front(x.extents)));
    auto const y = b.reshape(b.select(is_read, read, none), out);
    return Lowered{y, [=, in = x.extents](Trace<T>& t, decltype(y) const& dy) {
                     Builder& back = t.builder();
                     auto const updates = back.select(is_read, back.reshape(dy, rows), none);
                     auto const start = back.constant<T>(T{0}, table.value.extents);
                     auto const gradient = back.emit_call<T>(
                         table.value.extents,
                         formatted("\"stablehlo.scatter\"(%v{0}, %v{1}, %v{2}) <{{scatter_dimension_numbers = "
                                   "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
                                   "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = "
                                   "false, unique_indices = false}}> ({{\n"
                                   "  ^bb0(%l: {3}, %r: {3}):\n"
                                   "    %s = stablehlo.add %l, %r : {3}\n"
                                   "    stablehlo.return %s : {3}\n  }})",
                                   start.id, indices.id, updates.id, type_text(element_of<T>, {})),
                         formatted("({}, {}, {})", type_text(start), type_text(indices), type_text(updates)));
                     t.set_gradient(table, gradient);
                     return back.constant<T>(T{0}, in);
                   }};
  }
};

}  // namespace trireme::lowering
