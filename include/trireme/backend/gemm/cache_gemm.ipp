/// Products of trireme/backend/gemm/cache_gemm.hpp in common types, in the library alone.
#pragma once

#include "trireme/backend/gemm/cache_gemm.hpp"

#ifdef TRIREME_COMPILED
namespace trireme::detail {

TRIREME_PRODUCTS_OF(, float)
TRIREME_PRODUCTS_OF(, double)

}  // namespace trireme::detail
#endif
