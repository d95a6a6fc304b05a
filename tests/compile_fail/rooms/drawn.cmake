# Checks that ARCHITECTURE.md draws the rooms of each folder as they are built.
# Usage: cmake -DROOMS=… -DPAGE=… -P drawn.cmake
# ROOMS: targets ddpsim_<folder>_<room> in the order of the arrows, separated by spaces.
file(READ ${PAGE} page)
separate_arguments(ROOMS)
set(folders)
foreach(room IN LISTS ROOMS)
  string(REGEX MATCH "^ddpsim_([a-z]+)_([a-z]+)$" is_room ${room})
  list(APPEND folders ${CMAKE_MATCH_1})
  list(APPEND rooms_of_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  list(JOIN rooms_of_${folder} " ← " drawn)
  string(REGEX MATCH "\n ${folder} +${drawn}\n" found "${page}")
  if(NOT found)
    message(FATAL_ERROR "${PAGE} does not draw the rooms of ${folder} as they are built:\n ${folder} ${drawn}")
  endif()
endforeach()
