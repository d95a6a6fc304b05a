# What a slider waits for, and what hundreds of megabytes run through, is made to be fast; all else to be small. (Emscripten
# inlines nothing where size is asked for, which makes both worse: the preset's -finline-functions takes that back.)
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
