// What logs and listings say of their own job, where they are given as something else: a workload, a cluster.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

/// Returns the findings in DDP's logging data, each with its place, where that is the workload.
std::vector<std::string> warnings_in_workload(const std::string& file);

/// Returns warnings for a cluster given as text, such as a matrix; none for other forms.
std::vector<std::string> warnings_in_cluster(const std::string& cluster);

}  // namespace ddpsim
