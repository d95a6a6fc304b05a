// --measured-step: the time of steps in the training itself, as a number or a file of step times.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/certainty/trust.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// The samples of a step, which turn samples per second into a step's time.
struct StepSamples {
  /// For all GPUs together; absent if the recording does not state its batch.
  std::optional<double> all;
  int gpus = 1;
};

StepSamples samples_of_step(const Job& job);

/// Takes the median of a file of step times, and adds its assumptions to `warnings`. Throws
/// InputError.
MeasuredStep read_measured_step(const MeasuredStepRequest& request, const StepSamples& samples,
                                Warnings& warnings);

/// Throws InputError if no step of the recorded job can be this short. `workload` is the name as
/// given, for messages.
void require_possible(const MeasuredStep& measured, const Job& job, const std::string& workload);

/// Returns a warning if the replay contradicts the measurement; empty otherwise.
std::string contradiction(const Replay& replay);

}  // namespace ddpsim
