// A CLUSTER that is an archive of scripts/collect.sh contains its own all_reduce_perf logs. They
// calibrate the cluster like logs given to `ddpsim calibrate`.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {

/// The all_reduce_perf logs in the archive, recognised by their names. Throws InputError.
std::vector<MeasuredLog> logs_in(const Archive& archive);

/// The requested cluster, calibrated if the request names an archive whose logs fit. Throws
/// InputError.
Cluster load_calibrated_cluster(const ClusterRequest& request);

/// Why the logs of an archive did not calibrate its cluster. Empty if they did, or if there are no
/// logs.
std::vector<std::string> archive_warnings(const std::string& cluster_text, const Cluster& cluster);

}  // namespace ddpsim
