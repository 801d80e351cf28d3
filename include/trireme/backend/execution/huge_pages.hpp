/// Huge pages for large host memory.
#pragma once

#include <cstddef>

namespace trireme::detail {

/// Requests huge pages for the whole ones in [memory, memory + bytes), before the memory is first written: columns of
/// large matrices, and gradients, weights and slots side by side, span more ordinary pages than a core's TLB holds.
/// Nothing happens where there are no such pages.
void ask_for_huge_pages(void* memory, std::size_t bytes);

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/backend/execution/huge_pages.ipp"
#endif
