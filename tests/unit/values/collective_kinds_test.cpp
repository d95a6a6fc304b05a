// Differences between NCCL's other collectives and all-reduce: cells of its table, thresholds,
// pairs.
#include <doctest/doctest.h>

#include <array>

#include "collective_words.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_clusters.hpp"
#include "nccl_tuning.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::nccl_clusters;

namespace {

void check_cell(CollectiveKind kind, const Cluster& cluster, NcclVersion nccl, Protocol protocol,
                double latency, double bandwidth, Algorithm algorithm = Algorithm::ring) {
  CAPTURE(name_of(kind));
  CAPTURE(to_string(nccl));
  CAPTURE(name_of(protocol));
  const TuningEntry entry =
      tuning_entries(kind, cluster, {.nccl = nccl})[at(algorithm)][at(protocol)];
  CHECK(static_cast<double>(entry.latency_us) == doctest::Approx(latency));
  CHECK(static_cast<double>(entry.bandwidth_gbps) == doctest::Approx(bandwidth));
}

constexpr std::array kOnePhase{kReduceScatter, kAllGather};

}  // namespace

TEST_CASE("collective kinds: names, and the steps of a ring that bus bandwidth counts") {
  CHECK(name_of(kAllReduce) == "all-reduce");
  CHECK(name_of(kBroadcast) == "broadcast");
  CHECK(name_of(kReduceScatter) == "reduce-scatter");
  CHECK(name_of(kAllGather) == "all-gather");
  CHECK(name_of(kReduce) == "reduce");
  CHECK(name_of(kSendRecv) == "send-recv");
  // 1 GB in 1 s over eight ranks, as in nccl-tests' doc/PERFORMANCE.md.
  const auto busbw = [](CollectiveKind kind, int ranks) {
    return busbw_gbps(Bytes(1'000'000'000), Duration::seconds(1), ranks, kind);
  };
  CHECK(busbw(kAllReduce, 8) == 1.75);
  CHECK(busbw(kAllGather, 8) == 0.875);
  CHECK(busbw(kReduceScatter, 8) == 0.875);
  CHECK(busbw(kBroadcast, 8) == 1);
  CHECK(busbw(kReduce, 8) == 1);
  CHECK(busbw(kSendRecv, 8) == 1);
  CHECK(busbw(kAllGather, 1) == 0);
}

TEST_CASE("collective kinds: an all-gather takes n - 1 steps of a ring, N - 1 on the network") {
  // Two nodes of two GPUs: three steps. One of them takes 2.7, 4 or 14 us; the others take 1 us of
  // a proxy with LL, or 1.9 and 3.4 us of NVLink. 40 GB/s of bus bandwidth count as 4/3 of that for
  // the algorithm, with LL as half, with LL128 as 0.92 of it.
  const Cluster two = nvlink(2, 2, 80, graph(2, 20));
  for (const CollectiveKind kind : kOnePhase) {
    check_cell(kind, two, {2, 30, 7}, Protocol::ll, 6.6 + 2 * 1.0 + 2.7, 20 * 4.0 / 3);
    check_cell(kind, two, {2, 30, 7}, Protocol::ll128, 14 + 2 * 1.9 + 4, 40 * .92 * 4 / 3);
    check_cell(kind, two, {2, 30, 7}, Protocol::simple, 8.4 + 2 * 3.4 + 14, 40 * 4.0 / 3);
    // An all-reduce of 2.18 counted 2N network steps.
    check_cell(kind, two, {2, 18, 3}, Protocol::simple, 8.4 + 2 * 3.4 + 14, 40 * 4.0 / 3);
    check_cell(kind, two, {2, 7, 8}, Protocol::simple, 8.4 + 2 * 3.4 + 9.6, 40 * 4.0 / 3);
    CHECK(tuning_entries(kind, two, kNewest)[at(kTree)][2].bandwidth_gbps == 0);
  }
}

TEST_CASE(
    "collective kinds: before 2.10 LL128 depends on the bandwidth of a channel, LL on whether it "
    "reduces") {
  const Cluster fast = nvlink(1, 4, 70, graph(1, 1000));
  const auto ll128 = [&](CollectiveKind kind, NcclVersion nccl) {
    return static_cast<double>(
        tuning_entries(kind, fast, {.nccl = nccl})[at(kRing)][at(Protocol::ll128)].bandwidth_gbps);
  };
  for (const NcclVersion nccl : {NcclVersion{2, 7, 8}, {2, 8, 3}}) {
    CHECK(ll128(kAllGather, nccl) == doctest::Approx(18.3 * 4 / 3));
    CHECK(ll128(kReduceScatter, nccl) == doctest::Approx(15.2 * 4 / 3));
    CHECK(ll128(kReduce, nccl) == doctest::Approx(12.0));
    CHECK(ll128(kBroadcast, nccl) == doctest::Approx(18.8));
  }
  CHECK(ll128(kAllReduce, {2, 7, 8}) == doctest::Approx(16.7 * 4 / 6));
  CHECK(ll128(kAllGather, {2, 10, 3}) == doctest::Approx(20 * 4.0 / 3));
  const Cluster slow = nvlink(1, 4, 80, graph(1, 6));
  check_cell(kReduce, slow, {2, 18, 3}, Protocol::ll, 6.6 + .6, 6.0 / 4);
  check_cell(kAllGather, slow, {2, 18, 3}, Protocol::ll, 6.6 + 3 * .6, 6.0 / 3 * 4 / 3);
}

TEST_CASE("collective kinds: all-gathers and reduce-scatters use NVLS on one node since 2.18") {
  const Cluster one = switched(1, 90, 40, 40);
  for (const CollectiveKind kind : kOnePhase) {
    const auto nvls = [&](NcclVersion nccl, double latency, double bandwidth) {
      check_cell(kind, one, nccl, Protocol::simple, latency, bandwidth, Algorithm::nvls);
    };
    nvls({2, 18, 3}, 23, 8 * 40 * 5.0 / 6);
    nvls({2, 21, 5}, 25, 8 * 40 * 5.0 / 6);
    nvls({2, 23, 4}, 25, 8 * 40);
    nvls({2, 28, 9}, 25, 8 * 40 * .85 * 7 / 8 * 7 / 8);
    const auto exists = [&](const Cluster& cluster, NcclVersion nccl, Algorithm algorithm) {
      return algorithm_exists(kind, algorithm, cluster, {.nccl = nccl, .collnet = true},
                              nccl_tuning(nccl));
    };
    CHECK_FALSE(exists(one, {2, 17, 1}, Algorithm::nvls));
    Cluster sharp = switched(2, 90, 40, 40);
    sharp.network.collnet = true;
    for (const Algorithm algorithm : {Algorithm::nvls, Algorithm::nvls_tree, Algorithm::tree,
                                      Algorithm::collnet_direct, Algorithm::collnet_chain})
      CHECK_FALSE(exists(sharp, {2, 30, 7}, algorithm));
    // NCCL_ALGO can exclude NVLS, but never the rings.
    const CollectiveTuning tree{.nccl = {2, 23, 4}, .algorithms = Algorithm::tree};
    CHECK(select_algorithm(kind, 1024_MiB, one, tree).algorithm == kRing);
    CHECK(tuning_entries(kind, one, tree)[at(Algorithm::nvls)][2].bandwidth_gbps == 0);
  }
  CHECK_FALSE(algorithm_exists(kReduce, Algorithm::nvls, one, kNewest, nccl_tuning(kNewest.nccl)));
}

TEST_CASE("collective kinds: large rings have the plateau of an all-reduce") {
  const Cluster two = nvlink(2, 8, 80, graph(8, 24));
  const TuningEntry entry{.latency_us = 100, .bandwidth_gbps = 1};
  for (const CollectiveKind kind : {kReduceScatter, kAllGather, kReduce})
    CHECK(static_cast<double>(estimate_us(kind, kRing, Protocol::simple, entry, Bytes(1'000'000),
                                          two, kNewest)) == doctest::Approx(100 + 1000));
}

TEST_CASE("collective kinds: the largest size for LL in 2.4 depends on the steps of a ring") {
  const Cluster node = nvlink(1, 8, 70, graph(1, 20));
  const auto largest = [&](CollectiveKind kind, std::int64_t bytes) {
    CAPTURE(name_of(kind));
    CHECK(select_algorithm(kind, Bytes(bytes), node, {.nccl = {2, 4, 8}}).protocol == Protocol::ll);
    CHECK(select_algorithm(kind, Bytes(bytes + 1), node, {.nccl = {2, 4, 8}}).protocol ==
          Protocol::simple);
  };
  largest(kAllGather, 2 * 256 * 8 * 64);
  largest(kReduceScatter, 2 * 256 * 8 * 64);
  largest(kReduce, 2 * 256 * 64);
}

TEST_CASE("collective kinds: a pair uses LL up to 16 KiB, and one channel per 64 KiB") {
  const Cluster node = nvlink(1, 8, 80, graph(12, 20));
  const auto choice = [](Bytes size, const Cluster& cluster, NcclVersion nccl = {2, 30, 7}) {
    return select_algorithm(kSendRecv, size, cluster, {.nccl = nccl});
  };
  CHECK(choice(16_KiB, node).protocol == Protocol::ll);
  CHECK(choice(16_KiB + 1_B, node).protocol == Protocol::simple);
  CHECK(choice(16_KiB, node, {2, 12, 12}).protocol == Protocol::simple);
  CHECK(choice(64_KiB, node).channels == 1);
  CHECK(choice(64_KiB + 1_B, node).channels == 2);
  CHECK(choice(1024_MiB, node).channels == 32);  // 24 channels, the next power of two
  CHECK(choice(1024_MiB, pcie(node)).channels == 2);
  CHECK(choice(1024_MiB, nvlink(2, 8, 80, graph(8, 24))).channels == 2);
  CHECK(choice(0_B, node).channels == 1);
  CHECK(choice(1_MiB, node).algorithm == kRing);
}
