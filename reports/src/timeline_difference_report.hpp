// How a difference of timelines is told.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/reports/timeline_difference.hpp"
#include "json_writer.hpp"

namespace ddpsim {

std::string difference_text(const TimelineDifference& difference, const TerminalStyle& style);
/// The value of "measured" in a result.
void write_difference(JsonWriter& json, const TimelineDifference& difference);

}  // namespace ddpsim
