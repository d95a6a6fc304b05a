// A cluster that is another with more: no collective of the same choice takes longer on it, whatever is not known of both.
#pragma once

#include <optional>

#include "ddpsim/sim/certainty/speedup.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// As many of the same nodes, and nothing of `to` gives less than in `from`: bandwidths, NICs, latency, what switches
/// let through. A calibration must be of the same logs, for it says more than a specification. True of equals.
bool is_dominated_by(const Cluster& from, const Cluster& to);

/// The largest all-reduce of the step for which NCCL chooses otherwise on `to`; absent where it never does, or where
/// nothing is chosen. More channels are another choice, too: they take more SMs from compute.
std::optional<OtherChoice> other_choice(const Job& from, const Job& to);

}  // namespace ddpsim
