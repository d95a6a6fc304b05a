// Compares runs that skip quiet times and fold what is alike with every chunk of every hop as an
// event, to the picosecond.
#include "shared_network_run.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collective_words.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "every_chunk_network.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

struct SharedCollective {
  CollectiveKind kind;
  CollectiveChoice choice;
  Bytes size;
  Duration pause;  ///< since the one before ended
};

struct SharedCase {
  std::string cluster_line;
  std::string background;
  std::shared_ptr<const Cluster> cluster;
  SharedFabric shared;
  std::vector<SharedCollective> collectives;
};

class DrawShared {
 public:
  explicit DrawShared(std::uint64_t seed) : random_(seed) {}

  SharedCase draw() {
    SharedCase drawn;
    const int nodes = 2 + static_cast<int>(below(4));
    drawn.cluster_line = line(nodes);
    const ClusterRequest request{.text = drawn.cluster_line};
    const Topology topology = load_topology(request);
    drawn.cluster = std::make_shared<const Cluster>(topology.cluster);
    drawn.background = background(build_fabric(topology), nodes);
    drawn.shared = parse_background(drawn.background, "others", request);
    for (std::size_t i = below(3); i-- > 0;) {
      Link& link = drawn.shared.fabric.links[below(drawn.shared.fabric.links.size())];
      link.bandwidth = link.bandwidth / static_cast<double>(1 + below(6));
    }
    for (std::size_t i = 1 + below(6); i-- > 0;) drawn.collectives.push_back(collective(drawn));
    return drawn;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  const char* pick(std::initializer_list<const char*> words) {
    return words.begin()[below(words.size())];
  }

  std::string line(int nodes) {
    std::string text = fmt::format(
        "node:{} gpu:{} nic:{}x{}Gbps:ib", nodes,
        pick({"1xA100 pcie:25GBps", "2xV100 nvlink:6x25GBps:pair", "4xA100 nvswitch:300GBps",
              "8xH100 nvswitch:450GBps", "4xH100 nvlink:18x25GBps:mesh", "4xA100 pcie:25GBps"}),
        1 << below(4), pick({"25", "100", "200", "400"}));
    if (below(2) == 0) text += fmt::format(" oversubscription:{}", 1 + below(4));
    if (below(2) == 0) text += fmt::format(" {}:{}", pick({"leaf", "rail"}), 2 + below(2));
    return text;
  }
  std::string when() {
    std::string text = fmt::format(R"("first": "{}us")", below(2) == 0 ? 0 : below(3000));
    if (below(4) != 0) text += fmt::format(R"(, "every": "{}us")", 10 + below(2000));
    return text;
  }
  std::string background(const Fabric& fabric, int nodes) {
    std::vector<std::string> jobs;
    std::vector<std::string> transfers;
    for (std::size_t i = 1 + below(3); i-- > 0;) {
      if (below(2) == 0) {
        transfers.push_back(fmt::format(R"({{"links": ["{}"], "size": "{}KiB", {}{}}})",
                                        fabric.links[below(fabric.links.size())].name,
                                        1 + below(4000), when(),
                                        below(2) == 0 ? R"(, "rate": "3GBps")" : ""));
      } else {
        // All nodes, some of ours, or one that is not ours.
        const int first = static_cast<int>(below(static_cast<std::size_t>(nodes)));
        const int last = below(2) == 0 ? nodes : first + 1;
        std::string list = fmt::format("{}", below(2) == 0 ? 0 : first);
        for (int node = list == "0" ? 1 : first + 1; node < std::max(last, first + 2); ++node)
          list += fmt::format(", {}", node);
        if (list == "0") list += ", 1";
        jobs.push_back(fmt::format(R"({{"nodes": [{}], "all_reduce": "{}KiB", {}}})", list,
                                   64 + below(2000), when()));
      }
    }
    return fmt::format(R"({{"schema": "ddpsim.background/1", "jobs": [{}], "transfers": [{}]}})",
                       fmt::join(jobs, ", "), fmt::join(transfers, ", "));
  }
  SharedCollective collective(const SharedCase& drawn) {
    const Fabric& fabric = drawn.shared.fabric;
    SharedCollective one{.kind = kAllReduce, .choice = {}, .size = Bytes(), .pause = {}};
    one.choice.nccl = {2, 27, 7};
    one.choice.algorithm = below(2) == 0 ? kRing : kTree;
    if (!fabric.switched.empty() && below(2) == 0) one.choice.algorithm = Algorithm::nvls_tree;
    if (below(4) == 0) {
      one.choice.algorithm = kRing;
      one.kind = kAllKinds[below(kAllKinds.size())];
    }
    one.choice.protocol = below(2) == 0 ? Protocol::simple : Protocol::ll128;
    one.choice.channels = static_cast<int>(1 + below(fabric.rings.size()));
    one.size = Bytes(static_cast<std::int64_t>(1 + below(2'000'000)));
    one.pause =
        Duration::picoseconds(static_cast<std::int64_t>(below(below(2) == 0   ? 1
                                                              : below(2) == 0 ? 100'000'000
                                                                              : 5'000'000'000)));
    return one;
  }

  std::mt19937_64 random_;
};

/// Ends of the collectives, in picoseconds.
std::vector<std::int64_t> skipping_ends(const SharedCase& drawn, FlowPlanner& planner) {
  std::vector<ScheduledCollective> collectives;
  std::vector<std::optional<CollectiveChoice>> choices;
  for (const SharedCollective& one : drawn.collectives) {
    collectives.push_back({.kind = one.kind, .size = one.size});
    choices.emplace_back(one.choice);
  }
  SharedNetworkRun run(planner, collectives, choices);
  std::vector<std::int64_t> ends;
  TimePoint now;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const TimePoint start = now + drawn.collectives[i].pause;
    now = start + run.transfer(i, start);
    ends.push_back(now.since_start().picoseconds());
  }
  return ends;
}

std::vector<std::int64_t> every_chunk_ends(const SharedCase& drawn, FlowPlanner& planner) {
  std::vector<NetworkJob> jobs(1);
  for (const SharedCollective& one : drawn.collectives)
    jobs[0].pipelines.push_back(planner.pipeline(one.kind, one.choice, one.size));
  jobs.insert(jobs.end(), planner.background().begin(), planner.background().end());
  EveryChunkNetwork network(planner.links(), jobs);
  std::vector<std::int64_t> ends;
  TimePoint now;
  for (std::size_t i = 0; i < drawn.collectives.size(); ++i) {
    network.start(0, i, now + drawn.collectives[i].pause);
    now = network.run(0);
    ends.push_back(now.since_start().picoseconds());
  }
  return ends;
}

/// Number of random clusters: DDPSIM_RANDOM_CLUSTERS if set.
std::uint64_t shared_cases() {
  const char* count = std::getenv("DDPSIM_RANDOM_CLUSTERS");
  return count != nullptr ? std::strtoull(count, nullptr, 10) : 500;
}

}  // namespace

TEST_CASE("shared network: every end is the same as with each chunk by itself") {
  int slowed = 0;
  int undisturbed = 0;
  for (std::uint64_t seed = 1; seed <= shared_cases(); ++seed) {
    CAPTURE(seed);
    const SharedCase drawn = DrawShared(seed).draw();
    CAPTURE(drawn.cluster_line);
    CAPTURE(drawn.background);
    FlowPlanner planner(drawn.cluster, std::make_shared<const Fabric>(drawn.shared.fabric),
                        drawn.shared.background);
    const std::vector<std::int64_t> ends = skipping_ends(drawn, planner);
    REQUIRE(ends == every_chunk_ends(drawn, planner));
    std::int64_t now = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const SharedCollective& one = drawn.collectives[i];
      const Duration alone = planner.alone(one.kind, one.choice, one.size);
      const bool longer = ends[i] - now > (one.pause + alone).picoseconds();
      ++(longer ? slowed : undisturbed);
      now = ends[i];
    }
  }
  // Both happen.
  CHECK(slowed > 300);
  CHECK(undisturbed > 300);
}
