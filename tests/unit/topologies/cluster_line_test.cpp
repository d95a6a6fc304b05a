#include "ddpsim/topologies/cluster_line.hpp"

#include <doctest/doctest.h>

#include <string>

#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/topology.hpp"

using namespace ddpsim;

namespace {

/// The cluster that the line of this cluster describes.
Cluster by_its_line(const ClusterRequest& request) {
  const std::string line = load_topology(request).line.value();
  CAPTURE(line);
  return load_cluster({line, {}, {}});
}

void check_alike(const Cluster& described, const Cluster& cluster) {
  CHECK(described.hosts() == cluster.hosts());
  CHECK(described.gpus_per_host() == cluster.gpus_per_host());
  CHECK(described.hosts_per_node == cluster.hosts_per_node);
  CHECK(described.gpu.product() == cluster.gpu.product());
  CHECK(described.network.nics_per_node == cluster.network.nics_per_node);
  CHECK(described.network.gpudirect == cluster.network.gpudirect);
  CHECK(described.network.per_nic.gigabytes_per_second() ==
        doctest::Approx(cluster.network.per_nic.gigabytes_per_second()));
  if (cluster.gpus_per_node > 1)
    CHECK(described.intra.per_gpu.gigabytes_per_second() ==
          doctest::Approx(cluster.intra.per_gpu.gigabytes_per_second()).epsilon(1e-4));
}

}  // namespace

TEST_CASE("cluster line: the line of a bundled cluster has the same size and rates") {
  for (const BundledCluster& bundled : bundled_clusters()) {
    CAPTURE(bundled.name);
    const ClusterRequest request{bundled.name, {}, {}};
    check_alike(by_its_line(request), load_cluster(request));
  }
}

TEST_CASE("cluster line: a line is returned as written, except for the order of words") {
  for (const std::string line :
       {"node:1 gpu:4xV100-32GB nvlink:3x25GBps", "node:1 gpu:6xV100-32GB nvlink:5x25GBps",
        "node:8 gpu:8xV100-32GB nvlink:7x25GBps:mesh nic:4x100Gbps:ib",
        "node:2 gpu:4xRTX4090 pcie:31.5GBps:p2p root:4 nic:1x100Gbps:roce:no-gdr",
        "node:2 gpu:8xMI300X xgmi:7x64GBps nic:8x400Gbps:roce",
        "node:36 gpu:4xGB200 nvswitch:900GBps domain:18 nic:4x400Gbps:ib",
        "node:2 gpu:1xT4 nic:1x25Gbps:tcp oversubscription:1.5"}) {
    CAPTURE(line);
    CHECK(load_topology({line, {}, {}}).line == line);
  }
}

TEST_CASE("cluster line: a part of a cube has no line") {
  CHECK_FALSE(load_topology({"dgx1v", {}, 4}).line);
}

TEST_CASE("cluster line: a line accepts the example of every word") {
  const std::string node = "node:32 gpu:8xA100 ";
  const std::string joined = node + "nvswitch:300GBps ";
  for (const LineWord& word : line_words()) {
    std::string line = joined + "nic:8x200Gbps:tcp ";
    if (word.key == "switches") continue;  // its example is a placeholder for a file
    if (word.role == WordRole::joins_gpus || word.key == "root")
      line = word.key == "xgmi" ? "node:32 gpu:8xMI300X nic:8x200Gbps:tcp "
                                : node + "nic:8x200Gbps:tcp ";
    if (word.key == "root") line += "pcie:25GBps ";
    if (word.key == "domain") line = "node:36 gpu:4xGB200 nvswitch:900GBps nic:4x400Gbps:ib ";
    if (word.key == "nic") line = joined;
    if (word.key == "pod" || word.key == "placement") line += "leaf:4 ";
    if (word.key == "node") line = "gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib ";
    if (word.key == "gpu") line = "node:1 nvswitch:300GBps ";
    line += std::string(word.key) + ":" + std::string(word.example);
    CAPTURE(line);
    CHECK_NOTHROW(load_cluster({line, {}, {}}));
  }
}
