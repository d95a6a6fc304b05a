// The workloads to compare and their shares of the time: WORKLOAD, or several --workload W[=SHARE].
#pragma once

#include <string>
#include <vector>

#include "compare_arguments.hpp"
#include "ddpsim/jobs/workload_source.hpp"

namespace ddpsim {

struct WeighedWorkload {
  std::string text;  ///< WORKLOAD, as typed
  double share = 1;  ///< of the time; they add up to 1
};

/// Returns the workloads, and appends to `clusters` those of the study, then the typed ones. If --workload or a study names the
/// workloads, every typed argument is a CLUSTER. Throws UsageError.
std::vector<WeighedWorkload> weighed_workloads(const CompareArguments& arguments,
                                               std::vector<CandidateRequest>& clusters);

}  // namespace ddpsim
