/// Definitions of trireme/environment/build_information.hpp.
#pragma once

#include "trireme/environment/build_information.hpp"

#include <string>

#include <mpi.h>
#include <Kokkos_Core.hpp>
#if __has_include(<trireme/configured.hpp>)
#include <trireme/configured.hpp>
#endif

#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/xtensor.hpp"
#include "trireme/version.hpp"

namespace trireme {

TRIREME_INLINE std::string build_information() {
#ifdef TRIREME_CONFIGURED_COMMIT
  std::string commit = TRIREME_CONFIGURED_COMMIT, options = TRIREME_CONFIGURED_OPTIONS;
#else
  std::string commit, options;
#endif
  if (commit.empty()) commit = "unknown";
  if (options.empty()) options = "not configured by CMake";
#ifdef TRIREME_COMPILED
  constexpr auto linkage = "trireme::compiled";
#else
  constexpr auto linkage = "headers alone";
#endif
#ifdef __clang__
  constexpr auto compiler = "Clang " __clang_version__;
#else
  constexpr auto compiler = "GCC " __VERSION__;
#endif
#ifdef __OPTIMIZE__
  constexpr auto optimisation = "optimised";
#else
  constexpr auto optimisation = "not optimised";
#endif
  std::string text = formatted("trireme {}, commit {}, {}\n", version(), commit, linkage);
  text += formatted("compiler: {}, {}, C++ {}, vectors of {} bytes\n", compiler, optimisation, __cplusplus,
                    detail::SimdVector<float>::bytes);
  text += "features:";
#ifdef TRIREME_HAVE_HDF5
  text += " hdf5";
#endif
#ifdef TRIREME_HAVE_ZLIB
  text += " zlib";
#endif
#ifdef TRIREME_HAVE_PROTOZERO
  text += " protozero";
#endif
#ifdef TRIREME_HAVE_CUBLAS
  text += " cublas";
#endif
#ifdef TRIREME_HAVE_CUBLASLT
  text += " cublaslt";
#endif
#ifdef TRIREME_HAVE_CUDNN
  text += " cudnn";
#endif
#ifdef TRIREME_HAVE_ROCBLAS
  text += " rocblas";
#endif
#ifdef TRIREME_HAVE_PJRT
  text += " pjrt";
#endif
  text +=
      formatted("\npackages: Kokkos {}.{}.{} ({}), MPI {}.{}, xtensor {}.{}.{}, fmt {}.{}.{}\n", KOKKOS_VERSION / 10000,
                KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100, Kokkos::DefaultExecutionSpace::name(), MPI_VERSION,
                MPI_SUBVERSION, XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR, XTENSOR_VERSION_PATCH,
                FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  return text + formatted("options: {}\n", options);
}

}  // namespace trireme
