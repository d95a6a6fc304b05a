// NCCL's choice for every size, as ranges.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ddpsim/sim/nccl/choice_ranges.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

std::string words(const CollectiveChoice& choice) {
  return std::string(name_of(choice.algorithm)) + ' ' + std::string(name_of(choice.protocol)) +
         ' ' + std::to_string(choice.channels);
}

}  // namespace

TEST_CASE("choice ranges: no gaps, neighbours differ, every size has the choice of its range") {
  const Cluster cluster = load_cluster_at("p4d", 4, 8);
  const CollectiveTuning tuning{.nccl = NcclVersion{2, 27, 3}};
  constexpr std::int64_t kLargest = 4'294'967'295;
  std::mt19937_64 random(1);
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::broadcast}) {
    const auto ranges = choice_ranges(kind, cluster, tuning, Bytes(kLargest));
    REQUIRE(ranges.size() > 3);
    CHECK(ranges.front().from == Bytes(0));
    CHECK(ranges.back().to == Bytes(kLargest));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const ChoiceRange& range = ranges[i];
      CAPTURE(range.from.count());
      REQUIRE(range.from <= range.to);
      if (i > 0) {
        CHECK(range.from == ranges[i - 1].to + Bytes(1));
        CHECK(words(range.choice) != words(ranges[i - 1].choice));
      }
      std::uniform_int_distribution<std::int64_t> inside(range.from.count(), range.to.count());
      std::vector<std::int64_t> sizes{range.from.count(), range.to.count()};
      for (int k = 0; k < 20; ++k) sizes.push_back(inside(random));
      for (const std::int64_t size : sizes)
        CHECK(words(select_algorithm(kind, Bytes(size), cluster, tuning)) == words(range.choice));
    }
  }
}

TEST_CASE("choice ranges: there is one range if there is no choice") {
  const Cluster lone = load_cluster_at("p4d", 1, 1);
  const auto ranges = choice_ranges(CollectiveKind::all_reduce, lone, {}, Bytes(1 << 20));
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].from == Bytes(0));
  CHECK(ranges[0].to == Bytes(1 << 20));
}
