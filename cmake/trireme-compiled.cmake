# trireme::compiled: what depends on no type of a user's, compiled once. A program that links it compiles in less time, and
# has the same results if both are compiled with the same flags.
file(GLOB_RECURSE trireme_definitions CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
     "${PROJECT_SOURCE_DIR}/include/trireme/*.ipp")
add_library(trireme_compiled STATIC)
add_library(trireme::compiled ALIAS trireme_compiled)
set(trireme_rooms "")
foreach(definitions IN LISTS trireme_definitions)  # a source for each room
  string(REGEX REPLACE "^trireme/([^/]+)/.*$" "\\1" room "${definitions}")
  string(REGEX REPLACE "^trireme/(.*)[.]ipp$" "\\1" room "${room}")
  list(APPEND trireme_rooms "${room}")
  string(APPEND trireme_definitions_of_${room} "#include \"${definitions}\"\n")
endforeach()
list(REMOVE_DUPLICATES trireme_rooms)
foreach(room IN LISTS trireme_rooms)
  set(source "${PROJECT_BINARY_DIR}/compiled/${room}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${trireme_definitions_of_${room}}" @ONLY)
  target_sources(trireme_compiled PRIVATE "${source}")
endforeach()
target_link_libraries(trireme_compiled PUBLIC trireme)
target_compile_definitions(trireme_compiled PUBLIC TRIREME_COMPILED)
set_target_properties(trireme_compiled PROPERTIES EXPORT_NAME compiled OUTPUT_NAME trireme POSITION_INDEPENDENT_CODE ON)
