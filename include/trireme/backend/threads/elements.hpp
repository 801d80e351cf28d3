/// Loops of one host thread over elements.
#pragma once

#include <cstddef>

#include "trireme/backend/simd/simd.hpp"

namespace trireme::detail {

/// f(i) for begin <= i < end, vectorised; calls f.elements(begin, end) instead if f has it.
template <class F>
void for_each_element(std::size_t begin, std::size_t end, F const& f) {
  if constexpr (requires { f.elements(begin, end); }) {
    f.elements(begin, end);
  } else {
    F const body = f;  // a copy, whose members the loop's stores cannot alias
    TRIREME_SIMD
    for (std::size_t i = begin; i < end; ++i) body(i);
  }
}

}  // namespace trireme::detail
