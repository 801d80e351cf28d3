/// Requirements of a model on the samples of a dataset, from its description and its head.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/data/requirements.hpp"
#include "trireme/models/weight_table.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme::detail {

/// Columns of a sample whose numbers are looked up in a vocabulary.
template <class InputExtents>
std::vector<data::IndexColumns> index_columns(InputExtents const& input, ModelDescription const& model) {
  std::vector<data::IndexColumns> columns;
  auto vocabulary = model.vocabularies.begin();
  for_each_part(input, [&](auto const& part, std::size_t before) {
    if (*vocabulary != 0) columns.push_back({before, before + part.size(), *vocabulary});
    ++vocabulary;
  });
  return columns;
}

template <class Head>
data::SampleRequirements sample_requirements(ModelDescription const& model, Head const& head,
                                             std::vector<data::IndexColumns> indices = {}) {
  data::SampleRequirements needed{.x_extents = model.input, .target_extents = {}, .indices = std::move(indices)};
  if (model.inputs.size() > 1) needed.inputs = model.inputs;
  if constexpr (requires { head.target_parts(); }) {
    needed.target_extents = {head.target_size()};
    needed.targets = head.target_parts();
  } else {
    needed.target_extents = model.output;
    if constexpr (Head::class_labels) {
      needed.target_extents.pop_back();
      needed.classes = head.classes();
    }
    needed.ignored = head.ignored_label();
  }
  return needed;
}

}  // namespace trireme::detail
