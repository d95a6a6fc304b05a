// Where a job comes from: what was asked for, what was assumed, and what was recorded.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/tune/recorded_job.hpp"

namespace ddpsim {

struct Provenance {
  std::string workload_source;  ///< as asked for: name, file or MODEL@GPU
  std::string cluster_source;   ///< as asked for: name, file or description
  /// Name among other jobs. Absent: the job is named after its cluster.
  std::optional<std::string> label = {};
  /// False: the version is unknown, and one is assumed.
  bool torch_known = true;
  /// False: DDP is used because no scheme was asked for.
  bool scheme_asked = false;
  std::optional<RecordedJob> recorded = {};  ///< what the recorded job did
  bool calibrated_by_recording = false;      ///< recorded all-reduces moved the cost model
};

}  // namespace ddpsim
