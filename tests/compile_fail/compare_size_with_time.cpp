#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const bool smaller = 1_KiB < 1_us;
#else
const bool smaller = 1_KiB < 1_MiB;
#endif
