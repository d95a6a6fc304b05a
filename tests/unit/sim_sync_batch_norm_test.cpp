// SyncBatchNorm on the step of paper_step.hpp: p1 is the weight of a batch norm of a million channels. It lies at 120 of
// 200 us of backward, so at 40 of 100 us of forward.
#include "sync_batch_norm.hpp"

#include "paper_step.hpp"
#include "reducer.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

Workload normed() {
  Workload step = workload();
  step.parameters[kP1].batch_norm = true;
  return step;
}

SimulationOptions synced(SimulationOptions options) {
  options.ddp.sync_batchnorm = true;
  return options;
}

/// Either exchange takes 10 us.
RecordedModel exchanging(Duration first_bucket = 40_us) {
  return wire({first_bucket, 90_us, 20_us, 5_us, 10_us});
}

}  // namespace

TEST_CASE("sync batch norm: a layer exchanges in forward and in backward, and compute waits") {
  // Gathered 40 to 50, forward ends at 110. p2 at 160, b0 to 200; p1 computed at 230, exchanged 230 to 240; b1 240 to
  // 330, backward ends at 320, b2 to 350.
  const StepResult step = step_with(synced(free_of_costs()), normed(), exchanging());
  CHECK(differences(step.times, {.iteration = 380_us,
                                 .forward = 100_us,
                                 .backward = 200_us,
                                 .backward_compute = 200_us,
                                 .communication = 150_us,
                                 .exposed_communication = 30_us,
                                 .overlap = 1 - 30 / 150.0,
                                 .optimizer = 30_us,
                                 .sync_batchnorm = 20_us}) == "");
  CHECK(step.buckets[1].ready == TimePoint(240_us));
  CHECK(end_of_backward(step.times) == TimePoint(320_us));
}

TEST_CASE("sync batch norm: the exchange of backward queues behind the bucket in flight") {
  // b0 160 to 260, p1's exchange 260 to 270 although computed at 230; b1 270 to 360, backward ends at 350.
  const StepTimes times = step_with(synced(free_of_costs()), normed(), exchanging(100_us)).times;
  CHECK(times.sync_batchnorm == 50_us);
  CHECK(times.iteration == 410_us);
}

TEST_CASE("sync batch norm: the host launches, and thrice reads back what was gathered") {
  // Launched at 40, gathered 52 to 62; the compute stream passes at 65, and the host reads thrice (52 us each): 221.
  // Forward ends at 281. b0 ready 331, copied 338, 341 to 381. p1 computed at 408, exchanged 411 to 421, goes on at 424;
  // copied 435, b1 438 to 528. Backward ends at 520, b2 548; copies out to 527, 542 and 551 to 556.
  SimulationOptions options = synced(all_costs());
  const StepResult step = step_with(options, normed(), exchanging());
  CHECK(differences(step.times, {.iteration = 586_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 150_us,
                                 .exposed_communication = 28_us,
                                 .overlap = 1 - 28 / 150.0,
                                 .finalize = 5_us,
                                 .optimizer = 30_us,
                                 .sync_batchnorm = 197_us,
                                 .stall = 3_us}) == "");
  CHECK(step.buckets[0].launch == TimePoint(271_us));
  options.ddp.torch = {1, 12};  // one read: 104 us less, and the rebuild is as before
  CHECK(step_with(options, normed(), exchanging()).times.sync_batchnorm == 93_us);
  CHECK(blocking_reads({1, 13}) == 3);
}

TEST_CASE("sync batch norm: micro-batches under no_sync exchange, too") {
  // 40 to 50 and 230 to 240, then forward from 320: 360 to 370 and 550 to 560; the last bucket ends at 670.
  SimulationOptions options = synced(free_of_costs());
  options.ddp.accumulate = 2;
  const StepTimes times = step_with(options, normed(), exchanging()).times;
  CHECK(times.sync_batchnorm == 40_us);
  CHECK(times.iteration == 700_us);
}

TEST_CASE("sync batch norm: static_graph's first iteration exchanges before it launches buckets") {
  // Of one bucket, so that an exchange takes as long as the third of the wire: 20 us.
  SimulationOptions options = synced(all_costs());
  options.ddp.static_graph = true;
  options.iterations = 1;
  const SimulationResult result = simulated(options, normed(), exchanging());
  CHECK(result.step.times.sync_batchnorm > 180_us);
  const std::string spans = drawn(result.timeline.ranks.at(0));
  CHECK(spans.find("communication SyncBatchNorm: 52 to 72\n") != std::string::npos);
}

TEST_CASE("sync batch norm: what it exchanges, by rank and channel") {
  const SimulationOptions options = synced(free_of_costs());
  const auto collectives = [&](const Workload& step, int ranks) {
    const Job job(step, gpus(ranks), options, exchanging());
    return schedule_step(job, steady_buckets(step, options.ddp), {}, {}).schedule.collectives;
  };
  const auto two = collectives(normed(), 2);
  REQUIRE(two.size() == 5);
  CHECK(two[3].kind == CollectiveKind::all_gather);
  CHECK(two[3].size == Bytes(2 * (2 * 1'000'000 + 1) * 4));
  CHECK(two[4].kind == CollectiveKind::all_reduce);
  CHECK(two[4].size == 8'000'000_B);
  CHECK(collectives(normed(), 4)[3].size == Bytes(4 * (2 * 1'000'000 + 1) * 4));
  CHECK(collectives(normed(), 1).size() == 3);  // nobody to exchange with
  CHECK(collectives(workload(), 2).size() == 3);
  Workload recorded = normed();
  recorded.recorded_with.sync_batchnorm = true;
  CHECK(collectives(recorded, 2).size() == 3);  // in the recording
  Workload half = normed();
  half.parameters[kP1].dtype = Dtype::float16;
  CHECK(collectives(half, 2)[4].size == 8'000'000_B);  // statistics are fp32
}

TEST_CASE("sync batch norm: ranks that differ still meet; those of another order are refused") {
  Workload step = normed();
  RankRecording first;
  static_cast<Recorded&>(first) = step;
  RankRecording second = first;
  second.rank = 1;
  second.backward->ready[1].at = 130_us;
  step.ranks = {first, second};
  // Rank 1 comes to its all-reduce 10 us later, having been at its all-gather 5 us sooner.
  CHECK(step_with(synced(free_of_costs()), step, exchanging()).times.sync_batchnorm >= 30_us);
  std::swap(step.ranks[1].backward->ready[0].parameter, step.ranks[1].backward->ready[1].parameter);
  const auto problem = cannot_simulate(Job(step, gpus(), synced(free_of_costs()), exchanging()));
  REQUIRE(problem);
  CHECK(problem->find("rank 1 wrote its gradients in another order") != std::string::npos);
  CHECK_FALSE(cannot_simulate(Job(step, gpus(), free_of_costs(), exchanging())));
}

TEST_CASE("sync batch norm: more exchanges than can be simulated are refused") {
  SimulationOptions options = synced(free_of_costs());
  options.ddp.accumulate = 500'001;
  const auto problem = cannot_simulate(Job(normed(), gpus(), options, exchanging()));
  REQUIRE(problem);
  CHECK(problem->find("exchange 1000002 times") != std::string::npos);
}

TEST_CASE("sync batch norm: since 1.1, and not beside round-robin groups") {
  DdpOptions options{.torch = {1, 0}, .sync_batchnorm = true};
  CHECK(unsupported(options).value_or("").find("no SyncBatchNorm (it came with 1.1)") !=
        std::string::npos);
  options.torch = {1, 13};
  CHECK_FALSE(unsupported(options));
  options.process_groups = 2;
  CHECK(unsupported(options).value_or("").find("--process-groups") != std::string::npos);
}
