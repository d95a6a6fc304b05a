// The parts of a step. They add up to it as printed.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A row for each part. If it makes a difference, a second column attributes the replay error to
/// collectives instead of compute.
std::string breakdown_table(const StepTimes& times, const ReportContext& context,
                            const TerminalStyle& style);

/// Whether it makes a measurable difference if the replay error is attributed to compute or to
/// collectives.
bool corrections_differ(const Trust& trust);

/// Returns 0 if the whole is zero.
double percent_of(Duration part, Duration whole);

}  // namespace ddpsim
