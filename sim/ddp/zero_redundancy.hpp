// torch.distributed.optim.ZeroRedundancyOptimizer behind DDP (zero_redundancy_optimizer.py, 2.13): every parameter has one
// rank that steps it and then broadcasts it. Largest first, each goes to the rank that has the fewest elements so far.
//
//   compute       … DDP's backward, all gradients reduced on all ranks | optimizer, on its own parameters | all broadcasts
//   communicator  rank by rank, each one's parameters in the order they were given to it: a broadcast each, or one of all of
//                 them (parameters_as_bucket_view); all launched at once, none of them beside the next forward
//
// Ranks are simulated as the one that steps most: its broadcasts are what the others wait for.
//
// overlap_with_ddp, by hook_with_zero_step (ddp_zero_hook.py, 2.13): bucket b is rank b mod N's. The hook of the last bucket goes from
// bucket to bucket, whose rank steps it behind its all-reduce, on the compute stream and so behind backward, and all
// broadcast it, behind the all-reduces launched before; backward ends when all broadcasts have, and copies out follow. Other
// ranks' steps run beside, on streams that stand for theirs.
#pragma once

#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "step_plan.hpp"

namespace ddpsim {

/// By rank: the parameters it steps, in the order they were given to it; with overlap_with_ddp its buckets'.
std::vector<std::vector<std::size_t>> parameters_by_owner(const Job& job,
                                                          const ZeroRedundancy& scheme,
                                                          const std::vector<Bucket>& buckets);

/// Adds to the step of a job under ZeroRedundancyOptimizer what a rank steps, and what it broadcasts then; to that of another
/// job nothing.
void add_parameter_broadcasts(StepPlan& step);

}  // namespace ddpsim
