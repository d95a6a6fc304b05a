#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const TimePoint instant = 1_us;
#else
const TimePoint instant = TimePoint(1_us);
#endif
