# WebAssembly: the same libraries from the same Debian, found otherwise. Headers lie in a folder of their own, for beside
# Emscripten's C library /usr/include must not be seen; what must be compiled comes from Debian's source packages, which
# scripts/setup.sh --wasm unpacks into build/wasm-sources. SQLite is left out (traces/src/without_sqlite.cpp).
set(sources ${PROJECT_SOURCE_DIR}/build/wasm-sources)
set(headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(name fmt nlohmann CLI protozero boost fast_float)
  if(NOT EXISTS /usr/include/${name})
    message(FATAL_ERROR "/usr/include/${name} is missing: scripts/setup.sh --wasm installs what this build needs")
  endif()
  file(CREATE_LINK /usr/include/${name} ${headers}/${name} SYMBOLIC)
endforeach()
if(NOT EXISTS ${sources}/zlib/zlib.h)
  message(FATAL_ERROR "${sources} lacks the sources of zlib: scripts/setup.sh --wasm fetches them")
endif()

foreach(name fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} SYSTEM INTERFACE ${headers})
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
foreach(name boost_headers protozero eigen_headers)
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE ${headers})
endforeach()
target_include_directories(eigen_headers SYSTEM INTERFACE /usr/include/eigen3)
target_compile_definitions(eigen_headers INTERFACE EIGEN_DONT_VECTORIZE EIGEN_NO_CPUID)

# Before every source, what the standard library lacks; fast_float is behind it.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/standard_library.hpp>")
include_directories(SYSTEM ${headers})

enable_language(C)
add_library(zlib STATIC ${sources}/zlib/adler32.c ${sources}/zlib/crc32.c ${sources}/zlib/deflate.c ${sources}/zlib/inffast.c
            ${sources}/zlib/inflate.c ${sources}/zlib/inftrees.c ${sources}/zlib/trees.c ${sources}/zlib/zutil.c)
target_include_directories(zlib SYSTEM PUBLIC ${sources}/zlib)
add_library(ZLIB::ZLIB ALIAS zlib)
add_library(simdjson STATIC ${CMAKE_CURRENT_LIST_DIR}/simdjson.cpp)
target_include_directories(simdjson SYSTEM PUBLIC ${sources}/simdjson/singleheader ${CMAKE_CURRENT_LIST_DIR}/intrinsics)
# Browsers have had these instructions as long as DecompressionStream, which the page needs anyway.
target_compile_options(simdjson PUBLIC -msimd128 -msse4.2)
target_compile_definitions(simdjson PUBLIC SIMDJSON_IS_X86_64=1 __PCLMUL__=1 SIMDJSON_IMPLEMENTATION_ICELAKE=0
                           SIMDJSON_IMPLEMENTATION_HASWELL=0 SIMDJSON_IMPLEMENTATION_FALLBACK=0)
add_library(simdjson::simdjson ALIAS simdjson)
add_library(pugixml STATIC ${sources}/pugixml/src/pugixml.cpp)
target_include_directories(pugixml SYSTEM PUBLIC ${sources}/pugixml/src)
add_library(pugixml::pugixml ALIAS pugixml)
foreach(name zlib simdjson pugixml)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_compile_options(${name} PRIVATE -w)
  target_compile_features(${name} PRIVATE cxx_std_20)
endforeach()
