#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const TimePoint later = TimePoint(1_us) + TimePoint(1_us);
#else
const TimePoint later = TimePoint(1_us) + 1_us;
#endif
