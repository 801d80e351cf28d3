/// Descriptors and errors of cuDNN's graph interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

#ifdef TRIREME_HAVE_CUDNN
#include <cudnn.h>

#if CUDNN_VERSION < 90800
#error "trireme: cuDNN 9.8 or newer is needed; configure with TRIREME_WITH_CUDNN=OFF"
#endif

namespace trireme::detail {

inline void check_cudnn(cudnnStatus_t status, char const* call) {
  if (status != CUDNN_STATUS_SUCCESS) throw Error(formatted("{} failed: {}", call, cudnnGetErrorString(status)));
}

/// The name that cuDNN has for a type of attributes.
template <class Value>
inline constexpr cudnnBackendAttributeType_t cudnn_type = [] {
  if constexpr (std::is_same_v<Value, std::int64_t>) return CUDNN_TYPE_INT64;
  if constexpr (std::is_same_v<Value, float>) return CUDNN_TYPE_FLOAT;
  if constexpr (std::is_same_v<Value, double>) return CUDNN_TYPE_DOUBLE;
  if constexpr (std::is_same_v<Value, char>) return CUDNN_TYPE_CHAR;
  if constexpr (std::is_same_v<Value, void*>) return CUDNN_TYPE_VOID_PTR;
  if constexpr (std::is_same_v<Value, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  if constexpr (std::is_same_v<Value, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  if constexpr (std::is_same_v<Value, cudnnConvolutionMode_t>) return CUDNN_TYPE_CONVOLUTION_MODE;
  if constexpr (std::is_same_v<Value, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
  if constexpr (std::is_same_v<Value, cudnnBackendNumericalNote_t>) return CUDNN_TYPE_NUMERICAL_NOTE;
  if constexpr (std::is_same_v<Value, cudnnBackendBehaviorNote_t>) return CUDNN_TYPE_BEHAVIOR_NOTE;
}();

/// A descriptor, which is destroyed with its last copy.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made{};
    check_cudnn(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
    descriptor_ = std::shared_ptr<void>(made, [](void* d) { cudnnBackendDestroyDescriptor(d); });
  }

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

  template <class Value>
  void set(cudnnBackendAttributeName_t name, std::span<Value const> values) const {
    check_cudnn(cudnnBackendSetAttribute(get(), name, cudnn_type<Value>, static_cast<std::int64_t>(values.size()),
                                         values.data()),
                "cudnnBackendSetAttribute");
  }
  template <class Value>
  void set(cudnnBackendAttributeName_t name, Value const& value) const {
    set(name, std::span<Value const>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, CudnnDescriptor const& part) const {
    cudnnBackendDescriptor_t const value = part.get();
    check_cudnn(cudnnBackendSetAttribute(get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value),
                "cudnnBackendSetAttribute");
  }

  /// Closes it, after which it can be used and not changed. False if the library has no such thing, or fails to make
  /// it.
  [[nodiscard]] bool tried() const { return cudnnBackendFinalize(get()) == CUDNN_STATUS_SUCCESS; }
  /// The same, where anything but that the library has no such thing is an error.
  [[nodiscard]] bool finalized() const {
    cudnnStatus_t const status = cudnnBackendFinalize(get());
    int const category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
    if (category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM) return false;
    check_cudnn(status, "cudnnBackendFinalize");
    return true;
  }

  /// Reads up to as many values as there is room for, and returns their number.
  template <class Value>
  std::size_t read(cudnnBackendAttributeName_t name, std::span<Value> values) const {
    return read(name, cudnn_type<Value>, values.size(), values.data());
  }
  /// Reads parts into descriptors of their type, of which the first so many are then filled.
  std::size_t read(cudnnBackendAttributeName_t name, std::span<CudnnDescriptor const> parts) const {
    std::vector<cudnnBackendDescriptor_t> values;
    for (CudnnDescriptor const& part : parts) values.push_back(part.get());
    return read(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, values.size(), values.data());
  }

 private:
  std::size_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t most,
                   void* values) const {
    std::int64_t count = 0;
    check_cudnn(cudnnBackendGetAttribute(get(), name, type, static_cast<std::int64_t>(most), &count, values),
                "cudnnBackendGetAttribute");
    return static_cast<std::size_t>(count);
  }

  std::shared_ptr<void> descriptor_;
};

}  // namespace trireme::detail

#endif
