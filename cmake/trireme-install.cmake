# `cmake --install`: headers and a package for find_package(trireme CONFIG).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(trireme_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/trireme")
install(DIRECTORY include/trireme DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.[hi]pp")
install(FILES "${trireme_configured}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trireme")
set(trireme_installed_targets trireme)
set(trireme_version_of ARCH_INDEPENDENT)
if(TRIREME_COMPILED)
  list(APPEND trireme_installed_targets trireme_compiled)
  set(trireme_version_of "")
endif()
install(TARGETS ${trireme_installed_targets} EXPORT trireme-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT trireme-targets NAMESPACE trireme:: DESTINATION "${trireme_package_dir}")
set(trireme_kokkos_prefix "")
set(trireme_module_kokkos "")
if(Kokkos_DIR)  # not where a project has brought the target Kokkos::kokkos itself
  get_filename_component(trireme_kokkos_prefix "${Kokkos_DIR}/../../.." ABSOLUTE)
  set(trireme_module_kokkos "append-path CMAKE_PREFIX_PATH ${trireme_kokkos_prefix}")
endif()
configure_package_config_file(cmake/trireme-config.cmake.in "${PROJECT_BINARY_DIR}/trireme-config.cmake"
                              INSTALL_DESTINATION "${trireme_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/trireme-config-version.cmake" COMPATIBILITY SameMinorVersion
                                 ${trireme_version_of})
install(FILES "${PROJECT_BINARY_DIR}/trireme-config.cmake" "${PROJECT_BINARY_DIR}/trireme-config-version.cmake"
              cmake/trireme-dependencies.cmake cmake/trireme-packages.cmake DESTINATION "${trireme_package_dir}")

# pkg-config, for builds without CMake and processors alone: compilers of GPUs take flags that only Kokkos's own package knows.
set(trireme_folders "${TRIREME_CBLAS_INCLUDE_DIR}" "${TRIREME_HDF5_INCLUDE_DIR}" "${TRIREME_PROTOZERO_INCLUDE_DIR}"
                    "${TRIREME_PJRT_INCLUDE_DIR}" ${MPI_${trireme_mpi}_INCLUDE_DIRS})
list(APPEND trireme_folders "$<TARGET_PROPERTY:Kokkos::kokkoscore,INTERFACE_INCLUDE_DIRECTORIES>")
set(trireme_features ${trireme_mpi_definitions})
list(TRANSFORM trireme_features PREPEND -D)
foreach(feature IN ITEMS HDF5 ZLIB PROTOZERO PJRT)
  if(TRIREME_HAVE_${feature})
    list(APPEND trireme_features "-DTRIREME_HAVE_${feature}")
  endif()
endforeach()
set(trireme_libraries "")
foreach(library IN ITEMS kokkoscontainers kokkosalgorithms kokkoscore kokkossimd)
  if(TARGET Kokkos::${library})
    get_target_property(trireme_kind Kokkos::${library} TYPE)
    if(NOT trireme_kind STREQUAL "INTERFACE_LIBRARY")  # as kokkosalgorithms of Kokkos 4.1
      list(APPEND trireme_libraries "$<TARGET_FILE:Kokkos::${library}>")
    endif()
  endif()
endforeach()
list(APPEND trireme_libraries ${MPI_${trireme_mpi}_LIBRARIES} ${BLAS_LIBRARIES} "$<TARGET_FILE:fmt::fmt>" -pthread -ldl)
if(TRIREME_HAVE_HDF5)
  list(APPEND trireme_libraries "${TRIREME_HDF5_LIBRARY}")
endif()
if(TRIREME_HAVE_ZLIB)
  list(APPEND trireme_libraries ${ZLIB_LIBRARIES})
endif()
set(trireme_openmp "")
if("OPENMP" IN_LIST Kokkos_DEVICES)
  set(trireme_openmp "-fopenmp")
endif()
list(REMOVE_DUPLICATES trireme_folders)
list(FILTER trireme_folders EXCLUDE REGEX "^(/usr/include|.*-NOTFOUND)?$")
list(JOIN trireme_folders " -I" trireme_folders)
list(JOIN trireme_features " " trireme_features)
list(JOIN trireme_libraries " " trireme_libraries)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/trireme-$<CONFIG>.pc" CONTENT
"prefix=\${pcfiledir}/../..
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: trireme
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -std=c++20 ${trireme_openmp} -I\${includedir} -I$<JOIN:${trireme_folders}, -I> ${trireme_features}
Libs: ${trireme_openmp} $<JOIN:${trireme_libraries}, >
")
install(FILES "${PROJECT_BINARY_DIR}/trireme-$<CONFIG>.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig"
        RENAME trireme.pc)
if(TRIREME_COMPILED)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/trireme-compiled.pc" CONTENT
"prefix=\${pcfiledir}/../..

Name: trireme-compiled
Description: ${PROJECT_DESCRIPTION}, linked with trireme::compiled
Version: ${PROJECT_VERSION}
Requires: trireme = ${PROJECT_VERSION}
Cflags: -DTRIREME_COMPILED
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -ltrireme
")
  install(FILES "${PROJECT_BINARY_DIR}/trireme-compiled.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
endif()

# A module file, for clusters: `module use PREFIX/share/modulefiles`.
set(trireme_module_folder "${CMAKE_INSTALL_DATADIR}/modulefiles/trireme")
file(RELATIVE_PATH trireme_module_to_prefix "/prefix/${trireme_module_folder}" "/prefix")
configure_file(packaging/modulefiles/trireme.in "${PROJECT_BINARY_DIR}/trireme.modulefile" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/trireme.modulefile" DESTINATION "${trireme_module_folder}"
        RENAME "${PROJECT_VERSION}")

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/trireme")
