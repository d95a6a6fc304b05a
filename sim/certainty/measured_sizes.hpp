// Whether what was measured reaches the sizes a prediction or an advice rests on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Lowers the grade to C where most bytes of `sizes` are in sizes that no log of the cluster comes
/// near, with the reason and what to measure; nothing for one rank or without a calibration. `what`
/// goes by these sizes: "buckets", "all-reduces". Called once `confidence` has its other figures.
void grade_by_sizes(Confidence& confidence, const std::vector<Bytes>& sizes, std::string_view what,
                    const Cluster& cluster);

/// Why all-reduces of these sizes are unlike any that was measured on this cluster or one of its kind, as a sentence without
/// a full stop; empty where they are not. The distances are stated in measured_sizes.cpp.
std::string beyond_measured(const std::vector<Bytes>& sizes, const Job& job);

}  // namespace ddpsim
