# `cmake --install`: headers and a package for find_package(trireme CONFIG).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(trireme_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/trireme")
install(DIRECTORY include/trireme DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(TARGETS trireme EXPORT trireme-targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT trireme-targets NAMESPACE trireme:: DESTINATION "${trireme_package_dir}")
configure_package_config_file(cmake/trireme-config.cmake.in "${PROJECT_BINARY_DIR}/trireme-config.cmake"
                              INSTALL_DESTINATION "${trireme_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/trireme-config-version.cmake" COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/trireme-config.cmake" "${PROJECT_BINARY_DIR}/trireme-config-version.cmake"
              cmake/trireme-dependencies.cmake DESTINATION "${trireme_package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/trireme")
