/// Definitions of trireme/backend/execution/huge_pages.hpp.
#pragma once

#include "trireme/backend/execution/huge_pages.hpp"

#include <cstddef>
#include <cstdint>

#include "trireme/core/linkage.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace trireme::detail {

TRIREME_INLINE void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  auto const before_page = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  if (bytes < before_page + page) return;
  // Only a hint: a refusal costs speed alone.
  static_cast<void>(
      madvise(static_cast<std::byte*>(memory) + before_page, (bytes - before_page) / page * page, MADV_HUGEPAGE));
#endif
}

}  // namespace trireme::detail
