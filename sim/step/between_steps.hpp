// What lies between a step and the next: a pause, or less than nothing where the host queues the next
// forward while this step still runs.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// What kept the recorded GPU waiting (data loading), for every micro-batch.
Duration pause_after_step(const Job& job, const Recorded& recorded);

/// Adds it to a step: to its stall, and to what it waits for, data or the host.
void add_pause(const Job& job, const Recorded& recorded, StepTimes& times);

/// How long before the end of a step the next forward begins, as compute takes on this job's GPU: no more
/// than all of it, for no backward begins before the optimizer of the step before has run.
Duration forward_ahead(const Job& job, const Recorded& recorded);

}  // namespace ddpsim
