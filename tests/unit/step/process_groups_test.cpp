// Collectives of some of the ranks: which links they use, and that many at once are no faster than
// one of all ranks.
#include "process_groups.hpp"

#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster infiniband_nodes(int count, int gpus) {
  Cluster cluster = small::node(gpus);
  cluster.nodes = count;
  cluster.network = {.kind = NetworkKind::infiniband,
                     .nics_per_node = 2,
                     .per_nic = Bandwidth::gigabytes_per_second(25)};
  return cluster;
}

/// Four nodes of eight GPUs, with all the smaller clusters inside.
Job job() {
  Cluster cluster = infiniband_nodes(4, 8);
  for (const int count : {1, 2, 4})
    for (const int gpus : {1, 2, 4, 8})
      if (count * gpus < 32)
        cluster.groups.push_back(std::make_shared<const Cluster>(infiniband_nodes(count, gpus)));
  return Job({}, cluster, {}, AnalyticModel{});
}

constexpr auto kGather = CollectiveKind::all_gather;

}  // namespace

TEST_CASE("process groups: GPUs of a node, several nodes, or all ranks") {
  const auto groups = [](int ranks) { return ProcessGroups(job(), ranks); };
  CHECK(groups(4).ranks() == 4);
  CHECK(groups(4).replicas() == 8);
  CHECK(groups(16).replicas() == 2);
  CHECK(groups(32).replicas() == 1);
  CHECK(groups(64).ranks() == 32);
  CHECK(groups(1).replicas() == 32);
  CHECK(groups(4).within(kGather, 64_MiB).scheduled.links == kInsideNodes);
  CHECK(groups(8).within(kGather, 64_MiB).scheduled.links == kInsideNodes);
  CHECK(groups(16).within(kGather, 64_MiB).scheduled.links == kAllLinks);
  CHECK(groups(32).within(kGather, 64_MiB).scheduled.links == kAllLinks);
  CHECK(groups(8).all_reduce_between(8_MiB).scheduled.links == kBetweenNodes);
  CHECK(groups(16).all_reduce_between(8_MiB).scheduled.links == kBetweenNodes);
  // There are two shards per node on four nodes, so the all-reduce of one shard uses both kinds of
  // links.
  CHECK(groups(4).all_reduce_between(8_MiB).scheduled.links == kAllLinks);
}

TEST_CASE(
    "process groups: a group within a node is faster than between nodes, and as fast as that part "
    "alone") {
  const ProcessGroups node(job(), 8);
  const ProcessGroups two(job(), 16);
  const ProcessGroups all(job(), 32);
  const Duration inside = node.within(kGather, 64_MiB).scheduled.transfer;
  CHECK(inside < two.within(kGather, 64_MiB).scheduled.transfer);
  CHECK(two.within(kGather, 64_MiB).scheduled.transfer <=
        all.within(kGather, 64_MiB).scheduled.transfer);
  CHECK(inside ==
        plan(Job({}, infiniband_nodes(1, 8), {}, AnalyticModel{}), kGather, 64_MiB).transfer);
  CHECK(all.within(kGather, 64_MiB).scheduled.transfer == plan(job(), kGather, 64_MiB).transfer);
}

TEST_CASE(
    "process groups: all-reduces of all shards at once are no faster than one all-reduce of "
    "everything") {
  // Between nodes, the all-reduces of all shards together carry as much as one all-reduce of
  // everything.
  for (const int ranks : {2, 4, 8, 16}) {
    CAPTURE(ranks);
    const ProcessGroups groups(job(), ranks);
    for (const Bytes whole : {64_MiB, 1024_MiB}) {
      const Bytes shard(whole.count() / ranks);
      const StepCollective between = groups.all_reduce_between(shard);
      const double replicas = groups.replicas();
      const double at_once = std::min(ranks, 8);
      const double leaves_a_node = at_once * 2 * (replicas - 1) / replicas *
                                   static_cast<double>(shard.count()) /
                                   between.scheduled.volume.seconds();
      const Duration of_all = plan(job(), CollectiveKind::all_reduce, 1024_MiB).volume;
      const double busbw = 2.0 * 31 / 32 * 1024 * 1024 * 1024 / of_all.seconds();
      CHECK(leaves_a_node <= busbw * 1.001);
      CHECK(between.scheduled.transfer >= between.scheduled.volume);
    }
  }
}

TEST_CASE("process groups: only parts of a node or whole nodes can be groups") {
  const auto problem = [](int ranks) { return cannot_group(job(), ranks, "group").value_or(""); };
  for (const int ranks : {1, 2, 4, 8, 16, 32}) CHECK(problem(ranks) == "");
  for (const int ranks : {0, -8, 3, 5, 12, 24, 31, 33, 64}) {
    CAPTURE(ranks);
    CHECK(problem(ranks).starts_with(
        fmt::format("group={}: a group must be GPUs of one node", ranks)));
  }
}
