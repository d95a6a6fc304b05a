// Staleness of the parameters that a worker reads from asynchronous parameter servers. It is the
// number of updates by other workers between a worker's pull and the update from its next push. It
// is counted in a simulation of workers that do not wait for each other.
//
//   period of worker w in step i = step time outside compute + compute x draw(w, i)
//
// The draws come from rank_variation.hpp (--jitter, --straggler); a node draws its slowest GPU. A
// worker pulls when its push has been applied. Pushes that end at the same time are applied in the
// order of workers. Workers begin at equal distances in time.
//
// Equal workers without jitter see each other's updates once a period, so their staleness is W - 1.
// The result covers several seeds, starting with the job's, and leaves out the first periods. It
// does not say whether training converges.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// `times` is the step of the job's single simulated worker. Absent if workers wait for each other.
std::optional<Staleness> staleness_of(const Job& job, const StepTimes& times);

}  // namespace ddpsim
