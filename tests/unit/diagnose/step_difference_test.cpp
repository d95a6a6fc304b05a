// Parts of measured steps and their differences, by hand and for random recordings.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/diagnose/diff/step_difference.hpp"
#include "ddpsim/sim/values/split_mix.hpp"

namespace ddpsim {
namespace {

using namespace literals;

RecordedCollective recorded_all_reduce(double start_ms, double duration_ms) {
  return {.bytes = Bytes(1000),
          .launch = Duration::milliseconds(start_ms),
          .start = Duration::milliseconds(start_ms),
          .duration = Duration::milliseconds(duration_ms)};
}

/// Forward takes 10 ms, with 2 ms of waits for launches and 1 ms of the buffers' broadcast.
/// Backward takes 20 ms, with 3 ms of waits and 2 ms of copies. The tail takes 5 ms, copies out 1
/// ms, the optimizer 4 ms, and 10 ms lie between steps.
Recorded a_step() {
  Recorded step;
  step.forward = 10_ms;
  step.backward = Backward{.duration = 20_ms,
                           .ready = {{.parameter = 0, .at = 5_ms, .copied_at = 6_ms},
                                     {.parameter = 1, .at = 18_ms, .copied_at = 19_ms}}};
  step.optimizer = 4_ms;
  step.iteration = 50_ms;
  step.launch_waits = {.forward = 2_ms, .backward = 3_ms, .optimizer = 1_ms};
  step.busy = PartTimes{.forward = 7_ms, .backward = 17_ms, .optimizer = 3_ms};
  RecordedWith& with = step.recorded_with;
  with.ddp_hooks = true;
  with.world_size = 2;
  with.buffer_broadcast = 1_ms;
  with.exposed = 5_ms;
  with.finalize = 1_ms;
  with.collectives = {recorded_all_reduce(6, 4), recorded_all_reduce(19, 6)};
  return step;
}

Workload measured_alone() {
  Workload workload;
  static_cast<Recorded&>(workload) = a_step();
  return workload;
}

/// Rank 1's second all-reduce takes 2 ms, so the first 4 of rank 0's 6 ms are a wait.
Workload measured_two_ranks() {
  Workload workload = measured_alone();
  RankRecording first;
  static_cast<Recorded&>(first) = a_step();
  RankRecording second = first;
  second.rank = 1;
  second.recorded_with.collectives = {recorded_all_reduce(6, 4), recorded_all_reduce(23, 2)};
  workload.ranks = {first, second};
  return workload;
}

Duration time_of(const StepBreakdown& breakdown, LossCause cause) {
  return breakdown[cause].time;
}

TEST_CASE("a measured step's parts: earlier micro-batches belong to the step") {
  Workload workload = measured_alone();
  const StepBreakdown one = *step_breakdown(workload);
  workload.earlier =
      EarlierMicroBatches{.count = 2, .all_reduced = 1, .compute = 60_ms, .exposed = 8_ms};
  const StepBreakdown whole = *step_breakdown(workload);
  CHECK(whole.step == one.step + 68_ms);
  CHECK(whole[StepPart::kernels].time == one[StepPart::kernels].time + 60_ms);
  CHECK(whole.kernels.forward == one.kernels.forward + 20_ms);  // 10 of 30 ms
  CHECK(whole.kernels.backward == one.kernels.backward + 40_ms);
  CHECK(whole[StepPart::all_reduce_transfer].time ==
        one[StepPart::all_reduce_transfer].time + 8_ms);
  // Two ranks separate waits from transfers only in the recorded micro-batch.
  Workload both = measured_two_ranks();
  CHECK((*step_breakdown(both))[StepPart::all_reduce_transfer].bound == Bound::none);
  both.ranks[0].earlier = workload.earlier;
  CHECK((*step_breakdown(both))[StepPart::all_reduce_transfer].bound == Bound::upper);
}

TEST_CASE("a measured step's parts: with one rank, the tail is at most transfer") {
  const StepBreakdown parts = step_breakdown(measured_alone()).value();
  CHECK(parts.step == 50_ms);
  CHECK(time_of(parts, LossCause::buffer_broadcast) == 1_ms);
  CHECK(time_of(parts, LossCause::launch_bound) == 6_ms);
  CHECK(time_of(parts, LossCause::copies) == 3_ms);  // 2 in, 1 out
  CHECK(parts.kernels.forward == 7_ms);
  CHECK(parts.kernels.backward == 15_ms);
  CHECK(parts.kernels.optimizer == 3_ms);
  CHECK(parts[StepPart::all_reduce_transfer].time == 5_ms);
  CHECK(parts[StepPart::all_reduce_transfer].bound == Bound::upper);
  CHECK(parts[StepPart::all_reduce_transfer].low == Duration());
  CHECK(parts[LossCause::slowest_gpu].bound == Bound::lower);
  CHECK(parts[LossCause::slowest_gpu].high >= 5_ms);
  CHECK(time_of(parts, LossCause::input) == 10_ms);
  CHECK(parts[LossCause::input].bound == Bound::upper);
}

TEST_CASE("a measured step's parts: the other rank tells the wait from the transfer") {
  const StepBreakdown parts = step_breakdown(measured_two_ranks()).value();
  // The last all-reduce, 19 to 25, transfers for 2 ms. Without waiting it would have ended at 21,
  // one after backward.
  CHECK(time_of(parts, LossCause::slowest_gpu) == 4_ms);
  CHECK(parts[StepPart::all_reduce_transfer].time == 1_ms);
  CHECK(parts[StepPart::all_reduce_transfer].bound == Bound::none);
  CHECK(parts.waited_for == 1);
  const StepBreakdown late = step_breakdown(measured_two_ranks(), 1).value();
  CHECK(time_of(late, LossCause::slowest_gpu) == Duration());
}

TEST_CASE("a difference: a bound on one side bounds the change in its direction") {
  const StepBreakdown one = step_breakdown(measured_alone()).value();
  const StepBreakdown both = step_breakdown(measured_two_ranks()).value();
  const auto of_transfer = [](const StepBreakdown& before, const StepBreakdown& after) {
    const StepDifference told = difference(before, after);
    return std::ranges::find(told.rows, StepPart::all_reduce_transfer, &DifferenceRow::part)
        ->bound_of_change;
  };
  CHECK(of_transfer(both, one) == Bound::upper);
  CHECK(of_transfer(one, both) == Bound::lower);
  CHECK(of_transfer(one, one) == Bound::none);
}

TEST_CASE("a measured step's parts: a wait after backward delays what follows it") {
  Workload workload = measured_two_ranks();
  // Rank 1 is 8 ms late to the first. Both all-reduces follow one another and end after backward.
  const std::vector<RecordedCollective> here = {recorded_all_reduce(6, 14),
                                                recorded_all_reduce(8, 18)};
  const std::vector<RecordedCollective> there = {recorded_all_reduce(14, 6),
                                                 recorded_all_reduce(16, 10)};
  workload.recorded_with.collectives = workload.ranks[0].recorded_with.collectives = here;
  workload.ranks[1].recorded_with.collectives = there;
  const StepBreakdown parts = step_breakdown(workload).value();
  // Each takes 6 ms. Begun at 6, they would have ended at 18, before backward. So the whole tail of
  // 6 ms is waiting.
  CHECK(time_of(parts, LossCause::slowest_gpu) == 6_ms);
  CHECK(parts[StepPart::all_reduce_transfer].time == Duration());
}

TEST_CASE("a measured step's parts: waits for the loader are input, the rest is the host's") {
  Workload workload = measured_alone();
  workload.data_loading = DataLoading{.median = 7_ms, .p90 = 7_ms, .mean = 7_ms, .count = 5};
  const StepBreakdown parts = step_breakdown(workload).value();
  CHECK(time_of(parts, LossCause::input) == 7_ms);
  CHECK(parts[LossCause::input].bound == Bound::none);
  CHECK(time_of(parts, LossCause::launch_bound) == 9_ms);
}

TEST_CASE("a measured step's parts: overlapping steps give a negative unexplained part") {
  Workload workload = measured_alone();
  workload.iteration = 38_ms;
  const StepBreakdown parts = step_breakdown(workload).value();
  CHECK(time_of(parts, LossCause::unexplained) == -2_ms);
  CHECK(time_of(parts, LossCause::input) == Duration());
}

TEST_CASE("a measured step's parts: all parts use the same middle half of the steps") {
  Workload workload = measured_alone();
  for (const double length : {49.0, 50.0, 52.0, 90.0})
    workload.steps.push_back({.name = "",
                              .forward = Duration::milliseconds(length - 40),
                              .backward = 20_ms,
                              .iteration = Duration::milliseconds(length),
                              .collectives = {}});
  const StepBreakdown parts = step_breakdown(workload).value();
  CHECK(parts.step == 51_ms);
  CHECK(parts.steps == 4);
  // The broadcast and the waits keep their recorded share of a forward of 11 ms.
  CHECK(time_of(parts, LossCause::buffer_broadcast) == 1.1_ms);
  // If one of them has no forward, the recorded one counts.
  workload.steps[1].forward.reset();
  CHECK(time_of(step_breakdown(workload).value(), LossCause::buffer_broadcast) == 1_ms);
}

TEST_CASE("a measured step's parts: a profiler's time is a negative unexplained part") {
  const StepBreakdown parts = with_unprofiled(step_breakdown(measured_alone()).value(), {44_ms});
  CHECK(parts.step == 44_ms);
  CHECK(time_of(parts, LossCause::unexplained) == -6_ms);
}

TEST_CASE("a difference: one row grew, the others did not, and contributions sum") {
  Workload slower = measured_alone();
  slower.forward = 13_ms;
  slower.busy->forward = 10_ms;
  slower.iteration = 53_ms;
  const StepDifference answer =
      difference(step_breakdown(measured_alone()).value(), step_breakdown(slower).value());
  CHECK(answer.change == 3_ms);
  CHECK(answer.beyond_noise());
  REQUIRE_FALSE(answer.rows.empty());
  CHECK(answer.rows.front().part == StepPart::kernels);
  CHECK(answer.rows.front().change == 3_ms);
  double points = 0;
  for (const DifferenceRow& row : answer.rows) points += row.points;
  CHECK(points ==
        doctest::Approx(*efficiency_percent(answer.after) - *efficiency_percent(answer.before)));
  const auto slowdown = slowdown_above(answer, 3);
  REQUIRE(slowdown);
  CHECK(slowdown->row->part == StepPart::kernels);
  CHECK_FALSE(slowdown_above(answer, 6));  // of 50 ms, exactly
}

TEST_CASE("a difference: with step times only, all is unexplained and 1 % is noise") {
  const StepDifference answer = difference(step_alone({100_ms}), step_alone({110_ms}));
  REQUIRE(answer.rows.size() == 1);
  CHECK(answer.rows.front().part == part_of(LossCause::unexplained));
  CHECK(answer.rows.front().change == 10_ms);
  CHECK(answer.rows.front().low < 10_ms);
  CHECK_FALSE(difference(step_alone({100_ms}), step_alone({101_ms})).beyond_noise());
}

TEST_CASE("a difference: a recording and a step time are compared as a whole") {
  const StepDifference answer =
      difference(step_breakdown(measured_alone()).value(), step_alone({60_ms}));
  REQUIRE(answer.rows.size() == 1);
  CHECK(answer.rows.front().change == 10_ms);
}

TEST_CASE(
    "a difference: a part known on one side counts in the part that contains it on the "
    "other") {
  Workload untold = measured_alone();  // launches not counted: their waits are in kernels
  untold.busy.reset();
  untold.launch_waits = {};
  const StepDifference answer =
      difference(step_breakdown(measured_alone()).value(), step_breakdown(untold).value());
  CHECK(answer.change == Duration());
  for (const DifferenceRow& row : answer.rows) {
    CHECK(row.part != part_of(LossCause::launch_bound));
    CHECK(row.change == Duration());
  }
}

TEST_CASE("a difference: without the time between steps both end with the optimizer") {
  Workload last = measured_alone();
  last.iteration.reset();
  const StepDifference answer =
      difference(step_breakdown(measured_alone()).value(), step_breakdown(last).value());
  CHECK(answer.before.step == 40_ms);
  CHECK(answer.change == Duration());
  CHECK(answer.missing.size() == 1);
}

/// Any valid recording: windows, waits within them, all-reduces anywhere.
class AnyRecording {
 public:
  explicit AnyRecording(std::uint64_t seed) : random_(seed) {}

  Workload workload() {
    Workload result;
    static_cast<Recorded&>(result) = recorded();
    const auto ranks = static_cast<int>(up_to(4));
    for (int rank = 0; rank < ranks; ++rank) {
      RankRecording one;
      static_cast<Recorded&>(one) = recorded();
      if (rank == 0) static_cast<Recorded&>(one) = result;
      one.recorded_with.world_size = result.recorded_with.world_size;
      one.rank = rank;
      result.ranks.push_back(std::move(one));
    }
    return result;
  }

 private:
  std::uint64_t up_to(std::uint64_t most) { return next_random(random_) % (most + 1); }
  Duration time(std::uint64_t most_us) {
    return Duration::picoseconds(static_cast<std::int64_t>(up_to(most_us * 1'000'000)));
  }
  std::vector<RecordedCollective> collectives() {
    std::vector<RecordedCollective> all;
    for (std::uint64_t i = up_to(3); i > 0; --i)
      all.push_back({.bytes = Bytes(static_cast<std::int64_t>(1 + up_to(1))),
                     .launch = time(100) - 0.02_ms,
                     .start = time(100) - 0.02_ms,
                     .duration = time(100)});
    return all;
  }
  Recorded recorded() {
    Recorded step;
    if (up_to(3) > 0) step.forward = time(100);
    if (up_to(5) > 0) {
      step.backward.emplace();
      step.backward->duration = time(100);
      for (std::uint64_t i = up_to(3); i > 0; --i) {
        const Duration at = time(100);
        step.backward->ready.push_back({.parameter = 0, .at = at, .copied_at = at + time(10)});
      }
    }
    if (up_to(2) > 0) step.optimizer = time(50);
    if (up_to(2) > 0) step.iteration = time(400) + 0.001_ms;
    step.launch_waits = {time(50), time(50), time(20)};
    if (up_to(1) > 0) step.busy = PartTimes{time(100), time(100), time(50)};
    RecordedWith& with = step.recorded_with;
    with.world_size = static_cast<int>(1 + up_to(3));
    with.collectives = collectives();
    if (up_to(1) > 0) with.exposed = time(50);
    if (up_to(1) > 0) with.finalize = time(20);
    if (up_to(1) > 0) with.buffer_broadcast = time(120);
    with.sync_batchnorm = up_to(3) == 0;
    if (up_to(2) == 0)
      step.data_loading =
          DataLoading{.median = time(30), .p90 = time(60), .mean = time(40), .count = 3};
    for (std::uint64_t i = up_to(6); i > 0; --i) {
      StepSample sample{.name = "step" + std::to_string(i),
                        .forward = time(100),
                        .backward = time(100),
                        .iteration = time(400) + 0.001_ms,
                        .collectives = with.collectives};
      if (up_to(3) == 0) sample.iteration.reset();
      if (up_to(3) == 0) sample.backward.reset();
      step.steps.push_back(std::move(sample));
    }
    return step;
  }

  std::uint64_t random_;
};

TEST_CASE("a difference: rows of any two recordings sum, and nothing breaks") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    AnyRecording any(seed);
    const Workload one = any.workload();
    const Workload other = any.workload();
    const auto before = step_breakdown(one, one.ranks.empty() ? 0 : one.ranks.size() - 1);
    const auto after = step_breakdown(other);
    if (!before || !after || before->step <= Duration() || after->step <= Duration()) continue;
    CAPTURE(seed);
    const StepDifference answer = difference(*before, *after);
    Duration sum;
    double points = 0;
    for (const DifferenceRow& row : answer.rows) {
      CHECK(row.after - row.before == row.change);
      CHECK(row.low <= row.change);
      CHECK(row.high >= row.change);
      sum += row.change;
      points += row.points;
    }
    CHECK(sum == answer.change);
    CHECK(answer.change == answer.after.step - answer.before.step);
    // Kernels as both sides count them.
    const auto kernels = std::ranges::find(answer.rows, StepPart::kernels, &DifferenceRow::part);
    if (kernels != answer.rows.end())
      CHECK(points == doctest::Approx(100 * (kernels->after / answer.after.step -
                                             kernels->before / answer.before.step))
                          .epsilon(1e-6)
                          .scale(100));
    ++compared;
  }
  CHECK(compared > 1000);
}

}  // namespace
}  // namespace ddpsim
