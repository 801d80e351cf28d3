/// Instances of trireme/backend/gemm/split_gemm.hpp, in the library alone.
#pragma once

#include "trireme/backend/gemm/split_gemm.hpp"

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "trireme/backend/gemm/product.hpp"

#ifdef TRIREME_COMPILED
namespace trireme::detail {

template void split_gemm(Kokkos::DefaultHostExecutionSpace const&, std::size_t, Product<float> const&);
template void split_gemm(Kokkos::DefaultHostExecutionSpace const&, std::size_t, Product<double> const&);

}  // namespace trireme::detail
#endif
