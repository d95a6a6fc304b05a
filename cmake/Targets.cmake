# There is one target per folder. A folder links only the folders below it, so a forbidden include does not compile.

add_library(ddpsim_options INTERFACE)
target_compile_features(ddpsim_options INTERFACE cxx_std_20)
# Without fused multiply-add, results have the same bits on every machine.
target_compile_options(ddpsim_options INTERFACE -ffp-contract=off)
# GCC spends a tenth of the compile time of a large group on garbage collection, though memory would suffice without it. The preset dev
# must not have this option: clang-tidy reads its commands and refuses it.
if(CMAKE_UNITY_BUILD)
  target_compile_options(ddpsim_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
endif()

# ddpsim_light(<target>): for code that reads options and writes answers, but computes little. -O1 compiles a quarter faster.
function(ddpsim_light target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# ddpsim_promise(<folder> <include folders …>): sets the public interface of the library ddpsim_<folder>.
function(ddpsim_promise folder)
  add_library(ddpsim::${folder} ALIAS ddpsim_${folder})
  set_target_properties(ddpsim_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_include_directories(ddpsim_${folder}
    PUBLIC ${ARGN} $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(ddpsim_${folder} PUBLIC cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY DDPSIM_LIBRARIES ddpsim_${folder})
endfunction()

# ddpsim_rooms(<folder> ROOMS <lowest first …> LINKS … PRIVATE_LINKS …): adds a target ddpsim_<folder>_<room> for each room.
# A room sees its own headers and those of the rooms below it, so a forbidden include does not compile. Its public headers are in
# <folder>/<room>/include/ddpsim/<folder>/<room>, those of the whole folder in <folder>/include. `promised` is the list of both.
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

# ddpsim_library_of_rooms(<folder> …): like ddpsim_rooms, but other folders see the rooms as one library with its public headers.
# Tests link ddpsim_<folder>_inside, which also has the internal headers.
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

# ddpsim_library(<folder> SOURCES … LINKS … PRIVATE_LINKS …): adds a library without rooms.
function(ddpsim_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(ddpsim_${folder} STATIC ${ARG_SOURCES})
  ddpsim_promise(${folder} $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  target_include_directories(ddpsim_${folder} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(ddpsim_${folder} PUBLIC ${ARG_LINKS}
                        PRIVATE $<BUILD_INTERFACE:ddpsim_options> ${ARG_PRIVATE_LINKS})
  install(DIRECTORY include/ddpsim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
