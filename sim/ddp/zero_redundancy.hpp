// torch.distributed.optim.ZeroRedundancyOptimizer after DDP (zero_redundancy_optimizer.py, 2.13).
// Each parameter is stepped by one rank, which then broadcasts it. The largest parameter comes
// first; each goes to the rank with the fewest elements so far.
//
//   compute       DDP's backward, with all gradients reduced on all ranks
//                 optimizer, on the rank's own parameters
//   communicator  broadcasts, rank by rank
//
// A rank broadcasts its parameters in the order they were given: each alone, or all in one
// (parameters_as_bucket_view). All broadcasts are launched at once and end before the next forward.
//
// Only the rank that steps the most parameters is simulated, because the others wait for its
// broadcasts.
//
// With overlap_with_ddp, by hook_with_zero_step (ddp_zero_hook.py, 2.13), rank b mod N owns bucket
// b. The hook of the last bucket goes through all buckets. The owner steps a bucket after its
// all-reduce, on the compute stream and so after backward. Then all ranks broadcast it, after the
// all-reduces launched before. Backward ends when all broadcasts have ended, and copies out follow.
// The steps of other ranks run on side streams that stand for their GPUs.
#pragma once

#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "step_plan.hpp"

namespace ddpsim {

/// By rank: the parameters it steps, in the order they were given. With overlap_with_ddp: the
/// parameters of its buckets.
std::vector<std::vector<std::size_t>> parameters_by_owner(const Job& job,
                                                          const ZeroRedundancy& scheme,
                                                          const std::vector<Bucket>& buckets);

/// Adds what a rank steps and then broadcasts under ZeroRedundancyOptimizer. Does nothing for other
/// schemes.
void add_parameter_broadcasts(StepPlan& step);

}  // namespace ddpsim
