// A WORKLOAD argument -> workload: a bundled name, an estimate MODEL@GPU, or a file of any kind
// `import` reads.
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
  std::optional<DdpLog> ddp_log;  ///< where the file is one
  std::optional<Duration> unprofiled_step =
      {};  ///< of an archive, where it was timed beside the trace
};

/// Throws InputError.
LoadedWorkload load_workload(const WorkloadRequest& request);

/// The GPU a workload was recorded on or estimated for, as far as it says; absent when unknown.
std::optional<GpuModel> recorded_on(const Workload& workload);

/// Whether a text can only mean a workload: whatever it holds, read it with load_workload. Throws nothing.
bool is_workload(const std::string& text);

}  // namespace ddpsim
