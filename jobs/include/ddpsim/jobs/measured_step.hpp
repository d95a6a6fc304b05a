// --measured-step: what today's steps take, as a figure or as a file of step times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Samples of a step, by which samples a second are one step's time.
struct StepSamples {
  std::optional<double> all;  ///< of all GPUs; absent: the recording does not say its batch
  int gpus = 1;
};

StepSamples samples_of_step(const Job& job);

/// "104ms", "9.6it/s"; FILE, FILE:KEY or FILE:KEY=UNIT, of whose steps the median is taken. What was taken for granted
/// goes into `warnings`. Throws UsageError or InputError.
MeasuredStep parse_measured_step(const std::string& text, const StepSamples& samples,
                                 std::vector<std::string>& warnings);

/// Throws InputError where no step of what was recorded can take so little; `workload` as given, for
/// messages.
void require_possible(const MeasuredStep& measured, const Job& job, const std::string& workload);

/// What to warn of where the replay contradicts the measurement.
std::string contradiction(const Replay& replay);

}  // namespace ddpsim
