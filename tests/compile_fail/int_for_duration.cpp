#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const Duration wait = 5;
#else
const Duration wait = 5_us;
#endif
