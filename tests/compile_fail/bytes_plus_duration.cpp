#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const Bytes sum = 1_KiB + 1_us;
#else
const Bytes sum = 1_KiB + 1_B;
#endif
