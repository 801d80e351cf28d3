# Finds what trireme rests on and gathers it in the target trireme::dependencies. Read by CMakeLists.txt and by the
# installed trireme-config.cmake: each defines `trireme_dependency(package …)`, `trireme_missing(sentence)` and
# TRIREME_WITH_HDF5, …_ZLIB, …_PROTOZERO, …_CUBLAS and …_PJRT (AUTO, ON or OFF) beforehand. Sets TRIREME_HAVE_HDF5,
# …_ZLIB, …_PROTOZERO, …_CUBLAS and …_PJRT.

# Where Debian has both, its `mpicc` is Open MPI's: MPICH stands beside it with a suffix, and comes first.
if(NOT DEFINED MPI_EXECUTABLE_SUFFIX AND NOT MPI_C_FOUND AND NOT MPI_CXX_FOUND AND NOT MPI_HOME AND NOT MPI_ROOT
   AND NOT MPI_C_COMPILER AND NOT MPI_CXX_COMPILER)
  find_program(TRIREME_DEFAULT_MPICC mpicc)
  mark_as_advanced(TRIREME_DEFAULT_MPICC)
  if(TRIREME_DEFAULT_MPICC MATCHES "^/usr/bin/" AND EXISTS /usr/bin/mpicc.mpich AND EXISTS /usr/bin/mpicc.openmpi)
    set(MPI_EXECUTABLE_SUFFIX .mpich)
  endif()
endif()
# trireme calls MPI's C interface, which a project of C++ alone can only reach through the C++ component.
get_property(trireme_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("C" IN_LIST trireme_languages)
  set(trireme_mpi C)
else()
  set(trireme_mpi CXX)
  set(MPI_CXX_SKIP_MPICXX TRUE)
endif()
trireme_dependency(MPI COMPONENTS ${trireme_mpi})
trireme_dependency(Threads)
if(NOT TARGET Kokkos::kokkos)
  trireme_dependency(Kokkos 4.0 CONFIG)
endif()
if(NOT TARGET fmt::fmt)
  trireme_dependency(fmt CONFIG)
endif()
if(NOT TARGET xtensor)
  trireme_dependency(xtensor CONFIG)
endif()
trireme_dependency(BLAS)
if(NOT TARGET xtensor-blas)
  trireme_dependency(xtensor-blas CONFIG)
endif()

# FindBLAS looks for libraries only; the header lies beside them in a prefix, or where the compiler looks anyway.
if(NOT TRIREME_CBLAS_INCLUDE_DIR)
  set(trireme_blas_prefixes "")
  foreach(library IN LISTS BLAS_LIBRARIES)
    if(IS_ABSOLUTE "${library}")
      get_filename_component(directory "${library}" DIRECTORY)
      list(APPEND trireme_blas_prefixes "${directory}/..")
    endif()
  endforeach()
  find_path(TRIREME_CBLAS_INCLUDE_DIR cblas.h HINTS ${trireme_blas_prefixes} PATH_SUFFIXES include include/openblas
            openblas DOC "Folder of cblas.h")
  mark_as_advanced(TRIREME_CBLAS_INCLUDE_DIR)
endif()
if(NOT TRIREME_CBLAS_INCLUDE_DIR)
  trireme_missing("the BLAS library ${BLAS_LIBRARIES} comes without cblas.h; take one that has it, such as OpenBLAS")
endif()

macro(trireme_optional_dependency name package)
  set(TRIREME_HAVE_${name} OFF)
  if(TRIREME_WITH_${name} STREQUAL "AUTO")
    find_package(${package} ${ARGN} QUIET)
    if(${package}_FOUND)
      set(TRIREME_HAVE_${name} ON)
    endif()
  elseif(TRIREME_WITH_${name})
    trireme_dependency(${package} ${ARGN})
    set(TRIREME_HAVE_${name} ON)
  endif()
endmacro()
trireme_optional_dependency(ZLIB ZLIB)

# FindHDF5 cannot look for the C library in a project of C++ alone.
set(TRIREME_HAVE_HDF5 OFF)
if(TRIREME_WITH_HDF5)
  set(trireme_hdf5_hints "${HDF5_ROOT}" "$ENV{HDF5_ROOT}" "$ENV{HDF5_DIR}" "$ENV{HDF5_HOME}")
  find_path(TRIREME_HDF5_INCLUDE_DIR hdf5.h HINTS ${trireme_hdf5_hints} PATH_SUFFIXES include hdf5/serial
            include/hdf5/serial DOC "Folder of hdf5.h")
  find_library(TRIREME_HDF5_LIBRARY NAMES hdf5_serial hdf5 HINTS ${trireme_hdf5_hints} PATH_SUFFIXES lib
               DOC "The HDF5 C library")
  mark_as_advanced(TRIREME_HDF5_INCLUDE_DIR TRIREME_HDF5_LIBRARY)
  if(TRIREME_HDF5_INCLUDE_DIR AND TRIREME_HDF5_LIBRARY)
    set(TRIREME_HAVE_HDF5 ON)
  elseif(NOT TRIREME_WITH_HDF5 STREQUAL "AUTO")
    trireme_missing("HDF5 was not found; give its place with HDF5_ROOT, or configure with TRIREME_WITH_HDF5=OFF")
  endif()
endif()

# protozero is headers alone, and installs no CMake package.
set(TRIREME_HAVE_PROTOZERO OFF)
if(TRIREME_WITH_PROTOZERO)
  find_path(TRIREME_PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp HINTS "${protozero_ROOT}" "$ENV{protozero_ROOT}"
            PATH_SUFFIXES include DOC "Folder that holds protozero/pbf_writer.hpp")
  mark_as_advanced(TRIREME_PROTOZERO_INCLUDE_DIR)
  if(TRIREME_PROTOZERO_INCLUDE_DIR)
    set(TRIREME_HAVE_PROTOZERO ON)
  elseif(NOT TRIREME_WITH_PROTOZERO STREQUAL "AUTO")
    trireme_missing("protozero was not found; give its place with protozero_ROOT, or configure with TRIREME_WITH_PROTOZERO=OFF")
  endif()
endif()

# The interface of PJRT's plugins is one header; the plugins are loaded when the program runs. Its options are messages
# that protozero writes.
set(TRIREME_HAVE_PJRT OFF)
if(TRIREME_WITH_PJRT)
  find_path(TRIREME_PJRT_INCLUDE_DIR xla/pjrt/c/pjrt_c_api.h PATH_SUFFIXES include
            HINTS "${PJRT_ROOT}" "$ENV{PJRT_ROOT}" "$ENV{XDG_CACHE_HOME}/trireme/pjrt" "$ENV{HOME}/.cache/trireme/pjrt"
            DOC "Folder that holds xla/pjrt/c/pjrt_c_api.h (scripts/pjrt.sh downloads it)")
  mark_as_advanced(TRIREME_PJRT_INCLUDE_DIR)
  if(TRIREME_PJRT_INCLUDE_DIR AND TRIREME_HAVE_PROTOZERO)
    set(TRIREME_HAVE_PJRT ON)
  elseif(NOT TRIREME_WITH_PJRT STREQUAL "AUTO")
    trireme_missing("PJRT needs xla/pjrt/c/pjrt_c_api.h (its folder is TRIREME_PJRT_INCLUDE_DIR; scripts/pjrt.sh downloads it) and protozero")
  endif()
endif()
set(TRIREME_HAVE_CUBLAS OFF)
if("CUDA" IN_LIST Kokkos_DEVICES)
  trireme_optional_dependency(CUBLAS CUDAToolkit)
  if(NOT TARGET CUDA::cublas)
    set(TRIREME_HAVE_CUBLAS OFF)
  endif()
endif()

if(NOT TARGET trireme::dependencies)
  add_library(trireme::dependencies INTERFACE IMPORTED)
  target_link_libraries(trireme::dependencies INTERFACE Kokkos::kokkos MPI::MPI_${trireme_mpi} xtensor xtensor-blas
                                                        ${BLAS_LIBRARIES} fmt::fmt Threads::Threads)
  target_include_directories(trireme::dependencies INTERFACE "${TRIREME_CBLAS_INCLUDE_DIR}")
  if("CUDA" IN_LIST Kokkos_DEVICES AND fmt_VERSION VERSION_LESS 11)
    # fmt thinks that nvcc knows no constexpr, and then calls ordinary functions in consteval ones.
    target_compile_definitions(trireme::dependencies INTERFACE FMT_USE_CONSTEXPR=1)
  endif()
  if(NOT "CUDA" IN_LIST Kokkos_DEVICES)  # nvcc does not know the option
    # GCC collects garbage when its heap doubles from 128 MB on; a program's headers alone take more than that, and are
    # never garbage. From a gigabyte on a small program takes 7 % less time.
    target_compile_options(trireme::dependencies
                           INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
  endif()
  if(TRIREME_HAVE_HDF5)
    target_link_libraries(trireme::dependencies INTERFACE "${TRIREME_HDF5_LIBRARY}")
    target_include_directories(trireme::dependencies INTERFACE "${TRIREME_HDF5_INCLUDE_DIR}")
    target_compile_definitions(trireme::dependencies INTERFACE TRIREME_HAVE_HDF5)
  endif()
  if(TRIREME_HAVE_ZLIB)
    target_link_libraries(trireme::dependencies INTERFACE ZLIB::ZLIB)
    target_compile_definitions(trireme::dependencies INTERFACE TRIREME_HAVE_ZLIB)
  endif()
  if(TRIREME_HAVE_PROTOZERO)
    target_include_directories(trireme::dependencies INTERFACE "${TRIREME_PROTOZERO_INCLUDE_DIR}")
    target_compile_definitions(trireme::dependencies INTERFACE TRIREME_HAVE_PROTOZERO)
  endif()
  if(TRIREME_HAVE_PJRT)
    target_include_directories(trireme::dependencies INTERFACE "${TRIREME_PJRT_INCLUDE_DIR}")
    target_link_libraries(trireme::dependencies INTERFACE ${CMAKE_DL_LIBS})
    target_compile_definitions(trireme::dependencies INTERFACE TRIREME_HAVE_PJRT)
  endif()
  if(TRIREME_HAVE_CUBLAS)
    target_link_libraries(trireme::dependencies INTERFACE CUDA::cublas)
    target_compile_definitions(trireme::dependencies INTERFACE TRIREME_HAVE_CUBLAS)
  endif()
endif()
