# Two parts are compiled for speed: the simulation, for which a slider waits, and code through which hundreds of megabytes pass. All
# else is compiled for size. There Emscripten would inline nothing, which makes it both slower and larger, so the preset adds
# -finline-functions.
get_property(rooms GLOBAL PROPERTY DDPSIM_ROOMS)
list(FILTER rooms INCLUDE REGEX ^ddpsim_sim_)
foreach(room IN LISTS rooms)
  target_compile_options(${room} PRIVATE -Os)
endforeach()
target_compile_options(zlib PRIVATE -O3)
target_compile_options(simdjson PRIVATE -O2)
set_source_files_properties(${PROJECT_SOURCE_DIR}/formats/src/byte_sources.cpp TARGET_DIRECTORY ddpsim_formats
                            PROPERTIES COMPILE_OPTIONS -O2 SKIP_UNITY_BUILD_INCLUSION ON)
foreach(name brace_scanner event_reader json_splitter trace_records)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/traces/src/${name}.cpp TARGET_DIRECTORY ddpsim_traces
                              PROPERTIES COMPILE_OPTIONS -O2 SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
