// Wrong code, not wrong input: checked in release builds too, ends the program.
#pragma once

#include <cstdio>
#include <cstdlib>

#define DDPSIM_ASSERT(condition, what)                                                             \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "ddpsim: internal error at %s:%d: %s (%s)\n", __FILE__, __LINE__, what, \
                   #condition);                                                                    \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
