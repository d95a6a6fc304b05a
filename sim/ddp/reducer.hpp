// The DDP reducer as a schedule: one training step of DistributedDataParallel, in PyTorch's order
// of hooks, copies, launches and finalize (torch/csrc/distributed/c10d/reducer.cpp).
#pragma once

#include "planned_step.hpp"

namespace ddpsim {

PlannedStep schedule_reducer(const Job& job, const std::vector<Bucket>& buckets,
                             const StepKind& kind, const std::vector<RankState>& states);

}  // namespace ddpsim
