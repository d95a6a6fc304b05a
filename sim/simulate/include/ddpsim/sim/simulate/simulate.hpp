// One training step: job -> result. A pure function: same input, same bits.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Whether the step is drawn, too, span by span: of a million gradients that takes as long as the step.
enum class WithTimeline { no, yes };

/// Precondition: cannot_simulate(job) is absent. Of several iterations `progress` hears after each, and may stop: the result
/// is then what as many asked for would have given.
SimulationResult simulate(const Job& job, Progress* progress = nullptr,
                          WithTimeline with_timeline = WithTimeline::yes);

/// The steady step's times alone; the same numbers as simulate(job).step.times, for sweeps: gradients that nothing comes
/// between are computed as one.
StepTimes simulate_times(const Job& job);

}  // namespace ddpsim
