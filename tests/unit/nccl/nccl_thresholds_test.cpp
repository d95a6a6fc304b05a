// NCCL before its table of times: the sizes at which 2.3 and 2.4 change their choice, by hand.
#include <doctest/doctest.h>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_clusters.hpp"
#include "nccl_thresholds.hpp"
#include "nccl_tuning.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::nccl_clusters;

namespace {}  // namespace

TEST_CASE("nccl thresholds: before 2.4 there is a ring for each NIC between nodes") {
  Cluster two = nvlink(2, 8, 70, graph(6, 20));
  const CollectiveTuning old{.nccl = {2, 3, 7}};
  two.network.nics_per_node = 4;
  CHECK(communicator_channels(two, old) == 4);
  two.network.nics_per_node = 16;
  CHECK(communicator_channels(two, old) == 12);
  two.network.nics_per_node = 0;
  CHECK(communicator_channels(two, old) == 1);
}

TEST_CASE("nccl thresholds: the largest all-reduce by tree in 2.4") {
  const CollectiveTuning v{.nccl = {2, 4, 8}};
  // Three nodes of eight with two channels: 30,000 bytes per us times 6 * 23 - 15 - 28 us.
  CHECK(tree_threshold(nvlink(3, 8, 70, graph(1, 20)), v) == Bytes(2'850'000));
  // With four channels it is twice as much.
  CHECK(tree_threshold(nvlink(3, 8, 70, graph(2, 20)), v) == Bytes(5'700'000));
  // Eight nodes: 60'000 * (6 * 63 - 45 - 28).
  CHECK(tree_threshold(nvlink(8, 8, 70, graph(2, 20)), v) == Bytes(18'300'000));
  CHECK(tree_threshold(nvlink(2, 8, 70, graph(1, 20)), v) == Bytes::max());
  CHECK(tree_threshold(nvlink(1, 8, 70, graph(1, 20)), v) == Bytes());
  // A ring of two GPUs has 6 us of latency, their tree 15.
  CHECK(tree_threshold(nvlink(2, 1, 70, graph(1, 20)), v) == Bytes());
  // Over PCIe channels do not count: 10,000 * (6 * 23 - 15 - 28). Two nodes have no bonus.
  CHECK(tree_threshold(pcie(nvlink(3, 8, 70, graph(2, 20))), v).count() ==
        doctest::Approx(950'000).epsilon(1e-5));
  CHECK(tree_threshold(pcie(nvlink(2, 8, 70, graph(2, 20))), v).count() ==
        doctest::Approx(470'000).epsilon(1e-5));
}

TEST_CASE("nccl thresholds: the largest size with LL in 2.4, by GPU, nodes and collective") {
  // There are two channels of 256 threads, with 64 bytes a thread and, in a ring, rank.
  const auto largest = [](const Cluster& cluster, CollectiveKind kind, std::int64_t bytes) {
    const CollectiveTuning v{.nccl = {2, 4, 8}, .algorithms = Algorithm::ring};
    CAPTURE(bytes);
    const CollectiveChoice at = select_algorithm(kind, Bytes(bytes), cluster, v);
    const CollectiveChoice above = select_algorithm(kind, Bytes(bytes + 1), cluster, v);
    CHECK(at.protocol == Protocol::ll);
    CHECK(at.channels == 2);
    CHECK(at.algorithm == Algorithm::ring);
    CHECK(above.protocol == Protocol::simple);
    CHECK(above.channels == 2);
  };
  largest(nvlink(1, 8, 70, graph(1, 20)), kAllReduce, 2 * 256 * 8 * 64);
  largest(nvlink(1, 8, 69, graph(1, 20)), kAllReduce, 2 * 256 * 8 * 32);
  largest(nvlink(2, 8, 70, graph(1, 20)), kAllReduce, 2 * 256 * 16 * 128);
  largest(nvlink(1, 8, 70, graph(1, 20)), CollectiveKind::broadcast, 2 * 256 * 64);
  // A second channel is used from 8 bytes a thread on.
  const auto channels = [](Bytes size) {
    return select_algorithm(kAllReduce, size, nvlink(1, 8, 70, graph(1, 20)), {.nccl = {2, 4, 8}})
        .channels;
  };
  CHECK(channels(Bytes(256 * 8 * 8)) == 1);
  CHECK(channels(Bytes(256 * 8 * 8 + 1)) == 2);
  CHECK(channels(Bytes(0)) == 1);
}

TEST_CASE("nccl thresholds: thresholds end and the table begins with 2.5, trees begin with 2.4") {
  CHECK(selects_by_thresholds({2, 4, 99}));
  CHECK_FALSE(selects_by_thresholds({2, 5, 0}));
  const Cluster node = nvlink(1, 8, 70, graph(6, 20));
  CHECK(select_algorithm(kAllReduce, 1_MiB, node, {.nccl = {2, 4, 99}}).nccl_estimate ==
        Duration());
  CHECK(select_algorithm(kAllReduce, 1_MiB, node, {.nccl = {2, 5, 0}}).nccl_estimate > Duration());
  const auto trees = [&](NcclVersion nccl) {
    return can_select_algorithm(node, {.nccl = nccl, .algorithms = Algorithm::tree});
  };
  CHECK_FALSE(trees({2, 3, 99}));
  CHECK(trees({2, 4, 0}));
  // LL128 came with the table.
  const auto ll128 = [&](NcclVersion nccl) {
    return can_select_algorithm(node, {.nccl = nccl, .protocols = Protocol::ll128});
  };
  CHECK_FALSE(ll128({2, 4, 99}));
  CHECK(ll128({2, 5, 0}));
}
