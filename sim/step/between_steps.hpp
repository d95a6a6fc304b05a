// Time between a step and the next: a pause, or a negative time if the host queues the next forward
// while this step still runs.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// Time that the recorded GPU was kept waiting (data loading), for all micro-batches.
Duration pause_after_step(const Job& job, const Recorded& recorded);

/// Adds that pause to a step's stall, and to what it waits for: data or the host.
void add_pause(const Job& job, const Recorded& recorded, StepTimes& times);

/// How long before the end of a step the next forward begins, at the speed of this job's GPU. At
/// most all of forward, because no backward begins before the optimizer of the step before has run.
Duration forward_ahead(const Job& job, const Recorded& recorded);

}  // namespace ddpsim
