# Toolchain file for aarch64: Clang 19 and lld of this machine, or the compilers that CC and CXX name, with Debian's
# packages for arm64, which scripts/aarch64.sh unpacks below ~/.cache/trireme. Programs run under qemu-user; QEMU_CPU in
# the environment names their processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(trireme_sysroot "$ENV{XDG_CACHE_HOME}")
if(NOT trireme_sysroot)
  set(trireme_sysroot "$ENV{HOME}/.cache")
endif()
string(APPEND trireme_sysroot "/trireme/aarch64")
set(CMAKE_SYSROOT "${trireme_sysroot}")
if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  set(CMAKE_C_COMPILER clang-19)
  set(CMAKE_CXX_COMPILER clang++-19)
endif()
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
if(CMAKE_CXX_COMPILER MATCHES "clang")
  foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
  endforeach()
endif()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)  # Kokkos lies elsewhere

# The wrapper that FindMPI would ask is that of this machine's MPI.
set(MPI_SKIP_COMPILER_WRAPPER TRUE)
foreach(language C CXX)
  set(MPI_${language}_HEADER_DIR "${trireme_sysroot}/usr/include/aarch64-linux-gnu/mpich")
  set(MPI_${language}_LIB_NAMES mpich)
endforeach()
set(MPI_mpich_LIBRARY "${trireme_sysroot}/usr/lib/aarch64-linux-gnu/libmpich.so")

# Ranks are started by this machine's mpiexec, which is of the same MPICH.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${trireme_sysroot}")
set(MPIEXEC_PREFLAGS ${CMAKE_CROSSCOMPILING_EMULATOR})
