// Choices that NCCL might make as well: by its own estimates, they are near the best.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "ddpsim/sim/nccl/near_choices.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE(
    "near choices: NCCL's choice first, then others within the factor, more with a wider factor") {
  const Cluster cluster = load_cluster_at("alps-gh200:spec", 4, 4);
  const CollectiveTuning tuning{.nccl = NcclVersion{2, 23, 4}};
  bool several = false;
  for (std::int64_t size = 8; size <= 1 << 30; size *= 2) {
    CAPTURE(size);
    const auto near = near_choices(CollectiveKind::all_reduce, Bytes(size), cluster, tuning, 1.1);
    const auto chosen = select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, tuning);
    REQUIRE_FALSE(near.empty());
    CHECK(near[0].algorithm == chosen.algorithm);
    CHECK(near[0].protocol == chosen.protocol);
    CHECK(near[0].channels == chosen.channels);
    for (const CollectiveChoice& other : near) {
      CHECK(other.nccl_estimate >= chosen.nccl_estimate);
      CHECK(other.nccl_estimate <= chosen.nccl_estimate.scaled(1.1001));
      CollectiveTuning forced = tuning;
      forced.algorithms = other.algorithm;
      forced.protocols = other.protocol;
      CHECK(select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, forced).channels ==
            other.channels);
    }
    const auto far = near_choices(CollectiveKind::all_reduce, Bytes(size), cluster, tuning, 3);
    CHECK(far.size() >= near.size());
    several = several || near.size() > 1;
  }
  CHECK(several);
}

TEST_CASE("near choices: only NCCL's choice if it uses thresholds, or for send and receive") {
  const Cluster cluster = load_cluster_at("dgx1v:spec", 2, 8);
  const auto count = [&](CollectiveKind kind, NcclVersion nccl, const Cluster& of) {
    return near_choices(kind, Bytes(1 << 20), of, {.nccl = nccl}, 100).size();
  };
  CHECK(count(CollectiveKind::all_reduce, {2, 4, 8}, cluster) == 1);
  CHECK(count(CollectiveKind::send_recv, {2, 18, 3}, cluster) == 1);
  CHECK(count(CollectiveKind::all_reduce, {2, 18, 3}, load_cluster_at("dgx1v:spec", 1, 1)) == 1);
  CHECK(count(CollectiveKind::all_reduce, {2, 18, 3}, cluster) > 2);
}
