// What a job gets done in a second, and how much of its GPUs' arithmetic that takes.
//
//   samples per second       samples of all ranks in a step / step
//   tokens per second        samples per second * tokens of a sample
//   model FLOPs utilization  what the model FLOPs of a step take at the GPUs' data-sheet rate / step
//   scaling efficiency       the step of one of its GPUs by itself, without DDP, behind a DataLoader like its own / step
#pragma once

#include <optional>

#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// What all ranks together get through in one step.
struct StepWork {
  std::optional<double> samples;          ///< absent: the workload does not say its batch
  std::optional<double> tokens;           ///< absent: its samples are no sequences
  std::optional<double> seconds_at_peak;  ///< absent: its model or its precision is not known
};

struct TrainingSpeed {
  std::optional<double> samples_per_second;
  std::optional<double> tokens_per_second;
  std::optional<double> model_flops_utilization;  ///< 0 to 1
  std::optional<double> scaling_efficiency;       ///< absent for a step that takes no time
};

inline double scaling_efficiency(const StepTimes& times) {
  return times.iteration > Duration() ? (times.alone() + times.input_alone) / times.iteration : 1;
}

inline TrainingSpeed training_speed(const StepWork& work, const StepTimes& times) {
  const double step = times.iteration.seconds();
  if (step <= 0) return {};
  const auto per_second = [&](std::optional<double> amount) {
    return amount ? std::optional(*amount / step) : std::nullopt;
  };
  return {.samples_per_second = per_second(work.samples),
          .tokens_per_second = per_second(work.tokens),
          .model_flops_utilization = per_second(work.seconds_at_peak),
          .scaling_efficiency = scaling_efficiency(times)};
}

}  // namespace ddpsim
