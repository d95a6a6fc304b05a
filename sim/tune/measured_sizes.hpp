// Whether a calibration's logs reach the sizes a prediction rests on.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/confidence.hpp"
#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// Lowers the grade to C where most bytes of `sizes` are in sizes that no log of the cluster comes
/// near, with the reason and what to measure; nothing for one rank or without a calibration. `what`
/// goes by these sizes: "buckets", "all-reduces". Called once `confidence` has its other figures.
void grade_by_sizes(Confidence& confidence, const std::vector<Bytes>& sizes, std::string_view what,
                    const Cluster& cluster);

}  // namespace ddpsim
