// Two ranks that differ, and iterations of a training run, on the step of paper_step.hpp without
// costs.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// One bucket of 40 us that is ready at 290.
SimulationOptions one_bucket() {
  SimulationOptions options = free_of_costs();
  options.ddp_to_set().bucket_cap_mb = 25;
  return options;
}

}  // namespace

TEST_CASE("paper ranks: rank 0's wait for a straggler after its backward is exposed") {
  // Rank 1 computes 1.5 times as long. Its optimizer takes 45 us, so it begins every forward 15 us
  // after rank 0. Its forward runs from 15 to 165, its gradients exist at 240, 345 and 450, and its
  // backward ends at 465.
  //
  // Bucket b0 waits from 150 to 240, b1 from 280 to 345, b2 from 435 to 450. They end at 280, 435
  // and 470. Rank 0's backward ends at 300, so the 170 us until 470 are exposed, and 110 of them
  // are transfers.
  SimulationOptions options = free_of_costs();
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.5}};
  const SimulationResult result = simulated(options);
  CHECK(differences(result.step.times, {.iteration = 500_us,
                                        .forward = 100_us,
                                        .backward = 200_us,
                                        .backward_compute = 200_us,
                                        .communication = 150_us,
                                        .wait = 170_us,
                                        .exposed_communication = 170_us,
                                        .overlap = 1 - 110 / 150.0,
                                        .optimizer = 30_us}) == "");
  CHECK(differences(result.step.buckets,
                    {{150_us, 50_us, 150_us, 240_us, 280_us, 2'000'000_B, "", 1},
                     {220_us, 120_us, 280_us, 345_us, 435_us, 4'000'000_B, kInFront, 1},
                     {290_us, 190_us, 435_us, 450_us, 470_us, 1'000'000_B, kInFront, 1}}) == "");
  REQUIRE(result.ranks.size() == 2);
  CHECK(result.ranks[0].rank == 0);
  CHECK(result.ranks[0].wait == 170_us);
  CHECK(result.ranks[0].times_last == 0);
  CHECK(result.ranks[0].caused == Duration());
  CHECK(result.ranks[1].rank == 1);
  CHECK(result.ranks[1].wait == Duration());
  CHECK(result.ranks[1].times_last == 3);
  CHECK(result.ranks[1].caused == 170_us);
  REQUIRE(result.timeline.ranks.size() == 2);
  CHECK(result.timeline.ranks[1].rank == 1);
  CHECK(drawn(result.timeline.ranks[1]) == R"(
compute forward: 15 to 165
compute backward 0: 165 to 465
communication all_reduce 0: 240 to 280
communication all_reduce 1: 345 to 435
communication all_reduce 2: 450 to 470
compute optimizer: 470 to 515)");
}

TEST_CASE("paper ranks: rank 0 as the straggler waits for nobody") {
  // Its own step takes 150 for forward, until 450 for backward, from 435 to 455 for b2, and until
  // 500 for the optimizer.
  SimulationOptions options = free_of_costs();
  options.variation.stragglers = {{.rank = 0, .slowdown = 1.5}};
  const SimulationResult result = simulated(options);
  CHECK(differences(result.step.times, {.iteration = 515_us - 15_us,
                                        .forward = 150_us,
                                        .backward = 300_us,
                                        .backward_compute = 300_us,
                                        .communication = 150_us,
                                        .exposed_communication = 5_us,
                                        .overlap = 1 - 5 / 150.0,
                                        .optimizer = 45_us}) == "");
  CHECK(result.ranks.at(1).wait > Duration());
  CHECK(result.ranks.at(0).caused == result.ranks.at(1).wait);
}

TEST_CASE("paper ranks: with four ranks, the last one causes the others' waits") {
  SimulationOptions options = one_bucket();
  options.variation.stragglers = {{.rank = 2, .slowdown = 1.5}};
  const SimulationResult result = simulated(options, workload(), wire(), gpus(4));
  // Rank 2 is ready at 15 + 435, all others at 290, so the others wait 160 us each.
  const StepResult& step = result.step;
  CHECK(differences(step.buckets, {{290_us, 190_us, 290_us, 450_us, 490_us, 7'000'000_B,
                                    "waited for rank 2", 2}}) == "");
  CHECK(step.times.wait == 160_us);
  CHECK(step.times.exposed_communication == 190_us);
  CHECK(*step.times.overlap == 0);
  CHECK(result.ranks.at(2).caused == 480_us);
  CHECK(result.ranks.at(2).times_last == 1);
  CHECK(result.ranks.at(3).wait == 160_us);
}

TEST_CASE("paper ranks: if all ranks behave alike, no waits are listed") {
  SimulationOptions options = one_bucket();
  CHECK(simulated(options, workload(), wire(), gpus(4)).ranks.empty());
  options.variation.stragglers = {{.rank = 1, .slowdown = 1}};
  CHECK(simulated(options, workload(), wire(), gpus(4)).ranks.empty());
}

TEST_CASE("paper ranks: ranks that are equally late share the waits they cause") {
  SimulationOptions options = one_bucket();
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.5}, {.rank = 2, .slowdown = 1.5}};
  const SimulationResult result = simulated(options, workload(), wire(), gpus(4));
  for (const int rank : {1, 2}) {
    CHECK(result.ranks.at(static_cast<std::size_t>(rank)).caused == 160_us);
    CHECK(result.ranks.at(static_cast<std::size_t>(rank)).times_last == 1);
  }
  CHECK(result.timeline.ranks.size() == 2);  // equal ranks are simulated once
}

TEST_CASE("paper ranks: a recorded stall holds every rank back equally, once a micro-batch") {
  // The stall is 30 us between steps. Rank 1 still begins 15 us after rank 0.
  Workload step = workload();
  step.iteration = 360_us;
  SimulationOptions options = one_bucket();
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.5}};
  CHECK(step_with(options, step).buckets[0].last_arrival == TimePoint(450_us));
  // If ranks stall differently, the later one begins later. Rank 1 computes like rank 0 and stalls
  // 40 us longer, so it begins 40 us later; with two micro-batches 80 us.
  RankRecording first;
  static_cast<Recorded&>(first) = step;
  RankRecording second = first;
  second.rank = 1;
  second.iteration = 400_us;
  step.ranks = {first, second};
  options.variation = {};
  options.iterations = 3;
  const SimulationResult run = simulated(options, step);
  CHECK(run.iterations[0].buckets[0].last_arrival == TimePoint(290_us));
  CHECK(run.iterations[2].buckets[0].last_arrival == TimePoint(330_us));
  CHECK(run.iterations[2].buckets[0].last_rank == 1);
  options.accumulate = 2;
  const SimulationResult two = simulated(options, step);
  CHECK(two.iterations[2].times.wait == 80_us);
}

TEST_CASE("paper ranks: a first iteration begins staggered, the second where the first ended") {
  // Rank 1 begins 40 us later, so the only bucket runs from 330 to 370. Then buckets are rebuilt by
  // two broadcasts of 40 and 90 us before the forward. From the third iteration on, it is the step
  // without costs.
  SimulationOptions options = free_of_costs();
  options.iterations = 3;
  options.variation.stagger = 40_us;
  const SimulationResult result = simulated(options);
  REQUIRE(result.iterations.size() == 3);
  CHECK(differences(result.iterations[0].times, {.iteration = 400_us,
                                                 .forward = 100_us,
                                                 .backward = 200_us,
                                                 .backward_compute = 200_us,
                                                 .communication = 40_us,
                                                 .wait = 40_us,
                                                 .exposed_communication = 70_us,
                                                 .overlap = 0,
                                                 .optimizer = 30_us}) == "");
  CHECK(differences(result.iterations[1].times, {.iteration = 490_us,
                                                 .forward = 230_us,
                                                 .backward = 200_us,
                                                 .backward_compute = 200_us,
                                                 .communication = 150_us,
                                                 .exposed_communication = 30_us,
                                                 .overlap = 0.8,
                                                 .optimizer = 30_us}) == "");
  CHECK(result.iterations[2].times.iteration == 360_us);
  CHECK(result.step.iteration == 3);
  CHECK(result.step.times.iteration == 360_us);
  REQUIRE(result.statistics);
  CHECK(result.statistics->first == 3);
  CHECK(result.statistics->count == 1);
  CHECK(result.statistics->mean.iteration == 360_us);
  CHECK(result.ranks.at(0).wait == 40_us);
  CHECK(result.ranks.at(1).times_last == 1);
}

TEST_CASE("paper ranks: rebuilding buckets is two broadcasts, each a round trip of the host") {
  // The first iteration has one bucket for everything, in the order of definition. In the second,
  // the first broadcast runs from 3 to 43 and is back after 12 + 40 at 95. The second runs from 98
  // to 188 and is back at 240. The step with all costs follows 240 us later.
  SimulationOptions options = all_costs();
  options.iterations = 3;
  const SimulationResult result = simulated(options);
  CHECK(result.iterations[0].times.iteration == 412_us);
  CHECK(result.iterations[0].buckets[0].bucket.parameters ==
        std::vector<std::size_t>{kP0, kP1, kP2});
  StepTimes expected = times_with_all_costs();
  expected.forward = 340_us;
  expected.iteration = 629_us;
  CHECK(differences(result.iterations[1].times, expected) == "");
  CHECK(differences(result.iterations[2].times, times_with_all_costs()) == "");
  CHECK(drawn(simulated([] {
                SimulationOptions two = all_costs();
                two.iterations = 2;
                return two;
              }())
                  .timeline.ranks[0])
            .find("communication rebuild buckets: 98 to 188\n") != std::string::npos);
}

TEST_CASE("paper ranks: buckets that are never rebuilt are steady from the second iteration on") {
  SimulationOptions options = free_of_costs();
  options.ddp_to_set().find_unused_parameters = true;
  options.iterations = 3;
  const SimulationResult result = simulated(options);
  for (const StepResult& step : result.iterations) CHECK(step.times.iteration == 365_us);
  CHECK(result.iterations[1].iteration == 2);
  REQUIRE(result.statistics);
  CHECK(result.statistics->first == 2);
  CHECK(result.statistics->count == 2);
}

TEST_CASE("paper ranks: a training run begins with the recorded offsets, at this GPU's speed") {
  // Rank 1 was recorded 60 us after rank 0. On a GPU twice as fast this is 30 us. The only bucket
  // of the first iteration is ready at 145. From then on the ranks leave together.
  Workload step = workload();
  RankRecording first;
  static_cast<Recorded&>(first) = step;
  RankRecording second = first;
  second.rank = 1;
  second.offset = 60_us;
  step.ranks = {first, second};
  SimulationOptions options = free_of_costs();
  options.compute_scale = 2;
  options.iterations = 2;
  const SimulationResult result = simulated(options, step);
  CHECK(result.iterations[0].times.wait == 30_us);
  CHECK(result.iterations[0].buckets[0].last_arrival == TimePoint(175_us));
  CHECK(result.iterations[1].times.wait == Duration());
  // A staggered start is added to it, and does not scale.
  options.variation.stagger = 10_us;
  CHECK(simulated(options, step).iterations[0].times.wait == 40_us);
}

TEST_CASE("paper ranks: static_graph's first iteration copies and launches after backward") {
  // All gradients exist at 290, and backward ends at 300. The host reaches the last one at 190, and
  // launches the map (230) and the bucket (270).
  //
  // The map is copied to the device from 300 to 303 (and 24 ps) and all-reduced from 306 to 311.
  // Copies into the bucket run from 303 to 326, its all-reduce from 329 to 369, and copies out from
  // 372 to 395. The second iteration still has one bucket, launched in backward. The third one
  // rebuilds.
  SimulationOptions options = all_costs();
  options.ddp_to_set().static_graph = true;
  options.iterations = 4;
  const Duration map_copy = 3_us + Duration::picoseconds(24);
  const SimulationResult result = simulated(options, workload(), wire({40_us, 5_us, 20_us}));
  CHECK(differences(result.iterations[0].times, {.iteration = 422_us + map_copy,
                                                 .forward = 100_us,
                                                 .backward = 223_us + map_copy,
                                                 .backward_compute = 200_us,
                                                 .copies_in = 23_us + map_copy,
                                                 .communication = 45_us,
                                                 .exposed_communication = 40_us,
                                                 .overlap = 1 - 40 / 45.0,
                                                 .finalize = 23_us,
                                                 .optimizer = 30_us,
                                                 .stall = 6_us}) == "");
  CHECK(differences(result.iterations[0].buckets,
                    {{290_us, 270_us, 326_us + map_copy, 326_us + map_copy, 366_us + map_copy,
                      7'000'000_B, kReadyLast}}) == "");
  CHECK(result.iterations[1].times.iteration == 412_us);
  CHECK(result.iterations[1].buckets.size() == 1);
  CHECK(result.iterations[2].buckets.size() == 3);
  // The broadcasts take 40 and 5 us: 3 to 43, back at 95, 98 to 103, back at 155.
  CHECK(result.iterations[2].times.forward == 255_us);
  CHECK(result.iterations[3].times.forward == 100_us);
  CHECK(result.statistics->first == 4);
}

TEST_CASE("paper ranks: jitter draws a factor per rank and iteration") {
  // Seed 1 at 5 % draws 0.970286 for rank 0 and 0.962717 for rank 1 in the first iteration. Rank 0
  // is last: its bucket is ready after 290 us of compute. Then 40 us of transfer and 30 us of
  // optimizer follow.
  SimulationOptions options = one_bucket();
  options.iterations = 1;
  options.variation = {.jitter = 0.05, .seed = 1};
  const SimulationResult result = simulated(options);
  CHECK(result.step.buckets[0].last_rank == 0);
  const auto close = [](Duration a, Duration b) { return a - b <= 10_ps && b - a <= 10_ps; };
  CHECK(close(result.step.times.forward, 97.0286_us));
  CHECK(close(result.step.times.iteration, Duration::microseconds(320 * 0.970286 + 40)));
  CHECK(close(result.ranks.at(1).wait, Duration::microseconds(290 * (0.970286 - 0.962717))));
}
