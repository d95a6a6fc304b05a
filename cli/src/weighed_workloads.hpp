// Which workloads are compared, and how much of the time is each one's: WORKLOAD, or --workload W[=SHARE] several times.
#pragma once

#include <string>
#include <vector>

#include "compare_arguments.hpp"
#include "workload_source.hpp"

namespace ddpsim {

struct WeighedWorkload {
  std::string text;  ///< WORKLOAD, as typed
  double share = 1;  ///< of the time; all of them together 1
};

/// With --workload every other word is a CLUSTER, the first of `clusters` then. Throws UsageError.
std::vector<WeighedWorkload> weighed_workloads(const CompareArguments& arguments,
                                               std::vector<std::string>& clusters);

}  // namespace ddpsim
