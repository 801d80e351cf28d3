# cmake -D WAY=… -P build_and_run.cmake: installs trireme if that is the way, builds the program and runs it.
set(prefix "${BINARY}/prefix")
file(REMOVE_RECURSE "${BINARY}")
if(WAY STREQUAL "find_package")
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${TRIREME_BINARY}" --prefix "${prefix}" OUTPUT_QUIET
                  COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE modules "${prefix}/*/modulefiles/trireme/*")
  list(LENGTH modules count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "one module file is to be installed, and found were: ${modules}")
  endif()
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}/build" -G "${GENERATOR}" --no-warn-unused-cli
                        -D CONSUMER_WAY=${WAY} -D CONSUMER_TRIREME_SOURCE=${TRIREME_SOURCE} -D trireme_ROOT=${prefix}
                        -D Kokkos_DIR=${Kokkos_DIR} -D CMAKE_CXX_COMPILER=${COMPILER} -D "CMAKE_CXX_FLAGS=${FLAGS}"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/build/consumer" COMMAND_ERROR_IS_FATAL ANY)
