// The parts of a step, which add up as printed.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A row for each part; beside it the same step with the replay's error put down to collectives, if that decides anything.
std::string breakdown_table(const StepTimes& times, const ReportContext& context,
                            const TerminalStyle& style);

/// Whether it decides anything to what the time is put down that the replay misses.
bool corrections_differ(const Trust& trust);

/// Returns 0 if the whole is zero.
double percent_of(Duration part, Duration whole);

}  // namespace ddpsim
