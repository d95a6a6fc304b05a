// torch.distributed.optim._apply_optimizer_in_backward under DDP (2.0 and later;
// optimizer_overlap_hooks.py). Every parameter has an optimizer of its own. DDP registers a hook
// that launches a bucket's all-reduce. After it, a stream of the hook's own divides the bucket and
// runs all steps of its parameters. Gradients stay in the bucket, nothing is copied out, and
// forward waits for that stream.
//
// The GPU runs the steps during backward, which then takes that much longer. The gain is only the
// work done while the GPU would otherwise wait for all-reduces. So the steps are drawn on the
// compute stream where their bucket has just been reduced. That is before the next gradient of
// backward (StepKind::steps_before, taken from a step without them), or else after backward, bucket
// by bucket.
//
// The recorded optimizer time is divided among buckets by bytes. Time that single kernels per
// parameter need beyond it counts as the hook's.
#pragma once

#include <cstddef>
#include <vector>

#include "finalize_backward.hpp"
#include "rank_streams.hpp"
#include "recording.hpp"
#include "step_plan.hpp"

namespace ddpsim {

/// The bucket's share of the recorded optimizer time, by bytes.
Duration share_of_optimizer(const StepPlan& step, const Recording& recording, std::size_t bucket,
                            const RankStreams& streams);

/// Steps the bucket's parameters on the compute stream after its all-reduce. `purpose` labels time
/// beyond the recorded optimizer's.
void step_bucket(const StepPlan& step, const Recording& recording, std::size_t bucket,
                 OperationKind purpose, const WorkInFlight& work, RankStreams& streams);

/// Steps the parameters outside DDP, after backward.
void step_others(const StepPlan& step, const Recording& recording, const Launches& launches,
                 RankStreams& streams);

/// Host time that Python needs for these steps while it launches the bucket.
Duration host_time_of_steps(const StepPlan& step, std::size_t bucket);

/// Computes StepKind::steps_before from a step that ran without them.
std::vector<std::size_t> steps_before(const PlannedStep& planned, const Execution& execution);

}  // namespace ddpsim
