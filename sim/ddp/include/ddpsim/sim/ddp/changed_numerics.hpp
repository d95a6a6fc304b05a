// Which jobs are faster because they compute something else: a step of them does not teach the model what a step of DDP does.
#pragma once

#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Why parameters after a step differ from those of plain DDP by more than the order of sums, such as "gradients travel with
/// 16 bits"; empty where they do not. The options for a smaller batch or other statistics (accumulate, SyncBatchNorm) are no scheme.
std::string changed_numerics(const Job& job);

}  // namespace ddpsim
