// torch.distributed.optim._apply_optimizer_in_backward under DDP (2.0 and later; optimizer_overlap_hooks.py): every parameter
// has an optimizer of its own, and DDP registers a hook that launches a bucket's all-reduce and, on a stream of its own
// behind that, a division and all steps of its parameters. Gradients are the bucket's, nothing is copied out, and forward
// waits for that stream.
//
// The GPU does the steps beside backward, which takes as much longer: what is gained is what they do while it would wait
// for all-reduces. They are drawn on the compute stream where their bucket has just been reduced: in front of the next
// gradient of backward (StepKind::steps_before, from a step without), else after it, bucket by bucket. The recorded
// optimizer is shared out by bytes; what single kernels per parameter take beyond that is the hook's.
#pragma once

#include <cstddef>
#include <vector>

#include "finalize_backward.hpp"
#include "rank_streams.hpp"
#include "recording.hpp"
#include "step_plan.hpp"

namespace ddpsim {

/// What of the recorded optimizer is of a bucket, by bytes.
Duration share_of_optimizer(const StepPlan& step, const Recording& recording, std::size_t bucket,
                            const RankStreams& streams);

/// On the compute stream, once the bucket has been reduced. `purpose` of what is not the recorded optimizer's.
void step_bucket(const StepPlan& step, const Recording& recording, std::size_t bucket,
                 OperationKind purpose, const WorkInFlight& work, RankStreams& streams);

/// Of parameters outside DDP, after backward.
void step_others(const StepPlan& step, const Recording& recording, const Launches& launches,
                 RankStreams& streams);

/// Python's, while it launches the bucket.
Duration host_time_of_steps(const StepPlan& step, std::size_t bucket);

/// StepKind::steps_before, as the step went without them.
std::vector<std::size_t> steps_before(const PlannedStep& planned, const Execution& execution);

}  // namespace ddpsim
