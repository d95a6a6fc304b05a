// Steps that hold several backward passes, taken apart.
//
// Backward passes of one model are alike: as many gradients, of the same shapes in the same order, and before each a
// forward, which another thread than autograd's launches. So the gradients of a step are cut where, between two of
// them, other threads launched at least half as many GPU activities as before the pass where they launched most;
// and where the passes so found are alike, each is a step: up to the end of the Optimizer.step behind it or, where
// there is none, up to the first launch of the next forward. It stops being true where passes differ (two models
// that train in turn): such a step stays whole.
#pragma once

#include <vector>

#include "trace_records.hpp"

namespace ddpsim {

/// The step itself, or its parts: "ProfilerStep#5 (2 of 3)".
std::vector<StepMarker> split_by_passes(const TraceRecords& records, const StepMarker& step);

}  // namespace ddpsim
