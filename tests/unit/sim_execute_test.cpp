#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/sim/schedule.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Operation work(Duration duration) {
  return {.action = Action::work, .duration = duration};
}
Operation record(EventId event) {
  return {.action = Action::record, .event = event};
}
Operation wait(EventId event, Duration latency = {}) {
  return {.action = Action::wait, .duration = latency, .event = event};
}
Operation collective(std::uint32_t index) {
  return {.action = Action::collective, .collective = index};
}

TimePoint at(Duration since) {
  return TimePoint(since);
}

/// A rank that computes for `before`, then takes part in collective 0, computing on meanwhile.
RankPrograms rank_with(int rank, Duration before, Duration beside) {
  RankPrograms programs{.rank = rank, .host = {}, .compute = {}, .communication = {}, .events = 1};
  programs.compute = {work(before), record(0), work(beside)};
  programs.communication = {wait(0), collective(0)};
  return programs;
}

}  // namespace

TEST_CASE("execute: a collective begins when the last rank is there and ends for all at once") {
  const Schedule schedule{
      .ranks = {rank_with(0, 10_us, 0_us), rank_with(1, 30_us, 0_us), rank_with(2, 20_us, 0_us)},
      .collectives = {{.transfer = 5_us}}};
  const Execution execution = execute(schedule, {});
  const CollectiveTime& time = execution.collectives[0];
  CHECK(time.starts == std::vector<TimePoint>{at(10_us), at(30_us), at(20_us)});
  CHECK(time.last_arrival == at(30_us));
  CHECK(time.last == 1);
  CHECK(time.end == at(35_us));
  for (const Execution::Rank& rank : execution.ranks)
    CHECK(rank.communication.back().end == at(35_us));
}

TEST_CASE("execute: of ranks that arrive together the first is named") {
  const Schedule schedule{.ranks = {rank_with(0, 7_us, 0_us), rank_with(1, 7_us, 0_us)},
                          .collectives = {{.transfer = 1_us}}};
  CHECK(execute(schedule, {}).collectives[0].last == 0);
}

TEST_CASE("execute: the order of ranks changes nothing but positions") {
  std::vector<Duration> arrivals = {3_us, 9_us, 1_us, 9_us, 4_us};
  std::vector<TimePoint> ends;
  do {
    Schedule schedule{.ranks = {}, .collectives = {{.transfer = 2_us, .channels = 8}}};
    for (std::size_t r = 0; r < arrivals.size(); ++r)
      schedule.ranks.push_back(rank_with(static_cast<int>(r), arrivals[r], 20_us));
    const Execution execution =
        execute(schedule, {.compute_loss_per_channel = 0.01, .communication = 0.5});
    ends.push_back(execution.collectives[0].end);
  } while (std::next_permutation(arrivals.begin(), arrivals.end()));
  CHECK(std::all_of(ends.begin(), ends.end(), [&](TimePoint end) { return end == ends.front(); }));
}

TEST_CASE("execute: compute slows while an NCCL kernel is resident, waiting included") {
  // 80 us of work; from 10 us on the kernel waits (to 30) and transfers (to 50) at 3/4 speed: the
  // 40 us hold 30 us of work, so the end moves from 90 to 100 us.
  const Schedule schedule{.ranks = {rank_with(0, 10_us, 80_us), rank_with(1, 30_us, 0_us)},
                          .collectives = {{.transfer = 20_us, .channels = 25}}};
  const Execution execution =
      execute(schedule, {.compute_loss_per_channel = 0.01, .communication = 1});
  CHECK(execution.collectives[0].end == at(50_us));
  CHECK(execution.ranks[0].compute.back().end == at(100_us));
}

TEST_CASE("execute: a transfer slows while compute runs beside it, on any rank") {
  // Transfer of 10 us from 10 us; rank 1 computes until 20 us, so 10 us pass at half speed (5
  // done), the other 5 at full speed.
  const Schedule schedule{.ranks = {rank_with(0, 10_us, 0_us), rank_with(1, 10_us, 10_us)},
                          .collectives = {{.transfer = 10_us}}};
  const Execution execution =
      execute(schedule, {.compute_loss_per_channel = 0, .communication = 0.5});
  CHECK(execution.collectives[0].end == at(25_us));
}

TEST_CASE("execute: a wait adds its latency only when the event is not long past") {
  RankPrograms programs{.rank = 0, .host = {}, .compute = {}, .communication = {}, .events = 1};
  programs.compute = {work(10_us), record(0)};
  programs.communication = {wait(0, 3_us)};
  programs.host = {work(50_us), wait(0, 3_us)};
  const Schedule schedule{.ranks = {programs}, .collectives = {}};
  const Execution execution = execute(schedule, {});
  CHECK(execution.ranks[0].communication.back().end == at(13_us));
  CHECK(execution.ranks[0].host.back().end == at(50_us));
}
