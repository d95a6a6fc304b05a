// Which rank waits for which at collectives. Four ranks run for two steps, and two of them share
// one program.
#include "rank_waits.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

PlannedStep of_programs(std::vector<std::size_t> program_of_rank, std::size_t programs) {
  PlannedStep planned;
  planned.program_of_rank = std::move(program_of_rank);
  planned.schedule.ranks.resize(programs);
  return planned;
}

CollectiveTime arrivals(const std::vector<Duration>& starts, std::size_t last) {
  CollectiveTime collective;
  for (const Duration start : starts) collective.starts.push_back(TimePoint(start));
  collective.last = last;
  collective.last_arrival = collective.starts[last];
  return collective;
}

Execution of_collectives(std::vector<CollectiveTime> collectives) {
  Execution execution;
  execution.collectives = std::move(collectives);
  return execution;
}

}  // namespace

TEST_CASE("rank waits: each rank's own wait, and what the last rank costs the others") {
  const PlannedStep planned = of_programs({0, 1, 0, 2}, 3);
  RankWaits waits;
  waits.add(planned, of_collectives({arrivals({1_us, 10_us, 4_us}, 1),       // 9, 0, 9, 6
                                     arrivals({20_us, 12_us, 20_us}, 0)}));  // 0, 8, 0, 0
  waits.add(planned, of_collectives({arrivals({30_us, 30_us, 30_us}, 2)}));  // nobody waits
  const std::vector<RankWait> all = std::move(waits).finish();
  REQUIRE(all.size() == 4);
  const Duration waited[] = {9_us, 8_us, 9_us, 6_us};
  const Duration caused[] = {4_us, 24_us, 4_us, 0_us};
  const int last[] = {1, 1, 1, 0};
  for (std::size_t r = 0; r < all.size(); ++r) {
    CAPTURE(r);
    CHECK(all[r].rank == static_cast<int>(r));
    CHECK(all[r].wait == waited[r]);
    CHECK(all[r].caused == caused[r]);
    CHECK(all[r].times_last == last[r]);
  }
}

TEST_CASE("rank waits: nothing is counted while all ranks behave alike") {
  RankWaits waits;
  waits.add(of_programs({}, 1), of_collectives({arrivals({1_us}, 0)}));
  CHECK(std::move(waits).finish().empty());
  // Counting starts with the step in which they differ.
  RankWaits later;
  later.add(of_programs({0, 0}, 1), of_collectives({arrivals({1_us}, 0)}));
  later.add(of_programs({0, 1}, 2), of_collectives({arrivals({1_us, 3_us}, 1)}));
  const std::vector<RankWait> all = std::move(later).finish();
  REQUIRE(all.size() == 2);
  CHECK(all[0].wait == 2_us);
  CHECK(all[1].caused == 2_us);
}
