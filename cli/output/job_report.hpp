// What every report says of a job beside its result.
#pragma once

#include <string>

#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/reports/reports.hpp"
#include "typed_line.hpp"

namespace ddpsim {

ReportContext context_of(const BuiltJob& built);

/// What the GPU does with a step of this job.
ReportedStep reported_step(const Job& job, const StepTimes& times);

/// `next`, but where a profiler may have made the waits that lead: then to measure a step without it.
std::string next_or_measure(const Job& job, TypedLine typed, const char* command, std::string next);

}  // namespace ddpsim
