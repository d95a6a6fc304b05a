# The portable program contains all its libraries. It does without libarchive (formats/src/without_libarchive.cpp).
include(${CMAKE_CURRENT_LIST_DIR}/../sources/Dependencies.cmake)
# CMake finds a varying part of zig's own link line. These libraries must not be linked twice.
foreach(language C CXX)
  set(CMAKE_${language}_IMPLICIT_LINK_LIBRARIES "")
  set(CMAKE_${language}_IMPLICIT_LINK_DIRECTORIES "")
endforeach()
if(NOT EXISTS ${sources}/sqlite3/sqlite3.c)
  message(FATAL_ERROR "${sources}/sqlite3/sqlite3.c is missing. Run: scripts/setup.sh --portable")
endif()
ddpsim_compile(simdjson simdjson::simdjson ${sources}/simdjson/singleheader ${sources}/simdjson/singleheader/simdjson.cpp)
ddpsim_compile(sqlite3 SQLite::SQLite3 ${sources}/sqlite3 ${sources}/sqlite3/sqlite3.c)
target_compile_definitions(sqlite3 PRIVATE SQLITE_OMIT_LOAD_EXTENSION)
# Boost 1.74 derives from std::unary_function, which C++17 removed.
target_compile_definitions(boost_headers INTERFACE _LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION)
