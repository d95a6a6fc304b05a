// Which workloads are compared, and how much of the time is each one's: WORKLOAD, or --workload W[=SHARE] several times.
#pragma once

#include <string>
#include <vector>

#include "compare_arguments.hpp"
#include "ddpsim/jobs/workload_source.hpp"

namespace ddpsim {

struct WeighedWorkload {
  std::string text;  ///< WORKLOAD, as typed
  double share = 1;  ///< of the time; all of them together 1
};

/// Where --workload or a study names the workloads, every word is a CLUSTER. `clusters`: those of the study, then those that
/// were typed. Throws UsageError.
std::vector<WeighedWorkload> weighed_workloads(const CompareArguments& arguments,
                                               std::vector<CandidateRequest>& clusters);

}  // namespace ddpsim
