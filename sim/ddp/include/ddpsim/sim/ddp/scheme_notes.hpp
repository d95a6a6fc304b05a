// Notes about a job's scheme that belong next to its result.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Says why parameters after a step differ from plain DDP's by more than the order of sums, such as
/// "gradients travel with 16 bits". Empty if they do not. Options that change the batch or its
/// statistics (accumulate, SyncBatchNorm) do not count as a scheme.
std::string changed_numerics(const Job& job);

/// Warnings about parts of the prediction that plain DDP does not need and that are not calibrated.
std::vector<std::string> rests_on(const Job& job);

}  // namespace ddpsim
