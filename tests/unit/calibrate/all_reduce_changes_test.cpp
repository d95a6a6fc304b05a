// Compares two tables of all-reduces, size by size.
#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Times = std::vector<std::pair<Bytes, Duration>>;

AllReduceChanges sizes_of(int ranks_before, Times before, int ranks_after, Times after) {
  const std::vector<LoggedAllReduces> old = {{ranks_before, std::move(before), {}}};
  const std::vector<LoggedAllReduces> now = {{ranks_after, std::move(after), {}}};
  const auto changes = all_reduce_changes(old, now);
  REQUIRE(changes.has_value());
  return *changes;
}

const Times kBefore = {{1_KiB, 10_us}, {1_MiB, 400_us}, {64_MiB, 9000_us}};
const Times kAfter = {{1_KiB, 10_us}, {1_MiB, 600_us}, {64_MiB, 3000_us}};

}  // namespace

TEST_CASE("all-reduces by size: some faster and others slower, mirrored when the sides swap") {
  const AllReduceChanges there = sizes_of(16, kBefore, 16, kAfter);
  const AllReduceChanges back = sizes_of(16, kAfter, 16, kBefore);
  CHECK(there.faster() == 1);
  CHECK(there.slower() == 1);
  CHECK(back.faster() == there.slower());
  CHECK(back.slower() == there.faster());
  CHECK(there.one().size == 64_MiB);
  CHECK(back.one().size == 64_MiB);
  for (std::size_t k = 0; k < there.sizes.size(); ++k)
    CHECK(there.sizes[k].growth * back.sizes[k].growth == doctest::Approx(1));
}

TEST_CASE(
    "all-reduces by size: another size than the largest decides if it changed by clearly "
    "more") {
  const AllReduceChanges small =
      sizes_of(8, {{1_KiB, 10_us}, {64_MiB, 1000_us}}, 8, {{1_KiB, 30_us}, {64_MiB, 1020_us}});
  CHECK(small.one().size == 1_KiB);
  const AllReduceChanges all =
      sizes_of(8, {{1_KiB, 10_us}, {64_MiB, 1000_us}}, 8, {{1_KiB, 16_us}, {64_MiB, 1500_us}});
  CHECK(all.one().size == 64_MiB);
}

TEST_CASE("all-reduces of other numbers of ranks are compared by bus bandwidth") {
  // 2 ranks have the factor 1 and 4 ranks 1.5, so 1.5 times the time is the same speed.
  const AllReduceChanges same = sizes_of(2, {{1_MiB, 100_us}}, 4, {{1_MiB, 150_us}});
  CHECK(same.by_busbw());
  CHECK(same.one().growth == doctest::Approx(1));
  CHECK(sizes_of(2, {{1_MiB, 100_us}}, 4, {{1_MiB, 120_us}}).one().growth == doctest::Approx(0.8));
  // If a log does not state its ranks, only times can be compared.
  CHECK_FALSE(sizes_of(0, {{1_MiB, 100_us}}, 4, {{1_MiB, 150_us}}).by_busbw());
}

TEST_CASE("all-reduces of several shapes: the largest common number of ranks is compared") {
  const std::vector<LoggedAllReduces> old = {{2, {{1_MiB, 100_us}}, {}},
                                             {8, {{1_MiB, 300_us}}, {}}};
  const std::vector<LoggedAllReduces> now = {{8, {{1_MiB, 330_us}}, {}},
                                             {16, {{1_MiB, 900_us}}, {}}};
  const auto changes = all_reduce_changes(old, now);
  REQUIRE(changes.has_value());
  CHECK(changes->ranks_before == 8);
  CHECK(changes->one().before == 300_us);
}

TEST_CASE("all-reduces by size: a change counts only if both places show it") {
  const std::vector<LoggedAllReduces> old = {{8, {{1_MiB, 200_us}}, {{1_MiB, 170_us}}}};
  const std::vector<LoggedAllReduces> now = {{8, {{1_MiB, 370_us}}, {{1_MiB, 168_us}}}};
  CHECK(all_reduce_changes(old, now)->slower() == 0);
  CHECK_FALSE(all_reduce_changes(old, {{8, {{2_MiB, 370_us}}, {}}}).has_value());
}

TEST_CASE(
    "all-reduces by size: among several tables, those with equal nodes and settings are compared") {
  const std::vector<LoggedAllReduces> old = {{8, {{1_MiB, 100_us}}, {}, 1, "NCCL_ALGO=Ring"},
                                             {8, {{1_MiB, 200_us}}, {}, 1, "NCCL_ALGO=Tree"},
                                             {8, {{1_MiB, 400_us}}, {}, 2, "NCCL_ALGO=Tree"}};
  const auto compared = [&](const LoggedAllReduces& now) {
    const auto changes = all_reduce_changes(old, {{4, {{1_MiB, 10_us}}, {}}, now});
    REQUIRE(changes.has_value());
    CHECK(changes->after == 1);
    return changes->before;
  };
  CHECK(compared({8, {{1_MiB, 100_us}}, {}, 1, "NCCL_ALGO=Tree"}) == 1);
  CHECK(compared({8, {{1_MiB, 100_us}}, {}, 2, "NCCL_ALGO=Ring"}) == 2);
  CHECK(compared({8, {{1_MiB, 100_us}}, {}, 1, ""}) == 0);
}
