// From operations with times to what a person asks: the parts of the step, the buckets, the
// timeline.
#pragma once

#include <vector>

#include "ddpsim/sim/step/result.hpp"
#include "planned_step.hpp"

namespace ddpsim {

class StreamCauses;

/// Attributes every picosecond of rank 0's step to one part, and what of it one GPU alone would not take to one cause. What lies
/// between steps is carried over from the recording.
StepTimes attribute_step(const PlannedStep& planned, const Execution& execution, const Job& job);

/// What was simulated is the slowest GPU; a usual one computes sooner and waits. Of a recording that holds more of either
/// than this job has, nothing is taken back. `work`: forward, backward and optimizer with nothing in their way.
void attribute_slowdown(const StepTimes& work, const Job& job, StepTimes& times);

/// In the order the host of rank 0 launched them.
std::vector<CollectiveResult> describe_collectives(const PlannedStep& planned,
                                                   const Execution& execution);

/// The same step by what it loses: what its stream tells, and what was recorded. `times` are its parts.
Loss attribute_loss(const PlannedStep& planned, const StreamCauses& causes, const Job& job,
                    const StepTimes& times);

/// End of the last operation of backward on a compute stream.
TimePoint end_of_backward(const Program& program, const std::vector<OperationTime>& times);

std::vector<BucketResult> describe_buckets(const PlannedStep& planned, const Execution& execution,
                                           const std::vector<Bucket>& buckets);

/// Its optimizer_start and optimizer_end.
void note_optimizer(const PlannedStep& planned, const Execution& execution, StepResult& step);

/// Spans name the gradients they hold by `workload`'s parameters. `slowest_first`: rank 0 computes as the slowest of GPUs
/// of one model does, for which the others wait.
Timeline draw_timeline(const PlannedStep& planned, const Execution& execution,
                       const Workload& workload, const std::vector<Bucket>& buckets,
                       bool slowest_first = false);

/// Behind the step, what its host waits for data, and the copy of it to the GPU.
void draw_supply(const StepResult& step, Timeline& timeline);

/// Of the compute stream: for kernels of the model that the host has yet to launch. What else it waits for is no
/// forward, backward or optimizer; until its start is no backward.
inline bool waits_for_launch(const Operation& operation) {
  const OperationKind purpose = operation.purpose;
  if (operation.action == Action::wait_until) return purpose == OperationKind::backward;
  return operation.action == Action::wait &&
         (purpose == OperationKind::forward || purpose == OperationKind::backward ||
          purpose == OperationKind::optimizer);
}

/// Returns whether a reducer does this after backward: it waits for whatever is in flight, or copies out.
inline bool hands_gradients_back(OperationKind purpose) {
  return purpose == OperationKind::all_reduce || purpose == OperationKind::local_used_map ||
         purpose == OperationKind::copy_out;
}

}  // namespace ddpsim
