/// Loops of a fixed number of steps in a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/builder.hpp"

namespace trireme::lowering {

/// So many steps are written one after the other; more are a loop of the program, which compiles in less time.
inline constexpr std::size_t most_unrolled_steps = 4;

/// Values after `count` steps from `values`. `step(index, values)` writes one step and returns the values after it, of
/// the same extents.
template <class T, class Step>
std::vector<Value<T, AnyExtents>> repeat_steps(Builder& b, std::size_t count, std::vector<Value<T, AnyExtents>> values,
                                               Step const& step) {
  if (count <= most_unrolled_steps) {
    for (std::size_t i = 0; i < count; ++i)
      values = step(b.constant<std::int32_t>(static_cast<std::int32_t>(i)), values);
    return values;
  }
  Scalar<std::int32_t> const first = b.constant<std::int32_t>(0), index{{}, b.next_id()};
  std::string const counter = type_text(index), answer = type_text(Element::i1, {});
  std::string bindings = formatted("%v{} = %v{}", index.id, first.id), types = counter;
  std::vector<Value<T, AnyExtents>> carried;
  for (auto const& value : values) {
    carried.push_back({value.extents, b.next_id()});
    bindings += formatted(", %v{} = %v{}", carried.back().id, value.id);
    types += ", " + type_text(value);
  }
  std::size_t const results = b.next_id();
  b.line(formatted("%v{}:{} = stablehlo.while({}) : {}", results, values.size() + 1, bindings, types));
  b.line("cond {");
  auto const end = b.constant<std::int32_t>(static_cast<std::int32_t>(count));
  b.line(formatted("stablehlo.return %v{} : {}", b.compare<"LT">(index, end).id, answer));
  b.line("} do {");
  auto const after = step(index, carried);
  std::string returned = formatted("%v{}", b.add(index, b.constant<std::int32_t>(1)).id);
  for (std::size_t i = 0; i < after.size(); ++i) {
    require_same(after[i].extents, values[i].extents);
    returned += formatted(", %v{}", after[i].id);
  }
  b.line(formatted("stablehlo.return {} : {}", returned, types));
  b.line("}");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string const type = type_text(values[i]);
    values[i].id = b.next_id();  // one of several results can only be an operand; the reshape names it
    b.line(formatted("%v{} = stablehlo.reshape %v{}#{} : ({}) -> {}", values[i].id, results, i + 1, type, type));
    b.defined(values[i]);
  }
  return values;
}

}  // namespace trireme::lowering
