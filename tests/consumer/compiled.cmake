# cmake -D … -P compiled.cmake: trireme::compiled, installed and linked, gives the bits that headers alone give; a program
# that mixes both ends with one sentence.
file(REMOVE_RECURSE "${BINARY}")
set(common -G "${GENERATOR}" --no-warn-unused-cli -D CMAKE_CXX_COMPILER=${COMPILER} -D "CMAKE_CXX_FLAGS=${FLAGS}"
           -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O1 -D Kokkos_DIR=${Kokkos_DIR})
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${TRIREME_SOURCE}" -B "${BINARY}/trireme" ${common} -D TRIREME_COMPILED=ON
                        -D TRIREME_BUILD_TESTS=OFF -D TRIREME_BUILD_EXAMPLES=OFF -D TRIREME_BUILD_BENCHMARKS=OFF
                        -D TRIREME_WITH_PJRT=OFF OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}/trireme" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BINARY}/trireme" --prefix "${BINARY}/prefix" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}/build" ${common} -D trireme_ROOT=${BINARY}/prefix
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}/build" COMMAND_ERROR_IS_FATAL ANY)
foreach(form IN ITEMS of_headers linked)
  execute_process(COMMAND "${BINARY}/build/${form}" OUTPUT_VARIABLE result_${form} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
string(LENGTH "${result_of_headers}" length)
if(length LESS 1000)
  message(FATAL_ERROR "the program prints too little:\n${result_of_headers}")
endif()
if(NOT result_of_headers STREQUAL result_linked)
  message(FATAL_ERROR "of headers alone:\n${result_of_headers}\nlinked with trireme::compiled:\n${result_linked}")
endif()
execute_process(COMMAND "${BINARY}/build/mixed" OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
string(FIND "${output}" "some sources of this program link trireme::compiled and others do not" place)
if(result EQUAL 0 OR place EQUAL -1)
  message(FATAL_ERROR "the mixture ends with ${result} and says:\n${output}")
endif()
