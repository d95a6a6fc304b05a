#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

#ifdef MUST_NOT_COMPILE
const Bytes size = 5;
#else
const Bytes size = Bytes(5);
#endif
