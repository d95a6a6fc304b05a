// A CLUSTER that is an archive of scripts/collect.sh brings its own all_reduce_perf along: it calibrates the cluster as a
// log given to `ddpsim calibrate` would.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {

/// Logs of all_reduce_perf in it, known by their names there. Throws InputError.
std::vector<MeasuredLog> logs_in(const Archive& archive);

/// What `request` says, calibrated where it names an archive whose logs fit. Throws InputError.
Cluster load_calibrated_cluster(const ClusterRequest& request);

/// Why the logs of an archive did not calibrate the cluster it became; empty where they did, or there are none.
std::vector<std::string> archive_warnings(const std::string& cluster_text, const Cluster& cluster);

}  // namespace ddpsim
