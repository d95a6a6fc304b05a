// Parts of measured steps and their differences, by hand and over random recordings.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/calibrate/step_difference.hpp"
#include "ddpsim/sim/split_mix.hpp"

namespace ddpsim {
namespace {

Duration ms(double value) {
  return Duration::milliseconds(value);
}

RecordedCollective all_reduce(double start_ms, double duration_ms) {
  return {.bytes = Bytes(1000),
          .launch = ms(start_ms),
          .start = ms(start_ms),
          .duration = ms(duration_ms)};
}

/// Forward 10 ms, of which 2 wait for launches and 1 is the buffers' broadcast; backward 20 ms with 3 ms of waits and 2 of
/// copies; 5 ms of tail; copies out 1; optimizer 4; 10 ms between steps.
Recorded a_step() {
  Recorded step;
  step.forward = ms(10);
  step.backward = Backward{.duration = ms(20),
                           .ready = {{.parameter = 0, .at = ms(5), .copied_at = ms(6)},
                                     {.parameter = 1, .at = ms(18), .copied_at = ms(19)}}};
  step.optimizer = ms(4);
  step.iteration = ms(50);
  step.launch_waits = {.forward = ms(2), .backward = ms(3), .optimizer = ms(1)};
  step.busy = PartTimes{.forward = ms(7), .backward = ms(17), .optimizer = ms(3)};
  RecordedWith& with = step.recorded_with;
  with.ddp_hooks = true;
  with.world_size = 2;
  with.buffer_broadcast = ms(1);
  with.exposed = ms(5);
  with.finalize = ms(1);
  with.collectives = {all_reduce(6, 4), all_reduce(19, 6)};
  return step;
}

Workload alone() {
  Workload workload;
  static_cast<Recorded&>(workload) = a_step();
  return workload;
}

/// Rank 1's second all-reduce takes 2 ms: of rank 0's 6 the first 4 are a wait.
Workload two_ranks() {
  Workload workload = alone();
  RankRecording first;
  static_cast<Recorded&>(first) = a_step();
  RankRecording second = first;
  second.rank = 1;
  second.recorded_with.collectives = {all_reduce(6, 4), all_reduce(23, 2)};
  workload.ranks = {first, second};
  return workload;
}

Duration of(const StepBreakdown& breakdown, LossCause cause) {
  return breakdown[cause].time;
}

TEST_CASE("a measured step's parts: micro-batches before the recorded one are of the step") {
  Workload workload = alone();
  const StepBreakdown one = *step_breakdown(workload);
  workload.earlier =
      EarlierMicroBatches{.count = 2, .all_reduced = 1, .compute = ms(60), .exposed = ms(8)};
  const StepBreakdown whole = *step_breakdown(workload);
  CHECK(whole.step == one.step + ms(68));
  CHECK(whole[StepPart::kernels].time == one[StepPart::kernels].time + ms(60));
  CHECK(whole.kernels.forward == one.kernels.forward + ms(20));  // 10 of 30 ms
  CHECK(whole.kernels.backward == one.kernels.backward + ms(40));
  CHECK(whole[StepPart::all_reduce_transfer].time ==
        one[StepPart::all_reduce_transfer].time + ms(8));
  // Two ranks tell waits from transfers in the recorded micro-batch alone.
  Workload both = two_ranks();
  CHECK((*step_breakdown(both))[StepPart::all_reduce_transfer].bound == Bound::none);
  both.ranks[0].earlier = workload.earlier;
  CHECK((*step_breakdown(both))[StepPart::all_reduce_transfer].bound == Bound::upper);
}

TEST_CASE("a measured step's parts: of one rank, the tail is at most transfer") {
  const StepBreakdown parts = step_breakdown(alone()).value();
  CHECK(parts.step == ms(50));
  CHECK(of(parts, LossCause::buffer_broadcast) == ms(1));
  CHECK(of(parts, LossCause::launch_bound) == ms(6));
  CHECK(of(parts, LossCause::copies) == ms(3));  // 2 in, 1 out
  CHECK(parts.kernels.forward == ms(7));
  CHECK(parts.kernels.backward == ms(15));
  CHECK(parts.kernels.optimizer == ms(3));
  CHECK(parts[StepPart::all_reduce_transfer].time == ms(5));
  CHECK(parts[StepPart::all_reduce_transfer].bound == Bound::upper);
  CHECK(parts[StepPart::all_reduce_transfer].low == Duration());
  CHECK(parts[LossCause::slowest_gpu].bound == Bound::lower);
  CHECK(parts[LossCause::slowest_gpu].high >= ms(5));
  CHECK(of(parts, LossCause::input) == ms(10));
  CHECK(parts[LossCause::input].bound == Bound::upper);
}

TEST_CASE("a measured step's parts: the other rank tells the wait from the transfer") {
  const StepBreakdown parts = step_breakdown(two_ranks()).value();
  // The last all-reduce, 19 to 25, transfers for 2 ms: without waiting it had ended at 21, one after backward.
  CHECK(of(parts, LossCause::slowest_gpu) == ms(4));
  CHECK(parts[StepPart::all_reduce_transfer].time == ms(1));
  CHECK(parts[StepPart::all_reduce_transfer].bound == Bound::none);
  CHECK(parts.waited_for == 1);
  const StepBreakdown late = step_breakdown(two_ranks(), 1).value();
  CHECK(of(late, LossCause::slowest_gpu) == Duration());
}

TEST_CASE("a difference: what bounds one side bounds the change, in its direction") {
  const StepBreakdown one = step_breakdown(alone()).value();
  const StepBreakdown both = step_breakdown(two_ranks()).value();
  const auto of_transfer = [](const StepBreakdown& before, const StepBreakdown& after) {
    const StepDifference told = difference(before, after);
    return std::ranges::find(told.rows, StepPart::all_reduce_transfer, &DifferenceRow::part)
        ->bound_of_change;
  };
  CHECK(of_transfer(both, one) == Bound::upper);
  CHECK(of_transfer(one, both) == Bound::lower);
  CHECK(of_transfer(one, one) == Bound::none);
}

TEST_CASE("a measured step's parts: a wait behind backward delays what follows it") {
  Workload workload = two_ranks();
  // Rank 1 comes 8 ms late to the first; both all-reduces follow one another and end after backward.
  const std::vector<RecordedCollective> here = {all_reduce(6, 14), all_reduce(8, 18)};
  const std::vector<RecordedCollective> there = {all_reduce(14, 6), all_reduce(16, 10)};
  workload.recorded_with.collectives = workload.ranks[0].recorded_with.collectives = here;
  workload.ranks[1].recorded_with.collectives = there;
  const StepBreakdown parts = step_breakdown(workload).value();
  // Served 6 ms each, begun at 6 they had ended at 18, before backward did: the whole tail of 6 is waiting.
  CHECK(of(parts, LossCause::slowest_gpu) == ms(6));
  CHECK(parts[StepPart::all_reduce_transfer].time == Duration());
}

TEST_CASE("a measured step's parts: what a loader was waited for is input, the rest the host's") {
  Workload workload = alone();
  workload.data_loading = DataLoading{.median = ms(7), .p90 = ms(7), .mean = ms(7), .count = 5};
  const StepBreakdown parts = step_breakdown(workload).value();
  CHECK(of(parts, LossCause::input) == ms(7));
  CHECK(parts[LossCause::input].bound == Bound::none);
  CHECK(of(parts, LossCause::launch_bound) == ms(9));
}

TEST_CASE("a measured step's parts: steps that overlap leave less than nothing unexplained") {
  Workload workload = alone();
  workload.iteration = ms(38);
  const StepBreakdown parts = step_breakdown(workload).value();
  CHECK(of(parts, LossCause::unexplained) == ms(-2));
  CHECK(of(parts, LossCause::input) == Duration());
}

TEST_CASE("a measured step's parts: the middle half of the steps, all parts of the same") {
  Workload workload = alone();
  for (const double length : {49.0, 50.0, 52.0, 90.0})
    workload.steps.push_back({.name = "",
                              .forward = ms(length - 40),
                              .backward = ms(20),
                              .iteration = ms(length),
                              .collectives = {}});
  const StepBreakdown parts = step_breakdown(workload).value();
  CHECK(parts.step == ms(51));
  CHECK(parts.steps == 4);
  // Of a forward of 11 ms the broadcast and the waits take their recorded share.
  CHECK(of(parts, LossCause::buffer_broadcast) == ms(1.1));
}

TEST_CASE("a measured step's parts: a profiler's own time is unexplained, less than nothing") {
  const StepBreakdown parts = with_unprofiled(step_breakdown(alone()).value(), {ms(44)});
  CHECK(parts.step == ms(44));
  CHECK(of(parts, LossCause::unexplained) == ms(-6));
}

TEST_CASE("a difference: the row that grew, the others still, points that sum") {
  Workload slower = alone();
  slower.forward = ms(13);
  slower.busy->forward = ms(10);
  slower.iteration = ms(53);
  const StepDifference answer =
      difference(step_breakdown(alone()).value(), step_breakdown(slower).value());
  CHECK(answer.change == ms(3));
  CHECK(answer.beyond_noise());
  REQUIRE_FALSE(answer.rows.empty());
  CHECK(answer.rows.front().part == StepPart::kernels);
  CHECK(answer.rows.front().change == ms(3));
  double points = 0;
  for (const DifferenceRow& row : answer.rows) points += row.points;
  CHECK(points ==
        doctest::Approx(*efficiency_percent(answer.after) - *efficiency_percent(answer.before)));
  const auto slowdown = slowdown_above(answer, 3);
  REQUIRE(slowdown);
  CHECK(slowdown->row->part == StepPart::kernels);
  CHECK_FALSE(slowdown_above(answer, 6));  // of 50 ms, exactly
}

TEST_CASE("a difference: of step times alone all is unexplained; 1 % is noise") {
  const StepDifference answer = difference(step_alone({ms(100)}), step_alone({ms(110)}));
  REQUIRE(answer.rows.size() == 1);
  CHECK(answer.rows.front().part == part_of(LossCause::unexplained));
  CHECK(answer.rows.front().change == ms(10));
  CHECK(answer.rows.front().low < ms(10));
  CHECK_FALSE(difference(step_alone({ms(100)}), step_alone({ms(101)})).beyond_noise());
}

TEST_CASE("a difference: a recording beside a step time is compared as a whole") {
  const StepDifference answer = difference(step_breakdown(alone()).value(), step_alone({ms(60)}));
  REQUIRE(answer.rows.size() == 1);
  CHECK(answer.rows.front().change == ms(10));
}

TEST_CASE("a difference: what one side alone tells is counted to what holds it on the other") {
  Workload untold = alone();  // no launches counted: their waits are in kernels
  untold.busy.reset();
  untold.launch_waits = {};
  const StepDifference answer =
      difference(step_breakdown(alone()).value(), step_breakdown(untold).value());
  CHECK(answer.change == Duration());
  for (const DifferenceRow& row : answer.rows) {
    CHECK(row.part != part_of(LossCause::launch_bound));
    CHECK(row.change == Duration());
  }
}

TEST_CASE("a difference: without the time between steps both end with the optimizer") {
  Workload last = alone();
  last.iteration.reset();
  const StepDifference answer =
      difference(step_breakdown(alone()).value(), step_breakdown(last).value());
  CHECK(answer.before.step == ms(40));
  CHECK(answer.change == Duration());
  CHECK(answer.missing.size() == 1);
}

/// Any recording the reader would take: windows, waits within them, all-reduces anywhere.
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
                     .launch = time(100) - ms(0.02),
                     .start = time(100) - ms(0.02),
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
    if (up_to(2) > 0) step.iteration = time(400) + ms(0.001);
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
                        .iteration = time(400) + ms(0.001),
                        .collectives = with.collectives};
      if (up_to(3) == 0) sample.iteration.reset();
      if (up_to(3) == 0) sample.backward.reset();
      step.steps.push_back(std::move(sample));
    }
    return step;
  }

  std::uint64_t random_;
};

TEST_CASE("a difference: of any two recordings rows sum, and nothing breaks") {
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
    // Of the kernels as both sides tell them.
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
