// The parts of a difference between two steps, in words.
#pragma once

#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "text_layout.hpp"

namespace ddpsim {

inline constexpr int kDifferenceDigits = 3;

/// "the model's kernels", "waiting for rank 3". `after` tells which rank is waited for.
std::string label_of(StepPart part, const StepBreakdown& after);

Duration without_sign(Duration time);
/// "+1.2 ms", "-0.3 ms".
std::string signed_time(Duration time, TimeUnit unit);

}  // namespace ddpsim
