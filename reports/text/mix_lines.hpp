// Parts of what is told of a mix, for the terminal and for figures.
#pragma once

#include <string>
#include <vector>

#include "cost_lines.hpp"
#include "ddpsim/reports/mix_report.hpp"

namespace ddpsim {

/// As typed.
std::vector<std::string> workload_names(const MixReport& report);

/// Precondition: anything has a price.
CostedCandidates costed(const MixReport& report);

}  // namespace ddpsim
