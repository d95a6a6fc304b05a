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

# ddpsim_rooms(<folder> ROOMS <lowest first …> LINKS … PRIVATE_LINKS …): ddpsim_<folder>_<room> for each room, a target that sees
# its own headers and those of the rooms below it, so a wrong include does not build. A room promises its headers under
# <folder>/<room>/include/ddpsim/<folder>/<room>, all together theirs under <folder>/include; `promised` is the list of both.
function(ddpsim_rooms folder)
  cmake_parse_arguments(ARG "" "" "ROOMS;LINKS;PRIVATE_LINKS" ${ARGN})
  set(below ddpsim_options ${ARG_LINKS})
  set(promised)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    list(APPEND promised include)
  endif()
  foreach(room IN LISTS ARG_ROOMS)
    file(GLOB sources CONFIGURE_DEPENDS ${room}/*.cpp)
    add_library(ddpsim_${folder}_${room} OBJECT ${sources})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/include)
      list(APPEND promised ${room}/include)
    endif()
    target_include_directories(ddpsim_${folder}_${room} PUBLIC ${promised} ${room})
    target_link_libraries(ddpsim_${folder}_${room} PUBLIC ${below} PRIVATE ${ARG_PRIVATE_LINKS})
    list(APPEND below ddpsim_${folder}_${room})
    set_property(GLOBAL APPEND PROPERTY DDPSIM_ROOMS ddpsim_${folder}_${room})
  endforeach()
  set(promised ${promised} PARENT_SCOPE)
endfunction()

# ddpsim_library_of_rooms(<folder> …), as ddpsim_rooms: they are one library to others, who see what is promised. Tests link
# ddpsim_<folder>_inside and see behind that.
function(ddpsim_library_of_rooms folder)
  cmake_parse_arguments(ARG "" "" "ROOMS;LINKS;PRIVATE_LINKS" ${ARGN})
  ddpsim_rooms(${folder} ${ARGN})
  add_library(ddpsim_${folder} STATIC)
  add_library(ddpsim_${folder}_inside INTERFACE)
  target_link_libraries(ddpsim_${folder}_inside INTERFACE ddpsim_${folder})
  foreach(room IN LISTS ARG_ROOMS)
    target_sources(ddpsim_${folder} PRIVATE $<TARGET_OBJECTS:ddpsim_${folder}_${room}>)
    target_include_directories(ddpsim_${folder}_inside INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${room})
  endforeach()
  set(includes)
  foreach(include IN LISTS promised)
    list(APPEND includes $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/${include}>)
    install(DIRECTORY ${include}/ddpsim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endforeach()
  ddpsim_promise(${folder} ${includes})
  target_link_libraries(ddpsim_${folder} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
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
