#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const Duration square = 1_us * 1_us;
#else
const Duration twice = 1_us * 2;
#endif
