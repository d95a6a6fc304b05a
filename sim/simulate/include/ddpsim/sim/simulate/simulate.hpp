// Simulates one training step: job -> result. A pure function: the same input gives the same bits.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Whether the step is also drawn, span by span. With a million gradients this takes as long as the
/// step itself.
enum class WithTimeline { no, yes };

/// Precondition: cannot_simulate(job) is absent. With several iterations, `progress` is called
/// after each and may stop the run. The result is then the same as if only that many had been
/// requested.
SimulationResult simulate(const Job& job, Progress* progress = nullptr,
                          WithTimeline with_timeline = WithTimeline::yes);

/// Only the steady step's times, for sweeps; the numbers equal simulate(job).step.times. Gradients
/// with nothing between them are computed as one.
StepTimes simulate_times(const Job& job);

}  // namespace ddpsim
