/// Plans of cuDNN for convolutions: which of its kernels computes one, and how much workspace it takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/backend/convolution/convolution_pass.hpp"
#include "trireme/backend/convolution/cudnn.hpp"
#include "trireme/backend/convolution/window.hpp"

#ifdef TRIREME_HAVE_CUDNN
#include <cudnn.h>

namespace trireme::detail {

/// The device that plans are for: that of a handle, or one that is described and need not be there.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  std::optional<CudnnDescriptor> properties{};  ///< takes the place of the handle
};

struct CudnnPlan {
  std::vector<CudnnDescriptor> parts;  ///< of which the last is the plan, and those before are what it refers to
  std::size_t workspace_bytes = 0;

  cudnnBackendDescriptor_t get() const { return parts.back().get(); }
};

/// Makes plans whose results are the same in each run: numbers are multiplied and added in the type of the operands
/// (float without TF32, unless they are short numbers), sums are in a fixed order, and Winograd's transforms have small
/// tiles alone.
template <class T>
  requires std::is_same_v<T, float> || std::is_same_v<T, double>
class CudnnPlanner {
 public:
  enum Tensor : std::int64_t { images = 1, kernel, outputs };

  /// Workspace beyond which another kernel is taken, in bytes. cuDNN copies images into its own layout there.
  static constexpr std::size_t most_workspace = std::size_t{256} << 20;

  explicit CudnnPlanner(CudnnTarget const& target) : target_(target) {}

  /// The plan that cuDNN expects to be the fastest. Null if it has none for such a window.
  /// \param alignment  in bytes, of images and outputs.
  std::shared_ptr<CudnnPlan const> plan(VendorConvolution const& c, std::size_t alignment) const {
    std::vector<CudnnDescriptor> parts;
    if (!add_graph(c, alignment, parts)) return nullptr;
    for (cudnnBackendHeurMode_t const mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      for (CudnnDescriptor const& configuration : configurations(parts.back(), mode))
        if (std::optional<std::size_t> const bytes = add_plan(configuration, c.short_operands, parts))
          return std::make_shared<CudnnPlan const>(CudnnPlan{std::move(parts), *bytes});
    return nullptr;
  }

 private:
  static constexpr cudnnDataType_t type = std::is_same_v<T, float> ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE;
  static constexpr std::size_t most_configurations = 64;

  using Four = std::array<std::int64_t, 4>;
  using Two = std::array<std::int64_t, 2>;

  /// A tensor with channels innermost; extents in cuDNN's order: count, channels, height, width.
  static CudnnDescriptor tensor(Tensor id, Four const& extents, std::size_t alignment) {
    auto const [count, channels, height, width] = extents;
    CudnnDescriptor const made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<std::int64_t const>(extents));
    Four const strides{height * width * channels, 1, width * channels, channels};
    made.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<std::int64_t const>(strides));
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id));
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, static_cast<std::int64_t>(alignment));
    return made;
  }

  static std::int64_t signed_of(std::size_t value) { return static_cast<std::int64_t>(value); }
  /// Zeros behind the last element that the last window needs. Elements that no window reaches need none.
  static std::int64_t zeros_behind(WindowAxis const& axis) {
    std::size_t const reach = (axis.out - 1) * axis.stride + covered(axis.window, axis.dilation);
    return reach > axis.in + axis.padding ? signed_of(reach - axis.in - axis.padding) : 0;
  }

  static CudnnDescriptor window_of(Window2D const& w) {
    CudnnDescriptor const made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    auto const pair = [&](cudnnBackendAttributeName_t name, std::int64_t height, std::int64_t width) {
      Two const both{height, width};
      made.set(name, std::span<std::int64_t const>(both));
    };
    made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, type);
    made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    pair(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, signed_of(w.height.padding), signed_of(w.width.padding));
    pair(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, zeros_behind(w.height), zeros_behind(w.width));
    pair(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, signed_of(w.height.stride), signed_of(w.width.stride));
    pair(CUDNN_ATTR_CONVOLUTION_DILATIONS, signed_of(w.height.dilation), signed_of(w.width.dilation));
    return made;
  }

  /// Names of an operation's attributes, which the three operations have each of their own.
  struct Names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t images, kernel, outputs, window, alpha, beta;
  };
  static Names names_of(ConvolutionPass pass) {
    switch (pass) {
      case ConvolutionPass::forward:
        return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
      case ConvolutionPass::input_gradient:
        return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
      default:
        return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    }
  }

  /// Adds tensors, window and operation, and at last the graph of this operation.
  bool add_graph(VendorConvolution const& c, std::size_t alignment, std::vector<CudnnDescriptor>& parts) const {
    Window2D const& w = c.window;
    std::int64_t const rows = signed_of(c.rows), channels = signed_of(w.channels), filters = signed_of(c.filters);
    Names const names = names_of(c.pass);
    CudnnDescriptor const operation(names.operation);
    auto const add = [&](cudnnBackendAttributeName_t name, CudnnDescriptor const& part) {
      if (!part.finalized()) return false;
      operation.set(name, part);
      parts.push_back(part);
      return true;
    };
    if (!add(names.images,
             tensor(images, {rows, channels, signed_of(w.height.in), signed_of(w.width.in)}, alignment)) ||
        !add(names.kernel, tensor(kernel, {filters, channels, signed_of(w.height.window), signed_of(w.width.window)},
                                  kernel_alignment)) ||
        !add(names.outputs,
             tensor(outputs, {rows, filters, signed_of(w.height.out), signed_of(w.width.out)}, alignment)) ||
        !add(names.window, window_of(w)))
      return false;
    operation.set(names.alpha, T{1});
    operation.set(names.beta, T{0});
    if (!operation.finalized()) return false;
    parts.push_back(operation);
    CudnnDescriptor const graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    if (!target_.properties) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target_.handle);
    if (!graph.finalized()) return false;
    parts.push_back(graph);
    return true;
  }

  /// The library's kernels for a graph, the best first.
  std::vector<CudnnDescriptor> configurations(CudnnDescriptor const& graph, cudnnBackendHeurMode_t mode) const {
    CudnnDescriptor const heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    set_properties(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    if (!heuristic.finalized()) return {};
    std::vector<CudnnDescriptor> found;
    for (std::size_t i = 0; i < most_configurations; ++i) found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    std::size_t const count = heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span<CudnnDescriptor const>(found));
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
    return found;
  }

  /// Adds configuration and plan, and returns the bytes of its workspace; nothing where its results would be less
  /// exact, or its workspace too large.
  std::optional<std::size_t> add_plan(CudnnDescriptor const& configuration, bool short_operands,
                                      std::vector<CudnnDescriptor>& parts) const {
    if (!suits(configuration, short_operands)) return std::nullopt;
    CudnnDescriptor const plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (target_.properties)
      set_properties(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    else
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target_.handle);
    if (!plan.tried()) return std::nullopt;  // there are others
    std::int64_t bytes = 0;
    plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, std::span<std::int64_t>(&bytes, 1));
    if (static_cast<std::size_t>(bytes) > most_workspace) return std::nullopt;
    parts.push_back(configuration);
    parts.push_back(plan);
    return static_cast<std::size_t>(bytes);
  }

  /// True for kernels that come with the library and compute exactly.
  /// \param short_operands  for which TF32 is exact enough.
  static bool suits(CudnnDescriptor const& configuration, bool short_operands) {
    CudnnDescriptor const engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, std::span<CudnnDescriptor const>(&engine, 1));
    // A plan may be dropped while a recording still launches its kernel, which then has to be there.
    std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT> behavior{};
    std::size_t const traits =
        engine.read(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, std::span<cudnnBackendBehaviorNote_t>(behavior));
    for (std::size_t i = 0; i < traits; ++i)
      if (behavior[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) return false;
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
    std::size_t const count =
        engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, std::span<cudnnBackendNumericalNote_t>(notes));
    bool transforms = false, short_arithmetic = false;
    for (std::size_t i = 0; i < count; ++i) switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // TF32 for float; double stays double
          if (std::is_same_v<T, float> && !short_operands) return false;
          short_arithmetic = std::is_same_v<T, float>;
          break;
        case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
          transforms = true;
          break;
        case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
          break;
        default:
          return false;
      }
    return !(transforms && short_arithmetic);  // sums of short numbers have more bits than these
  }

  void set_properties([[maybe_unused]] CudnnDescriptor const& part,
                      [[maybe_unused]] cudnnBackendAttributeName_t name) const {
    if (target_.properties) part.set(name, *target_.properties);
  }

  static constexpr std::size_t kernel_alignment = 64;  ///< of the device's allocations, at least

  CudnnTarget target_;
};

}  // namespace trireme::detail

#endif
