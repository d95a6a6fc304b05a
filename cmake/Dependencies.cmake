# A dependency is first looked for on the machine (Debian 12's versions are the minimum). If it is not found, it is fetched at a pinned
# commit. Both ways give the same target names.
if(EMSCRIPTEN)
  include(${CMAKE_CURRENT_LIST_DIR}/wasm/Dependencies.cmake)
  return()
elseif(DDPSIM_TARGET)
  include(${CMAKE_CURRENT_LIST_DIR}/portable/Dependencies.cmake)
  return()
endif()
include(FetchContent)
set(FETCHCONTENT_QUIET ON)

function(ddpsim_dependency name repository commit)  # other arguments go to find_package
  FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository} GIT_TAG ${commit}
                       SYSTEM FIND_PACKAGE_ARGS ${ARGN})
  FetchContent_MakeAvailable(${name})
endfunction()

set(JSON_BuildTests OFF)
set(CLI11_BUILD_TESTS OFF)
set(CLI11_BUILD_EXAMPLES OFF)
set(SIMDJSON_DEVELOPER_MODE OFF)
set(BENCHMARK_ENABLE_TESTING OFF)
set(FMT_INSTALL ON)

ddpsim_dependency(fmt fmtlib/fmt a33701196adfad74917046096bf5a2aa0ab0bb50 9.1)
ddpsim_dependency(nlohmann_json nlohmann/json bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d 3.11)
ddpsim_dependency(CLI11 CLIUtils/CLI11 70f8072f9dd2292fd0b9f9e5f58e279f60483ed3 2.1)
ddpsim_dependency(simdjson simdjson/simdjson 0d2455029d845e801809dd54b01ae47173d7d8e8 3.0)
ddpsim_dependency(pugixml zeux/pugixml a0e064336317c9347a91224112af9933598714e9 1.13)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)

# Only headers of Boost are used: Graph for shortest routes in topologies/src, and Multiprecision in one source of sim/values.
find_path(BOOST_INCLUDE_DIR boost/multiprecision/cpp_bin_float.hpp REQUIRED)
add_library(boost_headers INTERFACE)
target_include_directories(boost_headers SYSTEM INTERFACE ${BOOST_INCLUDE_DIR})

# Only headers of Eigen are used: for least squares in calibrate/fit, and for its 16-bit types in real/src.
find_path(EIGEN_INCLUDE_DIR Eigen/Cholesky PATH_SUFFIXES eigen3)
if(NOT EIGEN_INCLUDE_DIR)
  FetchContent_Declare(eigen GIT_REPOSITORY https://gitlab.com/libeigen/eigen.git
                       GIT_TAG 3147391d946bb4b6c68edd901f2add6ac1f31f8c)
  FetchContent_GetProperties(eigen)
  if(NOT eigen_POPULATED)
    FetchContent_Populate(eigen)
  endif()
  set(EIGEN_INCLUDE_DIR ${eigen_SOURCE_DIR})
endif()
add_library(eigen_headers INTERFACE)
target_include_directories(eigen_headers SYSTEM INTERFACE ${EIGEN_INCLUDE_DIR})
# The order of summation must be the same on every machine. In Eigen it depends on the width of vectors and on the sizes of caches.
target_compile_definitions(eigen_headers INTERFACE EIGEN_DONT_VECTORIZE EIGEN_NO_CPUID)

# protozero installs only headers and no CMake package.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp)
if(NOT PROTOZERO_INCLUDE_DIR)
  FetchContent_Declare(protozero GIT_REPOSITORY https://github.com/mapbox/protozero
                       GIT_TAG f379578a3f7c8162aac0ac31c2696de09a5b5f93)
  FetchContent_GetProperties(protozero)
  if(NOT protozero_POPULATED)
    FetchContent_Populate(protozero)
  endif()
  set(PROTOZERO_INCLUDE_DIR ${protozero_SOURCE_DIR}/include)
endif()
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE_DIR})

if(DDPSIM_TESTS)
  ddpsim_dependency(doctest doctest/doctest b7c21ec5ceeadb4951b00396fc1e4642dd347e5f 2.4.9)
endif()
if(DDPSIM_BENCHMARKS)
  ddpsim_dependency(benchmark google/benchmark d572f4777349d43653b21d6c2fc63020ab326db2 1.7)
endif()
