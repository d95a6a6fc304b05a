// Whether one cluster dominates another: with the same NCCL choice, no collective takes longer on
// it, whatever is unknown about both.
#pragma once

#include <optional>

#include "ddpsim/sim/certainty/speedup.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Whether `to` has the same number of the same nodes and is nowhere worse than `from`: bandwidths,
/// NICs, latency, switch capacity. Calibrations must rest on the same logs, because logs outweigh
/// data sheet values. Equal clusters dominate each other.
bool is_dominated_by(const Cluster& from, const Cluster& to);

/// The largest all-reduce of the step for which NCCL chooses differently on `to`. Absent if it
/// never does, or if nothing is chosen. A different number of channels counts too, because more
/// channels take more SMs from compute.
std::optional<OtherChoice> other_choice(const Job& from, const Job& to);

}  // namespace ddpsim
