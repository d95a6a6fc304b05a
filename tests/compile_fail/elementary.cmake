# No source but elementary.cpp asks the C library for a function whose last digit is the library's own:
# cmake -DROOT=… -P elementary.cmake
set(functions exp exp2 expm1 log log2 log10 log1p pow cbrt hypot sin cos tan asin acos atan atan2 sinh cosh tanh erf erfc tgamma lgamma)
list(JOIN functions "|" words)
set(found "")
foreach(folder sim formats topologies models traces diagnose calibrate jobs reports cli real)
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.hpp)
  list(REMOVE_ITEM sources sim/values/elementary.cpp)
  foreach(source IN LISTS sources)
    # Of Eigen's arrays only the words that no container has.
    file(STRINGS ${ROOT}/${source} lines REGEX "std::(${words})f?l?\\(|\\(\\)\\.(exp|log|log1p|log10|pow|sin|cos|tanh)\\(")
    foreach(line IN LISTS lines)
      string(APPEND found "\n${source}: ${line}")
    endforeach()
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "differs from machine to machine; sim/values has elementary.hpp for it:${found}")
endif()
