// WORKLOAD and CLUSTER and what relates them: read, checked against each other, ready to simulate.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/job.hpp"
#include "job_arguments.hpp"
#include "typed_line.hpp"
#include "workload_source.hpp"

namespace ddpsim {

struct LoadedJob {
  Job job;
  std::string workload_source;  ///< as given on the command line, for messages
  std::optional<Duration> measured_step;
  ReportContext context;  ///< confidence and replay not filled in
};

/// `typed`: what `arguments` were made of. `read`: the workload where it was read already. Throws
/// UsageError or InputError.
LoadedJob load_job(const JobArguments& arguments, const TypedLine& typed,
                   std::optional<LoadedWorkload> read = std::nullopt);

/// Replays today's step, where it was measured; warns where it cannot be this job's.
void replay_today(LoadedJob& loaded, Duration predicted);

/// Refuses workloads that cannot be simulated.
void require_simulatable(const LoadedJob& loaded);

}  // namespace ddpsim
