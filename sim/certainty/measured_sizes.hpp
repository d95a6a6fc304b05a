// Whether measurements cover the sizes that a prediction or a recommendation rests on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Lowers the grade to C if most bytes of `sizes` are in sizes far from every log of the cluster,
/// and adds the reason and what to measure. Does nothing for one rank or without a calibration.
/// `what` says what has these sizes: "buckets", "all-reduces". Call it after the other values of
/// `confidence` are set.
void grade_by_sizes(Confidence& confidence, const std::vector<Bytes>& sizes, std::string_view what,
                    const Cluster& cluster);

/// Why all-reduces of these sizes are unlike any that was measured on this cluster or one of its
/// kind, as a sentence without a full stop. Empty if they are similar. measured_sizes.cpp states
/// the distances.
std::string beyond_measured(const std::vector<Bytes>& sizes, const Job& job);

}  // namespace ddpsim
