// Which gradients the recorded all-reduces carried, as far as their bytes tell.
#pragma once

#include <vector>

#include "ddpsim/sim/values/bucket.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// With the hook that the recorded all-reduces show, not the one asked for.
DdpOptions with_recorded_hook(DdpOptions options, const RecordedWith& with);

/// Gradients in the order written, cut where the recorded bytes say. Empty where no bucket ends at a gradient's end, or
/// one would mix types.
std::vector<Bucket> cut_as_recorded(const Workload& workload);

}  // namespace ddpsim
