/// Joins of tensors, by the configuration of a reference case.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "parity/layers.hpp"
#include "parity/reference.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::test {

inline Extents<dynamic, dynamic> part_extents(ReferenceCase const& c, std::string const& x) {
  std::vector<std::size_t> const shape = c.description.at("arrays").at(x).at("shape");
  BOOST_REQUIRE_EQUAL(shape.size(), 3u);
  return {{shape[1], shape[2]}};
}

/// False where extents before the last axis differ: Keras's Add repeats them, and its Concatenate joins any axis.
inline bool same_but_last(ReferenceCase const& c, bool last_too) {
  auto const first = part_extents(c, "x0");
  for (std::size_t i = 1; c.has("x" + std::to_string(i)); ++i) {
    auto const other = part_extents(c, "x" + std::to_string(i));
    if (other[0] != first[0] || (last_too && other[1] != first[1])) return false;
  }
  return true;
}

template <class L, class Case>
void check_join(Case const& c, L const& layer) {
  if (c.has("x2"))
    check_layer_in(c, layer, Parts{std::tuple{part_extents(c, "x0"), part_extents(c, "x1"), part_extents(c, "x2")}});
  else
    check_layer_in(c, layer, Parts{std::tuple{part_extents(c, "x0"), part_extents(c, "x1")}});
}

template <class Case>
bool join_layer(Case const& c, nlohmann::json const& config) {
  bool const adds = c.class_name() == "Add";
  if (!same_but_last(c, adds) || (!adds && config.at("axis") != -1 && config.at("axis") != 2)) return false;
  if (adds)
    check_join(c, Add{});
  else
    check_join(c, Concatenate{});
  return true;
}

template <class Case>
void check_joins() {
  check_layers<Case>({"Add", "Concatenate"}, false,
                     [](auto const& c, nlohmann::json const& config) { return join_layer(c, config); });
}

}  // namespace trireme::test
