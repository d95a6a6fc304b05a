// NCCL's constants version by version, read through the entries of its own table. The numbers are
// those of its graph/tuning.cc, in the order LL, LL128, Simple.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "collective_words.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_clusters.hpp"
#include "nccl_tuning.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::nccl_clusters;

namespace {

constexpr std::array kProtocolList{Protocol::ll, Protocol::ll128, Protocol::simple};

using ByProtocol = std::array<double, 3>;

struct Latencies {
  NcclVersion nccl;
  ByProtocol tree_base, ring_base;
  ByProtocol tree_nvlink, ring_nvlink;
  ByProtocol tree_pcie, ring_pcie;
  ByProtocol tree_network, ring_network;
};

constexpr ByProtocol kRingNvlink27{.47, 1.9, 3.4};
constexpr ByProtocol kRingNvlink{.6, 1.9, 3.4};
constexpr ByProtocol kRingPcie{1, 2.5, 5.7};
const Latencies kLatencies[] = {
    {{2, 7, 8},
     {4.4, 4.4, 0},
     {3.6, 10, 8.4},
     {.52, 1.2, 28},
     kRingNvlink27,
     {1, 1.9, 28},
     kRingPcie,
     {5, 8.5, 50},
     {2.7, 4, 9.6}},
    {{2, 8, 3},
     {4.4, 4.4, 0},
     {3.6, 10, 8.4},
     {.52, 1.25, 28},
     kRingNvlink27,
     {1, 1.9, 28},
     kRingPcie,
     {5, 8.5, 28},
     {2.7, 4, 9.6}},
    {{2, 10, 3},
     {4.4, 4.4, 0},
     {3.6, 10, 8.4},
     {.52, 1.25, 28},
     kRingNvlink27,
     {1, 1.9, 28},
     kRingPcie,
     {5, 8.5, 28},
     {2.7, 4, 9.6}},
    {{2, 14, 3},
     {4.4, 4.4, 0},
     {3.6, 10, 8.4},
     {.52, 1.25, 28},
     kRingNvlink27,
     {1, 1.9, 28},
     kRingPcie,
     {5, 8.5, 28},
     {2.7, 4, 9.6}},
    {{2, 17, 1},
     {4.4, 4.4, 0},
     {3.6, 10, 8.4},
     {.52, 1.25, 28},
     kRingNvlink27,
     {1, 1.9, 28},
     kRingPcie,
     {5, 8.5, 28},
     {2.7, 4, 9.6}},
    {{2, 18, 3},
     {6.8, 14, 0},
     {6.6, 14, 8.4},
     {.6, 1.25, 4},
     kRingNvlink,
     {1, 1.9, 6},
     kRingPcie,
     {5, 8.5, 14},
     {2.7, 4, 14}},
    {{2, 21, 5},
     {6.8, 14, 0},
     {6.6, 14, 8.4},
     {.6, 1.25, 28},
     kRingNvlink,
     {1, 1.9, 28},
     kRingPcie,
     {5, 8.5, 28},
     {2.7, 4, 14}},
    {{2, 23, 4},
     {6.8, 14, 8.4},
     {6.6, 14, 8.4},
     {.6, 1.25, 4},
     kRingNvlink,
     {1, 1.9, 4},
     kRingPcie,
     {5, 8.5, 14},
     {2.7, 4, 14}},
    {{2, 27, 7},
     {6.8, 14, 8.4},
     {6.6, 14, 8.4},
     {.6, 1.25, 4},
     kRingNvlink,
     {1, 1.9, 4},
     kRingPcie,
     {5, 8.5, 14},
     {2.7, 4, 14}},
    {{2, 28, 9},
     {6.8, 14, 8.4},
     {6.6, 14, 8.4},
     {.6, 1.25, 4},
     kRingNvlink,
     {1, 1.9, 4},
     kRingPcie,
     {5, 8.5, 14},
     {2.7, 4, 14}},
    {{2, 30, 7},
     {6.8, 14, 8.4},
     {6.6, 14, 8.4},
     {.6, 1.25, 4},
     kRingNvlink,
     {1, 1.9, 4},
     kRingPcie,
     {5, 8.5, 14},
     {2.7, 4, 14}},
};

double latency(const Cluster& cluster, NcclVersion nccl, Algorithm algorithm, Protocol protocol,
               CollectiveKind kind = CollectiveKind::all_reduce) {
  const TuningEntries entries = tuning_entries(kind, cluster, {.nccl = nccl});
  return static_cast<double>(entries[at(algorithm)][at(protocol)].latency_us);
}

double bandwidth(const Cluster& cluster, NcclVersion nccl, Algorithm algorithm, Protocol protocol,
                 CollectiveKind kind = CollectiveKind::all_reduce) {
  const TuningEntries entries = tuning_entries(kind, cluster, {.nccl = nccl});
  return static_cast<double>(entries[at(algorithm)][at(protocol)].bandwidth_gbps);
}

/// A generation's caps in GB/s: one node, two, more.
using Nodes = std::array<double, 3>;
struct Caps {
  NcclVersion nccl;
  int capability;
  Nodes ll;  ///< for one node; several use the processor's
  Nodes ring_ll128, tree_ll128, tree;
};

constexpr Nodes kVoltaLl{39, 39, 20.4};
constexpr Nodes kAmpereLl{87.7, 22.5, 19};
constexpr Nodes kTwenty{20, 20, 20};
constexpr Nodes kHopper{36.7, 36.7, 36.7};
const Caps kCaps[] = {
    {{2, 8, 3}, 70, kVoltaLl, {16.9, 16.9, 16.9}, {16.9, 16.9, 16.9}, {26.5, 18.5, 10}},
    {{2, 8, 3}, 80, kAmpereLl, {16.9, 16.9, 16.9}, {16.9, 16.9, 16.9}, {24, 22.5, 16}},
    {{2, 10, 3}, 70, kVoltaLl, kTwenty, kTwenty, {26.5, 18.5, 10}},
    {{2, 10, 3}, 80, kAmpereLl, kTwenty, kTwenty, {24, 23.6, 17.8}},
    {{2, 18, 3}, 90, kAmpereLl, kHopper, {36.7, 36.7, 29}, {38.7, 41.4, 36}},
    {{2, 21, 5}, 80, kAmpereLl, kTwenty, kTwenty, {24, 23.6, 17.8}},
    {{2, 21, 5}, 90, {141, 45, 35}, kHopper, {36.7, 36.7, 29}, {38.7, 41.4, 36}},
    {{2, 27, 7}, 100, {282, 90, 70}, {73.4, 73.4, 73.4}, {73.4, 73.4, 58}, {77.4, 82.8, 72}},
    {{2, 28, 9}, 100, {282, 90, 70}, {73.4, 34.6, 73.4}, {55.6, 31.67, 20}, {70, 42.8, 24}},
    {{2, 30, 7}, 70, kVoltaLl, kTwenty, kTwenty, {26.5, 18.5, 10}},
    {{2, 30, 7}, 80, kAmpereLl, kTwenty, kTwenty, {24, 23.6, 17.8}},
    {{2, 30, 7}, 90, {141, 45, 35}, kHopper, {36.7, 36.7, 29}, {38.7, 41.4, 36}},
    {{2, 30, 7}, 100, {282, 90, 70}, {40, 40, 40}, {55.6, 31.67, 20}, {70, 42.8, 24}},
};

}  // namespace

TEST_CASE("nccl tables: latencies of two GPUs are a base and two hops, over NVLink or PCIe") {
  for (const Latencies& row : kLatencies) {
    CAPTURE(to_string(row.nccl));
    const Cluster pair = nvlink(1, 2, 80, graph(2, 20));
    for (const Protocol protocol : kProtocolList) {
      const std::size_t p = at(protocol);
      CAPTURE(p);
      CHECK(latency(pair, row.nccl, kTree, protocol) ==
            doctest::Approx(row.tree_base[p] + 2 * row.tree_nvlink[p]));
      CHECK(latency(pair, row.nccl, kRing, protocol) ==
            doctest::Approx(row.ring_base[p] + 2 * row.ring_nvlink[p]));
      CHECK(latency(pcie(pair), row.nccl, kTree, protocol) ==
            doctest::Approx(row.tree_base[p] + 2 * row.tree_pcie[p]));
      CHECK(latency(pcie(pair), row.nccl, kRing, protocol) ==
            doctest::Approx(row.ring_base[p] + 2 * row.ring_pcie[p]));
    }
  }
}

TEST_CASE(
    "nccl tables: latencies of two nodes of two GPUs, where two of six hops are between them") {
  for (const Latencies& row : kLatencies) {
    CAPTURE(to_string(row.nccl));
    const Cluster two = nvlink(2, 2, 80, graph(2, 20));
    const bool old = row.nccl < NcclVersion{2, 18, 0};
    const bool twice = row.nccl >= NcclVersion{2, 14, 0} && row.nccl < NcclVersion{2, 23, 0};
    const int network = twice ? 4 : 2;
    for (const Protocol protocol : kProtocolList) {
      const std::size_t p = at(protocol);
      CAPTURE(p);
      // Until 2.18, LL's local hops cost 1.8 times as much. 2.18 counts a proxy's work instead.
      const double slow = old && protocol == Protocol::ll ? 1.8 : 1;
      const double proxy = old ? 0 : protocol == Protocol::simple ? 3 : 1;
      CHECK(latency(two, row.nccl, kTree, protocol) ==
            doctest::Approx(row.tree_base[p] +
                            2 * (slow * row.tree_nvlink[p] + row.tree_network[p])));
      CHECK(latency(two, row.nccl, kRing, protocol) ==
            doctest::Approx(row.ring_base[p] +
                            (6 - network) * std::max(slow * row.ring_nvlink[p], proxy) +
                            network * row.ring_network[p]));
    }
  }
}

TEST_CASE("nccl tables: a ring with one GPU a node uses the tree's network hops since 2.23") {
  const Cluster two = pcie(nvlink(2, 1, 80, graph(1, 20)));
  CHECK(latency(two, {2, 10, 3}, kRing, Protocol::ll) == doctest::Approx(3.6 + 2 * 2.7));
  CHECK(latency(two, {2, 23, 4}, kRing, Protocol::ll) == doctest::Approx(6.6 + 2 * 5));
  CHECK(latency(two, {2, 23, 4}, kRing, Protocol::ll128) == doctest::Approx(14 + 2 * 8.5));
  // With two GPUs a node, the ring has its own hops.
  const Cluster pairs = pcie(nvlink(2, 2, 80, graph(1, 20)));
  CHECK(latency(pairs, {2, 23, 4}, kRing, Protocol::ll) == doctest::Approx(6.6 + 4 * 1 + 2 * 2.7));
}

TEST_CASE("nccl tables: on POWER, trees of Simple over PCIe use the ring's hops") {
  Cluster node = pcie(nvlink(1, 3, 70, graph(1, 12), CpuVendor::power));
  CHECK(latency(node, {2, 30, 7}, kTree, Protocol::simple) == doctest::Approx(8.4 + 4 * 5.7));
  CHECK(latency(node, {2, 30, 7}, kTree, Protocol::ll) == doctest::Approx(6.8 + 4 * 1.0));
  CHECK(latency(nvlink(1, 3, 70, graph(1, 12), CpuVendor::power), {2, 30, 7}, kTree,
                Protocol::simple) == doctest::Approx(8.4 + 4 * 4.0));
  node.cpu = CpuVendor::amd;
  CHECK(latency(node, {2, 30, 7}, kTree, Protocol::simple) == doctest::Approx(8.4 + 4 * 4.0));
}

TEST_CASE("nccl tables: a proxy's work is a lower bound for local hops, twice as high on AMD") {
  // With 2x2 GPUs on PCIe there are four local hops of 1 us (LL), 2.5 (LL128) and 5.7 (Simple).
  const auto ring = [](CpuVendor cpu, Protocol protocol) {
    return latency(pcie(nvlink(2, 2, 80, graph(1, 12), cpu)), {2, 30, 7}, kRing, protocol);
  };
  CHECK(ring(CpuVendor::intel, Protocol::ll) == doctest::Approx(6.6 + 4 * 1 + 2 * 2.7));
  CHECK(ring(CpuVendor::amd, Protocol::ll) == doctest::Approx(6.6 + 4 * 2 + 2 * 2.7));
  CHECK(ring(CpuVendor::amd, Protocol::ll128) == doctest::Approx(14 + 4 * 2.5 + 2 * 4));
  CHECK(ring(CpuVendor::intel, Protocol::simple) == doctest::Approx(8.4 + 4 * 5.7 + 2 * 14));
  CHECK(ring(CpuVendor::amd, Protocol::simple) == doctest::Approx(8.4 + 4 * 6 + 2 * 14));
}

TEST_CASE("nccl tables: caps of each generation, on one node, two and three") {
  // With one channel of 1000 GB/s, only the caps limit, and the 235 GB/s of sm_80 until 2.18.
  for (const Caps& caps : kCaps)
    for (const int nodes : {1, 2, 3, 4}) {
      CAPTURE(to_string(caps.nccl));
      CAPTURE(caps.capability);
      CAPTURE(nodes);
      const std::size_t column = static_cast<std::size_t>(std::min(nodes, 3) - 1);
      const double n = 2.0 * nodes;
      const double ratio = n / (2 * (n - 1));
      const bool bound = caps.nccl < NcclVersion{2, 18, 0} && caps.capability == 80;
      const double bus = bound ? 235 : 1000;
      const double share = caps.nccl < NcclVersion{2, 21, 0} ? 0.25 : 0.5;
      for (const CpuVendor cpu : {CpuVendor::intel, CpuVendor::amd}) {
        const Cluster cluster = nvlink(nodes, 2, caps.capability, graph(1, 1000), cpu);
        const Nodes& processor = cpu == CpuVendor::amd ? kAmpereLl : kVoltaLl;
        const double ll = nodes == 1 ? caps.ll[0] : processor[column];
        const double tree = caps.tree[column];
        const double several = caps.nccl < NcclVersion{2, 10, 0} ? 0.915 : 0.9375;
        const auto rate = [&](Algorithm algorithm, Protocol protocol) {
          return bandwidth(cluster, caps.nccl, algorithm, protocol);
        };
        CHECK(rate(kRing, Protocol::ll) == doctest::Approx(std::min(ll, share * bus) * ratio));
        CHECK(rate(kRing, Protocol::ll128) == doctest::Approx(caps.ring_ll128[column] * ratio));
        CHECK(
            rate(kRing, Protocol::simple) ==
            doctest::Approx(
                (caps.nccl < NcclVersion{2, 18, 0} && caps.capability == 80 ? 235 : 1000) * ratio));
        CHECK(rate(kTree, Protocol::ll) == doctest::Approx(std::min(tree / 3.8, ll) / 2));
        CHECK(rate(kTree, Protocol::ll128) ==
              doctest::Approx(
                  std::min(tree * (nodes == 1 ? 7.0 / 9 : several), caps.tree_ll128[column]) / 2));
        CHECK(rate(kTree, Protocol::simple) == doctest::Approx(tree / 2));
      }
    }
}

TEST_CASE("nccl tables: a generation's row begins with its first capability") {
  const auto row = [](int capability, NcclVersion nccl) {
    return generation_row(nvlink(1, 8, capability, graph(1, 20)), nccl_tuning(nccl));
  };
  const NcclVersion newest{2, 30, 7};
  CHECK(row(60, newest) == 0);
  CHECK(row(79, newest) == 0);
  CHECK(row(80, newest) == 1);
  CHECK(row(89, newest) == 1);
  CHECK(row(90, newest) == 2);
  CHECK(row(99, newest) == 2);
  CHECK(row(100, newest) == 3);
  // Until 2.18 only sm_80 itself was Ampere. Later GPUs counted as Volta.
  const NcclVersion older{2, 14, 3};
  CHECK(row(80, older) == 1);
  CHECK(row(86, older) == 0);
  CHECK(row(90, older) == 0);
  CHECK(row(90, {2, 18, 3}) == 2);
}

TEST_CASE("nccl tables: 2.7 caps the trees of a whole node, by nodes and for LL128 of sm_80") {
  // Twelve channels of 20 are 240 GB/s, or 235 on sm_80. Trees get 0.9 of it, at most 110 with up
  // to two nodes and 80 with more. LL128 of sm_80 gets at most 130 and 105.
  const NcclVersion v{2, 7, 8};
  const auto rate = [&](int capability, int nodes, Protocol protocol) {
    return bandwidth(nvlink(nodes, 8, capability, graph(12, 20)), v, kTree, protocol);
  };
  for (const int capability : {70, 80}) {
    CHECK(rate(capability, 1, Protocol::simple) == doctest::Approx(110 / 2.0));
    CHECK(rate(capability, 2, Protocol::simple) == doctest::Approx(110 / 2.0));
    CHECK(rate(capability, 3, Protocol::simple) == doctest::Approx(80 / 2.0));
    CHECK(rate(capability, 3, Protocol::ll) == doctest::Approx(80 / 3.8 / 2));
  }
  CHECK(rate(70, 1, Protocol::ll128) == doctest::Approx(110 * 7.0 / 9 / 2));
  CHECK(rate(70, 2, Protocol::ll128) == doctest::Approx(110 * 0.915 / 2));
  CHECK(rate(70, 3, Protocol::ll128) == doctest::Approx(80 * 0.915 / 2));
  CHECK(rate(80, 1, Protocol::ll128) == doctest::Approx(130 * 7.0 / 9 / 2));
  CHECK(rate(80, 2, Protocol::ll128) == doctest::Approx(130 * 0.915 / 2));
  CHECK(rate(80, 3, Protocol::ll128) == doctest::Approx(105 * 0.915 / 2));
  // Below the caps: 0.9 of three channels of 20, and LL128 16.7 a channel.
  const Cluster few = nvlink(2, 8, 70, graph(3, 20));
  CHECK(bandwidth(few, v, kTree, Protocol::simple) == doctest::Approx(54 / 2.0));
  CHECK(bandwidth(few, v, kTree, Protocol::ll128) == doctest::Approx(16.7 * 3 * 7 / 9 / 2));
}

TEST_CASE("nccl tables: a tree's speed inside two nodes counts since 2.8, inside three never") {
  // There are two channels of 12 GB/s inside and 6 between. The tree's bus is 0.9 or 0.92 of it.
  const auto rate = [](int nodes, NcclVersion nccl) {
    Cluster cluster = nvlink(nodes, 8, 70, graph(2, 12));
    cluster.tree.inter = Bandwidth::gigabytes_per_second(6);
    return bandwidth(cluster, nccl, kTree, Protocol::simple);
  };
  CHECK(rate(2, {2, 7, 8}) == doctest::Approx(0.9 * 12 / 2));
  CHECK(rate(2, {2, 8, 3}) == doctest::Approx(0.92 * 24 / 2));
  CHECK(rate(3, {2, 30, 7}) == doctest::Approx(0.92 * 12 / 2));
  CHECK(rate(1, {2, 7, 8}) == doctest::Approx(0.9 * 24 / 2));
}

TEST_CASE("nccl tables: sm_80 is limited to 235 GB/s until 2.18") {
  // There are twelve channels of 20 on one node of eight: 8/14 of the bus. Trees have 0.92 of it.
  const auto ring = [](int capability, NcclVersion nccl) {
    return bandwidth(nvlink(1, 8, capability, graph(12, 20)), nccl, kRing, Protocol::simple);
  };
  CHECK(ring(80, {2, 14, 3}) == doctest::Approx(235 * 8.0 / 14));
  CHECK(ring(80, {2, 18, 3}) == doctest::Approx(240 * 8.0 / 14));
  CHECK(ring(70, {2, 14, 3}) == doctest::Approx(240 * 8.0 / 14));
  CHECK(ring(86, {2, 14, 3}) == doctest::Approx(240 * 8.0 / 14));
  const auto tree = [](NcclVersion nccl) {
    return bandwidth(nvlink(1, 8, 80, graph(12, 20)), nccl, kTree, Protocol::simple);
  };
  CHECK(tree({2, 14, 3}) == doctest::Approx(235 * 0.92 / 2));
  CHECK(tree({2, 18, 3}) == doctest::Approx(240 * 0.92 / 2));
}

TEST_CASE("nccl tables: LL takes a quarter of the bus before 2.21, half of it since") {
  // Two nodes of two GPUs on a slow wire of 4 GB/s reach no cap. The algorithm gets 4/6 of it.
  const Cluster slow = nvlink(2, 2, 80, graph(1, 4));
  CHECK(bandwidth(slow, {2, 7, 8}, kRing, Protocol::ll) == doctest::Approx(1.0 * 4 / 6));
  CHECK(bandwidth(slow, {2, 18, 3}, kRing, Protocol::ll) == doctest::Approx(1.0 * 4 / 6));
  CHECK(bandwidth(slow, {2, 21, 5}, kRing, Protocol::ll) == doctest::Approx(2.0 * 4 / 6));
  // A broadcast within a node got a third.
  const auto broadcast = CollectiveKind::broadcast;
  CHECK(bandwidth(slow, {2, 18, 3}, kRing, Protocol::ll, broadcast) == doctest::Approx(1));
  const Cluster node = nvlink(1, 4, 80, graph(1, 6));
  CHECK(bandwidth(node, {2, 18, 3}, kRing, Protocol::ll, broadcast) == doctest::Approx(2));
  CHECK(bandwidth(node, {2, 18, 3}, kRing, Protocol::ll) == doctest::Approx(1.5 * 4 / 6));
  CHECK(bandwidth(node, {2, 21, 5}, kRing, Protocol::ll, broadcast) == doctest::Approx(3));
}

TEST_CASE(
    "nccl tables: rings of LL128 by collective before 2.10, weak with one GPU a node until 2.23") {
  const auto broadcast = CollectiveKind::broadcast;
  const Cluster node = nvlink(1, 4, 70, graph(1, 1000));
  CHECK(bandwidth(node, {2, 7, 8}, kRing, Protocol::ll128) == doctest::Approx(16.7 * 4 / 6));
  CHECK(bandwidth(node, {2, 7, 8}, kRing, Protocol::ll128, broadcast) == doctest::Approx(18.8));
  CHECK(bandwidth(node, {2, 8, 3}, kRing, Protocol::ll128, broadcast) == doctest::Approx(18.8));
  CHECK(bandwidth(node, {2, 10, 3}, kRing, Protocol::ll128, broadcast) == doctest::Approx(20));
  // Two nodes of one GPU, 10 GB/s.
  const Cluster lone = nvlink(2, 1, 70, graph(1, 10));
  CHECK(bandwidth(lone, {2, 21, 5}, kRing, Protocol::ll128) == doctest::Approx(7));
  CHECK(bandwidth(lone, {2, 23, 4}, kRing, Protocol::ll128) == doctest::Approx(9.2));
  const Cluster pairs = nvlink(2, 2, 70, graph(1, 10));
  CHECK(bandwidth(pairs, {2, 21, 5}, kRing, Protocol::ll128) == doctest::Approx(9.2 * 4 / 6));
}

TEST_CASE(
    "nccl tables: a broadcast's hops are those of its slowest path, or one if channels agree") {
  const auto broadcast = CollectiveKind::broadcast;
  const NcclVersion v{2, 30, 7};
  // Two nodes of two GPUs have four steps. Simple goes in the tree's chunks.
  const Cluster two = nvlink(2, 2, 80, graph(2, 20));
  CHECK(latency(two, v, kRing, Protocol::ll, broadcast) == doctest::Approx(6.6 + 4 * 2.7));
  CHECK(latency(two, v, kRing, Protocol::ll128, broadcast) == doctest::Approx(14 + 4 * 4));
  CHECK(latency(two, v, kRing, Protocol::simple, broadcast) == doctest::Approx(8.4 + 4 * 14));
  CHECK(latency(two, {2, 7, 8}, kRing, Protocol::simple, broadcast) ==
        doctest::Approx(8.4 + 4 * 50));
  // A single channel agrees with itself, on any links.
  const Cluster one = nvlink(2, 2, 80, graph(1, 20));
  CHECK(latency(one, {2, 7, 8}, kRing, Protocol::simple, broadcast) == doctest::Approx(8.4 + 9.6));
  CHECK(latency(pcie(nvlink(1, 2, 80, graph(1, 20))), v, kRing, Protocol::simple, broadcast) ==
        doctest::Approx(8.4 + 5.7));
  CHECK(latency(pcie(nvlink(1, 2, 80, graph(2, 20))), v, kRing, Protocol::simple, broadcast) ==
        doctest::Approx(8.4 + 2 * 4.0));
}

TEST_CASE("nccl tables: correction of trees, by power of two from 64 bytes on") {
  // For a tree without latency and with 1 GB/s: bytes / 1000 / correction.
  struct Bend {
    NcclVersion nccl;
    Protocol protocol;
    std::array<double, 24> by_power;
  };
  constexpr std::array<double, 24> kLl{1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
                                       .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1,  1};
  constexpr std::array<double, 24> kSimple{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                                           .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, 1};
  const Bend bends[] = {
      {{2, 30, 7}, Protocol::ll, kLl},
      {{2, 30, 7}, Protocol::ll128, {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6,
                                     .6, .6, .6, .6, .8, .9, .9, .9, .9, 1,  1,  1}},
      {{2, 30, 7}, Protocol::simple, kSimple},
      {{2, 10, 3}, Protocol::simple, kSimple},
      {{2, 8, 3}, Protocol::simple, kSimple},
      {{2, 7, 8}, Protocol::ll, kLl},
      {{2, 7, 8}, Protocol::ll128, {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6,
                                    .6, .5, .6, .6, .7, .7, .8, .9, .9, 1,  1,  1}},
      {{2, 7, 8}, Protocol::simple, {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                                     .5, .5, .5, .5, .5, .6, .6, .7, .8, .9, 1,  1}},
  };
  const Cluster node = nvlink(1, 8, 80, graph(1, 20));
  const TuningEntry plain{.latency_us = 0, .bandwidth_gbps = 1};
  const auto us = [&](NcclVersion nccl, Protocol protocol, std::int64_t bytes,
                      Algorithm algorithm = kTree) {
    return static_cast<double>(estimate_us(CollectiveKind::all_reduce, algorithm, protocol, plain,
                                           Bytes(bytes), node, {.nccl = nccl}));
  };
  for (const Bend& bend : bends)
    for (std::size_t power = 0; power < bend.by_power.size(); ++power) {
      CAPTURE(to_string(bend.nccl));
      CAPTURE(at(bend.protocol));
      CAPTURE(power);
      const std::int64_t bytes = std::int64_t{64} << power;
      CHECK(us(bend.nccl, bend.protocol, bytes) ==
            doctest::Approx(static_cast<double>(bytes) / 1000 / bend.by_power[power]));
    }
  // A value holds up to the next power of two. Below 64 bytes the first one holds.
  CHECK(us({2, 30, 7}, Protocol::ll, 2047) == doctest::Approx(2.047 / 0.9));
  CHECK(us({2, 30, 7}, Protocol::simple, 10) == doctest::Approx(0.010 / 0.9));
  // Rings are not corrected, nor are trees of broadcasts.
  CHECK(us({2, 30, 7}, Protocol::ll, 1 << 20, kRing) == doctest::Approx(1048.576));
  CHECK(static_cast<double>(estimate_us(CollectiveKind::broadcast, kTree, Protocol::ll, plain,
                                        1_MiB, node, kNewest)) == doctest::Approx(1048.576));
}

TEST_CASE("nccl table: a tree whose edges all end at one GPU counts 0.85 since 2.18") {
  const Cluster shared = nvlink(4, 8, 90, graph(8, 48));
  Cluster at_one = shared;
  at_one.tree_at_one_gpu = true;
  const auto bandwidths = [](const Cluster& cluster, Algorithm algorithm, NcclVersion nccl) {
    const auto row = tuning_entries(CollectiveKind::all_reduce, cluster, {.nccl = nccl});
    std::vector<double> gbps;
    for (const TuningEntry& entry : row[at(algorithm)])
      gbps.push_back(static_cast<double>(entry.bandwidth_gbps));
    return gbps;
  };
  for (const NcclVersion nccl :
       {NcclVersion{2, 14, 3}, NcclVersion{2, 18, 3}, NcclVersion{2, 30, 7}}) {
    const double counted = nccl < NcclVersion{2, 18, 0} ? 1 : 0.85;
    CAPTURE(to_string(nccl));
    for (std::size_t p = 0; p < 3; ++p)
      CHECK(bandwidths(at_one, Algorithm::tree, nccl)[p] ==
            doctest::Approx(counted * bandwidths(shared, Algorithm::tree, nccl)[p]));
    CHECK(bandwidths(at_one, Algorithm::ring, nccl) == bandwidths(shared, Algorithm::ring, nccl));
  }
}
