/// Sums over the replicas of a program, and over those of all processes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/trace.hpp"

namespace trireme::lowering {

/// Each tensor summed over all replicas, in one exchange.
template <class T>
std::vector<Value<T, AnyExtents>> sum_replicas(Builder& b, std::vector<Value<T, AnyExtents>> const& tensors,
                                               std::size_t replicas) {
  if (replicas == 1 || tensors.empty()) return tensors;
  if (b.shards() > 1 && tensors.size() > 1) {  // the compiler keeps the division of a single tensor only
    std::vector<Value<T, AnyExtents>> sums;
    for (auto const& tensor : tensors) sums.push_back(sum_replicas<T>(b, {tensor}, replicas)[0]);
    return sums;
  }
  std::vector<std::string> names, types;
  for (auto const& tensor : tensors) {
    names.push_back(formatted("%v{}", tensor.id));
    types.push_back(type_text(tensor));
  }
  std::size_t const first = b.next_id();
  std::string const scalar = type_text(element_of<T>, {}), all = formatted("({})", fmt::join(types, ", "));
  b.line(formatted("%v{}{} = \"stablehlo.all_reduce\"({}) <{{replica_groups = dense<[[{}]]> : tensor<1x{}xi64>}}> ({{",
                   first, tensors.size() == 1 ? "" : formatted(":{}", tensors.size()), fmt::join(names, ", "),
                   fmt::join(first_numbers(replicas), ", "), replicas));
  b.line(formatted("^bb0(%l: {0}, %r: {0}):", scalar));
  b.line(formatted("  %s = stablehlo.add %l, %r : {}", scalar));
  b.line(formatted("  stablehlo.return %s : {}", scalar));
  b.line(formatted("}}) : {} -> {}", all, tensors.size() == 1 ? types[0] : all));
  std::vector<Value<T, AnyExtents>> results;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t id = first;
    if (tensors.size() > 1) {
      id = b.next_id();  // one of several results can only be an operand; the reshape names it
      b.line(formatted("%v{} = stablehlo.reshape %v{}#{} : ({}) -> {}", id, first, i, types[i], types[i]));
    }
    results.push_back({tensors[i].extents, id});
    b.defined(results.back());
  }
  return results;
}

/// Each tensor summed over the global batch: the replicas of all processes, in one exchange.
template <class T>
std::vector<Value<double, AnyExtents>> sum_global_batch(Trace<T>& trace,
                                                        std::vector<Value<double, AnyExtents>> const& tensors) {
  Builder& b = trace.builder();
  auto const sums = sum_replicas(b, tensors, trace.rows().replicas);
  return trace.rows().several_processes ? b.sum_processes(sums) : sums;
}

}  // namespace trireme::lowering
