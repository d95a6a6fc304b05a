// How a difference of timelines is told.
#pragma once

#include <string>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/reports/timeline_difference.hpp"

namespace ddpsim {

std::string difference_text(const TimelineDifference& difference, const TerminalStyle& style);
/// The value of "measured" in a result.
void write_difference(JsonWriter& json, const TimelineDifference& difference);

}  // namespace ddpsim
