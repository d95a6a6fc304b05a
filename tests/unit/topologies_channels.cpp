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

TEST_CASE("channels: known machines get the channels NCCL's search finds there") {
  // NCCL 2.21 to 2.30; DGX A100's 24 channels (12 doubled) are in public logs, the others follow
  // from its link figures and speed lists.
  const std::vector<Expected> machines = {
      {"dgx1v", 6, 20},
      {"2xv100-nvlink", 2, 20},  // one path of 40, split in two
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

TEST_CASE("channels: a tree may run faster inside a node than between nodes") {
  const Cluster cluster = load("dgx1v@4");
  CHECK(cluster.tree.inter.gigabytes_per_second() == doctest::Approx(12));
  CHECK(cluster.tree.intra.gigabytes_per_second() == doctest::Approx(20));  // at most 2 x 12
}

TEST_CASE("channels: fewer GPUs of a cube mesh keep only the links among themselves") {
  // Rings that close inside GPUs 0..G-1; with 5, GPU 4 has a single neighbour left: over PCIe.
  const std::vector<int> links = {0, 1, 2, 4, 0, 2, 4, 6};
  for (int gpus = 1; gpus <= 8; ++gpus) {
    CAPTURE(gpus);
    const Cluster cluster = load("dgx1v", gpus);
    const int expected = links[static_cast<std::size_t>(gpus - 1)];
    CHECK(cluster.intra.links_per_gpu == expected);
    CHECK(cluster.intra.kind == (gpus == 1   ? IntraKind::none
                                 : gpus == 5 ? IntraKind::pcie
                                             : IntraKind::nvlink));
    if (expected > 0) {
      CHECK(cluster.ring.channels == expected);
      CHECK(cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(25.0 * expected));
    }
  }
}

TEST_CASE("channels: the path is NVLink only where NVLink joins the GPUs") {
  CHECK(load("dgx1v").ring.intra_path == PathKind::nvlink);
  CHECK(load("node:1 gpu:2xT4 pcie:15.75GBps").ring.intra_path == PathKind::pcie);
  CHECK(load("node:2 gpu:1xV100 nic:1x10Gbps:tcp").ring.intra_path == PathKind::pcie);
}

TEST_CASE("channels: more bandwidth inside a node never carries less") {
  double before = 0;
  for (int gbps = 1; gbps <= 2000; ++gbps) {
    const Cluster c = load("node:1 gpu:8xA100 nvswitch:" + std::to_string(gbps) + "GBps");
    const double total = c.ring.channels * c.ring.intra.gigabytes_per_second();
    CAPTURE(gbps);
    CHECK(total >= before * 0.999999);
    CHECK(total <= gbps * 0.8 * 1.000001);
    before = total;
  }
}

TEST_CASE("channels: more network bandwidth never carries less") {
  double before = 0;
  for (int gbps = 1; gbps <= 800; ++gbps) {
    const Cluster c =
        load("node:4 gpu:8xH100 nvswitch:450GBps nic:8x" + std::to_string(gbps) + "Gbps");
    const double total = c.ring.channels * c.ring.inter.gigabytes_per_second();
    CAPTURE(gbps);
    CHECK(total >= before * 0.999999);
    CHECK(total <= gbps * 1.000001);
    before = total;
  }
}
