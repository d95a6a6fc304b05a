// For a given algorithm, protocol and number of channels, a larger size is never faster and a
// better link never slower.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "random_clusters.hpp"

using namespace ddpsim;

namespace {

/// A random cluster, often with two nodes, single GPUs and few channels.
Cluster random_machine(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  constexpr std::array kNodes{1, 2, 2, 2, 3, 4, 5, 16, 540};
  constexpr std::array kGpus{1, 1, 2, 3, 4, 8};
  const int nodes = kNodes[random() % kNodes.size()];
  const int gpus = kGpus[random() % kGpus.size()];
  std::string line =
      fmt::format("node:{} gpu:{}x{}", nodes, gpus, pick({"V100", "A100", "H100", "B200"}));
  const std::string links = pick({"nvswitch", "nvswitch", "pcie"});
  if (gpus > 1) line += fmt::format(" {}:{}GBps", links, 12 << random() % 5);
  const std::string network = pick({"ib", "roce", "tcp", "efa", "slingshot"});
  if (nodes > 1)
    line += fmt::format(" nic:{}x{}Gbps:{} latency:{}us", 1 << random() % 4, 10 << random() % 6,
                        network, 1 + random() % 20);
  return parse_cluster_line(line);
}

}  // namespace

TEST_CASE("cost model: monotone in size and links for one choice, on random clusters") {
  constexpr std::array kVersions{NcclVersion{2, 7, 8}, NcclVersion{2, 18, 3},
                                 NcclVersion{2, 27, 7}};
  constexpr std::array kChannels{1, 2, 3, 4, 16, 24};
  constexpr double kRounding = 1e-9;
  std::mt19937_64 random(1);
  for (int i = 0; i < random_clusters(60); ++i) {
    const Cluster cluster = random_machine(random);
    if (cluster.ranks() == 1) continue;
    // The channels stay the same: over other links NCCL may find others, which load the links
    // differently.
    Cluster free = cluster;
    free.loads = nullptr;
    std::array better{free, free, free};
    better[0].network.per_nic = cluster.network.per_nic * 1.5;
    better[1].intra.per_gpu = cluster.intra.per_gpu * 1.5;
    if (cluster.network.latency) better[2].network.latency = Duration::microseconds(0.5);
    CAPTURE(cluster.name);
    for (const Algorithm algorithm :
         {Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::nvls_tree})
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        const CollectiveChoice choice{.algorithm = algorithm,
                                      .protocol = protocol,
                                      .channels = kChannels[random() % kChannels.size()],
                                      .nccl = kVersions[random() % kVersions.size()]};
        for (const CollectiveKind kind : kAllKinds) {
          if (algorithm != Algorithm::ring && kind != kAllReduce) continue;
          CAPTURE(name_of(kind));
          CAPTURE(name_of(algorithm));
          CAPTURE(name_of(protocol));
          CAPTURE(choice.channels);
          Duration before;
          std::int64_t falls_at = 0;
          std::int64_t slower_at = 0;
          for (std::int64_t size = 8; size <= std::int64_t{1} << 32; size += size / 3 + 1) {
            const Duration time = cost(kind, choice, Bytes(size), cluster);
            if (time < before) falls_at = size;
            const Duration alone = cost(kind, choice, Bytes(size), free);
            for (const Cluster& other : better)
              if (cost(kind, choice, Bytes(size), other) / alone > 1 + kRounding) slower_at = size;
            before = time;
          }
          CHECK(falls_at == 0);
          CHECK(slower_at == 0);
        }
      }
  }
}
