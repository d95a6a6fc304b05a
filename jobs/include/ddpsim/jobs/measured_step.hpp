// --measured-step: what steps take in the training itself, as a figure or as a file of step times.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/certainty/trust.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// The samples of a step, which turn samples per second into a step's time.
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

/// Returns the warning where the replay contradicts the measurement; empty where it does not.
std::string contradiction(const Replay& replay);

}  // namespace ddpsim
