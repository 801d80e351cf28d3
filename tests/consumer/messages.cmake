# cmake -D … -P messages.cmake: a missing package and a missing component are one sentence that says how to get them.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE "${BINARY}")
set(common -G "${GENERATOR}" --no-warn-unused-cli -D CMAKE_CXX_COMPILER=${COMPILER} -D Kokkos_DIR=${Kokkos_DIR})

# says(sentence argument…): CMake fails with these arguments, and its output holds the sentence, broken into any lines.
function(says sentence)
  execute_process(COMMAND "${CMAKE_COMMAND}" ${ARGN} ${common} OUTPUT_VARIABLE output ERROR_VARIABLE output
                  RESULT_VARIABLE result)
  if(result EQUAL 0)
    message(FATAL_ERROR "succeeds, and has to say '${sentence}':\n${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${sentence}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "has to say '${sentence}', and says:\n${output}")
  endif()
endfunction()

# One folder: CMake looks at the compilers once.
set(trireme -S "${TRIREME_SOURCE}" -B "${BINARY}/trireme" -D TRIREME_BUILD_TESTS=OFF -D TRIREME_BUILD_EXAMPLES=OFF
            -D TRIREME_BUILD_BENCHMARKS=OFF)
foreach(missing IN ITEMS
        "MPI|Debian: apt-get install mpich libmpich-dev; Fedora: dnf install mpich-devel; Spack: spack install mpich; Conan: mpi (in packaging/conan)"
        "fmt|Debian: apt-get install libfmt-dev; Fedora: dnf install fmt-devel; Spack: spack install fmt; Conan: fmt"
        "xtensor|Debian: apt-get install libxtensor-dev; Fedora: dnf install xtensor-devel; Spack: spack install xtensor; Conan: xtensor"
        "BLAS|Debian: apt-get install libopenblas-openmp-dev; Fedora: dnf install openblas-devel; Spack: spack install openblas threads=openmp; Conan: openblas"
        "xtensor-blas|Debian: apt-get install libxtensor-blas-dev; Fedora: dnf install xtensor-blas-devel; Spack: spack install xtensor-blas; Conan: xtensor-blas (in packaging/conan)"
        "Kokkos|scripts/kokkos.sh builds it; Fedora: dnf install kokkos-devel; Spack: spack install kokkos +openmp; Conan: kokkos (in packaging/conan)")
  string(REGEX MATCH "^[^|]+" package "${missing}")
  string(REGEX REPLACE "^[^|]+[|]" "" names "${missing}")
  says("trireme: ${package} was not found; give its place with ${package}_ROOT or CMAKE_PREFIX_PATH, or install it (${names})"
       ${trireme} -U "CMAKE_DISABLE_FIND_PACKAGE_*" -D CMAKE_DISABLE_FIND_PACKAGE_${package}=TRUE)
endforeach()
says("trireme: MPI, fmt, BLAS were not found; give their places with MPI_ROOT, fmt_ROOT, BLAS_ROOT or CMAKE_PREFIX_PATH, or install them (Debian: apt-get install mpich libmpich-dev libfmt-dev libopenblas-openmp-dev; Fedora: dnf install mpich-devel fmt-devel openblas-devel; Spack: spack install mpich fmt openblas threads=openmp; Conan: mpi (in packaging/conan) fmt openblas)"
     ${trireme} -U "CMAKE_DISABLE_FIND_PACKAGE_*" -D CMAKE_DISABLE_FIND_PACKAGE_MPI=TRUE -D CMAKE_DISABLE_FIND_PACKAGE_fmt=TRUE
     -D CMAKE_DISABLE_FIND_PACKAGE_BLAS=TRUE)

# A Kokkos that is too old: what find_package knows of it, since other ones may be on the machine.
include("${TRIREME_SOURCE}/cmake/trireme-packages.cmake")
set(Kokkos_CONSIDERED_VERSIONS 4.0.1 4.7.0)
trireme_not_found(sentence Kokkos)
if(NOT sentence MATCHES "^Kokkos was not found in version 4.1 or newer, only 4.0.1; give its place with Kokkos_ROOT ")
  message(FATAL_ERROR "has to say that 4.0.1 is too old, and says: ${sentence}")
endif()

# An MPI that is too old.
file(WRITE "${BINARY}/old/mpi.h" "#include_next <mpi.h>
#undef MPI_VERSION
#undef MPI_SUBVERSION
#define MPI_VERSION 3
#define MPI_SUBVERSION 0
")
says("trireme: MPI 3.1 or newer is needed (MPICH 3.2, Open MPI 2.0), and " -S "${TRIREME_SOURCE}" -B "${BINARY}/old/build"
     -D CMAKE_C_FLAGS=-I${BINARY}/old)

# Of HDF5 the prefix that is named has both header and library, though another one lies where linkers look.
file(WRITE "${BINARY}/hdf5/include/hdf5.h" "")
file(WRITE "${BINARY}/hdf5/lib/libhdf5.so" "")
execute_process(COMMAND "${CMAKE_COMMAND}" ${trireme} ${common} -U "CMAKE_DISABLE_FIND_PACKAGE_*" -U "TRIREME_HDF5_*"
                        -D HDF5_ROOT=${BINARY}/hdf5 OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
load_cache("${BINARY}/trireme" READ_WITH_PREFIX found_ TRIREME_HDF5_INCLUDE_DIR TRIREME_HDF5_LIBRARY)
if(NOT found_TRIREME_HDF5_INCLUDE_DIR STREQUAL "${BINARY}/hdf5/include"
   OR NOT found_TRIREME_HDF5_LIBRARY STREQUAL "${BINARY}/hdf5/lib/libhdf5.so")
  message(FATAL_ERROR "HDF5_ROOT is ${BINARY}/hdf5, and HDF5 is taken from ${found_TRIREME_HDF5_INCLUDE_DIR} and "
                      "${found_TRIREME_HDF5_LIBRARY}")
endif()

# The installed package, and what pkg-config says of it.
execute_process(COMMAND "${CMAKE_COMMAND}" -E rm -rf "${BINARY}/trireme" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" ${trireme} ${common} -D TRIREME_WITH_PJRT=OFF OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BINARY}/trireme" --prefix "${BINARY}/prefix" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
file(READ "${BINARY}/prefix/include/trireme/configured.hpp" configured)
find_package(Git QUIET)
set(commit "")
if(GIT_FOUND)
  execute_process(COMMAND "${GIT_EXECUTABLE}" -C "${TRIREME_SOURCE}" rev-parse HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
foreach(text IN ITEMS "trireme(${commit}" "'-DTRIREME_WITH_PJRT=OFF'")
  string(FIND "${configured}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the installed configured.hpp has to say '${text}', and says:\n${configured}")
  endif()
endforeach()
file(WRITE "${BINARY}/user/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(trireme 0.1 CONFIG REQUIRED COMPONENTS \${wanted} OPTIONAL_COMPONENTS \${welcome})
if(trireme_pjrt_FOUND OR NOT trireme_zlib_FOUND)
  message(FATAL_ERROR \"components are not told as they are\")
endif()
")
set(user -S "${BINARY}/user" -B "${BINARY}/user/build" -D trireme_ROOT=${BINARY}/prefix)
says("trireme: this installation has no pjrt; configure trireme with -DTRIREME_WITH_PJRT=ON" ${user} -D wanted=pjrt)
says("trireme: there is no component 'cuda' (compiled, hdf5, zlib, protozero, cublas, cublaslt, cudnn, rocblas, pjrt)" ${user} -D wanted=cuda)
says("trireme: fmt was not found; give its place with fmt_ROOT" ${user} -D wanted=hdf5 -D welcome=pjrt -D CMAKE_DISABLE_FIND_PACKAGE_fmt=TRUE)
execute_process(COMMAND "${CMAKE_COMMAND}" ${user} ${common} -D wanted=hdf5 -D welcome=pjrt -D CMAKE_DISABLE_FIND_PACKAGE_fmt=FALSE
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
# Where no Kokkos is named and none is found, the package takes the one that it was configured with.
foreach(way IN ITEMS unnamed named)
  set(named "")
  if(way STREQUAL "named")
    set(named -D Kokkos_ROOT=${BINARY}/nowhere)
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=Kokkos_ROOT --unset=Kokkos_DIR --unset=CMAKE_PREFIX_PATH
                          --unset=XDG_CACHE_HOME "HOME=${BINARY}/empty" "${CMAKE_COMMAND}" -S "${BINARY}/user"
                          -B "${BINARY}/user/${way}" -G "${GENERATOR}" -D CMAKE_CXX_COMPILER=${COMPILER}
                          -D trireme_ROOT=${BINARY}/prefix -D wanted=hdf5 -D welcome=pjrt ${named}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  file(STRINGS "${BINARY}/user/${way}/CMakeCache.txt" directory REGEX "^Kokkos_DIR:")
  string(FIND "${output}" "trireme: Kokkos is the one that trireme was configured with, " spoke)
  if(way STREQUAL "unnamed" AND (NOT directory STREQUAL "Kokkos_DIR:PATH=${Kokkos_DIR}" OR spoke EQUAL -1))
    message(FATAL_ERROR "Kokkos is not taken from where it was when trireme was configured, ${Kokkos_DIR}:\n${output}")
  elseif(way STREQUAL "named" AND result EQUAL 0)
    message(FATAL_ERROR "a Kokkos that is named and not there is replaced by another:\n${output}")
  endif()
endforeach()
find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
  return()
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${BINARY}/prefix/share/pkgconfig" "${PKG_CONFIG}"
                        --cflags --libs trireme OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${BINARY}/user/main.cpp" "#include <Kokkos_Core.hpp>
#include <cblas.h>
#include <fmt/format.h>
#include <mpi.h>
#include <trireme/version.hpp>
#ifndef TRIREME_HAVE_ZLIB
#error trireme.pc does not say what the installation has
#endif
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  { Kokkos::ScopeGuard kokkos(argc, argv); fmt::print(\"{} {}\", trireme::version(), cblas_ddot(0, nullptr, 1, nullptr, 1)); }
  return MPI_Finalize();
}
")
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(COMMAND "${COMPILER}" "${BINARY}/user/main.cpp" -o "${BINARY}/user/main" ${flags} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/user/main" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "^[0-9]+[.][0-9]+[.][0-9]+ 0")
  message(FATAL_ERROR "a program compiled with the flags of trireme.pc prints '${output}'")
endif()
