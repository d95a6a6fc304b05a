#include "ddpsim/sim/values/simulation_options.hpp"

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

DdpOptions& SimulationOptions::ddp_to_set() {
  DdpOptions* ddp = ddp_options_of(scheme);
  DDPSIM_ASSERT(ddp != nullptr, "a scheme without DDP has no options of DDP");
  return *ddp;
}

}  // namespace ddpsim
