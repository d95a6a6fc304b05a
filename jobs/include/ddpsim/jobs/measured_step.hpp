// --measured-step: what today's steps take, as a figure or as a file of step times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/certainty/trust.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Returns the samples of a step, which turn samples per second into a step's time.
struct StepSamples {
  std::optional<double> all;  ///< of all GPUs; absent: the recording does not say its batch
  int gpus = 1;
};

StepSamples samples_of_step(const Job& job);

/// Takes the median of a file of step times, and adds what it assumes to `warnings`. Throws InputError.
MeasuredStep read_measured_step(const MeasuredStepRequest& request, const StepSamples& samples,
                                Warnings& warnings);

/// Throws InputError where no step of what was recorded can take so little; `workload` as given, for
/// messages.
void require_possible(const MeasuredStep& measured, const Job& job, const std::string& workload);

/// What to warn of where the replay contradicts the measurement.
std::string contradiction(const Replay& replay);

}  // namespace ddpsim
