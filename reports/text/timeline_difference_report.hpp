// The difference between two timelines, as text.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/reports/timeline_difference.hpp"

namespace ddpsim {

std::string difference_text(const TimelineDifference& difference, const TerminalStyle& style);

}  // namespace ddpsim
