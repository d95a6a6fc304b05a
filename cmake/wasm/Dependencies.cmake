# WebAssembly is built without SQLite (traces/src/without_sqlite.cpp) and libarchive (formats/src/without_libarchive.cpp). fast_float
# replaces functions that the standard library lacks.
include(${CMAKE_CURRENT_LIST_DIR}/../sources/Dependencies.cmake)
if(NOT EXISTS /usr/include/fast_float)
  message(FATAL_ERROR "/usr/include/fast_float is missing. Run: scripts/setup.sh --wasm")
endif()
file(CREATE_LINK /usr/include/fast_float ${headers}/fast_float SYMBOLIC)
add_compile_definitions(DDPSIM_WITHOUT_MEANINGS)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/standard_library.hpp>")

ddpsim_compile(simdjson simdjson::simdjson ${sources}/simdjson/singleheader ${CMAKE_CURRENT_LIST_DIR}/simdjson.cpp)
target_include_directories(simdjson SYSTEM PUBLIC ${CMAKE_CURRENT_LIST_DIR}/intrinsics)
# Every browser with DecompressionStream, which the page needs anyway, has these instructions.
target_compile_options(simdjson PUBLIC -msimd128 -msse4.2)
target_compile_definitions(simdjson PUBLIC SIMDJSON_IS_X86_64=1 __PCLMUL__=1 SIMDJSON_IMPLEMENTATION_ICELAKE=0
                           SIMDJSON_IMPLEMENTATION_HASWELL=0 SIMDJSON_IMPLEMENTATION_FALLBACK=0)
