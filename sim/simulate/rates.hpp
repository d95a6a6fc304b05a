// How compute and collectives of a job slow each other, as the executor takes it.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/engine/schedule.hpp"

namespace ddpsim {

Rates rates_of(const Job& job);

}  // namespace ddpsim
