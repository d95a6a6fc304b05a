#include <doctest/doctest.h>

#include "ddpsim/sim/engine/schedule.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// A rank that launches one collective after another at the given instants.
RankPrograms launching(int rank, const std::vector<Duration>& instants) {
  RankPrograms programs{.rank = rank, .host = {}, .compute = {}, .communication = {}};
  Duration now;
  for (std::size_t i = 0; i < instants.size(); ++i) {
    const EventId launched = programs.events++;
    const EventId done = programs.events++;
    programs.host.push_back({.action = Action::work, .duration = instants[i] - now});
    programs.host.push_back({.action = Action::record, .event = launched});
    programs.communication.push_back({.action = Action::wait, .event = launched});
    programs.communication.push_back(
        {.action = Action::collective, .collective = static_cast<std::uint32_t>(i)});
    programs.communication.push_back({.action = Action::record, .event = done});
    now = instants[i];
  }
  return programs;
}

/// Collectives of `transfer` each, which keep the links busy for `volume`.
Schedule schedule_of(std::vector<RankPrograms> ranks, std::size_t collectives, Duration transfer,
                     Duration volume, InFlight in_flight) {
  Schedule schedule{.ranks = std::move(ranks), .collectives = {}, .in_flight = in_flight};
  schedule.collectives.resize(collectives, {.transfer = transfer, .volume = volume});
  return schedule;
}

std::vector<TimePoint> ends(const Execution& execution) {
  std::vector<TimePoint> result;
  for (const CollectiveTime& collective : execution.collectives) result.push_back(collective.end);
  return result;
}

}  // namespace

TEST_CASE("in flight: two threads of one group share the links fairly") {
  // Both start at 0 with 10 us of traffic each, so each runs at half rate until 20 us. The third
  // waits for a thread.
  const Schedule schedule =
      schedule_of({launching(0, {0_us, 0_us, 0_us})}, 3, 10_us, 10_us, {.groups = 1, .threads = 2});
  CHECK(ends(execute(schedule, {})) ==
        std::vector<TimePoint>{small::at(20_us), small::at(20_us), small::at(30_us)});
}

TEST_CASE("in flight: a later collective shares the links from its start on") {
  // The first runs alone until 5 us, then both at half rate. The first ends at 15 us; the second
  // then has 5 us left alone.
  const Schedule schedule =
      schedule_of({launching(0, {0_us, 5_us})}, 2, 10_us, 10_us, {.groups = 1, .threads = 2});
  CHECK(ends(execute(schedule, {})) == std::vector<TimePoint>{small::at(15_us), small::at(20_us)});
}

TEST_CASE("in flight: latency hides behind another's traffic") {
  // Each takes 10 us, 2 us of it traffic. Together they take no longer than alone.
  const Schedule schedule =
      schedule_of({launching(0, {0_us, 0_us})}, 2, 10_us, 2_us, {.groups = 1, .threads = 2});
  CHECK(ends(execute(schedule, {})) == std::vector<TimePoint>{small::at(10_us), small::at(10_us)});
}

TEST_CASE(
    "in flight: two collectives take less than twice the time if one does not fill the links") {
  const Schedule schedule = schedule_of({launching(0, {0_us, 0_us})}, 2, 10_us, 10_us,
                                        {.groups = 2, .threads = 1, .to_fill = 1.25});
  CHECK(ends(execute(schedule, {})) == std::vector<TimePoint>{small::at(16_us), small::at(16_us)});
}

TEST_CASE("in flight: groups take turns, each in order") {
  // Collectives 0 and 2 belong to one group, 1 to the other: 2 waits for 0 although 1's group is idle.
  Schedule schedule =
      schedule_of({launching(0, {0_us, 0_us, 0_us})}, 3, 10_us, 0_us, {.groups = 2, .threads = 1});
  schedule.collectives[1].transfer = 2_us;
  CHECK(ends(execute(schedule, {})) ==
        std::vector<TimePoint>{small::at(10_us), small::at(2_us), small::at(20_us)});
}

TEST_CASE(
    "in flight: a collective alone on its lane takes its transfer time, whatever its volume") {
  for (const Duration volume : {0_us, 3_us, 10_us}) {
    const Schedule schedule =
        schedule_of({launching(0, {0_us, 0_us})}, 2, 10_us, volume, {.groups = 1, .threads = 1});
    CHECK(ends(execute(schedule, {})) ==
          std::vector<TimePoint>{small::at(10_us), small::at(20_us)});
  }
}

TEST_CASE("in flight: a late rank delays its collective, not a concurrent one") {
  // Rank 1 launches the second collective at 4 us. The third begins when a thread of both ranks is
  // free.
  const Schedule schedule =
      schedule_of({launching(0, {0_us, 0_us, 0_us}), launching(1, {0_us, 4_us, 4_us})}, 3, 10_us,
                  0_us, {.groups = 1, .threads = 2});
  const Execution execution = execute(schedule, {});
  CHECK(ends(execution) ==
        std::vector<TimePoint>{small::at(10_us), small::at(14_us), small::at(20_us)});
  CHECK(execution.collectives[1].starts ==
        std::vector<TimePoint>{small::at(0_us), small::at(4_us)});
}

TEST_CASE("in flight: traffic of NCCL slows compute only while it moves") {
  // There are 100 us of compute. The kernel is resident from 0 and rank 1 comes at 20 us. Then 20
  // us pass at 3/4 speed, which do 15 us of work.
  RankPrograms busy = launching(0, {0_us});
  busy.compute = {{.action = Action::work, .duration = 100_us}};
  Schedule schedule =
      schedule_of({busy, launching(1, {20_us})}, 1, 20_us, 0_us, {.groups = 1, .threads = 1});
  schedule.collectives[0].memory_load = 0.5;
  const Execution execution = execute(schedule, {.compute_loss_per_load = 0.5});
  CHECK(execution.ranks[0].compute.back().end == small::at(105_us));
}

TEST_CASE("in flight: concurrent compute slows traffic as it slows transfers") {
  // A transfer of 2 us has 10 us of traffic. It runs at half rate while 10 us of compute run, and 5
  // us are left.
  RankPrograms busy = launching(0, {0_us});
  busy.compute = {{.action = Action::work, .duration = 10_us}};
  const Schedule schedule = schedule_of({busy}, 1, 2_us, 10_us, {.groups = 1, .threads = 2});
  CHECK(ends(execute(schedule, {.communication = 0.5})) ==
        std::vector<TimePoint>{small::at(15_us)});
}
