// What others send over the links of a cluster while the job runs: ddpsim.background/1.
//
//   {"schema": "ddpsim.background/1",
//    "jobs": [{"nodes": [8, 9, 10, 11], "all_reduce": "100MiB", "first": "2ms", "every": "50ms"}],
//    "transfers": [{"links": ["node0/nic0 > leaf0", …], "size": "1GiB", "rate": "5GBps",
//                   "first": "0ms", "every": "100ms"}]}
//
// A job runs an all-reduce around its own rings through all GPUs of its nodes, in that order. Nodes
// are numbered from 0; the simulated job has the first ones, and nodes beyond those of the cluster
// are added, alike, on the same network. A transfer passes links by name, as `ddpsim topo` prints
// them, no faster than `rate` (absent: as fast as the links allow). `first` counts from the start of
// the step (default 0); without `every` it happens once; it begins again after `every`, or when the
// last has ended if that is later.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/sim/background.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {

/// The job's fabric, and the background on its links.
struct SharedFabric {
  Fabric fabric;
  Background background;
};

/// Throws InputError.
SharedFabric parse_background(std::string_view text, const std::string& file,
                              const ClusterRequest& request);
SharedFabric load_background(const std::string& path, const ClusterRequest& request);

}  // namespace ddpsim
