// NCCL's choice on both sides of each border: sizes, versions, GPUs, networks, settings.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_clusters.hpp"
#include "nccl_tuning.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::nccl_clusters;

namespace {

bool takes_ll128(const Cluster& cluster, NcclVersion nccl = {2, 30, 7}) {
  return tuning_entries(kAllReduce, cluster, {.nccl = nccl})[at(kRing)][1].bandwidth_gbps > 0;
}

Cluster over(NetworkKind kind, int capability) {
  Cluster two = nvlink(2, 8, capability, graph(8, 24));
  two.network.kind = kind;
  return two;
}

Cluster selecting(Cluster cluster, const FittedSelection& selection) {
  Calibration calibration;
  calibration.selection = selection;
  calibration.shapes = {{cluster.nodes, cluster.gpus_per_node, Bytes(8), 1024_MiB, "log"}};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  return cluster;
}

}  // namespace

TEST_CASE("nccl borders: LL128 between nodes depends on the network and on the GPU that feeds it") {
  for (const int capability : {70, 80, 90}) {
    CAPTURE(capability);
    CHECK(takes_ll128(over(NetworkKind::infiniband, capability)));
    CHECK(takes_ll128(over(NetworkKind::roce, capability)));
    CHECK_FALSE(takes_ll128(over(NetworkKind::tcp, capability)));
    CHECK_FALSE(takes_ll128(over(NetworkKind::slingshot, capability)));
    // The first EFA, used with Volta, stages in host memory.
    CHECK(takes_ll128(over(NetworkKind::efa, capability)) == (capability >= 80));
    Cluster staged = over(NetworkKind::infiniband, capability);
    staged.network.gpudirect = false;
    CHECK_FALSE(takes_ll128(staged));
    Cluster tcpx = over(NetworkKind::tcp, capability);
    tcpx.network.sockets = Sockets::gpudirect;
    CHECK_FALSE(takes_ll128(tcpx));
    // Within a node the network does not matter.
    Cluster alone = over(NetworkKind::tcp, capability);
    alone.nodes = 1;
    CHECK(takes_ll128(alone));
  }
}

TEST_CASE("nccl borders: LL128 inside a node needs NVLink if there is more than one GPU") {
  CHECK_FALSE(takes_ll128(pcie(nvlink(1, 2, 80, graph(2, 20)))));
  CHECK(takes_ll128(pcie(nvlink(2, 1, 80, graph(2, 20)))));
}

TEST_CASE("nccl borders: the GPUs that LL128 is enabled for, version by version") {
  const auto node = [](int capability) { return nvlink(1, 8, capability, graph(6, 20)); };
  struct Known {
    NcclVersion nccl;
    int newest;  ///< 70, 80 or 90; 0: no limit
  };
  for (const Known& version : {Known{{2, 7, 8}, 80}, Known{{2, 17, 1}, 80}, Known{{2, 18, 3}, 90},
                               Known{{2, 23, 4}, 90}, Known{{2, 27, 7}, 0}, Known{{2, 30, 7}, 0}})
    for (const int capability : {60, 70, 75, 80, 86, 89, 90, 100, 120}) {
      CAPTURE(to_string(version.nccl));
      CAPTURE(capability);
      const bool by_name = capability % 10 == 0 && capability <= version.newest;
      CHECK(takes_ll128(node(capability), version.nccl) ==
            (capability >= 70 && (version.newest == 0 || by_name)));
    }
}

TEST_CASE("nccl borders: a setting that lists LL128 enables it even where NCCL would not") {
  const Cluster tcp = over(NetworkKind::tcp, 80);
  const auto protocol = [&](std::optional<ProtocolSet> protocols) {
    CollectiveTuning tuning = kNewest;
    tuning.protocols = protocols;
    return select_algorithm(kAllReduce, 4_MiB, tcp, tuning).protocol;
  };
  CHECK(protocol({}) != Protocol::ll128);
  CHECK(protocol(Protocol::ll128) == Protocol::ll128);
}

TEST_CASE("nccl borders: a log may forbid LL128 between nodes, not inside one, not when listed") {
  const FittedSelection without{.ll128_between_nodes = false};
  CHECK(takes_ll128(selecting(nvlink(2, 8, 80, graph(8, 24)), {})));
  CHECK_FALSE(takes_ll128(selecting(nvlink(2, 8, 80, graph(8, 24)), without)));
  CHECK(takes_ll128(selecting(nvlink(1, 8, 80, graph(8, 24)), without)));
  CollectiveTuning listed = kNewest;
  listed.protocols = Protocol::ll128;
  CHECK(can_select_algorithm(selecting(nvlink(2, 8, 80, graph(8, 24)), without), listed));
}

TEST_CASE("nccl borders: a log may weight trees between nodes; the estimate stays NCCL's") {
  // On two nodes of eight A100, 25 MiB take a ring of LL128 for 385 us, and 4 MiB a tree for 114.
  const Cluster two = nvlink(2, 8, 80, graph(8, 24), CpuVendor::amd);
  const auto chosen = [&](double factor, Bytes size, int nodes) {
    Cluster cluster = two;
    cluster.nodes = nodes;
    return select_algorithm(kAllReduce, size, selecting(cluster, {.tree_factor = factor}), kNewest);
  };
  CHECK(chosen(1, 25_MiB, 2).algorithm == kRing);
  CHECK(chosen(0.5, 25_MiB, 2).algorithm == kTree);
  CHECK(chosen(1, 4_MiB, 2).algorithm == kTree);
  CHECK(chosen(4, 4_MiB, 2).algorithm == kRing);
  CHECK(chosen(0.5, 4_MiB, 2).nccl_estimate == chosen(1, 4_MiB, 2).nccl_estimate);
  CHECK(chosen(0.01, 25_MiB, 1).algorithm == kRing);  // no weight within a node
}

TEST_CASE("nccl borders: large rings of Simple pay more latency between nodes, by size and GPU") {
  // With 16 channels and 16 ranks, it starts at 64 bytes each. The entry has 100 us and almost no
  // time for bytes.
  const TuningEntry entry{.latency_us = 100, .bandwidth_gbps = 1e9f};
  const auto us = [&](std::int64_t bytes, int nodes, int capability, NcclVersion nccl,
                      Protocol protocol = Protocol::simple, Algorithm algorithm = kRing,
                      CollectiveKind kind = kAllReduce) {
    const Cluster cluster = nvlink(nodes, 16 / nodes, capability, graph(8, 24));
    return static_cast<double>(
        estimate_us(kind, algorithm, protocol, entry, Bytes(bytes), cluster, {.nccl = nccl}));
  };
  const NcclVersion newest{2, 30, 7};
  CHECK(us(16'383, 2, 80, newest) == doctest::Approx(100));
  CHECK(us(16'384, 2, 80, newest) == doctest::Approx(140));
  CHECK(us(16'384, 2, 79, newest) == doctest::Approx(190));
  CHECK(us(16'384, 1, 80, newest) == doctest::Approx(100));
  CHECK(us(16'384, 2, 80, newest, Protocol::ll) == doctest::Approx(100));
  CHECK(us(16'384, 2, 80, newest, Protocol::ll128) == doctest::Approx(100));
  CHECK(us(16'384, 2, 80, newest, Protocol::simple, kTree) == doctest::Approx(100));
  CHECK(us(16'384, 2, 80, newest, Protocol::simple, kRing, CollectiveKind::broadcast) ==
        doctest::Approx(100));
  // Until 2.18 it goes by ranks (64 KiB for sixteen), and is 1.9 for every GPU.
  const NcclVersion old{2, 14, 3};
  CHECK(us(65'535, 2, 80, old) == doctest::Approx(100));
  CHECK(us(65'536, 2, 80, old) == doctest::Approx(190));
  CHECK(us(65'536, 2, 70, old) == doctest::Approx(190));
  CHECK(us(16'384, 2, 80, {2, 18, 3}) == doctest::Approx(140));
}

TEST_CASE("nccl borders: the size at which an operation uses its last channel") {
  // The communicator has ten channels. The size is threads x bytes a thread x channels (x ranks for
  // a ring of LL).
  Cluster cluster = nvlink(2, 8, 80, graph(5, 20));
  const auto needs = [&](Algorithm algorithm, Protocol protocol, std::int64_t bytes) {
    CAPTURE(name_of(algorithm));
    CAPTURE(name_of(protocol));
    CHECK(operation_channels(algorithm, protocol, Bytes(bytes), cluster, kNewest) == 10);
    CHECK(operation_channels(algorithm, protocol, Bytes(bytes - 1), cluster, kNewest) == 9);
    CHECK(operation_channels(algorithm, protocol, Bytes(0), cluster, kNewest) == 1);
  };
  needs(kRing, Protocol::simple, 10 * 512 * 64);
  needs(kTree, Protocol::simple, 10 * 512 * 64);
  needs(kRing, Protocol::ll, 10 * 512 * 8 * 16);
  needs(kTree, Protocol::ll, 10 * 512 * 8);
  needs(kRing, Protocol::ll128, 10 * 640 * 8);
  needs(kTree, Protocol::ll128, 10 * 640 * 8);
  needs(Algorithm::collnet_direct, Protocol::simple, 10 * 640 * 512);
  needs(Algorithm::collnet_chain, Protocol::simple, 10 * 640 * 512);
  // Rings with 12 GB/s together have half the threads; trees with the same rate do not.
  cluster.ring = graph(5, 2.4);
  needs(kRing, Protocol::simple, 10 * 256 * 64);
  needs(kTree, Protocol::simple, 10 * 512 * 64);
  needs(kRing, Protocol::ll128, 10 * 640 * 8);
  cluster.ring = graph(5, 2.41);
  needs(kRing, Protocol::simple, 10 * 512 * 64);
  // NVLS uses its own channels for any size.
  cluster.nvls_channels = 16;
  CHECK(operation_channels(Algorithm::nvls, Protocol::simple, 1_B, cluster, kNewest) == 16);
  CHECK(operation_channels(Algorithm::nvls_tree, Protocol::simple, 1_B, cluster, kNewest) == 16);
  cluster.nvls_channels = 0;
  CHECK(operation_channels(Algorithm::nvls, Protocol::simple, 1_B, cluster, kNewest) == 1);
}

TEST_CASE(
    "nccl borders: channels of a communicator double once, on fast Hoppers between nodes twice") {
  const auto channels = [](int nodes, int capability, int found, double speed, NcclVersion nccl) {
    return communicator_channels(nvlink(nodes, 8, capability, graph(found, speed)), {.nccl = nccl});
  };
  const NcclVersion newest{2, 30, 7};
  CHECK(channels(2, 90, 4, 46, newest) == 16);
  CHECK(channels(2, 90, 4, 45, newest) == 8);
  CHECK(channels(2, 100, 4, 46, newest) == 16);
  CHECK(channels(2, 89, 4, 46, newest) == 8);
  CHECK(channels(1, 90, 4, 46, newest) == 8);
  CHECK(channels(2, 90, 7, 46, newest) == 28);
  CHECK(channels(2, 90, 8, 46, newest) == 16);  // already enough
  CHECK(channels(2, 90, 4, 46, {2, 18, 3}) == 16);
  CHECK(channels(2, 90, 4, 46, {2, 17, 1}) == 8);
  // The limit is 32 until 2.27, then 64.
  CHECK(channels(1, 80, 32, 20, {2, 23, 4}) == 32);
  CHECK(channels(1, 80, 32, 20, {2, 27, 7}) == 64);
  CHECK(channels(1, 80, 0, 20, newest) == 2);
}

TEST_CASE("nccl borders: settings limit the channels, and the minimum wins over the maximum") {
  const Cluster node = nvlink(1, 8, 80, graph(6, 20));
  const auto channels = [&](std::optional<int> least, std::optional<int> most) {
    return communicator_channels(node,
                                 {.nccl = {2, 30, 7}, .min_channels = least, .max_channels = most});
  };
  CHECK(channels({}, {}) == 12);
  CHECK(channels({}, 5) == 5);
  CHECK(channels({}, 20) == 12);
  CHECK(channels(20, {}) == 20);
  CHECK(channels(3, {}) == 12);
  CHECK(channels(8, 5) == 8);  // NCCL raises after it has cut
  CHECK(channels({}, 0) == 1);
}

TEST_CASE("nccl borders: other fields of a choice") {
  CollectiveTuning tuning{.nccl = {2, 18, 3}};
  tuning.buffer = 1_MiB;
  for (const NcclVersion nccl : {NcclVersion{2, 18, 3}, NcclVersion{2, 4, 8}}) {
    tuning.nccl = nccl;
    const CollectiveChoice choice =
        select_algorithm(kAllReduce, 25_MiB, nvlink(1, 8, 70, graph(6, 20)), tuning);
    CHECK(choice.buffer == 1_MiB);
    CHECK(choice.nccl == nccl);
    CHECK(choice.channels == 12);
  }
  CHECK(can_select_algorithm(nvlink(1, 1, 70, graph(1, 20)), {.protocols = ProtocolSet()}));
}

TEST_CASE("nccl borders: words for algorithms and protocols") {
  for (int a = 0; a < kAlgorithms; ++a)
    CHECK(parse_algorithm(name_of(static_cast<Algorithm>(a))) == static_cast<Algorithm>(a));
  for (int p = 0; p < kProtocols; ++p)
    CHECK(parse_protocol(name_of(static_cast<Protocol>(p))) == static_cast<Protocol>(p));
  CHECK(parse_algorithm("NVLS_TREE") == Algorithm::nvls_tree);
  CHECK(parse_algorithm("CollNetChain") == Algorithm::collnet_chain);
  CHECK(parse_algorithm("collnet_direct") == Algorithm::collnet_direct);
  CHECK(parse_algorithm("Tree") == Algorithm::tree);
  CHECK(parse_protocol("ll128") == Protocol::ll128);
  CHECK_FALSE(parse_algorithm("rings"));
  CHECK_FALSE(parse_algorithm("pat"));
  CHECK_FALSE(parse_protocol(""));
  CHECK(name_of(Algorithm::ring) == "ring");
  CHECK(name_of(Algorithm::collnet_direct) == "collnetdirect");
  CHECK(name_of(Algorithm::nvls_tree) == "nvlstree");
  CHECK(name_of(Protocol::simple) == "Simple");
  CHECK(name_of(Protocol::ll128) == "LL128");
}
