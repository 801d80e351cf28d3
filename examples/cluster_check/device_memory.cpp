#include "device_memory.hpp"

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

DeviceMemory device_memory_of_mpi() {
  DeviceMemory says{"it does not say", "it does not say"};
  [[maybe_unused]] auto const answer = [](bool yes) -> std::string_view { return yes ? "yes" : "no"; };
#if defined(MPIX_GPU_SUPPORT_CUDA) && defined(MPIX_GPU_SUPPORT_HIP)  // MPICH 4 and its relatives
  int supported = 0;
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS) says.cuda = answer(supported != 0);
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &supported) == MPI_SUCCESS) says.hip = answer(supported != 0);
#else
#ifdef MPIX_CUDA_AWARE_SUPPORT
  says.cuda = answer(MPIX_Query_cuda_support() != 0);
#endif
#ifdef MPIX_ROCM_AWARE_SUPPORT
  says.hip = answer(MPIX_Query_rocm_support() != 0);
#endif
#endif
  return says;
}
