// Turns operations with times into what a person asks for: the parts of the step, the buckets and
// the timeline.
#pragma once

#include <vector>

#include "ddpsim/sim/step/result.hpp"
#include "planned_step.hpp"

namespace ddpsim {

class StreamCauses;

/// Attributes every picosecond of rank 0's step to one part, and time that one GPU alone would not
/// need to one cause. The time between steps is taken from the recording.
StepTimes attribute_step(const PlannedStep& planned, const Execution& execution, const Job& job);

/// The slowest GPU was simulated. A usual GPU computes faster and then waits, so this time is
/// moved. Nothing is moved if the recording contains a larger slowdown than this job has. `work`:
/// undisturbed forward, backward and optimizer.
void attribute_slowdown(const StepTimes& work, const Job& job, StepTimes& times);

/// Collectives in the order in which rank 0's host launched them.
std::vector<CollectiveResult> describe_collectives(const PlannedStep& planned,
                                                   const Execution& execution);

/// Attributes what the step loses to causes, from its stream and from the recording. `times` are
/// its parts.
Loss attribute_loss(const PlannedStep& planned, const StreamCauses& causes, const Job& job,
                    const StepTimes& times);

/// End of the last operation of backward on a compute stream.
TimePoint end_of_backward(const Program& program, const std::vector<OperationTime>& times);

std::vector<BucketResult> describe_buckets(const PlannedStep& planned, const Execution& execution,
                                           const std::vector<Bucket>& buckets);

/// Sets the step's optimizer_start and optimizer_end.
void note_optimizer(const PlannedStep& planned, const Execution& execution, StepResult& step);

/// Spans name the gradients they hold by `workload`'s parameters. With `slowest_first`, rank 0
/// computes like the slowest GPU of its model, and the others wait for it.
Timeline draw_timeline(const PlannedStep& planned, const Execution& execution,
                       const Workload& workload, const std::vector<Bucket>& buckets,
                       bool slowest_first = false);

/// Draws, after the step, the host's wait for data and the copy of the batch to the GPU.
void draw_supply(const StepResult& step, Timeline& timeline);

/// Returns whether a reducer does this after backward: it waits for whatever is in flight, or copies out.
inline bool hands_gradients_back(OperationKind purpose) {
  return purpose == OperationKind::all_reduce || purpose == OperationKind::local_used_map ||
         purpose == OperationKind::copy_out;
}

}  // namespace ddpsim
