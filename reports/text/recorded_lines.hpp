// What the recorded job did beside what is predicted for it: each a line, ended by a newline; empty where nothing was recorded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// What the recorded job did beside what is predicted for it, and where the two contradict each other; `on`: of several
/// clusters, which one that is predicted for.
std::string recorded_line(const ReportContext& context, const TerminalStyle& style,
                          const std::string& on = "");

/// Of one more cluster that may be the recorded one: what is predicted for the recorded all-reduces.
std::string predicted_line(const ReportContext& context, const TerminalStyle& style);

/// The candidate whose predictions are laid beside the recording: the first that may be its cluster, else the first.
std::size_t beside_recording(const std::vector<CandidateContext>& contexts);

}  // namespace ddpsim
