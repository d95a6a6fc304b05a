// The parts of a report that describe the job.
#pragma once

#include <string>

#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/reports/reports.hpp"
#include "typed_line.hpp"

namespace ddpsim {

ReportContext context_of(const BuiltJob& built);

/// Returns where the GPU spends a step of this job, its speed and its data loading.
ReportedStep reported_step(const Job& job, const StepTimes& times);

/// Returns the next command to run: `next`, or `command` with --measured-step if the profiler may have caused the largest waits.
std::string next_or_measure(const Job& job, TypedLine typed, const char* command, std::string next);

}  // namespace ddpsim
