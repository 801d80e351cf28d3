/// Products with an epilogue by cuBLASLt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/cublas_status.hpp"
#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/product.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUBLASLT)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace trireme::detail {

/// Products with epilogues on one instance. The library is asked for an algorithm once for each shape, layout and
/// alignment of a product, and the answer is kept, as is an answer that it has none. Its workspace is allocated with
/// the first algorithm: a product whose like has been computed allocates nothing, and can be recorded.
///
/// Results are the same in each run. Numbers are multiplied and added in the type of the operands, float
/// without TF32 unless they are short numbers; sums that are split along the depth have their parts in the workspace
/// and are added in a separate step, in order (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE); algorithms that add in place
/// are not taken.
class CublasLt {
 public:
  /// \param handle  has to live as long. cuBLASLt takes one of cuBLAS.
  explicit CublasLt(cublasHandle_t handle) : handle_(reinterpret_cast<cublasLtHandle_t>(handle)) {}

  /// Enqueues the product with its epilogue. False if the library has no such product; then nothing is enqueued.
  template <class T, class Epilogue>
  bool multiply(Kokkos::Cuda const& space, Product<T> const& p, Epilogue const& epilogue) {
    if (p.m == 0 || p.n == 0 || p.k == 0) return false;
    std::optional<Request> const request = request_of(p, epilogue);
    if (!request) return false;
    Plan& plan = plan_for(space, p, *request);
    if (!plan.taken) return false;
    plan.set_pointers(*request);
    T const alpha = 1, beta = p.accumulate ? T{1} : T{0};
    // Column-major: the transposed problem has the same memory layout as ours.
    cublasStatus_t const status =
        cublasLtMatmul(handle_, plan.operation.get(), &alpha, p.b, plan.left.get(), p.a.block(), plan.right.get(),
                       &beta, request->results, plan.results.get(), request->results, plan.results.get(),
                       &plan.algorithm, workspace_, workspace_bytes_, space.cuda_stream());
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return plan.taken = false;
    check_cublas(status, "cublasLtMatmul");
    return true;
  }

 private:
  /// An epilogue in the library's terms.
  struct Request {
    cublasLtEpilogue_t epilogue;
    void const* vector;  ///< the bias; null for none
    void* auxiliary;     ///< what the activation is applied to; null for none
    void* results;
  };

  struct Destroy {
    void operator()(cublasLtMatmulDescOpaque_t* operation) const { cublasLtMatmulDescDestroy(operation); }
    void operator()(cublasLtMatrixLayoutOpaque_t* layout) const { cublasLtMatrixLayoutDestroy(layout); }
    void operator()(cublasLtMatmulPreferenceOpaque_t* preference) const { cublasLtMatmulPreferenceDestroy(preference); }
  };
  using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy>;
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;
  using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy>;

  struct Plan {
    Operation operation;
    Layout left, right, results;  ///< of the column-major problem
    cublasLtMatmulAlgo_t algorithm{};
    bool taken = false;

    void set_pointers(Request const& request) const {
      if (request.vector) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, request.vector);
      if (request.auxiliary) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, request.auxiliary);
    }
  };

  /// Extents, layout, epilogue and alignments of a product, for which the library chooses an algorithm.
  using Key = std::array<std::uint64_t, 14>;
  static constexpr std::size_t most_plans = 256;
  static constexpr std::size_t workspace_alignment = 256;

  template <class T, class A>
  static std::optional<Request> request_of(Product<T> const& p, BiasActivationEpilogue<T, A> const& epilogue) {
    bool const keeps_argument = epilogue.y != p.c;
    if constexpr (vendor_activation<A> == VendorActivation::linear) {
      if (keeps_argument || !epilogue.bias) return std::nullopt;
      return Request{CUBLASLT_EPILOGUE_BIAS, epilogue.bias, nullptr, p.c};
    } else {
      static_assert(vendor_activation<A> == VendorActivation::tanh_gelu);
      // The library wants rows of the argument at a distance of eight elements.
      if (keeps_argument && (p.accumulate || p.ldc % 8 != 0)) return std::nullopt;
      cublasLtEpilogue_t const kind =
          keeps_argument ? (epilogue.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX)
                         : (epilogue.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU);
      return Request{kind, epilogue.bias, keeps_argument ? p.c : nullptr, epilogue.y};
    }
  }

  /// Bytes that divide an address, of which more than a vector's sixteen make no difference.
  static std::uint32_t alignment_of(void const* address) {
    auto const bits = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address)) | 16u;
    return bits & (~bits + 1u);
  }

  template <class Value>
  static void set(Operation const& operation, cublasLtMatmulDescAttributes_t attribute, Value const& value) {
    check_cublas(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof(value)),
                 "cublasLtMatmulDescSetAttribute");
  }
  template <class Value>
  static void set(Preference const& preference, cublasLtMatmulPreferenceAttributes_t attribute, Value const& value) {
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
                 "cublasLtMatmulPreferenceSetAttribute");
  }
  template <class T>
  static Layout layout(std::size_t rows, std::size_t columns, std::size_t ld) {
    cublasLtMatrixLayout_t made{};
    check_cublas(cublasLtMatrixLayoutCreate(&made, cublas_type<T>, rows, columns, static_cast<std::int64_t>(ld)),
                 "cublasLtMatrixLayoutCreate");
    return Layout(made);
  }

  template <class T>
  Plan& plan_for(Kokkos::Cuda const& space, Product<T> const& p, Request const& request) {
    Key const key{sizeof(T),
                  static_cast<std::uint64_t>(request.epilogue),
                  std::uint64_t{p.transpose_a} | std::uint64_t{p.transpose_b} << 1 | std::uint64_t{p.accumulate} << 2 |
                      std::uint64_t{p.short_operands} << 3,
                  p.m,
                  p.n,
                  p.k,
                  p.lda,
                  p.ldb,
                  p.ldc,
                  alignment_of(p.a.block()),
                  alignment_of(p.b),
                  alignment_of(request.results),
                  alignment_of(request.vector),
                  alignment_of(request.auxiliary)};
    auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
    if (plans_.size() == most_plans) plans_.clear();
    return plans_.emplace(key, make_plan(space, p, request)).first->second;
  }

  template <class T>
  Plan make_plan(Kokkos::Cuda const& space, Product<T> const& p, Request const& request) {
    allocate_workspace(space);
    Plan plan;
    cublasLtMatmulDesc_t operation{};
    check_cublas(cublasLtMatmulDescCreate(&operation, cublas_arithmetic(p), cublas_type<T>),
                 "cublasLtMatmulDescCreate");
    plan.operation.reset(operation);
    set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, request.epilogue);
    if (request.auxiliary) set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(p.ldc));
    plan.set_pointers(request);  // their alignment matters
    plan.left = p.transpose_b ? layout<T>(p.k, p.n, p.ldb) : layout<T>(p.n, p.k, p.ldb);
    plan.right = p.transpose_a ? layout<T>(p.m, p.k, p.lda) : layout<T>(p.k, p.m, p.lda);
    plan.results = layout<T>(p.n, p.m, p.ldc);

    cublasLtMatmulPreference_t made{};
    check_cublas(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    Preference const preference(made);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes_});
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a.block()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(request.results));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(request.results));
    cublasLtMatmulHeuristicResult_t best{};
    int count = 0;
    cublasStatus_t const status =
        cublasLtMatmulAlgoGetHeuristic(handle_, plan.operation.get(), plan.left.get(), plan.right.get(),
                                       plan.results.get(), plan.results.get(), preference.get(), 1, &best, &count);
    // Which types and layouts an epilogue takes depends on the version of the library.
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return plan;
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
    plan.taken = count > 0 && best.state == CUBLAS_STATUS_SUCCESS;
    plan.algorithm = best.algo;
    return plan;
  }

  /// As much as cuBLAS recommends: 32 MiB from compute capability 9.0 on, 4 MiB before.
  void allocate_workspace(Kokkos::Cuda const& space) {
    if (workspace_) return;
    workspace_bytes_ = std::size_t{space.cuda_device_prop().major >= 9 ? 32u : 4u} << 20;
    memory_ = Kokkos::View<std::byte*, Kokkos::CudaSpace>(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "trireme::cublaslt_workspace"),
        workspace_bytes_ + workspace_alignment);
    auto const past = reinterpret_cast<std::uintptr_t>(memory_.data()) % workspace_alignment;
    workspace_ = memory_.data() + (past == 0 ? 0 : workspace_alignment - past);
  }

  cublasLtHandle_t handle_;
  std::map<Key, Plan> plans_;
  Kokkos::View<std::byte*, Kokkos::CudaSpace> memory_;
  std::byte* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
};

/// True for epilogues that the library may have. Its GELU is exact to 1e-9 alone, in double too. Sums of columns
/// (BGRADA) are not among them: they are a kernel of its own behind the product, with one block of threads for a narrow
/// matrix, and leave the choice of slower products.
template <class Epilogue>
inline constexpr bool has_cublas_lt_epilogue = false;
template <class T, class A>
inline constexpr bool has_cublas_lt_epilogue<BiasActivationEpilogue<T, A>> =
    vendor_activation<A> == VendorActivation::linear ||
    (vendor_activation<A> == VendorActivation::tanh_gelu && std::is_same_v<T, float>);

}  // namespace trireme::detail

#endif
