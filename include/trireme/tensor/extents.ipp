/// Definitions of trireme/tensor/extents.hpp.
#pragma once

#include "trireme/tensor/extents.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

TRIREME_INLINE std::string format_extents(std::vector<std::size_t> const& extents) {
  std::string text = "(";
  for (std::size_t const extent : extents) {
    if (text.size() > 1) text += ", ";
    text += formatted("{}", extent);
  }
  text += extents.size() == 1 ? ",)" : ")";
  return text;
}

}  // namespace trireme
