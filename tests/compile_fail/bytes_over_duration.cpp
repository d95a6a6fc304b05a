#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const auto rate = 1_KiB / 1_us;
#else
const Duration time = 1_KiB / 1_GBps;
#endif
