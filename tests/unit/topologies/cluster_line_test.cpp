#include "ddpsim/topologies/cluster_line.hpp"

#include <doctest/doctest.h>

#include <string>

#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE("cluster line: a bundled cluster as a line is a cluster of the same size and rates") {
  for (const BundledCluster& bundled : bundled_clusters()) {
    const Cluster cluster = load_cluster({bundled.name, {}, {}});
    const std::string line = line_of(cluster);
    CAPTURE(line);
    const Cluster described = load_cluster({line, {}, {}});
    CHECK(described.hosts() == cluster.hosts());
    CHECK(described.gpus_per_host() == cluster.gpus_per_host());
    CHECK(described.hosts_per_node == cluster.hosts_per_node);
    CHECK(described.gpu.product() == cluster.gpu.product());
    CHECK(described.network.nics_per_node == cluster.network.nics_per_node);
    CHECK(described.network.per_nic.gigabytes_per_second() ==
          doctest::Approx(cluster.network.per_nic.gigabytes_per_second()));
    if (cluster.gpus_per_node > 1)
      CHECK(described.intra.per_gpu.gigabytes_per_second() ==
            doctest::Approx(cluster.intra.per_gpu.gigabytes_per_second()).epsilon(1e-4));
  }
}

TEST_CASE("cluster line: every word's example is one that a line takes") {
  const std::string node = "node:32 gpu:8xA100 ";
  const std::string joined = node + "nvswitch:300GBps ";
  for (const LineWord& word : line_words()) {
    std::string line = joined + "nic:8x200Gbps:tcp ";
    if (word.key == "switches") continue;  // its example stands for a file
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
