// Steps as --report draws them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/reports/html_report.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "job_report.hpp"

namespace ddpsim {

/// What a step of this job, or of other settings of it, is reported as.
SimulateReport step_report(const BuiltJob& loaded, const PeakMemory& memory,
                           SimulationResult result);

/// Its result and its timeline: "result" and "timeline", behind `prefix`.
std::vector<ReportDocument> step_documents(const SimulateReport& step,
                                           const std::string& prefix = "");

/// Where the recorded step is of the same work as the simulated one.
std::optional<Timeline> recorded_step(const BuiltJob& loaded);

/// "recorded_timeline", of recorded_step; else nothing.
std::vector<ReportDocument> recorded_documents(const BuiltJob& loaded);

/// Today's step, and the recorded one of the same work where there is one.
std::vector<ReportDocument> current_steps(const Job& current, const BuiltJob& loaded,
                                          const PeakMemory& memory);

/// Of `tune`: these, and the step with the recommended setting where there is one.
std::vector<ReportDocument> tuned_steps(const Job& current, const Recommendation& recommended,
                                        const BuiltJob& loaded, const PeakMemory& memory);

}  // namespace ddpsim
