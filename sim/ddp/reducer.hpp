// Schedules one training step of DistributedDataParallel, in the order in which PyTorch's reducer
// runs hooks, copies, launches and finalize (torch/csrc/distributed/c10d/reducer.cpp).
#pragma once

#include "scheme_rules.hpp"

namespace ddpsim {

PlannedStep schedule_reducer(const StepToPlan& asked);

}  // namespace ddpsim
