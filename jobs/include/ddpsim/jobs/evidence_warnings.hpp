// What logs and listings say about their own job when they are given as something else: a workload
// or a cluster.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

/// Returns the findings in DDP's logging data, each with its place, if that is the workload.
std::vector<std::string> warnings_in_workload(const std::string& file);

/// Returns warnings about a cluster given as text, such as a matrix. Empty for other forms.
std::vector<std::string> warnings_in_cluster(const std::string& cluster);

}  // namespace ddpsim
