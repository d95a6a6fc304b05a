# The rooms of `sim` as ARCHITECTURE.md draws them are the targets there are: cmake -DROOMS=… -DPAGE=… -P drawn.cmake
file(READ ${PAGE} page)
string(REPLACE " " " ← " drawn "${ROOMS}")
string(FIND "${page}" "\n ${drawn}\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${PAGE} does not draw the rooms of sim as they are built:\n ${drawn}")
endif()
