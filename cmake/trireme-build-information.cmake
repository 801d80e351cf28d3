# Writes trireme/configured.hpp into the build, which trireme::build_information() reads: the commit and the options of
# this configuration. TRIREME_COMMIT names the commit of sources that are neither a clone nor an archive of Git's.
set(TRIREME_COMMIT "" CACHE STRING "Commit of the sources; empty: as Git says")
mark_as_advanced(TRIREME_COMMIT)
set(trireme_commit "${TRIREME_COMMIT}")
if(NOT trireme_commit AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  find_package(Git QUIET)
  if(GIT_FOUND)
    execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --abbrev=40 --exclude=*
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE trireme_commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # CMake runs again where HEAD has moved.
    execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                    OUTPUT_VARIABLE trireme_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    get_filename_component(trireme_log "${trireme_log}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
    if(trireme_commit AND EXISTS "${trireme_log}" AND NOT IS_DIRECTORY "${trireme_log}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${trireme_log}")
    endif()
  endif()
endif()
if(NOT trireme_commit)
  file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/commit.txt" trireme_commit LIMIT_COUNT 1)  # filled in by git archive
  if(trireme_commit MATCHES "Format")
    set(trireme_commit "")
  endif()
endif()

set(trireme_options "CMake ${CMAKE_VERSION} with ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
string(TOUPPER "${CMAKE_BUILD_TYPE}" trireme_build_type)
set(trireme_shown CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS)
if(trireme_build_type)
  list(APPEND trireme_shown CMAKE_CXX_FLAGS_${trireme_build_type})
endif()
foreach(option IN ITEMS ${trireme_shown} TRIREME_COMPILED TRIREME_WITH_HDF5 TRIREME_WITH_ZLIB TRIREME_WITH_PROTOZERO
                        TRIREME_WITH_CUBLAS TRIREME_WITH_PJRT)
  string(APPEND trireme_options " '-D${option}=${${option}}'")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/include/trireme/configured.hpp" @ONLY CONTENT
"/// Commit and options of the configured library, for trireme::build_information(). Written by CMake.
#pragma once

#define TRIREME_CONFIGURED_COMMIT R\"trireme(@trireme_commit@)trireme\"
#define TRIREME_CONFIGURED_OPTIONS R\"trireme(@trireme_options@)trireme\"
")
