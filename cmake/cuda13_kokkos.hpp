// Kokkos 4.5 to 4.7.0 calls three CUDA runtime functions with the signatures that CUDA 13 dropped. scripts/kokkos.sh
// builds those versions with this header force-included and installs it beside Kokkos; 4.7.1 and later need nothing.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000

static inline cudaMemLocation trireme_cuda_location(int device) {
  cudaMemLocation location{};
  bool const host = device == cudaCpuDeviceId;
  location.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = host ? 0 : device;
  return location;
}

static inline cudaError_t cudaMemPrefetchAsync(void const* pointer, size_t bytes, int device,
                                               cudaStream_t stream = nullptr) {
  return cudaMemPrefetchAsync(pointer, bytes, trireme_cuda_location(device), 0u, stream);
}

static inline cudaError_t cudaMemAdvise(void const* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(pointer, bytes, advice, trireme_cuda_location(device));
}

static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, cudaGraphNode_t const* from,
                                                   cudaGraphNode_t const* to, size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

#endif
#endif
