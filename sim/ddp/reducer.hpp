// The DDP reducer as a schedule: one training step of DistributedDataParallel, in PyTorch's order
// of hooks, copies, launches and finalize (torch/csrc/distributed/c10d/reducer.cpp).
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

PlannedStep schedule_reducer(const StepToPlan& asked);

}  // namespace ddpsim
