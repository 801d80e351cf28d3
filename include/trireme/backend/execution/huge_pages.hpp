/// Huge pages for large host memory.
#pragma once

#include <cstddef>

namespace trireme::detail {

/// Asks the system for huge pages in the whole ones of [memory, memory + bytes), before the memory is first written.
/// Columns of large matrices, and gradients, weights and slots side by side, lie on more ordinary pages than a core has
/// addresses of. Nothing happens where there are no such pages, or the system gives them to nobody.
void ask_for_huge_pages(void* memory, std::size_t bytes);

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/backend/execution/huge_pages.ipp"
#endif
