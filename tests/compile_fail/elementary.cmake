# Checks that only elementary.cpp calls functions of the C library whose last digit differs between libraries.
# Usage: cmake -DROOT=… -P elementary.cmake
set(functions exp exp2 expm1 log log2 log10 log1p pow cbrt hypot sin cos tan asin acos atan atan2 sinh cosh tanh erf erfc tgamma lgamma)
list(JOIN functions "|" words)
set(found "")
foreach(folder sim formats topologies models traces diagnose calibrate jobs reports cli real)
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.hpp)
  list(REMOVE_ITEM sources sim/values/elementary.cpp)
  foreach(source IN LISTS sources)
    # The second pattern matches methods of Eigen's arrays, but only names that no container has.
    file(STRINGS ${ROOT}/${source} lines REGEX "std::(${words})f?l?\\(|\\(\\)\\.(exp|log|log1p|log10|pow|sin|cos|tanh)\\(")
    foreach(line IN LISTS lines)
      string(APPEND found "\n${source}: ${line}")
    endforeach()
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "These results differ between machines. Use elementary.hpp of sim/values instead:${found}")
endif()
