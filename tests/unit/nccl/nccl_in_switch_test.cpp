// NCCL's entries for reductions in switches, on both sides of each border: NVLS, its trees,
// CollNet.
#include <doctest/doctest.h>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_clusters.hpp"
#include "nccl_tuning.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::nccl_clusters;

namespace {}  // namespace

TEST_CASE("nccl in-switch: only Blackwell's trees of switches are corrected on x86 since 2.28") {
  // With the correction, 1 MiB of Simple runs at half the rate.
  const TuningEntry entry{.latency_us = 0, .bandwidth_gbps = 1};
  const auto us = [&](int capability, CpuVendor cpu, NcclVersion nccl, Algorithm algorithm) {
    Cluster cluster = switched(2, capability, 40, 40);
    cluster.cpu = cpu;
    return static_cast<double>(estimate_us(kAllReduce, algorithm, Protocol::simple, entry, 1_MiB,
                                           cluster, {.nccl = nccl}));
  };
  const auto straight = doctest::Approx(1048.576);
  const auto bent = doctest::Approx(2 * 1048.576);
  const auto tree = Algorithm::nvls_tree;
  CHECK(us(100, CpuVendor::intel, {2, 28, 9}, tree) == bent);
  CHECK(us(100, CpuVendor::amd, {2, 28, 9}, tree) == bent);
  CHECK(us(100, CpuVendor::arm, {2, 28, 9}, tree) == straight);
  CHECK(us(90, CpuVendor::intel, {2, 28, 9}, tree) == straight);
  CHECK(us(100, CpuVendor::intel, {2, 27, 7}, tree) == straight);
  CHECK(us(100, CpuVendor::intel, {2, 28, 9}, Algorithm::nvls) == straight);
}

TEST_CASE("nccl in-switch: which in-switch algorithms exist") {
  const auto exists = [](Algorithm algorithm, const Cluster& cluster, CollectiveTuning tuning,
                         CollectiveKind kind = kAllReduce) {
    return algorithm_exists(kind, algorithm, cluster, tuning, nccl_tuning(tuning.nccl));
  };
  const Cluster one = switched(1, 90, 40, 40);
  const Cluster two = switched(2, 90, 40, 40);
  const auto nvls = Algorithm::nvls;
  const auto tree = Algorithm::nvls_tree;
  CHECK(exists(nvls, one, {.nccl = {2, 17, 1}}));
  CHECK_FALSE(exists(nvls, one, {.nccl = {2, 16, 9}}));
  CHECK_FALSE(exists(nvls, one, {.nccl = {2, 30, 7}, .nvls = false}));
  CHECK_FALSE(exists(nvls, one, kNewest, CollectiveKind::broadcast));
  CHECK_FALSE(exists(nvls, two, kNewest));
  CHECK(exists(tree, two, {.nccl = {2, 18, 0}}));
  CHECK_FALSE(exists(tree, two, {.nccl = {2, 17, 9}}));
  CHECK_FALSE(exists(tree, one, kNewest));
  CHECK_FALSE(exists(tree, two, {.nccl = {2, 30, 7}, .nvls = false}));
  // Three GPUs are enough, two gain nothing, and there must be heads.
  Cluster few = one;
  few.gpus_per_node = 3;
  CHECK(exists(nvls, few, kNewest));
  few.gpus_per_node = 2;
  CHECK_FALSE(exists(nvls, few, kNewest));
  // In other collectives every GPU is a head, and there are at most 32 heads.
  few.gpus_per_node = 32;
  CHECK(exists(nvls, few, kNewest, CollectiveKind::all_gather));
  few.gpus_per_node = 33;
  CHECK(exists(nvls, few, kNewest));
  CHECK_FALSE(exists(nvls, few, kNewest, CollectiveKind::all_gather));
  few = one;
  few.nvls_channels = 0;
  CHECK_FALSE(exists(nvls, few, kNewest));
  // With switches that reduce, NVLS also works between nodes, and CollNet's direct form with up to
  // eight GPUs.
  Cluster sharp = two;
  sharp.network.collnet = true;
  CollectiveTuning asked = kNewest;
  asked.collnet = true;
  CHECK(exists(nvls, sharp, asked));
  CHECK_FALSE(exists(nvls, sharp, kNewest));
  CHECK_FALSE(exists(nvls, two, asked));
  CHECK(exists(Algorithm::collnet_direct, sharp, asked));
  sharp.gpus_per_node = 9;
  CHECK_FALSE(exists(Algorithm::collnet_direct, sharp, asked));
  CHECK(exists(Algorithm::collnet_chain, sharp, asked));
  sharp.nodes = 1;
  CHECK_FALSE(exists(Algorithm::collnet_chain, sharp, asked));
}

TEST_CASE("nccl in-switch: between nodes the heads' network limits NVLS and adds its hop") {
  Cluster sharp = switched(4, 90, 40, 30);
  sharp.network.collnet = true;
  const auto row = [&](NcclVersion nccl, double latency, double bandwidth) {
    check_tuned_entry(sharp, {.nccl = nccl, .collnet = true}, Algorithm::nvls, Protocol::simple,
                      latency, bandwidth);
  };
  row({2, 18, 3}, 23 + 18, 8 * 30 * 5.0 / 6);
  row({2, 21, 5}, 25 + 18, 8 * 30 * 5.0 / 6);
  row({2, 30, 7}, 25 + 18, 8 * 30.0 * 32 / 62);
  sharp.nvls.inter = Bandwidth::gigabytes_per_second(70);
  row({2, 21, 5}, 25 + 18, 8 * 40 * 5.0 / 6);
  row({2, 30, 7}, 25 + 18, 8 * (40 * .85 * 7 / 8 * 2) * 32 / 62);
  sharp.nvls.channels = 1;  // a single head: 2.28 needs two
  row({2, 30, 7}, 25 + 18, 0);
}

TEST_CASE(
    "nccl in-switch: NVLSTree until 2.27 uses two nodes' full network, but half of more nodes'") {
  const auto rate = [](int nodes, NcclVersion nccl, double inside, double between,
                       double expected) {
    const TuningEntries entries =
        tuning_entries(kAllReduce, switched(nodes, 90, inside, between), {.nccl = nccl});
    CHECK(static_cast<double>(entries[at(Algorithm::nvls_tree)][2].bandwidth_gbps) ==
          doctest::Approx(expected));
  };
  rate(2, {2, 21, 5}, 40, 30, 8 * 30 * 5.0 / 6);
  rate(3, {2, 21, 5}, 40, 30, 8 * 15 * 5.0 / 6);
  rate(3, {2, 21, 5}, 10, 30, 8 * 10 * 5.0 / 6);
  rate(2, {2, 18, 3}, 40, 30, 8 * 40 * .70 * 2 / 2);
  rate(3, {2, 18, 3}, 40, 30, 8 * 30 * .70 * 3 / 4);
  // Since 2.28, the network of two nodes counts twice. Nodes of Hopper are capped at 57.7 and 45.5.
  rate(2, {2, 28, 9}, 40, 20, 8 * 40.0 * 16 / 30);
  rate(3, {2, 28, 9}, 40, 20, 8 * 20.0 * 24 / 46);
  rate(2, {2, 28, 9}, 60, 50, 8 * 57.7 * 16 / 30);
  rate(3, {2, 28, 9}, 60, 50, 8 * 45.5 * 24 / 46);
}

TEST_CASE("nccl in-switch: CollNet's entries by version, by hand") {
  Cluster four = nvlink(4, 8, 80, graph(8, 30));
  four.network.collnet = true;
  const auto row = [&](const Cluster& cluster, NcclVersion nccl, Algorithm algorithm,
                       Protocol protocol, double latency, double bandwidth) {
    check_tuned_entry(cluster, {.nccl = nccl, .collnet = true}, algorithm, protocol, latency,
                      bandwidth);
  };
  const auto chain = Algorithm::collnet_chain;
  const auto direct = Algorithm::collnet_direct;
  const auto simple = Protocol::simple;
  // The first CollNet has seven hops up and down, and LL's take 1.8 times as long. Its bus is 0.9
  // of 235 GB/s for sm_80, and a sixth of that for LL. The algorithm gets half.
  row(four, {2, 7, 8}, chain, Protocol::ll, 4.4 + 14 * .5 * 1.8 + 5, 235 * .9 / 6 / 2);
  row(four, {2, 7, 8}, chain, Protocol::ll128, 4.4 + 14 * 1.2 + 5, 0);
  row(four, {2, 7, 8}, chain, simple, 14 * 4 + 10.7, 235 * .9 / 2);
  row(four, {2, 10, 3}, chain, simple, 14 * 8 + 10.7, 235 * .9 / 2);
  row(pcie(four), {2, 7, 8}, chain, simple, 14 * 5.5 + 10.7, 235 * .9 / 2);
  row(pcie(four), {2, 7, 8}, chain, Protocol::ll, 4.4 + 14 * 1.0 * 1.8 + 5, 235 * .9 / 6 / 2);
  row(pcie(four), {2, 7, 8}, chain, Protocol::ll128, 4.4 + 14 * 1.9 + 5, 0);
  // Direct exists since 2.14: one hop, and 0.4 us for each of seven peers.
  row(four, {2, 14, 3}, chain, simple, 14 * 4.75 + 14, 240 / 2.0);
  row(four, {2, 14, 3}, direct, simple, 2 * (8 + 2.8) + 10.7, 240 / 2.0);
  row(four, {2, 14, 3}, direct, Protocol::ll, 4.4 + 2 * 2.8, 0);
  row(four, {2, 18, 3}, direct, simple, 2 * (8 + 2.8) + 10.7, 240 / 2.0);
  row(four, {2, 21, 5}, direct, simple, 2 * (3.7 + 2.8) + 31, 240 / 2.0);
  row(four, {2, 21, 5}, chain, simple, 14 * 2.8 + 30, 240 / 2.0);
  row(pcie(four), {2, 14, 3}, chain, simple, 14 * 8 + 14, 240 / 2.0);
  row(pcie(four), {2, 18, 3}, chain, simple, 14 * 8 + 14, 240 / 2.0);
  row(pcie(four), {2, 21, 5}, chain, simple, 14 * 2.8 + 30, 240 / 2.0);
  // Eight GPUs share four heads, so each does 2 - 1/2 times the work.
  Cluster shared = four;
  shared.tree = graph(4, 30);
  row(shared, {2, 30, 7}, direct, simple, 2 * (3.7 + 2.8) + 31, 120 / 1.5 / 2);
  // With one GPU a node there is no peer.
  Cluster lone = four;
  lone.gpus_per_node = 1;
  lone.tree = graph(1, 30);
  row(lone, {2, 30, 7}, direct, simple, 31, 30 / 2.0);
  row(lone, {2, 30, 7}, chain, simple, 30, 30 / 2.0);
}
