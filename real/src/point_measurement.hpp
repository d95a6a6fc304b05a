// Computes the reported values of one configuration from the records of all ranks.
#pragma once

#include <vector>

#include "ddpsim/reports/measurement.hpp"
#include "ddpsim/sim/values/timeline.hpp"
#include "step_record.hpp"

namespace ddpsim {

/// `ranks[r]` holds the steps of rank r, each with its end. Fills the fields of `result` that
/// follow from records.
void measure(const std::vector<std::vector<StepRecord>>& ranks, MeasuredConfiguration& result);

/// The step with the lower median duration, on all ranks. Times count from the start of its forward
/// on rank 0.
Timeline median_timeline(const std::vector<std::vector<StepRecord>>& ranks);

}  // namespace ddpsim
