// What logs and listings say of their own job, where they are given as something else: a workload, a cluster.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

/// Of DDP's logging data, given as a workload: its findings, with their places.
std::vector<std::string> warnings_in_workload(const std::string& file);

/// Of a cluster given as text (a matrix, behind it perhaps what else was printed of the machine); none of other forms.
std::vector<std::string> warnings_in_cluster(const std::string& cluster);

}  // namespace ddpsim
