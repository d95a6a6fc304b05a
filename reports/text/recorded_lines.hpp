// The recorded job compared with its prediction. Each function returns a line with its newline, or
// nothing if no job was recorded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// What the recorded job did, what is predicted for it, and whether the two contradict each other.
/// `on` names the predicted cluster if there are several.
std::string recorded_line(const ReportContext& context, const TerminalStyle& style,
                          const std::string& on = "");

/// The predicted time of the recorded all-reduces on one more cluster that may be the recorded one.
std::string predicted_line(const ReportContext& context, const TerminalStyle& style);

/// Index of the candidate that is compared with the recording: the first that may be its cluster,
/// else the first of all.
std::size_t beside_recording(const std::vector<CandidateContext>& contexts);

}  // namespace ddpsim
