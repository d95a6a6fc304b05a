// What a report says of the job beside its result.
#pragma once

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "job_arguments.hpp"

namespace ddpsim {

/// Without what only a simulation knows: confidence, replay, the next command.
ReportContext context_of(const Job& job, const JobArguments& arguments, NcclVersion nccl);

}  // namespace ddpsim
