# One target per folder; a folder links only what stands below it, so a wrong include does not build.

add_library(ddpsim_options INTERFACE)
target_compile_features(ddpsim_options INTERFACE cxx_std_20)
# Same bits on every machine: no fused multiply-add behind our back.
target_compile_options(ddpsim_options INTERFACE -ffp-contract=off)
# GCC spends a tenth of a large group's compile time on collecting garbage that would fit into memory. Not in preset dev:
# clang-tidy reads its commands and refuses the option.
if(CMAKE_UNITY_BUILD)
  target_compile_options(ddpsim_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
endif()

# ddpsim_light(<target>): code that reads options and writes answers, and leaves computing to others. -O1 compiles a quarter faster.
function(ddpsim_light target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# ddpsim_promise(<folder> <include folders …>): the library ddpsim_<folder> as others see it.
function(ddpsim_promise folder)
  add_library(ddpsim::${folder} ALIAS ddpsim_${folder})
  set_target_properties(ddpsim_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_include_directories(ddpsim_${folder}
    PUBLIC ${ARGN} $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(ddpsim_${folder} PUBLIC cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY DDPSIM_LIBRARIES ddpsim_${folder})
endfunction()

# ddpsim_library(<folder> SOURCES … LINKS … PRIVATE_LINKS …)
function(ddpsim_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(ddpsim_${folder} STATIC ${ARG_SOURCES})
  ddpsim_promise(${folder} $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  target_include_directories(ddpsim_${folder} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(ddpsim_${folder} PUBLIC ${ARG_LINKS}
                        PRIVATE $<BUILD_INTERFACE:ddpsim_options> ${ARG_PRIVATE_LINKS})
  install(DIRECTORY include/ddpsim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
