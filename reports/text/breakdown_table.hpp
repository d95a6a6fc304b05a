// Where a step goes, part by part, so that the parts add up as printed.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A row for each part, and beside it the same step with the replay's error put down to collectives, where that decides anything.
std::string breakdown_table(const StepTimes& times, const ReportContext& context,
                            const TerminalStyle& style);

/// Whether it decides anything to what the time is put down that the replay misses.
bool corrections_differ(const Trust& trust);

/// 0 where the whole is nothing.
double percent_of(Duration part, Duration whole);

}  // namespace ddpsim
