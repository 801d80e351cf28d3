/// Definitions of trireme/data/requirements.hpp.
#pragma once

#include "trireme/data/requirements.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::data {

TRIREME_INLINE std::vector<IndexColumns> SampleRequirements::label_columns() const {
  std::vector<IndexColumns> columns;
  std::size_t begin = 0;
  for (TargetPart const& part : targets) {
    std::size_t end = begin + 1;
    for (std::size_t const extent : part.extents) end = begin + (end - begin) * extent;
    if (part.classes != 0) columns.push_back({begin, end, part.classes, part.ignored});
    begin = end;
  }
  return columns;
}

TRIREME_INLINE bool fits(std::vector<std::size_t> given, std::vector<std::size_t> needed) {
  while (!given.empty() && given.back() == 1) given.pop_back();
  while (!needed.empty() && needed.back() == 1) needed.pop_back();
  return given == needed;
}

TRIREME_INLINE void verify_parts(std::vector<std::vector<std::size_t>> const& given,
                                 std::vector<std::size_t> const& extents,
                                 std::vector<std::vector<std::size_t>> const& needed,
                                 std::vector<std::size_t> const& all, std::string const& what,
                                 std::string const& name) {
  auto const text = [](std::vector<std::vector<std::size_t>> const& parts) {
    std::vector<std::string> texts;
    for (auto const& part : parts) texts.push_back(format_extents(part));
    return joined(texts, " and ");
  };
  if (given.empty() && (needed.empty() || fits(extents, all))) return;
  auto const parts_of = [](auto const& parts, std::vector<std::size_t> const& one) {
    return parts.empty() ? std::vector<std::vector<std::size_t>>{one} : parts;
  };
  auto const have = parts_of(given, extents), takes = parts_of(needed, all);
  bool equal = have.size() == takes.size();
  for (std::size_t i = 0; equal && i < have.size(); ++i) equal = fits(have[i], takes[i]);
  if (!equal)
    throw ShapeError(
        formatted("{} of {} have the extents {}, but the model takes {}", what, name, text(have), text(takes)));
}

TRIREME_INLINE void verify_extents(GivenExtents const& x, GivenExtents const& y, SampleRequirements const& needed) {
  std::vector<std::vector<std::size_t>> targets;
  for (TargetPart const& part : needed.targets) targets.push_back(part.extents);
  if (!x.parts.empty() || !needed.inputs.empty())
    verify_parts(x.parts, x.extents, needed.inputs, needed.x_extents, "samples", x.name);
  else if (!fits(x.extents, needed.x_extents))
    throw ShapeError(formatted("samples of {} have the extents {}, but the model takes {}", x.name,
                               format_extents(x.extents), format_extents(needed.x_extents)));
  if (!y.parts.empty() || !needed.targets.empty())
    verify_parts(y.parts, y.extents, targets, needed.target_extents, "targets", y.name);
  else if (!fits(y.extents, needed.target_extents))
    throw ShapeError(formatted("targets of {} have the extents {}, but the model's output and loss need {}{}", y.name,
                               format_extents(y.extents), format_extents(needed.target_extents),
                               needed.classes == 0 ? "" : " (class indices)"));
}

}  // namespace trireme::data
