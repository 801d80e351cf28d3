/// Errors of cuBLAS and cuBLASLt as exceptions.
#pragma once

#include <Kokkos_Core.hpp>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUBLAS)
#include <cublas_v2.h>

namespace trireme::detail {

inline void check_cublas(cublasStatus_t status, char const* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Error(formatted("{} failed: {}", call, cublasGetStatusString(status)));
}

}  // namespace trireme::detail

#endif
