// Splits steps that hold several backward passes.
//
// Backward passes of one model resemble each other. Each has the same number of gradients, of the
// same shapes in the same order. A forward precedes each one, launched by another thread than
// autograd's.
//
// So the gradients of a step are cut wherever other threads launched many GPU activities between
// two gradients. Many means at least half of the largest number before any pass. If the passes
// found in this way match, each becomes a step. It ends with the Optimizer.step after it, or
// without one at the first launch of the next forward.
//
// The rule fails if passes differ (two models that train in turn). Such a step stays whole.
#pragma once

#include <vector>

#include "trace_records.hpp"

namespace ddpsim {

/// Splits a step that holds several backward passes into one part for each pass, with a name such as
/// "ProfilerStep#5 (2 of 3)". A step with one pass is returned as it is.
std::vector<StepMarker> split_by_passes(const TraceRecords& records, const StepMarker& step);

}  // namespace ddpsim
