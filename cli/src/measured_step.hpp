// --measured-step: what today's steps take, as a figure or as a file of step times.
#pragma once

#include <string>

#include "ddpsim/sim/job.hpp"
#include "ddpsim/sim/measured_correction.hpp"

namespace ddpsim {

/// "104ms"; FILE or FILE:COLUMN, of whose steps the median is taken. Throws UsageError or InputError.
MeasuredStep parse_measured_step(const std::string& text);

/// Throws InputError where no step of what was recorded can take so little; `workload` as given, for
/// messages.
void require_possible(const MeasuredStep& measured, const Job& job, const std::string& workload);

/// What to warn of where the replay contradicts the measurement.
std::string contradiction(const Replay& replay);

}  // namespace ddpsim
