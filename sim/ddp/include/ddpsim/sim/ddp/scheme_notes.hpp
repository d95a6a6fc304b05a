// What a reader of a result must be told of the scheme that a job runs.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Why parameters after a step differ from those of plain DDP by more than the order of sums, such as "gradients travel with
/// 16 bits"; empty where they do not. The options for a smaller batch or other statistics (accumulate, SyncBatchNorm) are no scheme.
std::string changed_numerics(const Job& job);

/// Warnings: what the prediction rests on that DDP's does not, and no measurement stands behind.
std::vector<std::string> rests_on(const Job& job);

}  // namespace ddpsim
