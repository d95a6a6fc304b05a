#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

struct Expected {
  std::string cluster;
  int channels;
  double per_channel_gbps;
  int nvls = 0;
};

Cluster load(const std::string& text, std::optional<int> gpus = std::nullopt) {
  return load_cluster({text, std::nullopt, gpus});
}

}  // namespace

TEST_CASE("channels: known machines get the channels that NCCL's search finds") {
  // For NCCL 2.21 to 2.30. Public logs show DGX A100's 24 channels (12 doubled). The others follow
  // from the link rates and lists of speeds.
  const std::vector<Expected> machines = {
      {"dgx1v", 6, 20},
      {"2xv100-nvlink", 2, 20},  // one path of 40 GB/s, split in two
      {"node:1 gpu:16xV100 nvswitch:150GBps", 6, 20},
      {"node:1 gpu:8xA100 nvswitch:300GBps", 12, 20},
      {"node:1 gpu:8xH100 nvswitch:450GBps", 12, 30, 16},
      {"node:1 gpu:8xB200 nvswitch:900GBps", 16, 45, 24},
      {"node:1 gpu:4xV100 nvlink:6x25GBps:mesh", 6, 20},
      {"node:1 gpu:8xP100 nvlink:4x20GBps:cube", 4, 18},
      {"node:1 gpu:4xV100 pcie:15.75GBps", 1, 12},
      {"node:1 gpu:4xA100 pcie:31.5GBps", 2, 12},
      {"dgx1v-1xedr@2", 1, 12},
      {"dgx1v@4", 4, 12},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 8, 24},
      {"node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib", 8, 48, 16},
      {"node:2 gpu:1xV100 pcie:12GBps nic:1x10Gbps:tcp", 1, 1.2},
      // Bundled machines. NCCL splits two channels of 40 GB/s into four of 20.
      {"dgx2", 6, 20},
      {"dgx2@2", 8, 12},
      {"p3.16xlarge", 6, 20},
      {"p3.16xlarge@2", 1, 3},
      {"p3dn@2", 1, 12},
      {"abci-v100", 6, 20},
      {"abci-v100@2", 2, 12},
      {"dgxa100", 12, 20},
      {"dgxa100@2", 8, 24},
      {"p4d@2", 4, 12},
      {"p4de", 12, 20},
      {"abci-a100@2", 4, 24},
      {"polaris-a100", 12, 20},
      {"polaris-a100@2", 2, 24},
      {"perlmutter-a100@2", 4, 24},
      {"dgxh100", 12, 30, 16},
      {"dgxh100@4", 8, 48, 16},
      {"p5@2", 8, 48, 16},
      {"a3-mega@2", 8, 24, 16},
      {"alps-gh200", 12, 30},
      {"alps-gh200@2", 4, 24},
      {"h200", 12, 30, 16},
      {"b200", 16, 45, 24},
      {"b200@2", 8, 48, 32},
      {"8xpcie", 2, 12},
      // A pair, a box of ten GPUs without NVLink, and boxes in a network.
      {"node:1 gpu:2xA100 nvlink:12x25GBps:pair", 12, 20},
      {"node:1 gpu:10xRTX4090 pcie:31.5GBps", 1, 12},  // two GPUs share each root port
      {"node:1 gpu:10xRTX4090 pcie:31.5GBps root:1", 2, 12},
      {"node:1 gpu:10xRTX4090 pcie:31.5GBps root:4", 1, 6},
      {"node:1 gpu:2xRTX2080Ti pcie:15.75GBps root:2", 1, 6},
      {"node:4 gpu:4xA100 pcie:31.5GBps nic:1x100Gbps:roce", 1, 12},
      // One GPU with four NICs. Its own slot is the limit.
      {"node:2 gpu:1xV100 nic:4x100Gbps:ib", 1, 12},
      {"node:2 gpu:1xH100 nic:1x400Gbps:ib", 2, 24},  // one channel of 48 GB/s, split in two
  };
  for (const Expected& machine : machines) {
    CAPTURE(machine.cluster);
    const Cluster cluster = load(machine.cluster);
    CHECK(cluster.ring.channels == machine.channels);
    CHECK(cluster.ring.intra.gigabytes_per_second() == doctest::Approx(machine.per_channel_gbps));
    CHECK(cluster.ring.inter.gigabytes_per_second() == doctest::Approx(machine.per_channel_gbps));
    CHECK(cluster.tree.channels == cluster.ring.channels);
    CHECK(cluster.nvls_channels == machine.nvls);
  }
}

TEST_CASE("channels: a rack behind one NVSwitch is one node of 72 GPUs") {
  // More GPUs than the search compares. A switch joins them, so any order is good.
  const Cluster wide = load("node:1 gpu:72xB200 nvswitch:900GBps");
  CHECK(wide.ring.channels == 16);
  CHECK(wide.ring.intra.gigabytes_per_second() == doctest::Approx(45));
  const Cluster wide_nodes = load("node:2 gpu:72xB200 nvswitch:900GBps nic:36x400Gbps:ib");
  CHECK(wide_nodes.ring.channels * wide_nodes.ring.inter.gigabytes_per_second() > 700);
}

TEST_CASE("channels: a tree may run faster inside a node than between nodes") {
  const Cluster cluster = load("dgx1v@4");
  CHECK(cluster.tree.inter.gigabytes_per_second() == doctest::Approx(12));
  CHECK(cluster.tree.intra.gigabytes_per_second() == doctest::Approx(20));
  // Behind an NVSwitch, the speed is twice that between nodes, although the links can carry more.
  const Cluster wide = load("node:2 gpu:8xA100 nvswitch:300GBps nic:1x100Gbps:ib");
  CHECK(wide.tree.inter.gigabytes_per_second() == doctest::Approx(12));
  CHECK(wide.tree.intra.gigabytes_per_second() == doctest::Approx(24));
}

TEST_CASE("channels: fewer GPUs of a cube mesh keep only the links among themselves") {
  // Rings that close within GPUs 0..G-1. With 5 GPUs, GPU 4 has only GPU 0 as a neighbour. It
  // reaches the others through GPU 0 (NVB), which NCCL's tuning does not count as NVLink.
  const std::vector<int> links = {0, 1, 2, 4, 2, 2, 4, 6};
  for (int gpus = 1; gpus <= 8; ++gpus) {
    CAPTURE(gpus);
    const Cluster cluster = load("dgx1v", gpus);
    const int expected = links[static_cast<std::size_t>(gpus - 1)];
    CHECK(cluster.intra.links_per_gpu == expected);
    CHECK(cluster.intra.kind == (gpus == 1 ? IntraKind::none : IntraKind::nvlink));
    CHECK(cluster.ring.intra_path == (gpus == 1 || gpus == 5 ? PathKind::pcie : PathKind::nvlink));
    if (expected > 0) {
      CHECK(cluster.ring.channels == expected);
      CHECK(cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(25.0 * expected));
    }
  }
}

TEST_CASE("channels: the path is NVLink only if NVLink joins the GPUs") {
  CHECK(load("dgx1v").ring.intra_path == PathKind::nvlink);
  CHECK(load("node:1 gpu:2xT4 pcie:15.75GBps").ring.intra_path == PathKind::pcie);
  CHECK(load("node:2 gpu:1xV100 nic:1x10Gbps:tcp").ring.intra_path == PathKind::pcie);
}

TEST_CASE("channels: more bandwidth inside a node never lowers the rate") {
  double before = 0;
  for (int gbps = 1; gbps <= 2000; gbps += 7) {
    const Cluster c = load("node:1 gpu:8xA100 nvswitch:" + std::to_string(gbps) + "GBps");
    const double total = c.ring.channels * c.ring.intra.gigabytes_per_second();
    CAPTURE(gbps);
    CHECK(total >= before * 0.999999);
    CHECK(total <= gbps * 0.8 * 1.000001);
    before = total;
  }
}

TEST_CASE("channels: more network bandwidth never lowers the rate") {
  double before = 0;
  for (int gbps = 1; gbps <= 800; gbps += 7) {
    const Cluster c =
        load("node:4 gpu:8xH100 nvswitch:450GBps nic:8x" + std::to_string(gbps) + "Gbps");
    const double total = c.ring.channels * c.ring.inter.gigabytes_per_second();
    CAPTURE(gbps);
    CHECK(total >= before * 0.999999);
    CHECK(total <= gbps * 1.000001);
    before = total;
  }
}
