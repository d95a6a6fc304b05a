// The job for the comparison with other simulators: BUCKETS all-reduces of MIB MiB, one after
// another. They go around a ring of hosts with one GPU each, at 50 GB/s. From host to host under
// one switch, a message takes 500 ns. A rank sends its next message when its last one has been
// delivered and the previous one from its neighbor has arrived.
//
//   ddpsim_ring_anchor RANKS MIB BUCKETS [ring|fat-tree] [full|skip]
//
// `ring` gives every rank one link of 500 ns to the next rank. `fat-tree` has 8 hosts per leaf, 4
// spines and 250 ns per link, so that every eighth message takes 1 us. `full` simulates every
// message of every rank. `skip` uses the steady-state shortcut.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "every_chunk_network.hpp"
#include "fabrics.hpp"
#include "steady_state.hpp"

namespace ddpsim {
namespace {

using namespace literals;

Fabric fabric_of(std::string_view kind, std::uint32_t ranks) {
  if (kind == "ring") return fabrics::ring(ranks, 50_GBps, Duration::microseconds(0.5));
  fabrics::LeafSpine tree(ranks, 8, 4, 50_GBps, Duration::microseconds(0.25));
  std::vector<std::uint32_t> hosts(ranks);
  std::iota(hosts.begin(), hosts.end(), 0U);
  tree.builder.fabric.rings.push_back(tree.ring(hosts));
  return tree.builder.fabric;
}

NetworkLinks links_of(const Fabric& fabric) {
  NetworkLinks links;
  links.route_links = fabric.route_links;
  for (const Link& link : fabric.links) {
    links.capacities.push_back(static_cast<std::int64_t>(link.bandwidth.bytes_per_second()));
    links.latencies.push_back(link.latency);
  }
  return links;
}

struct Outcome {
  Duration time;
  std::uint64_t events = 0;
};

Outcome simulate_all(const ChunkPipeline& pipeline, const NetworkLinks& links, int buckets) {
  EveryChunkNetwork network(links, {{.pipelines = {pipeline}, .recurrence = {}}});
  TimePoint now;
  for (int bucket = 0; bucket < buckets; ++bucket) {
    network.start(0, 0, now);
    now = network.run(0);
  }
  return {now.since_start(), network.events()};
}

Outcome skip(const ChunkPipeline& pipeline, const NetworkLinks& links, int buckets) {
  Duration sum;
  for (int bucket = 0; bucket < buckets; ++bucket)
    sum += uncontended_duration(pipeline, links).value();
  return {sum, 0};
}

int run(int ranks, double mib, int buckets, std::string_view kind, std::string_view how) {
  const Fabric fabric = fabric_of(kind, static_cast<std::uint32_t>(ranks));
  const NetworkLinks links = links_of(fabric);
  const PipelineShape shape = ring_all_reduce_shape(fabric, 1, 1);
  const Bytes segment(static_cast<std::int64_t>(mib * 1048576 / ranks));
  const ChunkPipeline pipeline{.shape = &shape,
                               .chunks = 2 * static_cast<std::uint32_t>(ranks - 1),
                               .ceiling = 50'000'000'000,
                               .chunk_time = segment / 50_GBps,
                               .rendezvous = true};
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome =
      how == "skip" ? skip(pipeline, links, buckets) : simulate_all(pipeline, links, buckets);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("N=%d %s %s sim_ms=%.6f messages=%llu events=%llu wall_ms=%.3f rss_kb=%ld\n", ranks,
              kind.data(), how.data(), outcome.time.milliseconds(),
              static_cast<unsigned long long>(buckets) * pipeline.chunks *
                  static_cast<unsigned long long>(ranks),
              static_cast<unsigned long long>(outcome.events), wall.count(), usage.ru_maxrss);
  return 0;
}

}  // namespace
}  // namespace ddpsim

int main(int argc, char** argv) {
  if (argc < 4 || std::atoi(argv[1]) < 2) {
    std::fprintf(stderr, "usage: %s RANKS MIB BUCKETS [ring|fat-tree] [full|skip]\n", argv[0]);
    return 2;
  }
  return ddpsim::run(std::atoi(argv[1]), std::atof(argv[2]), std::atoi(argv[3]),
                     argc > 4 ? argv[4] : "ring", argc > 5 ? argv[5] : "full");
}
