// --until 'efficiency<90%': from which candidate of each range on something holds.
#pragma once

#include <string>
#include <vector>

#include "candidates.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// efficiency<90%, speed>20000 (samples/s), step>120ms, usd>1.5 (of what costs are told of). Throws UsageError.
Condition parse_condition(const std::string& text);

/// Of every range that was typed, in its order. `report` has everything else. Throws UsageError where no range was typed, or
/// where nothing is known of the figure.
std::vector<Until> tipping_points(const std::vector<Condition>& conditions,
                                  const std::vector<Candidate>& candidates,
                                  const CompareReport& report);

}  // namespace ddpsim
