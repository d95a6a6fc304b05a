// How much compute and collectives of a job slow each other down, as the executor expects it.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/engine/schedule.hpp"

namespace ddpsim {

Rates rates_of(const Job& job);

}  // namespace ddpsim
