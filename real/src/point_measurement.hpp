// Records of all ranks -> what is reported of one configuration.
#pragma once

#include <vector>

#include "ddpsim/reports/measurement.hpp"
#include "ddpsim/sim/values/timeline.hpp"
#include "step_record.hpp"

namespace ddpsim {

/// `ranks[r]` holds the steps of rank r, each with its end. Fills what follows from records.
void measure(const std::vector<std::vector<StepRecord>>& ranks, MeasuredConfiguration& result);

/// The step whose duration is the lower median, on all ranks, from the start of its forward on rank 0.
Timeline median_timeline(const std::vector<std::vector<StepRecord>>& ranks);

}  // namespace ddpsim
