// The documents of steps that --report draws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/reports/html_report.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "job_report.hpp"

namespace ddpsim {

/// Returns the report of a step of this job, possibly with other settings.
SimulateReport step_report(const BuiltJob& loaded, const PeakMemory& memory,
                           SimulationResult result);

/// Returns the documents "result" and "timeline" of a step, their names after `prefix`.
std::vector<ReportDocument> step_documents(const SimulateReport& step,
                                           const std::string& prefix = "");

/// Returns the recorded step if it did the same work as the simulated one.
std::optional<Timeline> recorded_step(const BuiltJob& loaded);

/// Returns the document "recorded_timeline" if there is a recorded_step.
std::vector<ReportDocument> recorded_documents(const BuiltJob& loaded);

/// Returns the documents of the step with current settings, and of the recorded step if it did the same work.
std::vector<ReportDocument> current_steps(const Job& current, const BuiltJob& loaded,
                                          const PeakMemory& memory);

/// Returns the documents of current_steps and, if `tune` recommends a setting, of the step with it.
std::vector<ReportDocument> tuned_steps(const Job& current, const Recommendation& recommended,
                                        const BuiltJob& loaded, const PeakMemory& memory);

}  // namespace ddpsim
