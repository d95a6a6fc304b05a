// Workloads recorded on several ranks: each rank replays its own recording.
#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::small;

namespace {

/// One gradient that is ready at `at_us` of a backward of 100 us, after a forward of 50 us.
Workload one_gradient(double at_us) {
  return chain({{4 * kMiB, at_us}}, 50, 100, 10);
}

RankRecording as_rank(int rank, const Workload& recorded, Duration offset) {
  RankRecording recording;
  static_cast<Recorded&>(recording) = recorded;
  recording.rank = rank;
  recording.offset = offset;
  return recording;
}

/// Rank 0's gradient is ready at 60 us of its backward, rank 1's at `other_us` of its own.
Workload two_ranks(double other_us, Duration offset) {
  Workload workload = one_gradient(60);
  workload.ranks = {as_rank(0, workload, {}), as_rank(1, one_gradient(other_us), offset)};
  return workload;
}

SimulationResult simulated_group(const Workload& workload, int ranks) {
  return simulate(
      Job(workload, node(ranks), bare(), RecordedModel{.durations = {20_us}, .channels = 0}));
}

}  // namespace

TEST_CASE("ranks: the rank whose gradient is late is named as the one others wait for") {
  const SimulationResult result = simulated_group(two_ranks(95, {}), 2);
  const BucketResult& bucket = result.step.buckets.at(0);
  CHECK(bucket.start == TimePoint(110_us));
  CHECK(bucket.last_arrival == TimePoint(145_us));
  CHECK(bucket.last_rank == 1);
  CHECK(bucket.end == TimePoint(165_us));
  CHECK(result.step.times.wait == 35_us);
  CHECK(result.step.times.communication == 20_us);
}

TEST_CASE("ranks: a rank that begins its step later arrives later") {
  const SimulationResult result = simulated_group(two_ranks(60, 30_us), 2);
  CHECK(result.step.buckets.at(0).last_rank == 1);
  CHECK(result.step.times.wait == 30_us);
}

TEST_CASE("ranks: a rank that began earlier waits for rank 0, whose own times stay the same") {
  const SimulationResult result = simulated_group(two_ranks(60, -30_us), 2);
  const BucketResult& bucket = result.step.buckets.at(0);
  CHECK(bucket.last_rank == 0);
  CHECK(bucket.start == TimePoint(110_us));
  CHECK(bucket.end == TimePoint(130_us));
  CHECK(result.step.times.wait == Duration());
  CHECK(result.step.times.forward == 50_us);
  CHECK(result.step.times.backward == 100_us);
  // Rank 1 is drawn from before time zero, because it began then.
  REQUIRE(result.timeline.ranks.size() == 2);
  CHECK(result.timeline.ranks[1].spans.front().start == TimePoint(-30_us));
}

TEST_CASE("ranks: equal ranks that begin together are simulated as one rank") {
  const SimulationResult twins = simulated_group(two_ranks(60, {}), 2);
  const SimulationResult alone = simulated_group(one_gradient(60), 2);
  CHECK(twins.step.times.iteration == alone.step.times.iteration);
  CHECK(twins.step.times.wait == Duration());
  CHECK(twins.step.buckets.at(0).end == alone.step.buckets.at(0).end);
}

TEST_CASE("ranks: more GPUs than recordings repeat them, so a straggler is found there too") {
  const SimulationResult result = simulated_group(two_ranks(95, {}), 8);
  CHECK(result.step.times.wait == 35_us);
  CHECK(result.step.buckets.at(0).last_rank == 1);  // the first of ranks 1, 3, 5, 7
  CHECK(result.timeline.ranks.size() == 2);         // equal ranks are simulated once
}

TEST_CASE("ranks: fewer GPUs than recordings leave the later ones out") {
  const SimulationResult result = simulated_group(two_ranks(95, {}), 1);
  CHECK(result.step.times.wait == Duration());
  CHECK(result.timeline.ranks.size() == 1);
}

TEST_CASE("ranks: a rank replays its own recording; others repeat recordings from the first on") {
  Workload workload;
  CHECK_FALSE(recording_of(workload, 3).has_value());
  workload.ranks.resize(3);
  workload.ranks[0].rank = 1;  // 0 and 3 are missing
  workload.ranks[1].rank = 2;
  workload.ranks[2].rank = 4;
  const std::vector<std::size_t> expected = {0, 0, 1, 0, 2, 2, 0};
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    CHECK(recording_of(workload, static_cast<int>(rank)) == expected[rank]);
}

TEST_CASE("ranks: a faster GPU shrinks the offsets like all recorded times") {
  SimulationOptions options = bare();
  options.compute_scale = 2;
  const SimulationResult result = simulate(Job(two_ranks(60, 30_us), node(2), options,
                                               RecordedModel{.durations = {20_us}, .channels = 0}));
  CHECK(result.step.times.wait == 15_us);
}

TEST_CASE("ranks: a gradient missing on one rank is refused with that rank's number") {
  Workload workload = two_ranks(60, {});
  workload.ranks[1].backward->ready.clear();
  CHECK(cannot_simulate(Job(workload, node(2), bare(), FreeModel{}))->find("timing on rank 1") !=
        std::string::npos);
  workload = two_ranks(60, {});
  workload.parameters.push_back({.name = "late", .shape = {{4}}, .device = ""});
  workload.backward->ready.push_back({.parameter = 1, .at = 90_us, .copied_at = {}});
  workload.ranks[0].backward = workload.backward;
  CHECK(cannot_simulate(Job(workload, node(2), bare(), FreeModel{}))->find("on rank 1") !=
        std::string::npos);
}
