// Parts of the answer for a mix, shared by text and plots.
#pragma once

#include <string>
#include <vector>

#include "cost_lines.hpp"
#include "ddpsim/reports/mix_report.hpp"

namespace ddpsim {

/// The workloads as typed.
std::vector<std::string> workload_names(const MixReport& report);

/// Precondition: some candidate has a price.
CostedCandidates costed(const MixReport& report);

}  // namespace ddpsim
