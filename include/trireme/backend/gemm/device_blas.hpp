/// Matrix products of the vendor's BLAS on a device, where it is linked.
#pragma once

#include <memory>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/cublas_lt.hpp"
#include "trireme/backend/gemm/cublas_status.hpp"
#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUBLAS)
#include <cublas_v2.h>
#endif
#if defined(KOKKOS_ENABLE_HIP) && defined(TRIREME_HAVE_ROCBLAS)
#include <rocblas/rocblas.h>
#endif

namespace trireme::detail {

/// The state that a context keeps between products of a vendor's library; empty where none is linked.
///
/// A product with an epilogue (epilogue.hpp) is one call, or is declined: then the result is false, and nothing is
/// enqueued. `may_take` is false for epilogues that are always declined.
template <class Space>
struct DeviceBlas {
  static constexpr bool portable = true;

  explicit DeviceBlas(Space const&) {}
};

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUBLAS)

template <>
struct DeviceBlas<Kokkos::Cuda> {
  static constexpr bool portable = false;
#ifdef TRIREME_HAVE_CUBLASLT
  template <class Epilogue>
  static constexpr bool may_take = has_cublas_lt_epilogue<Epilogue>;
#else
  template <class Epilogue>
  static constexpr bool may_take = false;
#endif

  explicit DeviceBlas(Kokkos::Cuda const& space) {
    cublasHandle_t handle{};
    set_device(space);  // the handle's
    check_cublas(cublasCreate(&handle), "cublasCreate");
    handle_ = std::shared_ptr<cublasContext>(handle, [](cublasHandle_t h) { cublasDestroy(h); });
    check_cublas(cublasSetStream(handle, space.cuda_stream()), "cublasSetStream");
#ifdef TRIREME_HAVE_CUBLASLT
    lt_ = std::make_shared<CublasLt>(handle);
#endif
  }

  template <class T>
  void gemm(Kokkos::Cuda const& space, ProductBatch<T> const& batch) const {
    set_device(space);
    for (std::size_t i = 0; i < batch.group; ++i) multiply(batch[i], batch);
  }
  template <class T, class Epilogue>
  bool gemm(Kokkos::Cuda const& space, Product<T> const& product, Epilogue const& epilogue) const {
#ifdef TRIREME_HAVE_CUBLASLT
    if constexpr (has_cublas_lt_epilogue<Epilogue>) {
      set_device(space);
      return lt_->multiply(space, product, epilogue);
    }
#endif
    return false;
  }

 private:
  static void set_device(Kokkos::Cuda const& space) {
    cudaError_t const status = cudaSetDevice(space.cuda_device());
    if (status != cudaSuccess) throw Error(formatted("{} failed: {}", "cudaSetDevice", cudaGetErrorString(status)));
  }

  /// The products of one place of each group.
  template <class T>
  void multiply(Product<T> const& p, ProductBatch<T> const& batch) const {
    // cuBLAS is column-major: the transposed problem has the same memory layout as ours.
    auto const op_a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    auto const op_b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    T const alpha = 1, beta = p.accumulate ? T{1} : T{0};
    auto const m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    auto const lda = static_cast<int>(p.lda), ldb = static_cast<int>(p.ldb), ldc = static_cast<int>(p.ldc);
    auto const a_stride = static_cast<long long>(batch.groups.a), b_stride = static_cast<long long>(batch.groups.b),
               c_stride = static_cast<long long>(batch.groups.c);
    auto const count = static_cast<int>(batch.count);
    constexpr cudaDataType_t type = cublas_type<T>;
    cublasComputeType_t const arithmetic = cublas_arithmetic(p);
    cublasHandle_t const handle = handle_.get();
    // A single product may be split along its depth, those of a batch are not.
    if (count == 1)
      check_cublas(cublasGemmEx(handle, op_b, op_a, n, m, k, &alpha, p.b, type, ldb, p.a.block(), type, lda, &beta, p.c,
                                type, ldc, arithmetic, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmEx");
    else
      check_cublas(cublasGemmStridedBatchedEx(handle, op_b, op_a, n, m, k, &alpha, p.b, type, ldb, b_stride,
                                              p.a.block(), type, lda, a_stride, &beta, p.c, type, ldc, c_stride, count,
                                              arithmetic, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmStridedBatchedEx");
  }

  std::shared_ptr<cublasContext> handle_;
#ifdef TRIREME_HAVE_CUBLASLT
  std::shared_ptr<CublasLt> lt_;  ///< uses the handle
#endif
};

#endif

#if defined(KOKKOS_ENABLE_HIP) && defined(TRIREME_HAVE_ROCBLAS)

inline void check_rocblas(rocblas_status status, char const* call) {
  if (status != rocblas_status_success) throw Error(formatted("{} failed: {}", call, rocblas_status_to_string(status)));
}

/// It has products alone: epilogues are declined.
template <>
struct DeviceBlas<Kokkos::HIP> {
  static constexpr bool portable = false;
  template <class Epilogue>
  static constexpr bool may_take = false;

  explicit DeviceBlas(Kokkos::HIP const& space) {
    rocblas_handle handle{};
    set_device(space);  // the handle's
    check_rocblas(rocblas_create_handle(&handle), "rocblas_create_handle");
    handle_ = std::shared_ptr<_rocblas_handle>(handle,
                                               [](rocblas_handle h) { static_cast<void>(rocblas_destroy_handle(h)); });
    check_rocblas(rocblas_set_stream(handle, space.hip_stream()), "rocblas_set_stream");
    // Sums by atomic operations differ from run to run. The call is deprecated since they are to be off by default.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    check_rocblas(rocblas_set_atomics_mode(handle, rocblas_atomics_not_allowed), "rocblas_set_atomics_mode");
#pragma clang diagnostic pop
  }

  template <class T>
  void gemm(Kokkos::HIP const& space, ProductBatch<T> const& batch) const {
    set_device(space);
    for (std::size_t i = 0; i < batch.group; ++i) multiply(batch[i], batch);
  }
  template <class T, class Epilogue>
  bool gemm(Kokkos::HIP const&, Product<T> const&, Epilogue const&) const {
    return false;
  }

 private:
  static void set_device(Kokkos::HIP const& space) {
    hipError_t const status = hipSetDevice(space.hip_device());
    if (status != hipSuccess) throw Error(formatted("{} failed: {}", "hipSetDevice", hipGetErrorString(status)));
  }

  /// The products of one place of each group, as the transposed problem: rocBLAS is column-major.
  template <class T>
  void multiply(Product<T> const& p, ProductBatch<T> const& batch) const {
    auto const op_a = p.transpose_a ? rocblas_operation_transpose : rocblas_operation_none;
    auto const op_b = p.transpose_b ? rocblas_operation_transpose : rocblas_operation_none;
    T const alpha = 1, beta = p.accumulate ? T{1} : T{0};
    auto const m = static_cast<rocblas_int>(p.m), n = static_cast<rocblas_int>(p.n), k = static_cast<rocblas_int>(p.k);
    auto const lda = static_cast<rocblas_int>(p.lda), ldb = static_cast<rocblas_int>(p.ldb),
               ldc = static_cast<rocblas_int>(p.ldc);
    auto const a_stride = static_cast<rocblas_stride>(batch.groups.a),
               b_stride = static_cast<rocblas_stride>(batch.groups.b),
               c_stride = static_cast<rocblas_stride>(batch.groups.c);
    auto const count = static_cast<rocblas_int>(batch.count);
    rocblas_handle const handle = handle_.get();
    if constexpr (sizeof(T) == sizeof(float))
      check_rocblas(rocblas_sgemm_strided_batched(handle, op_b, op_a, n, m, k, &alpha, p.b, ldb, b_stride, p.a.block(),
                                                  lda, a_stride, &beta, p.c, ldc, c_stride, count),
                    "rocblas_sgemm_strided_batched");
    else
      check_rocblas(rocblas_dgemm_strided_batched(handle, op_b, op_a, n, m, k, &alpha, p.b, ldb, b_stride, p.a.block(),
                                                  lda, a_stride, &beta, p.c, ldc, c_stride, count),
                    "rocblas_dgemm_strided_batched");
  }

  std::shared_ptr<_rocblas_handle> handle_;
};

#endif

}  // namespace trireme::detail
