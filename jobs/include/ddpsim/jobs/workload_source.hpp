// Turns a WORKLOAD argument into a workload: a bundled name, an estimate MODEL@GPU, or a file of
// any kind that `import` reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

struct LoadedWorkload {
  Workload workload;
  std::vector<std::string> warnings;
  std::optional<DdpLog> ddp_log;  ///< if the file is one
  /// Step time of an archive that also has timings without the profiler.
  std::optional<Duration> unprofiled_step = {};
};

/// Throws InputError.
LoadedWorkload load_workload(const WorkloadRequest& request);

/// The GPU that a workload was recorded on or estimated for. Absent if unknown.
std::optional<GpuModel> recorded_on(const Workload& workload);

/// Whether a text can only name a workload. load_workload reads it, whatever it contains. Throws
/// nothing.
bool is_workload(const std::string& text);

}  // namespace ddpsim
