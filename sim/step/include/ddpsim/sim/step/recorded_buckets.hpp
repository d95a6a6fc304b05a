// Which gradients the recorded all-reduces carried, as far as their bytes show it.
#pragma once

#include <vector>

#include "ddpsim/sim/values/bucket.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// `options` with the communication hook that the recorded all-reduces show, instead of the one
/// asked for.
DdpOptions with_recorded_hook(DdpOptions options, const RecordedWith& with);

/// Gradients in the order in which they were written, cut into buckets of the recorded bytes. Empty
/// if a recorded size does not end at a gradient's end, or if a bucket would mix types.
std::vector<Bucket> cut_as_recorded(const Workload& workload);

}  // namespace ddpsim
