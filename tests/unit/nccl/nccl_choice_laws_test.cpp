// Laws of NCCL's choice and its cost on any cluster. Within one choice, bandwidth never falls with
// the size or with a better NIC. No choice beats the links. On usual machines, a change of choice
// costs no more bandwidth than in posted tables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "random_clusters.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr double kLawRounding = 1 + 1e-9;

/// A line without its NICs' rate: nodes with an NVSwitch, and a network if there are several.
struct RandomLine {
  std::string node;
  std::string network;  ///< empty in one node
  int gbps = 0;

  std::string with(int rate) const {
    return network.empty() ? node : fmt::format("{}{}Gbps{}", node, rate, network);
  }
};

RandomLine random_line(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  constexpr std::array kNodes{1, 2, 2, 3, 4, 5, 16, 65, 128, 248};
  constexpr std::array kGpus{1, 2, 3, 4, 8, 8, 16, 72};
  constexpr std::array kRates{40, 100, 200, 279, 400, 800};
  const int nodes = kNodes[random() % kNodes.size()];
  const int gpus = kGpus[random() % kGpus.size()];
  RandomLine line{fmt::format("node:{} gpu:{}x{}", nodes, gpus,
                              pick({"V100", "A100", "H100", "H200", "B200", "GB200"})),
                  "", kRates[random() % kRates.size()]};
  if (gpus > 1) line.node += fmt::format(" nvswitch:{}GBps", 150 << random() % 4);
  if (nodes == 1) return line;
  line.node += fmt::format(" nic:{}x", std::min(1 << random() % 4, 2 * gpus));
  line.network = ":" + pick({"ib", "roce", "efa", "slingshot"});
  return line;
}

bool same_choice(const CollectiveChoice& a, const CollectiveChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// Whether NCCL's search found as many channels, as fast, through as many NICs, with the same load
/// inside nodes. Nothing else in its choice depends on the NIC. (It puts two channels on every
/// second NIC if one NIC carries both.)
bool same_search(const Cluster& a, const Cluster& b) {
  const auto same = [](const SearchGraph& one, const SearchGraph& other) {
    return one.channels == other.channels && one.intra == other.intra && one.inter == other.inter &&
           one.intra_path == other.intra_path;
  };
  const auto alike = [&](ChannelShape shape) {
    const LinkLoad& one = a.loads->of(shape, kMostChannels);
    const LinkLoad& other = b.loads->of(shape, kMostChannels);
    // A NIC's share of the channels' bytes does not depend on its rate.
    const auto nic = static_cast<std::size_t>(LinkKind::nic);
    const double share = one.network[nic] * a.network.per_nic.bytes_per_second();
    const double other_share = other.network[nic] * b.network.per_nic.bytes_per_second();
    if (std::abs(share - other_share) > 1e-9 * share) return false;
    return std::ranges::all_of(
        std::array{LinkKind::nvlink, LinkKind::pcie, LinkKind::socket}, [&](LinkKind kind) {
          const auto k = static_cast<std::size_t>(kind);
          return one.local[k] == other.local[k] && one.network[k] == other.network[k];
        });
  };
  return same(a.ring, b.ring) && same(a.tree, b.tree) && same(a.nvls, b.nvls) &&
         alike(ChannelShape::ring) && alike(ChannelShape::tree) && alike(ChannelShape::in_switch);
}

struct Asked {
  CollectiveChoice choice;
  double us = 0;
};

Asked operation(Bytes size, const Cluster& cluster, const CollectiveTuning& tuning) {
  const CollectiveChoice choice = select_algorithm(kAllReduce, size, cluster, tuning);
  return {choice, cost(kAllReduce, choice, size, cluster).microseconds()};
}

const CollectiveTuning& random_tuning(std::mt19937_64& random) {
  static const std::array kTunings{
      CollectiveTuning{.nccl = {2, 14, 3}}, CollectiveTuning{.nccl = {2, 18, 3}},
      CollectiveTuning{.nccl = {2, 21, 5}}, CollectiveTuning{.nccl = {2, 23, 4}},
      CollectiveTuning{.nccl = {2, 27, 7}}, CollectiveTuning{.nccl = {2, 28, 9}},
      CollectiveTuning{.nccl = {2, 30, 7}}};
  return kTunings[random() % kTunings.size()];
}

}  // namespace

TEST_CASE(
    "choice laws: bandwidth by size and NIC, and the wires, on thousands of random clusters") {
  std::mt19937_64 random(41);
  int compared = 0;  // pairs with different NICs
  for (int i = 0; i < random_clusters(2500); ++i) {
    const RandomLine line = random_line(random);
    const Cluster cluster = parse_cluster_line(line.with(line.gbps));
    if (cluster.ranks() == 1) continue;
    const Cluster faster = parse_cluster_line(line.with(line.gbps + 1 + line.gbps / 3));
    const CollectiveTuning& tuning = random_tuning(random);
    const bool searched_alike = same_search(cluster, faster);
    CAPTURE(cluster.name);
    CAPTURE(to_string(tuning.nccl));
    compared += searched_alike ? 1 : 0;
    std::optional<Asked> before;
    std::int64_t falls_at = 0;
    std::int64_t slower_at = 0;
    std::int64_t beats_wires_at = 0;
    for (std::int64_t size = 1 << 16; size <= std::int64_t{1} << 33; size *= 2) {
      const Asked here = operation(Bytes(size), cluster, tuning);
      const Asked there = operation(Bytes(size), faster, tuning);
      if (before) {
        const double kept = 2 * before->us / here.us;  // of the bandwidth
        if (same_choice(before->choice, here.choice) && kept * kLawRounding < 1) falls_at = size;
      }
      const bool alike = same_choice(here.choice, there.choice);
      const bool no_slower = there.us <= here.us * kLawRounding;
      if (searched_alike && !(alike && no_slower)) slower_at = size;
      const Duration least = least_time(kAllReduce, here.choice, Bytes(size), cluster);
      if (here.us * kLawRounding < least.microseconds()) beats_wires_at = size;
      before = here;
    }
    CHECK(falls_at == 0);
    CHECK(slower_at == 0);
    CHECK(beats_wires_at == 0);
  }
  MESSAGE(compared << " with a faster NIC under the same search");
  CHECK(compared > 100);
}

TEST_CASE("choice laws: where the choice changes bandwidth falls no more than in posted tables") {
  // When the size doubles, from 1 MiB up, the worst healthy table over InfiniBand keeps 0.71 (two
  // H100 a node, from 128 to 256 MiB). Over Slingshot it is 0.60 (4 GH200 a node).
  double least = 1;
  for (const std::string board : {"A100 nvswitch:300GBps", "H100 nvswitch:450GBps",
                                  "H200 nvswitch:450GBps", "B200 nvswitch:900GBps"})
    for (const int gpus : {4, 8})
      for (const int nodes : {2, 3, 4, 8, 16, 64, 128})
        for (const int gbps : {100, 200, 400, 800})
          for (const NcclVersion nccl :
               {NcclVersion{2, 18, 3}, NcclVersion{2, 21, 5}, NcclVersion{2, 23, 4},
                NcclVersion{2, 27, 7}, NcclVersion{2, 28, 9}, NcclVersion{2, 30, 7}}) {
            const std::string line =
                fmt::format("node:{} gpu:{}x{} nic:{}x{}Gbps:ib", nodes, gpus, board, gpus, gbps);
            const Cluster cluster = parse_cluster_line(line);
            double worst = 1;
            for (std::int64_t size = 1 << 20; size < std::int64_t{1} << 34; size *= 2)
              worst = std::min(worst, 2 * operation(Bytes(size), cluster, {.nccl = nccl}).us /
                                          operation(Bytes(2 * size), cluster, {.nccl = nccl}).us);
            CAPTURE(line);
            CAPTURE(to_string(nccl));
            CHECK(worst > 0.70);
            least = std::min(least, worst);
          }
  MESSAGE("the worst keeps " << least);
}

TEST_CASE("choice laws: 2.27 rates LL128 twice as fast on Blackwell, which costs little") {
  // Its perChMaxRingLL128Bws are twice Hopper's there (graph/tuning.cc). From 2.30 on they are 40
  // GB/s a channel, 20 a block.
  const Cluster cluster =
      parse_cluster_line("node:16 gpu:8xB200 nvswitch:900GBps nic:8x800Gbps:ib");
  const CollectiveTuning tuning{.nccl = {2, 27, 7}};
  const Asked small = operation(512_MiB, cluster, tuning);
  const Asked large = operation(1024_MiB, cluster, tuning);
  CHECK(small.choice.algorithm == Algorithm::nvls_tree);
  CHECK(large.choice.protocol == Protocol::ll128);
  CHECK(2 * small.us / large.us > 0.80);  // of the bandwidth
}

TEST_CASE("choice laws: a search finds twice as many channels for 8 NICs of 280 Gb/s as for 279") {
  // NCCL tries 30 GB/s before 17.5 (search.cc). At 34.9 GB/s a NIC carries one channel of 30. At 35
  // it carries two of 17.5, which is more in total. So there are more thread blocks, and compute is
  // slower with them.
  const auto rings = [](int gbps) {
    return parse_cluster_line(
               fmt::format("node:4 gpu:8xH100 nvswitch:450GBps nic:8x{}Gbps:ib", gbps))
        .ring;
  };
  CHECK(rings(279).channels == 8);
  CHECK(rings(279).inter == Bandwidth::gigabytes_per_second(30));
  CHECK(rings(280).channels == 16);
  CHECK(rings(280).inter == Bandwidth::gigabytes_per_second(17.5));
}

TEST_CASE("choice laws: more nodes only cost a step of the tree at powers of two") {
  const auto us = [](int nodes) {
    const Cluster cluster = parse_cluster_line(
        fmt::format("node:{} gpu:8xH200 nvswitch:450GBps nic:8x400Gbps:ib", nodes));
    return operation(1024_MiB, cluster, {.nccl = {2, 27, 7}}).us;
  };
  for (const int nodes : {64, 65, 127, 128, 129}) {
    CAPTURE(nodes);
    const double step = us(nodes + 1) / us(nodes);
    CHECK(step >= 1 / kLawRounding);
    CHECK(step < 1.03);
  }
}

TEST_CASE("choice laws: releases since 2.21 agree on large all-reduces of 248 nodes of Hopper") {
  // Without NCCL's penalty on trees that end at one GPU, 2.23 and 2.27 would use slow trees from
  // 512 MiB on.
  const Cluster cluster =
      parse_cluster_line("node:248 gpu:8xH200 nvswitch:450GBps nic:8x400Gbps:ib");
  for (const NcclVersion nccl : {NcclVersion{2, 21, 5}, NcclVersion{2, 23, 4},
                                 NcclVersion{2, 27, 7}, NcclVersion{2, 28, 9}}) {
    CAPTURE(to_string(nccl));
    const CollectiveChoice choice = select_algorithm(kAllReduce, 512_MiB, cluster, {.nccl = nccl});
    CHECK(choice.algorithm == Algorithm::nvls_tree);
  }
}

TEST_CASE("choice laws: one rack of 72 GPUs is no slower than two") {
  const std::string rack = " gpu:72xB200 nvswitch:900GBps";
  const Cluster one = parse_cluster_line("node:1" + rack);
  const Cluster two = parse_cluster_line("node:2" + rack + " nic:64x400Gbps:ib");
  for (const NcclVersion nccl : {NcclVersion{2, 27, 7}, NcclVersion{2, 28, 9}})
    for (const Bytes size : {16_MiB, 256_MiB, 8192_MiB}) {
      CAPTURE(to_string(nccl));
      CAPTURE(size.count());
      CHECK(operation(size, one, {.nccl = nccl}).us <= operation(size, two, {.nccl = nccl}).us);
    }
}
