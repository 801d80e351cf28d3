# cmake -D … -P kokkos_of_scripts.cmake: where no Kokkos is named, the one that scripts/kokkos.sh built is found, and a
# Kokkos that is named or lies on CMAKE_PREFIX_PATH wins. Configures a project that is of no other use.
get_filename_component(kokkos "${Kokkos_DIR}/../../.." ABSOLUTE)
file(REMOVE_RECURSE "${BINARY}")
file(MAKE_DIRECTORY "${BINARY}/cache/trireme" "${BINARY}/home/.cache/trireme" "${BINARY}/empty")
set(suffix "")
if(COMPILER MATCHES "clang")
  set(suffix "-clang19")
endif()
set(built "trireme/kokkos-4.7-openmp${suffix}")
foreach(cache IN ITEMS cache home/.cache)
  file(MAKE_DIRECTORY "${BINARY}/${cache}/${built}/lib/cmake/Kokkos")
  file(TOUCH "${BINARY}/${cache}/${built}/.trireme-complete")
  file(WRITE "${BINARY}/${cache}/${built}/lib/cmake/Kokkos/KokkosConfig.cmake" "include(\"${Kokkos_DIR}/KokkosConfig.cmake\")\n")
  file(COPY "${Kokkos_DIR}/KokkosConfigVersion.cmake" DESTINATION "${BINARY}/${cache}/${built}/lib/cmake/Kokkos")
endforeach()
set(says "Kokkos is the one that trireme's scripts built, ")

# configure(name "Kokkos that it tells of, or none" "Kokkos_DIR that it finds" VARIABLE=value…), with `directions`
function(configure name text found)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=Kokkos_ROOT --unset=Kokkos_DIR --unset=CMAKE_PREFIX_PATH
                          ${ARGN} "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}/${name}" -G "${GENERATOR}" --no-warn-unused-cli
                          -D CONSUMER_WAY=add_subdirectory -D CONSUMER_TRIREME_SOURCE=${TRIREME_SOURCE}
                          -D CMAKE_CXX_COMPILER=${COMPILER} -D "CMAKE_CXX_FLAGS=${FLAGS}" ${directions}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  string(FIND "${output}" "${says}" spoke)
  string(FIND "${output}" "${says}${text};" as_told)
  file(STRINGS "${BINARY}/${name}/CMakeCache.txt" directory REGEX "^Kokkos_DIR:")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${name}: cannot be configured:\n${output}")
  elseif(text AND as_told EQUAL -1 OR NOT text AND NOT spoke EQUAL -1)
    message(FATAL_ERROR "${name}: has to say '${text}', and says:\n${output}")
  elseif(NOT directory STREQUAL "Kokkos_DIR:PATH=${found}")
    message(FATAL_ERROR "${name}: found ${directory} instead of ${found}")
  endif()
endfunction()

set(in_cache "${BINARY}/cache/${built}")
set(in_home "${BINARY}/home/.cache/${built}")
set(directions "")
configure(unnamed "${in_cache}" "${in_cache}/lib/cmake/Kokkos" "XDG_CACHE_HOME=${BINARY}/cache")
configure(in_home "${in_home}" "${in_home}/lib/cmake/Kokkos" --unset=XDG_CACHE_HOME "HOME=${BINARY}/home")
configure(on_the_path "" "${Kokkos_DIR}" "XDG_CACHE_HOME=${BINARY}/cache" "CMAKE_PREFIX_PATH=${kokkos}")
set(directions -D "Kokkos_ROOT=${kokkos}")
configure(named "" "${Kokkos_DIR}" "XDG_CACHE_HOME=${BINARY}/cache")
