#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

Duration transfer(Bytes size) {
  return size / 1_GBps;
}

#ifdef MUST_NOT_COMPILE
const Duration time = transfer(1_GBps);
#else
const Duration time = transfer(1_KiB);
#endif
