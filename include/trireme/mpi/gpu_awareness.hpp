/// GPU awareness of the MPI library: whether it reads and writes memory of devices itself.
#pragma once

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <Kokkos_Core.hpp>

namespace trireme {

/// Answers of the MPI library, by kind of device; empty where it does not say.
struct GpuAwareness {
  std::optional<bool> cuda{}, hip{}, level_zero{};
};

/// The answers at run time, of MPICH and its relatives, or of Open MPI. Local; MPI has to run.
inline GpuAwareness gpu_awareness() {
  GpuAwareness answers;
#if defined(MPIX_GPU_SUPPORT_CUDA) && defined(MPIX_GPU_SUPPORT_HIP)
  auto const ask = [](int kind) -> std::optional<bool> {
    int supported = 0;
    if (MPIX_GPU_query_support(kind, &supported) != MPI_SUCCESS) return std::nullopt;
    return supported != 0;
  };
  answers.cuda = ask(MPIX_GPU_SUPPORT_CUDA);
  answers.hip = ask(MPIX_GPU_SUPPORT_HIP);
#ifdef MPIX_GPU_SUPPORT_ZE
  answers.level_zero = ask(MPIX_GPU_SUPPORT_ZE);
#endif
#else
#ifdef MPIX_CUDA_AWARE_SUPPORT
  answers.cuda = MPIX_Query_cuda_support() != 0;
#endif
#ifdef MPIX_ROCM_AWARE_SUPPORT
  answers.hip = MPIX_Query_rocm_support() != 0;
#endif
#endif
  return answers;
}

namespace detail {
/// The same, asked once; no awareness where TRIREME_GPU_AWARE_MPI is 0 in the environment, for a library that says yes
/// and was built over others that cannot. Processes may differ.
inline GpuAwareness const& known_gpu_awareness() {
  static GpuAwareness const answers = [] {
    char const* const chosen = std::getenv("TRIREME_GPU_AWARE_MPI");
    return chosen && std::string_view(chosen) == "0" ? GpuAwareness() : gpu_awareness();
  }();
  return answers;
}
}  // namespace detail

/// True if the MPI library reads and writes memory of a space that the host cannot access; false for an unknown one.
/// Specialized for each space that MPI libraries are asked about.
template <class MemorySpace>
struct MpiReads {
  /// True if MPI reads and writes this memory.
  static bool value() { return false; }
};
#ifdef KOKKOS_ENABLE_CUDA
template <>
struct MpiReads<Kokkos::CudaSpace> {
  static bool value() { return detail::known_gpu_awareness().cuda.value_or(false); }
};
#endif
#ifdef KOKKOS_ENABLE_HIP
template <>
struct MpiReads<Kokkos::HIPSpace> {
  static bool value() { return detail::known_gpu_awareness().hip.value_or(false); }
};
#endif
#ifdef KOKKOS_ENABLE_SYCL
template <>
struct MpiReads<Kokkos::SYCLDeviceUSMSpace> {
  static bool value() { return detail::known_gpu_awareness().level_zero.value_or(false); }
};
#endif

/// True if messages of MPI are sent from, and received into, a space's memory as it is; otherwise they pass through
/// pinned memory of the host.
template <class Space>
bool mpi_reads() {
  using Memory = typename Space::memory_space;
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible)
    return true;
  else
    return MpiReads<Memory>::value();
}

/// True if MPI also adds up arrays in a space's memory as they are. Open MPI's nonblocking reductions add on the host,
/// and so end a process whose array is on a device, however aware of GPUs the library is.
template <class Space>
bool mpi_reduces() {
#ifdef OPEN_MPI
  return Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
#else
  return mpi_reads<Space>();
#endif
}

/// The path of messages as the end of a readable placement: empty where the host accesses the memory.
template <class Space>
std::string message_path(bool in_place = mpi_reads<Space>()) {
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible)
    return {};
  else
    return in_place ? ", messages from device memory" : ", messages through pinned host memory";
}

}  // namespace trireme
