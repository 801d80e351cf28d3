/// Errors of cuBLAS and cuBLASLt as exceptions, and their types of numbers.
#pragma once

#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUBLAS)
#include <cublas_v2.h>

namespace trireme::detail {

inline void check_cublas(cublasStatus_t status, char const* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Error(formatted("{} failed: {}", call, cublasGetStatusString(status)));
}

template <class T>
  requires std::is_same_v<T, float> || std::is_same_v<T, double>
inline constexpr cudaDataType_t cublas_type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

/// The type in which operands are multiplied and added: TF32 for short numbers alone.
template <class T>
cublasComputeType_t cublas_arithmetic(Product<T> const& product) {
  if (std::is_same_v<T, double>) return CUBLAS_COMPUTE_64F;
  return product.short_operands ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace trireme::detail

#endif
