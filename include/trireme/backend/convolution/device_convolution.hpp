/// Convolutions on a device by its vendor's library, where it is linked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/convolution/convolution_pass.hpp"
#include "trireme/backend/convolution/cudnn.hpp"
#include "trireme/backend/convolution/cudnn_plan.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/arena.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUDNN)
#include <cudnn.h>
#endif

namespace trireme::detail {

/// The state that a context keeps between convolutions on a space; empty without a vendor's library.
///
/// A specialization that is `available` has
/// - `plan<T>(space, convolution, x, y)`: a shared pointer to what computes the convolution, null where the library
/// cannot.
///   It allocates what is needed: a convolution whose like has been planned allocates nothing, and can be recorded;
/// - `kernel<T>()`: memory for the kernel in the vendor's layout, large enough for each one that was planned;
/// - `enqueue<T>(space, plan, x, kernel, y)`: the pass that was planned reads two of them, and writes the third.
template <class Space>
class DeviceConvolution {
 public:
  static constexpr bool available = false;

  explicit DeviceConvolution(Space const&) {}
  static constexpr void list_addresses(std::vector<std::uint64_t>&) {}
};

#if defined(KOKKOS_ENABLE_CUDA) && defined(TRIREME_HAVE_CUDNN)

/// cuDNN chooses a kernel once for each convolution, number of rows and alignment.
template <>
class DeviceConvolution<Kokkos::Cuda> {
 public:
  static constexpr bool available = true;

  explicit DeviceConvolution(Kokkos::Cuda const&) : state_(std::make_shared<State>()) {}

  template <class T>
  std::shared_ptr<CudnnPlan const> plan(Kokkos::Cuda const& space, VendorConvolution const& c, T const* x,
                                        T const* y) const {
    Window2D const& w = c.window;
    std::size_t const alignment = alignment_of(x, y);
    Key key{sizeof(T), static_cast<std::uint64_t>(c.pass), c.rows, c.filters, w.channels,
            alignment, std::uint64_t{c.short_operands}};
    std::size_t at = 7;
    for (WindowAxis const& axis : {w.height, w.width})
      for (std::size_t const part : {axis.in, axis.out, axis.window, axis.stride, axis.dilation, axis.padding})
        key[at++] = part;
    State& state = *state_;
    auto found = state.plans.find(key);
    if (found == state.plans.end()) {
      if (state.plans.size() == most_plans) {
        state.plans.clear();
        ++state.generation;
      }
      set_device(space);
      CudnnPlanner<T> const planner(CudnnTarget{state.handle_on(space)});
      found = state.plans.emplace(key, planner.plan(c, alignment)).first;
    }
    if (!found->second) return nullptr;
    grow(space, state.workspace, found->second->workspace_bytes);
    grow(space, state.kernel, w.taps() * w.channels * c.filters * sizeof(T));
    return found->second;
  }

  template <class T>
  T* kernel() const {
    return reinterpret_cast<T*>(state_->kernel.data());
  }

  template <class T>
  void enqueue(Kokkos::Cuda const& space, CudnnPlan const& plan, T const* x, T const* kernel, T const* y) const {
    using Planner = CudnnPlanner<T>;
    set_device(space);  // the handle's
    std::array const names{std::int64_t{Planner::images}, std::int64_t{Planner::kernel},
                           std::int64_t{Planner::outputs}};
    std::array const tensors{pointer(x), pointer(kernel), pointer(y)};
    CudnnDescriptor const operands(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    operands.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<std::int64_t const>(names));
    operands.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(tensors));
    operands.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(state_->workspace.data()));
    check_cudnn(cudnnBackendFinalize(operands.get()), "cudnnBackendFinalize");
    check_cudnn(cudnnBackendExecute(state_->handle.get(), plan.get(), operands.get()), "cudnnBackendExecute");
  }

  void list_addresses(std::vector<std::uint64_t>& all) const {
    all.push_back(reinterpret_cast<std::uintptr_t>(state_->workspace.data()));
    all.push_back(reinterpret_cast<std::uintptr_t>(state_->kernel.data()));
    all.push_back(state_->generation);  // a step that was planned before is not recorded after
  }

 private:
  using Memory = Kokkos::View<std::byte*, Kokkos::CudaSpace>;
  using Key = std::array<std::uint64_t, 19>;
  static constexpr std::size_t most_plans = 1024;

  struct State {
    std::shared_ptr<cudnnContext> handle;
    std::map<Key, std::shared_ptr<CudnnPlan const>> plans;
    Memory workspace, kernel;
    std::uint64_t generation = 0;  ///< of plans

    /// Made with the first convolution: it takes the library some tenths of a second.
    cudnnHandle_t handle_on(Kokkos::Cuda const& space) {
      if (!handle) {
        cudnnHandle_t made{};
        check_cudnn(cudnnCreate(&made), "cudnnCreate");
        std::shared_ptr<cudnnContext> const owned(made, [](cudnnHandle_t h) { cudnnDestroy(h); });
        // Headers and library may have been found in different places.
        if (cudnnGetVersion() < CUDNN_VERSION)
          throw Error(formatted("cuDNN {} is loaded, but the program was compiled for cuDNN {}", cudnnGetVersion(),
                                CUDNN_VERSION));
        check_cudnn(cudnnSetStream(made, space.cuda_stream()), "cudnnSetStream");
        handle = owned;
      }
      return handle.get();
    }
  };

  static void set_device(Kokkos::Cuda const& space) {
    cudaError_t const status = cudaSetDevice(space.cuda_device());
    if (status != cudaSuccess) throw Error(formatted("{} failed: {}", "cudaSetDevice", cudaGetErrorString(status)));
  }
  static void grow(Kokkos::Cuda const& space, Memory& memory, std::size_t bytes) {
    if (memory.extent(0) < bytes)
      memory = Memory(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "trireme::cudnn"), bytes);
  }
  /// cuDNN asks for pointers that may be written through, for all operands.
  template <class T>
  static void* pointer(T const* tensor) {
    return const_cast<T*>(tensor);
  }
  /// Bytes that divide both addresses, up to those of a vector.
  template <class T>
  static std::size_t alignment_of(T const* x, T const* y) {
    auto const bits = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y) | 16u;
    return bits & (~bits + 1u);
  }

  std::shared_ptr<State> state_;
};

#endif

}  // namespace trireme::detail
