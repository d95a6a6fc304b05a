#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/sim/engine/schedule.hpp"
#include "small_jobs.hpp"
#include "task.hpp"

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

/// A rank that computes for `before`, then joins collective 0 and computes on meanwhile.
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
  CHECK(time.starts ==
        std::vector<TimePoint>{small::at(10_us), small::at(30_us), small::at(20_us)});
  CHECK(time.last_arrival == small::at(30_us));
  CHECK(time.last == 1);
  CHECK(time.end == small::at(35_us));
  for (const Execution::Rank& rank : execution.ranks)
    CHECK(rank.communication.back().end == small::at(35_us));
}

TEST_CASE("execute: if ranks arrive together, the first of them is named") {
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
  // There are 80 us of work. From 10 us on, the kernel waits (until 30) and transfers (until 50)
  // while compute runs at 3/4 speed. These 40 us do 30 us of work, so the end moves from 90 to 100
  // us.
  const Schedule schedule{.ranks = {rank_with(0, 10_us, 80_us), rank_with(1, 30_us, 0_us)},
                          .collectives = {{.transfer = 20_us, .channels = 25}}};
  const Execution execution =
      execute(schedule, {.compute_loss_per_channel = 0.01, .communication = 1});
  CHECK(execution.collectives[0].end == small::at(50_us));
  CHECK(execution.ranks[0].compute.back().end == small::at(100_us));
}

TEST_CASE("execute: a transfer slows while compute runs on any rank") {
  // The transfer of 10 us starts at 10 us. Rank 1 computes until 20 us, so 10 us pass at half speed
  // (5 done), the other 5 at full speed.
  const Schedule schedule{.ranks = {rank_with(0, 10_us, 0_us), rank_with(1, 10_us, 10_us)},
                          .collectives = {{.transfer = 10_us}}};
  const Execution execution =
      execute(schedule, {.compute_loss_per_channel = 0, .communication = 0.5});
  CHECK(execution.collectives[0].end == small::at(25_us));
}

TEST_CASE("execute: a wait adds its latency only when the event is not long past") {
  RankPrograms programs{.rank = 0, .host = {}, .compute = {}, .communication = {}, .events = 1};
  programs.compute = {work(10_us), record(0)};
  programs.communication = {wait(0, 3_us)};
  programs.host = {work(50_us), wait(0, 3_us)};
  const Schedule schedule{.ranks = {programs}, .collectives = {}};
  const Execution execution = execute(schedule, {});
  CHECK(execution.ranks[0].communication.back().end == small::at(13_us));
  CHECK(execution.ranks[0].host.back().end == small::at(50_us));
}

TEST_CASE("execute: a transfer is slow until the last rank has ended its compute") {
  // Ranks compute until 10 and 20 us. The transfer of 10 us starts at 0 and runs at half rate until
  // the second rank is done.
  const Schedule schedule{.ranks = {rank_with(0, 0_us, 10_us), rank_with(1, 0_us, 20_us)},
                          .collectives = {{.transfer = 10_us}}};
  CHECK(execute(schedule, {.communication = 0.5}).collectives[0].end == small::at(20_us));
}

TEST_CASE("execute: compute that begins during a transfer slows the rest of it") {
  // The first 4 of 10 us pass alone. From then on the host lets rank 0 compute for 100 us, so the
  // other 6 take 12.
  RankPrograms rank{.rank = 0, .host = {}, .compute = {}, .communication = {}, .events = 1};
  rank.host = {work(4_us), record(0)};
  rank.compute = {wait(0), work(100_us)};
  rank.communication = {collective(0)};
  const Schedule schedule{.ranks = {rank}, .collectives = {{.transfer = 10_us}}};
  CHECK(execute(schedule, {.communication = 0.5}).collectives[0].end == small::at(16_us));
}

TEST_CASE("execute: channels of all kernels on a GPU add up, and compute never quite stops") {
  // 30 channels run from 0 to 10 and 30 more from 0 to 20. First 60 % of the speed are lost, then
  // 30 %: 4 and 7 of 100 us are done.
  RankPrograms rank{.rank = 0, .host = {}, .compute = {work(100_us)}, .communication = {}};
  rank.communication = {collective(0), wait(0), collective(1)};
  rank.host = {record(0)};
  rank.events = 1;
  Schedule schedule{
      .ranks = {rank},
      .collectives = {{.transfer = 10_us, .channels = 30}, {.transfer = 20_us, .channels = 30}},
      .in_flight = {.groups = 2}};
  const auto end = [&](double loss) {
    return execute(schedule, {.compute_loss_per_channel = loss}).ranks[0].compute.back().end;
  };
  // Rates are 30-bit fractions, so the end differs from 109 us by a few picoseconds.
  CHECK((end(0.01) - small::at(109_us)) < 100_ps);
  CHECK((small::at(109_us) - end(0.01)) < 100_ps);
  // At least a 64th of the speed is left: 20 us do 0.3125 us of work.
  CHECK(end(1) == small::at(119.6875_us));
}

TEST_CASE("execute: the memory load of concurrent transfers adds up and ends with each of them") {
  // Each transfer has a memory load of 0.5, and compute loses half of the load. It runs at 3/4 from
  // 0 to 10, at 1/2 from 10 to 20 and at 3/4 from 20 to 30. Of these 30 us, 20 of the 100 are done.
  RankPrograms rank{.rank = 0, .host = {}, .compute = {work(100_us)}, .communication = {}};
  rank.events = 1;
  rank.host = {work(10_us), record(0)};
  rank.communication = {collective(0), wait(0), collective(1)};
  Schedule schedule{.ranks = {rank},
                    .collectives = {{.transfer = 20_us, .memory_load = 0.5},
                                    {.transfer = 20_us, .memory_load = 0.5}},
                    .in_flight = {.groups = 2}};
  const auto end = [&](double loss) {
    return execute(schedule, {.compute_loss_per_load = loss}).ranks[0].compute.back().end;
  };
  CHECK(end(0.5) == small::at(110_us));
  CHECK(end(0) == small::at(100_us));
}

TEST_CASE("execute: the duration of a transfer may depend on its start") {
  const Schedule schedule{.ranks = {rank_with(0, 10_us, 0_us), rank_with(1, 30_us, 0_us)},
                          .collectives = {{.transfer = 5_us}}};
  const Execution execution =
      execute(schedule, {}, [](std::uint32_t index, TimePoint last_arrival) {
        return last_arrival.since_start() + index * 1_us;
      });
  CHECK(execution.collectives[0].end == small::at(60_us));
}

TEST_CASE("execute: a stream waits until an instant, and not at all if that is past") {
  RankPrograms programs{.rank = 0, .host = {}, .compute = {}, .communication = {}};
  programs.host = {{.action = Action::wait_until, .duration = 7_us},
                   work(5_us),
                   {.action = Action::wait_until, .duration = 9_us}};
  const Execution execution = execute({.ranks = {programs}, .collectives = {}}, {});
  const std::vector<OperationTime>& host = execution.ranks[0].host;
  CHECK(host[0].start == small::at(0_us));
  CHECK(host[0].end == small::at(7_us));
  CHECK(host[1].end == small::at(12_us));
  CHECK(host[2].start == small::at(12_us));
  CHECK(host[2].end == small::at(12_us));
  CHECK(execution.events == 2);
}

TEST_CASE("execute: a schedule may begin before time zero") {
  const RankPrograms programs{.rank = 0, .host = {}, .compute = {work(5_us)}, .communication = {}};
  const Execution execution =
      execute({.start = small::at(-3_us), .ranks = {programs}, .collectives = {}}, {});
  CHECK(execution.ranks[0].compute[0].start == small::at(-3_us));
  CHECK(execution.ranks[0].compute[0].end == small::at(2_us));
}

TEST_CASE("task: work done is rounded down, time needed is rounded up") {
  CHECK(Rate(0.5).work_done_in(9_ps) == 4_ps);
  CHECK(Rate(0.5).time_for(9_ps) == 18_ps);
  CHECK(Rate(0.75).time_for(10_ps) == 14_ps);
  CHECK(Rate().time_for(9_ps) == 9_ps);
  CHECK(Rate(7).time_for(9_ps) == 9_ps);    // no faster than full speed
  CHECK(Rate(0).time_for(9_ps) == 576_ps);  // no slower than a 64th
  CHECK(Rate(-1).time_for(9_ps) == 576_ps);
}

TEST_CASE("task: a change of rate counts the work done and predicts a new end") {
  Task task;
  task.start(100_us, Rate(), small::at(10_us));
  CHECK(task.version == 1);
  CHECK(task.end() == small::at(110_us));
  task.change_rate(Rate(0.5), small::at(40_us));
  CHECK(task.version == 2);
  CHECK(task.remaining == 70_us);
  CHECK(task.since == small::at(40_us));
  CHECK(task.end() == small::at(180_us));
  task.change_rate(Rate(), small::at(60_us));
  CHECK(task.end() == small::at(120_us));
}
