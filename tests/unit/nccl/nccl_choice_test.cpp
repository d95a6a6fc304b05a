#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_clusters.hpp"
#include "nccl_tuning.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::nccl_clusters;

namespace {

/// One row of the sample evaluation: latency / algorithm bandwidth, and the best choices.
struct Sample {
  std::string name;
  Cluster cluster;
  std::array<std::array<double, 2>, 6> table;
  struct Best {
    Bytes size;
    double us;
    Algorithm algorithm;
    Protocol protocol;
  };
  std::vector<Best> best;
};

std::vector<Sample> samples() {
  constexpr auto ring = Algorithm::ring;
  constexpr auto tree = Algorithm::tree;
  constexpr auto ll = Protocol::ll;
  constexpr auto ll128 = Protocol::ll128;
  constexpr auto simple = Protocol::simple;
  return {
      {"8xV100",
       nvlink(1, 8, 70, graph(6, 20)),
       {{{15.2, 14.5}, {31.5, 42.9}, {64.4, 55.2}, {15.0, 22.3}, {40.6, 63.1}, {56.0, 68.6}}},
       {{4_KiB, 15.2, ring, ll},
        {64_KiB, 17.9, ring, ll},
        {1_MiB, 57.2, ring, ll128},
        {4_MiB, 107.1, ring, ll128},
        {25_MiB, 438.1, ring, simple},
        {100_MiB, 1584.5, ring, simple}}},
      {"8xA100",
       nvlink(1, 8, 80, graph(12, 20)),
       {{{15.2, 29.1}, {31.5, 85.9}, {64.4, 110.4}, {15.0, 50.1}, {40.6, 126.2}, {56.0, 137.1}}},
       {{4_KiB, 15.1, ring, ll},
        {1_MiB, 35.9, ring, ll},
        {4_MiB, 73.8, ring, ll128},
        {25_MiB, 247.2, ring, simple},
        {100_MiB, 820.8, ring, simple}}},
      {"2x8 A100, AMD",
       nvlink(2, 8, 80, graph(8, 24), CpuVendor::amd),
       {{{25.2, 11.2}, {48.5, 80.0}, {92.4, 88.3}, {68.0, 12.0}, {78.0, 85.3}, {204.4, 102.4}}},
       {{4_KiB, 25.7, tree, ll},
        {1_MiB, 70.3, tree, ll128},
        {4_MiB, 114.0, tree, ll128},
        {25_MiB, 385.3, ring, ll128},
        {100_MiB, 1307.3, ring, ll128}}},
      {"4x8 H100, Intel",
       nvlink(4, 8, 90, graph(8, 48)),
       {{{35.2, 10.2}, {65.5, 116}, {120.4, 144}, {78.8, 10.5}, {144.4, 151.5}, {282.8, 198.2}}},
       {{4_KiB, 35.8, tree, ll},
        {1_MiB, 80.6, tree, ll128},
        {25_MiB, 316.6, tree, ll128},
        {100_MiB, 836.5, ring, ll128}}},
  };
}

}  // namespace

TEST_CASE("nccl choice: 2.30.7 latency and bandwidth agree with the sample evaluation") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    const TuningEntries entries =
        tuning_entries(CollectiveKind::all_reduce, sample.cluster, kNewest);
    for (std::size_t i = 0; i < 6; ++i) {
      CAPTURE(i);
      const TuningEntry& entry = entries[i / 3][i % 3];
      const double bandwidth = static_cast<double>(entry.bandwidth_gbps);
      const double digit = sample.table[i][1] == 116 || sample.table[i][1] == 144 ? 0.5 : 0.05;
      CHECK(std::abs(static_cast<double>(entry.latency_us) - sample.table[i][0]) < 0.051);
      CHECK(std::abs(bandwidth - sample.table[i][1]) < digit + 0.001);
    }
  }
}

TEST_CASE("nccl choice: 2.30.7 picks the same as the sample evaluation") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    for (const Sample::Best& best : sample.best) {
      CAPTURE(best.size.count());
      const CollectiveChoice choice =
          select_algorithm(CollectiveKind::all_reduce, best.size, sample.cluster, kNewest);
      CHECK(choice.algorithm == best.algorithm);
      CHECK(choice.protocol == best.protocol);
      // The printed times were computed from the printed bandwidths, rounded to three digits.
      CHECK(std::abs(choice.nccl_estimate.microseconds() - best.us) < 0.051 + 0.0005 * best.us);
    }
  }
}

TEST_CASE("nccl choice: 2.7.8 on one DGX-1V, by hand") {
  const Cluster dgx1 = nvlink(1, 8, 70, graph(6, 21));
  const NcclVersion v{2, 7, 8};
  check_entry(dgx1, v, Algorithm::tree, Protocol::ll, 4.4 + 14 * .52, 110 / 3.8 / 2);
  check_entry(dgx1, v, Algorithm::tree, Protocol::ll128, 4.4 + 14 * 1.2, 16.7 * 6 * 7 / 9 / 2);
  check_entry(dgx1, v, Algorithm::tree, Protocol::simple, 14 * 28, 110.0 / 2);
  check_entry(dgx1, v, Algorithm::ring, Protocol::ll, 3.6 + 14 * .47, 126.0 / 4 * 8 / 14);
  check_entry(dgx1, v, Algorithm::ring, Protocol::ll128, 10 + 14 * 1.9, 16.7 * 6 * 8 / 14);
  check_entry(dgx1, v, Algorithm::ring, Protocol::simple, 8.4 + 14 * 3.4, 126.0 * 8 / 14);
  check_entry(dgx1, {2, 4, 8}, Algorithm::ring, Protocol::simple, 8.4 + 14 * 3.4, 72);  // oldest
}

TEST_CASE("nccl choice: changes between versions on two nodes of eight V100, by hand") {
  const Cluster two = nvlink(2, 8, 70, graph(4, 12));
  const auto ring = Algorithm::ring;
  const auto tree = Algorithm::tree;
  // There are 28 local and 2 network steps. LL's local latency is multiplied by 1.8.
  check_entry(two, {2, 10, 3}, ring, Protocol::ll, 3.6 + 28 * .846 + 2 * 2.7, 48.0 / 4 * 16 / 30);
  check_entry(two, {2, 10, 3}, tree, Protocol::ll, 4.4 + 2 * (7 * .936 + 5), 48 * .92 / 3.8 / 2);
  // 2.14 counts 2N network steps.
  check_entry(two, {2, 14, 3}, ring, Protocol::ll, 3.6 + 26 * .846 + 4 * 2.7, 6.4);
  // 2.18 raises the base latencies, and the proxy is a lower bound for local steps.
  check_entry(two, {2, 18, 3}, ring, Protocol::simple, 8.4 + 26 * 3.4 + 4 * 14, 25.6);
  check_entry(two, {2, 18, 3}, ring, Protocol::ll, 6.6 + 26 * 1.0 + 4 * 2.7, 6.4);
  // 2.21 halves LL instead of quartering it, and makes Simple trees slow.
  check_entry(two, {2, 21, 5}, ring, Protocol::ll, 6.6 + 26 * 1.0 + 4 * 2.7, 12.8);
  check_entry(two, {2, 21, 5}, tree, Protocol::simple, 2 * (7 * 28 + 28), 48 * .92 / 2);
  // 2.23 counts 2(N - 1) network steps again, and makes these trees fast.
  check_entry(two, {2, 23, 4}, ring, Protocol::ll, 6.6 + 28 * 1.0 + 2 * 2.7, 12.8);
  check_entry(two, {2, 23, 4}, tree, Protocol::simple, 8.4 + 2 * (7 * 4 + 14), 48 * .92 / 2);
  check_entry(two, {2, 27, 7}, tree, Protocol::simple, 8.4 + 2 * (7 * 4 + 14), 48 * .92 / 2);
}

TEST_CASE("nccl choice: 2.8 caps trees per channel, and LL128 almost as 2.7, by hand") {
  Cluster pair = nvlink(2, 4, 70, graph(2, 12));
  pair.tree.intra = Bandwidth::gigabytes_per_second(24);
  const NcclVersion v{2, 8, 4};
  // With two nodes, the tree's speed inside a node counts, up to 18.5 a channel.
  const double tree = 2 * 18.5;
  check_entry(pair, v, Algorithm::tree, Protocol::ll, 4.4 + 2 * (3 * .936 + 5), tree / 3.8 / 2);
  check_entry(pair, v, Algorithm::tree, Protocol::ll128, 4.4 + 2 * (3 * 1.25 + 8.5), 16.9);
  check_entry(pair, v, Algorithm::tree, Protocol::simple, 2 * (3 * 28 + 28), tree / 2);
  check_entry(pair, v, Algorithm::ring, Protocol::ll, 3.6 + 12 * .846 + 2 * 2.7, 24.0 / 4 * 8 / 14);
  check_entry(pair, v, Algorithm::ring, Protocol::ll128, 10 + 12 * 1.9 + 2 * 4, 24 * .92 * 8 / 14);
  const Cluster dgx1 = nvlink(1, 8, 70, graph(6, 21));
  check_entry(dgx1, v, Algorithm::ring, Protocol::ll128, 10 + 14 * 1.9, 16.9 * 6 * 8 / 14);
  check_entry(dgx1, v, Algorithm::ring, Protocol::ll, 3.6 + 14 * .47, 126.0 / 4 * 8 / 14);
  // From three nodes on, the rate between them counts, up to 10 a channel.
  const Cluster eight = nvlink(8, 4, 70, graph(2, 12));
  check_entry(eight, v, Algorithm::tree, Protocol::simple, 2 * (3 * 28 + 3 * 28), 10);
  check_entry(eight, v, Algorithm::tree, Protocol::ll128, 4.4 + 2 * (3 * 1.25 + 3 * 8.5),
              20 * .915 / 2);
}

TEST_CASE("nccl choice: Blackwell's rows since 2.27, by hand") {
  const Cluster b200 = nvlink(1, 8, 100, graph(16, 45));
  const auto ring = Algorithm::ring;
  const auto ll128 = Protocol::ll128;
  check_entry(b200, {2, 27, 7}, ring, ll128, 14 + 14 * 1.9, 720 * .92 * 8 / 14);
  check_entry(b200, {2, 28, 9}, ring, ll128, 14 + 14 * 1.9, 720 * .92 * 8 / 14);
  check_entry(b200, {2, 30, 7}, ring, ll128, 14 + 14 * 1.9, 16 * 40.0 * 8 / 14);
  check_entry(b200, {2, 21, 5}, ring, ll128, 14 + 14 * 1.9, 0);  // not enabled on sm_100 yet
}

TEST_CASE("nccl choice: NVLS by version on one H100 node, by hand") {
  const Cluster node = switched(1, 90, 40, 40);
  const auto nvls = Algorithm::nvls;
  const auto simple = Protocol::simple;
  check_entry(node, {2, 16, 2}, nvls, simple, 0, 0);  // does not exist yet
  check_entry(node, {2, 18, 3}, nvls, simple, 23, 8 * 40 * 5.0 / 6);
  check_entry(node, {2, 21, 5}, nvls, simple, 25, 8 * 40 * 5.0 / 6);
  check_entry(node, {2, 27, 7}, nvls, simple, 25, 8 * 40 * 5.0 / 6);
  check_entry(node, {2, 30, 7}, nvls, simple, 25, 8 * (40 * .85 * 7 / 8 * 2) * 8 / 14);
  check_entry(node, {2, 30, 7}, nvls, Protocol::ll, 0, 0);
  check_entry(node, {2, 30, 7}, Algorithm::nvls_tree, simple, 25, 0);  // one node
  const Cluster b200 = switched(1, 100, 80, 80);
  check_entry(b200, {2, 30, 7}, nvls, simple, 25, 8 * (80 * .74 * 7 / 8 * 2) * 8 / 14);
  CHECK(select_algorithm(CollectiveKind::all_reduce, 100_MiB, node, kNewest).algorithm == nvls);
  CHECK(select_algorithm(CollectiveKind::all_reduce, 100_MiB, node, kNewest).channels == 16);
  CHECK(select_algorithm(CollectiveKind::broadcast, 100_MiB, node, kNewest).algorithm ==
        Algorithm::ring);
}

TEST_CASE("nccl choice: channels are limited only if the setting is below what NCCL would use") {
  const Cluster node = switched(1, 90, 40, 40);
  const auto limit = [&](std::optional<int> most) {
    CollectiveTuning tuning = kNewest;
    tuning.max_channels = most;
    return select_algorithm(CollectiveKind::all_reduce, 100_MiB, node, tuning).channel_limit;
  };
  CHECK(limit(std::nullopt) == 0);
  CHECK(limit(4) == 4);
  CHECK(limit(64) == 0);
}

TEST_CASE("nccl choice: NVLSTree by version on two and four H100 nodes, by hand") {
  const auto tree = Algorithm::nvls_tree;
  const auto simple = Protocol::simple;
  const Cluster two = switched(2, 90, 40, 40);
  const Cluster four = switched(4, 90, 40, 40);
  check_entry(two, {2, 17, 1}, tree, simple, 23 + 2 * 19, 0);  // came with 2.18
  check_entry(two, {2, 18, 3}, tree, simple, 23 + 2 * 19, 320 * .70 * 2 / 2);
  check_entry(four, {2, 18, 3}, tree, simple, 23 + 2 * 3 * 19, 320 * .70 * 4 / 6);
  check_entry(two, {2, 21, 5}, tree, simple, 25 + 2 * 14, 320 * 5.0 / 6);
  check_entry(four, {2, 21, 5}, tree, simple, 25 + 2 * 2 * 14, 160 * 5.0 / 6);
  check_entry(two, {2, 30, 7}, tree, simple, 25 + 2 * 20.9, 8 * 57.7 * 16 / 30);
  check_entry(four, {2, 30, 7}, tree, simple, 25 + 2 * 2 * 20.9, 320.0 * 32 / 62);
  const Cluster blackwell = switched(4, 100, 80, 48);
  check_entry(blackwell, {2, 28, 9}, tree, simple, 25 + 4 * 20.9, 8 * 43.8 * 32 / 62);
  check_entry(blackwell, {2, 30, 7}, tree, simple, 25 + 4 * 20.9, 8 * 48.0 * 32 / 62);
  check_entry(two, {2, 30, 7}, Algorithm::nvls, simple, 25 + 18, 0);  // several nodes need CollNet
}

TEST_CASE("nccl choice: CollNet needs SHARP and the user's setting; its direct form an NVSwitch") {
  Cluster cluster = nvlink(4, 8, 80, graph(8, 24));
  cluster.network.collnet = true;
  const auto bandwidth = [&](Algorithm algorithm, NcclVersion version, bool asked) {
    const TuningEntries entries =
        tuning_entries(CollectiveKind::all_reduce, cluster, {.nccl = version, .collnet = asked});
    return static_cast<double>(entries[static_cast<std::size_t>(algorithm)][2].bandwidth_gbps);
  };
  const auto direct = Algorithm::collnet_direct;
  const auto chain = Algorithm::collnet_chain;
  CHECK(bandwidth(direct, {2, 30, 7}, true) == doctest::Approx(192 * .5));
  CHECK(bandwidth(chain, {2, 30, 7}, true) == doctest::Approx(192 * .5));
  CHECK(bandwidth(direct, {2, 30, 7}, false) == 0);
  CHECK(bandwidth(direct, {2, 7, 8}, true) == 0);  // only a chain exists
  CHECK(bandwidth(chain, {2, 7, 8}, true) == doctest::Approx(192 * .9 * .5));
  cluster.intra.kind = IntraKind::nvlink;
  CHECK(bandwidth(direct, {2, 30, 7}, true) == 0);
  CHECK(bandwidth(chain, {2, 30, 7}, true) > 0);
  cluster.network.collnet = false;
  CHECK(bandwidth(chain, {2, 30, 7}, true) == 0);
}

TEST_CASE("nccl choice: CollNet's latencies, by hand") {
  Cluster cluster = nvlink(4, 8, 90, graph(8, 48));
  cluster.network.collnet = true;
  const CollectiveTuning asked{.nccl = {2, 30, 7}, .collnet = true};
  const TuningEntries entries = tuning_entries(CollectiveKind::all_reduce, cluster, asked);
  CHECK(static_cast<double>(entries[2][2].latency_us) == doctest::Approx(2 * (3.7 + 7 * .4) + 31));
  CHECK(static_cast<double>(entries[3][2].latency_us) == doctest::Approx(2 * 7 * 2.8 + 30));
  CHECK(static_cast<double>(entries[2][2].bandwidth_gbps) == doctest::Approx(384 * .85 * .5));
}

TEST_CASE("nccl choice: sets exclude what they leave out, and say when nothing is left") {
  const Cluster node = switched(1, 90, 40, 40);
  CollectiveTuning tuning = kNewest;
  tuning.algorithms = AlgorithmSet::all();
  tuning.algorithms->remove(Algorithm::nvls);
  CHECK(select_algorithm(CollectiveKind::all_reduce, 100_MiB, node, tuning).algorithm ==
        Algorithm::ring);
  CHECK(can_select_algorithm(node, tuning));
  CollectiveTuning without = kNewest;
  without.nvls = false;
  CHECK(select_algorithm(CollectiveKind::all_reduce, 100_MiB, node, without).algorithm ==
        Algorithm::ring);
  CollectiveTuning impossible = kNewest;
  impossible.algorithms = Algorithm::nvls_tree;  // one node has none
  CHECK_FALSE(can_select_algorithm(node, impossible));
  CHECK(select_algorithm(CollectiveKind::all_reduce, 1_MiB, node, impossible).algorithm ==
        Algorithm::ring);
  impossible = {.nccl = {2, 30, 7}, .algorithms = Algorithm::nvls, .protocols = Protocol::ll};
  CHECK_FALSE(can_select_algorithm(node, impossible));
}

TEST_CASE("nccl choice: channel limits hold for rings, not for NVLS") {
  const Cluster node = switched(1, 90, 40, 40);
  CollectiveTuning tuning = kNewest;
  tuning.max_channels = 4;
  CHECK(communicator_channels(node, tuning) == 4);
  CHECK(select_algorithm(CollectiveKind::all_reduce, 100_MiB, node, tuning).channels == 16);
  tuning.max_channels.reset();
  tuning.min_channels = 32;
  CHECK(communicator_channels(node, tuning) == 32);
  tuning.min_channels = 1000;
  CHECK(communicator_channels(node, tuning) == 64);
}

TEST_CASE("nccl choice: a version uses the newest table that is not newer than itself") {
  CHECK(nccl_tuning({2, 8, 1}).version == NcclVersion{2, 7, 8});
  CHECK(nccl_tuning({2, 9, 9}).version == NcclVersion{2, 8, 3});
  CHECK(nccl_tuning({2, 20, 5}).version == NcclVersion{2, 18, 3});
  CHECK(nccl_tuning({2, 22, 3}).version == NcclVersion{2, 21, 5});
  CHECK(nccl_tuning({2, 27, 3}).version == NcclVersion{2, 23, 4});
  CHECK(nccl_tuning({3, 0, 0}).version == NcclVersion{2, 30, 7});
  CHECK(nccl_tuning({1, 0, 0}).version == NcclVersion{2, 7, 8});
}

TEST_CASE("nccl choice: before 2.4 there are no trees, and between nodes a ring per NIC") {
  Cluster two = nvlink(2, 8, 70, graph(6, 20));
  two.network.nics_per_node = 1;
  const CollectiveTuning old{.nccl = {2, 3, 7}};
  const CollectiveTuning first{.nccl = {2, 4, 0}};
  for (const Bytes size : {4_KiB, 1_MiB, 256_MiB})
    CHECK(select_algorithm(CollectiveKind::all_reduce, size, two, old).algorithm ==
          Algorithm::ring);
  CHECK(select_algorithm(CollectiveKind::all_reduce, 1_MiB, two, first).algorithm ==
        Algorithm::tree);
  CHECK(communicator_channels(two, old) == 1);
  CHECK(communicator_channels(two, first) == 12);
  two.nodes = 1;
  CHECK(communicator_channels(two, old) == 12);
}

TEST_CASE("nccl choice: before 2.5 sizes are compared with thresholds") {
  const auto chosen = [](const Cluster& cluster, Bytes size, CollectiveTuning tuning) {
    tuning.nccl = {2, 4, 8};
    const CollectiveChoice choice =
        select_algorithm(CollectiveKind::all_reduce, size, cluster, tuning);
    CHECK(choice.nccl_estimate == Duration());  // no estimate exists
    return std::string(name_of(choice.algorithm)) + " " + std::string(name_of(choice.protocol)) +
           " x" + std::to_string(choice.channels);
  };
  Cluster cluster = nvlink(2, 8, 70, graph(1, 20));
  SUBCASE("two nodes with NVLink: a tree for every size, with LL up to 256 KiB") {
    CHECK(chosen(cluster, Bytes(1), {}) == "tree LL x1");
    CHECK(chosen(cluster, 256_KiB, {}) == "tree LL x2");
    CHECK(chosen(cluster, 256_KiB + Bytes(1), {}) == "tree Simple x2");
    CHECK(chosen(cluster, 1024_MiB, {}) == "tree Simple x2");
  }
  SUBCASE("four nodes: 3 * 10000 bytes per us * (31 * 6 - 2 * 15 - 7 * 4) us") {
    cluster.nodes = 4;
    CHECK(chosen(cluster, Bytes(3'840'000), {}) == "tree Simple x2");
    CHECK(chosen(cluster, Bytes(3'840'001), {}) == "ring Simple x2");
  }
  SUBCASE("trees switched off, as in the log of 2.4.6: LL up to 1 MiB") {
    CHECK(chosen(cluster, 32_KiB, {.algorithms = Algorithm::ring}) == "ring LL x1");
    CHECK(chosen(cluster, 1_MiB, {.algorithms = Algorithm::ring}) == "ring LL x2");
    CHECK(chosen(cluster, 2_MiB, {.algorithms = Algorithm::ring}) == "ring Simple x2");
  }
  SUBCASE("without NVLink: 10000 bytes per us * (15 * 6 - 15 - 7 * 4) us, for any channels") {
    cluster.intra.kind = IntraKind::pcie;
    CHECK(chosen(cluster, Bytes(469'999), {}) == "tree Simple x2");
    CHECK(chosen(cluster, Bytes(470'001), {}) == "ring LL x2");
  }
  SUBCASE("one node, or one GPU a node: rings") {
    CHECK(chosen(nvlink(1, 8, 70, graph(1, 20)), 1_KiB, {}) == "ring LL x1");
    CHECK(chosen(nvlink(2, 1, 70, graph(1, 20)), 64_MiB, {}) == "ring Simple x2");
  }
  SUBCASE("settings") {
    CHECK(chosen(cluster, 1_KiB, {.protocols = Protocol::simple}) == "tree Simple x2");
    CHECK(chosen(cluster, 64_MiB, {.protocols = Protocol::ll}) == "tree LL x2");
    CHECK_FALSE(can_select_algorithm(cluster, {.nccl = {2, 4, 8}, .protocols = Protocol::ll128}));
  }
}

TEST_CASE("nccl choice: LL128 needs NVLink, GPUDirect and a GPU known to store 128 bytes whole") {
  const auto ll128 = [](const Cluster& cluster, NcclVersion version) {
    const TuningEntries entries =
        tuning_entries(CollectiveKind::all_reduce, cluster, {.nccl = version});
    return entries[1][1].bandwidth_gbps > 0;
  };
  const Cluster good = nvlink(2, 8, 80, graph(8, 24));
  CHECK(ll128(good, {2, 30, 7}));
  Cluster pcie = good;
  pcie.ring.intra_path = pcie.tree.intra_path = PathKind::pcie;
  CHECK_FALSE(ll128(pcie, {2, 30, 7}));
  Cluster tcp = good;
  tcp.network.kind = NetworkKind::tcp;
  CHECK_FALSE(ll128(tcp, {2, 30, 7}));
  Cluster staged = good;
  staged.network.gpudirect = false;
  CHECK_FALSE(ll128(staged, {2, 30, 7}));
  CHECK(ll128(nvlink(1, 8, 90, graph(12, 30)), {2, 18, 3}));
  CHECK_FALSE(ll128(nvlink(1, 8, 90, graph(12, 30)), {2, 14, 3}));
  CHECK_FALSE(ll128(nvlink(1, 2, 75, graph(2, 20)), {2, 18, 3}));
}

TEST_CASE("nccl choice: forced algorithm and protocol are obeyed") {
  const Cluster dgx1 = nvlink(1, 8, 70, graph(6, 20));
  const CollectiveTuning forced{
      .nccl = {2, 30, 7}, .algorithms = Algorithm::tree, .protocols = Protocol::simple};
  const CollectiveChoice choice = select_algorithm(CollectiveKind::all_reduce, 4_KiB, dgx1, forced);
  CHECK(choice.algorithm == Algorithm::tree);
  CHECK(choice.protocol == Protocol::simple);
  // A broadcast has only rings, regardless of NCCL_ALGO.
  CHECK(select_algorithm(CollectiveKind::broadcast, 4_KiB, dgx1, forced).algorithm ==
        Algorithm::ring);
}

TEST_CASE("nccl choice: broadcasts run on rings and grow with the steps unless channels agree") {
  const Cluster a100 = nvlink(1, 8, 80, graph(12, 20));
  const TuningEntries same = tuning_entries(CollectiveKind::broadcast, a100, kNewest);
  CHECK(same[0][2].bandwidth_gbps == 0);
  CHECK(static_cast<double>(same[1][2].latency_us) == doctest::Approx(8.4 + 3.4));
  CHECK(static_cast<double>(same[1][2].bandwidth_gbps) == doctest::Approx(240));
  Cluster mesh = nvlink(1, 8, 70, graph(6, 20));
  mesh.intra.kind = IntraKind::nvlink;
  const TuningEntries differ = tuning_entries(CollectiveKind::broadcast, mesh, kNewest);
  CHECK(static_cast<double>(differ[1][2].latency_us) == doctest::Approx(8.4 + 8 * 4.0));
  CHECK(static_cast<double>(differ[1][0].latency_us) == doctest::Approx(6.6 + 8 * 0.6));
}

TEST_CASE("nccl choice: one rank runs no tuning") {
  const CollectiveChoice choice = select_algorithm(CollectiveKind::all_reduce, 1024_MiB,
                                                   nvlink(1, 1, 80, graph(1, 20)), kNewest);
  CHECK(choice.algorithm == Algorithm::ring);
  CHECK(choice.protocol == Protocol::simple);
  CHECK(choice.channels == 1);
  CHECK(choice.nccl_estimate == Duration());
}

TEST_CASE("nccl choice: channels shrink with the size and reach the communicator's") {
  const Cluster dgx1 = nvlink(1, 8, 70, graph(6, 20));
  CHECK(communicator_channels(dgx1, kNewest) == 12);
  const auto channels = [&](Protocol protocol, Bytes size) {
    return operation_channels(Algorithm::ring, protocol, size, dgx1, kNewest);
  };
  CHECK(channels(Protocol::simple, Bytes(393'216)) == 12);
  CHECK(channels(Protocol::simple, Bytes(393'215)) == 11);
  CHECK(channels(Protocol::ll, Bytes(0)) == 1);
  // Each channel has 512 threads x 8 bytes x 8 ranks.
  CHECK(channels(Protocol::ll, 64_KiB) == 2);
  // Hopper with several nodes, fast rings and few channels doubles twice.
  CHECK(communicator_channels(nvlink(4, 8, 90, graph(4, 48)), kNewest) == 16);
  CHECK(communicator_channels(nvlink(4, 8, 80, graph(4, 48)), kNewest) == 8);
}

TEST_CASE("nccl choice: awkward sizes and rank counts always give an enabled choice") {
  for (const int gpus : {2, 3, 7, 13}) {
    for (const int nodes : {1, 2, 3}) {
      for (const std::int64_t bytes : {0LL, 1LL, 63LL, 64LL, 1LL << 40}) {
        const CollectiveChoice choice =
            select_algorithm(CollectiveKind::all_reduce, Bytes(bytes),
                             nvlink(nodes, gpus, 80, graph(2, 20)), kNewest);
        CHECK(choice.channels >= 1);
        CHECK(choice.nccl_estimate > Duration());
      }
    }
  }
}
