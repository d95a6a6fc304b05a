// The memory of a rank's tensors over its timeline. Sizes come from PeakMemory, times from the spans
// of the compute stream.
#pragma once

#include "ddpsim/sim/attribution/step_counters.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

/// What PyTorch's allocator counts as allocated, without its rounding. Each level is the largest
/// memory until the next one.
///
/// Forward is not recorded by tensor. It is drawn as backward reversed: a tensor that is freed when
/// a tenth of backward is left was kept when a tenth of forward was done. Micro-batches that
/// accumulate are all drawn like the last one.
///
/// Empty if the memory of activations is unknown, or if the timeline has no backward.
CounterLevels memory_over_time(const PeakMemory& memory, const Workload& workload,
                               const RankTimeline& timeline);

}  // namespace ddpsim
