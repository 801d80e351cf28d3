# Writes trireme/configured.hpp, which trireme::build_information() reads: the commit and the options of this
# configuration. TRIREME_COMMIT names the commit of sources that are neither a clone nor an archive of Git's.
set(TRIREME_COMMIT "" CACHE STRING "Commit of the sources; empty: as Git says")
mark_as_advanced(TRIREME_COMMIT)

set(trireme_options "CMake ${CMAKE_VERSION} with ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
string(TOUPPER "${CMAKE_BUILD_TYPE}" trireme_build_type)
set(trireme_shown CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS)
if(trireme_build_type)
  list(APPEND trireme_shown CMAKE_CXX_FLAGS_${trireme_build_type})
endif()
foreach(option IN ITEMS ${trireme_shown} TRIREME_COMPILED TRIREME_WITH_HDF5 TRIREME_WITH_ZLIB TRIREME_WITH_PROTOZERO
                        TRIREME_WITH_CUBLAS TRIREME_WITH_CUBLASLT TRIREME_WITH_CUDNN TRIREME_WITH_ROCBLAS
                        TRIREME_WITH_PJRT)
  string(APPEND trireme_options " '-D${option}=${${option}}'")
endforeach()

# In the build of headers alone a clone's commit is not named, since each commit would compile every program anew; what
# is installed names the commit of that moment. The compiled library names the one that it is built from.
set(trireme_configured "${PROJECT_BINARY_DIR}/include/trireme/configured.hpp")
set(trireme_commit "${TRIREME_COMMIT}")
if(TRIREME_COMMIT OR TRIREME_COMPILED OR NOT EXISTS "${PROJECT_SOURCE_DIR}/.git")
  if(NOT TRIREME_COMMIT)
    include(cmake/trireme-commit.cmake)
    if(EXISTS "${PROJECT_SOURCE_DIR}/.git/logs/HEAD")  # CMake runs again where HEAD has moved
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.git/logs/HEAD")
    endif()
  endif()
  configure_file(cmake/configured.hpp.in "${trireme_configured}" @ONLY)
else()
  configure_file(cmake/configured.hpp.in "${trireme_configured}" @ONLY)
  set(trireme_configured "${PROJECT_BINARY_DIR}/installed/trireme/configured.hpp")
  install(CODE "set(PROJECT_SOURCE_DIR [==[${PROJECT_SOURCE_DIR}]==])
                set(trireme_options [==[${trireme_options}]==])
                include(\"\${PROJECT_SOURCE_DIR}/cmake/trireme-commit.cmake\")
                configure_file(\"\${PROJECT_SOURCE_DIR}/cmake/configured.hpp.in\" \"${trireme_configured}\" @ONLY)")
endif()
