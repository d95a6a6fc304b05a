// torch.distributed.optim.ZeroRedundancyOptimizer behind DDP (zero_redundancy_optimizer.py, 2.13): every parameter has one
// rank that steps it and then broadcasts it. Largest first, each goes to the rank that has the fewest elements so far.
//
//   compute       … DDP's backward, all gradients reduced on all ranks | optimizer, on its own parameters | all broadcasts
//   communicator  rank by rank, each one's parameters in the order they were given to it: a broadcast each, or one of all of
//                 them (parameters_as_bucket_view); all launched at once, none of them beside the next forward
//
// Ranks are simulated as the one that steps most: its broadcasts are what the others wait for. overlap_with_ddp, which
// broadcasts in backward, is not here.
#pragma once

#include <vector>

#include "ddpsim/sim/job.hpp"
#include "step_collectives.hpp"

namespace ddpsim {

/// By rank: its parameters, in the order they were given to it.
std::vector<std::vector<std::size_t>> parameters_by_owner(const Workload& workload, int ranks);

struct SharedOptimizer {
  double largest_share = 1;  ///< of all elements, of one rank's
  std::vector<StepCollective> broadcasts;
};
SharedOptimizer share_optimizer(const Job& job, const ZeroRedundancy& scheme);

}  // namespace ddpsim
