// SyncBatchNorm on the step of paper_step.hpp. p1 is the weight of a batch norm of a million
// channels. Its gradient is at 120 of 200 us of backward, so its layer is at 40 of 100 us of
// forward.
#include "sync_batch_norm.hpp"

#include <algorithm>
#include <memory>

#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "memory_parts.hpp"
#include "paper_step.hpp"
#include "planned_step.hpp"
#include "schedule_step.hpp"
#include "setting.hpp"

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
  options.ddp_to_set().sync_batchnorm = true;
  return options;
}

/// Both exchanges take 10 us.
RecordedModel exchanging(Duration first_bucket = 40_us) {
  return wire({first_bucket, 90_us, 20_us, 5_us, 10_us});
}

}  // namespace

TEST_CASE("sync batch norm: a layer exchanges in forward and in backward, and compute waits") {
  // Forward's exchange runs from 40 to 50, and forward ends at 110. Gradient p2 is ready at 160,
  // and bucket b0 is reduced until 200. Gradient p1 is computed at 230 and exchanged from 230 to
  // 240. Bucket b1 is reduced from 240 to 330. Backward ends at 320, and b2 at 350.
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
  // Bucket b0 is reduced from 160 to 260. The exchange of p1 runs from 260 to 270, although p1 is
  // computed at 230. Bucket b1 runs from 270 to 360. Backward ends at 350.
  const StepTimes times = step_with(synced(free_of_costs()), normed(), exchanging(100_us)).times;
  CHECK(times.sync_batchnorm == 50_us);
  CHECK(times.iteration == 410_us);
}

TEST_CASE("sync batch norm: the host launches, and reads back three times what was gathered") {
  // Forward: two kernels (5 us each) and the all-gather are launched at 50, and it runs from 62 to
  // 72. The compute stream continues at 75. The host reads three times (52 us each) and launches
  // three kernels until 246. Forward ends at 306.
  //
  // Backward: b0 is ready at 356, copied at 363 and reduced from 366 to 406. Gradient p1 is
  // computed at 433, exchanged from 436 to 446, and compute continues at 449. It is copied at 460,
  // and b1 is reduced from 463 to 553. Backward ends at 545, and b2 at 573. Copies out end at 552
  // and 567; the last runs from 576 to 581.
  SimulationOptions options = synced(all_costs());
  const StepResult step = step_with(options, normed(), exchanging());
  CHECK(differences(step.times, {.iteration = 611_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 150_us,
                                 .exposed_communication = 28_us,
                                 .overlap = 1 - 28 / 150.0,
                                 .finalize = 5_us,
                                 .optimizer = 30_us,
                                 .sync_batchnorm = 222_us,
                                 .stall = 3_us}) == "");
  CHECK(step.buckets[0].launch == TimePoint(296_us));
  // One read is 104 us less, and the rebuild stays the same.
  options.torch = {1, 12};
  CHECK(step_with(options, normed(), exchanging()).times.sync_batchnorm == 118_us);
  CHECK(blocking_reads({1, 13}) == 3);
}

TEST_CASE("sync batch norm: the host launches seven kernels and two exchanges a layer") {
  Workload launched = normed();
  launched.launches = Launches{.forward = 10, .backward = {4, 4, 4}, .optimizer = 2};
  const auto host = [&](const SimulationOptions& options) {
    return step_with(options, launched, exchanging()).times.host.value_or(Duration());
  };
  CHECK(host(synced(all_costs())) - host(all_costs()) == 5_us * 7 + 40_us * 2);
}

TEST_CASE("sync batch norm: a host that keeps up loses its advance when it reads") {
  SimulationOptions options = synced(free_of_costs());
  options.costs.host_kernel = 12_us;
  options.costs.host_copy_kernel = 0_us;
  Workload launched = normed();
  launched.launches = Launches{.forward = 10, .backward = {4, 4, 4}, .optimizer = 2};
  const StepTimes times = step_with(options, launched, exchanging()).times;
  CHECK(times.host == 288_us);
  CHECK(step_with(options, normed(), exchanging()).times.iteration == 380_us);
  // The all-gather ends at 50. Then forward's sixth kernel is launched at 122 and ends at 132
  // instead of 110. The next one, of backward, is launched at 134. From then on the GPU is slower
  // than the host.
  CHECK(times.iteration == 404_us);
}

TEST_CASE("sync batch norm: micro-batches under no_sync also exchange") {
  // The first one exchanges from 40 to 50 and from 230 to 240. Forward starts again at 320: 360 to
  // 370 and 550 to 560. The last bucket ends at 670.
  SimulationOptions options = synced(free_of_costs());
  options.accumulate = 2;
  const StepTimes times = step_with(options, normed(), exchanging()).times;
  CHECK(times.sync_batchnorm == 40_us);
  CHECK(times.iteration == 700_us);
}

TEST_CASE("sync batch norm: under no_sync every kernel is launched once, plus each layer's own") {
  Workload launched = normed();
  launched.launches = Launches{.forward = 10, .backward = {4, 5, 6}, .optimizer = 2};
  SimulationOptions options = all_costs();
  options.costs.host_kernel = 12_us;
  const auto host = [&](bool exchanges, int micro_batches) {
    SimulationOptions all = options;
    all.ddp_to_set().sync_batchnorm = exchanges;
    all.accumulate = micro_batches;
    return step_with(all, launched, exchanging()).times.host.value_or(Duration());
  };
  for (const int micro_batches : {1, 2, 3}) {
    CAPTURE(micro_batches);
    CHECK(host(true, micro_batches) - host(false, micro_batches) ==
          (5_us * 7 + 40_us * 2) * micro_batches);
  }
}

TEST_CASE("sync batch norm: static_graph's first iteration exchanges before it launches buckets") {
  // There is one bucket, so an exchange takes as long as the third recorded collective: 20 us.
  SimulationOptions options = synced(all_costs());
  options.ddp_to_set().static_graph = true;
  options.iterations = 1;
  const SimulationResult result = simulated(options, normed(), exchanging());
  CHECK(result.step.times.sync_batchnorm > 180_us);
  const std::string spans = drawn(result.timeline.ranks.at(0));
  CHECK(spans.find("communication SyncBatchNorm: 62 to 82\n") != std::string::npos);
}

TEST_CASE("sync batch norm: what it exchanges, by rank and channel") {
  const SimulationOptions options = synced(free_of_costs());
  const auto collectives = [&](const Workload& step, int ranks) {
    const Job job(step, gpus(ranks), options, exchanging());
    return schedule_step(job, steady_buckets(step, options.ddp(), options.torch), {}, {})
        .schedule.collectives;
  };
  const auto two = collectives(normed(), 2);
  REQUIRE(two.size() == 5);
  CHECK(two[3].kind == CollectiveKind::all_gather);
  CHECK(two[3].size == Bytes(2 * (2 * 1'000'000 + 1) * 4));
  CHECK(two[4].kind == CollectiveKind::all_reduce);
  CHECK(two[4].size == 8'000'000_B);
  CHECK(collectives(normed(), 4)[3].size == Bytes(4 * (2 * 1'000'000 + 1) * 4));
  CHECK(collectives(normed(), 1).size() == 3);  // no other rank
  CHECK(collectives(workload(), 2).size() == 3);
  Workload recorded = normed();
  recorded.recorded_with.sync_batchnorm = true;
  CHECK(collectives(recorded, 2).size() == 3);  // the recording contains them
  Workload half = normed();
  half.parameters[kP1].dtype = Dtype::float16;
  CHECK(collectives(half, 2)[4].size == 8'000'000_B);  // statistics are fp32
}

TEST_CASE("sync batch norm: ranks that differ still meet, but another order is refused") {
  Workload step = normed();
  RankRecording first;
  static_cast<Recorded&>(first) = step;
  RankRecording second = first;
  second.rank = 1;
  second.backward->ready[1].at = 130_us;
  step.ranks = {first, second};
  // Rank 1 reaches its all-reduce 10 us later, although it was at its all-gather 5 us earlier.
  CHECK(step_with(synced(free_of_costs()), step, exchanging()).times.sync_batchnorm >= 30_us);
  std::swap(step.ranks[1].backward->ready[0].parameter, step.ranks[1].backward->ready[1].parameter);
  const auto problem = cannot_simulate(Job(step, gpus(), synced(free_of_costs()), exchanging()));
  REQUIRE(problem);
  CHECK(problem->find("rank 1 wrote its gradients in another order") != std::string::npos);
  CHECK_FALSE(cannot_simulate(Job(step, gpus(), free_of_costs(), exchanging())));
}

TEST_CASE("sync batch norm: more exchanges than can be simulated are refused") {
  SimulationOptions options = synced(free_of_costs());
  options.accumulate = 500'001;
  const auto problem = cannot_simulate(Job(normed(), gpus(), options, exchanging()));
  REQUIRE(problem);
  CHECK(problem->find("exchange 1000002 times") != std::string::npos);
}

TEST_CASE("sync batch norm: groups of their own do not queue behind buckets, but share the links") {
  // As above, b0 would run from 160 to 260. The exchange of p1 starts at 230, and each gets half
  // the rate. So its 10 us take 20, and b0 ends at 270. Bucket b1 runs from 270 to 360. Backward
  // ends at 330, and b2 at 380.
  SimulationOptions options = synced(free_of_costs());
  options.ddp_to_set().sync_batchnorm_group = 2;
  const SimulationResult result = simulated(options, normed(), exchanging(100_us));
  CHECK(result.step.times.sync_batchnorm == 30_us);
  CHECK(result.step.buckets[0].end == TimePoint(270_us));
  CHECK(end_of_backward(result.step.times) == TimePoint(330_us));
  CHECK(result.step.times.iteration == 410_us);
  const std::string spans = drawn(result.timeline.ranks.at(0));
  CHECK(spans.find("communication SyncBatchNorm: 230 to 250\n") != std::string::npos);
  // If no bucket is in flight, nothing else changes.
  const StepTimes alone = step_with(synced(free_of_costs()), normed(), exchanging()).times;
  CHECK(differences(step_with(options, normed(), exchanging()).times, alone) == "");
}

TEST_CASE("sync batch norm: groups hold whole nodes and exchange among their ranks") {
  Cluster cluster = gpus(2);
  cluster.groups = {std::make_shared<const Cluster>(cluster)};
  cluster.nodes = 4;
  cluster.network = {.kind = NetworkKind::infiniband, .nics_per_node = 1, .per_nic = 1_GBps};
  const auto job = [&](int ranks) {
    SimulationOptions options = synced(free_of_costs());
    options.ddp_to_set().sync_batchnorm_group = ranks;
    return Job(normed(), cluster, options, AnalyticModel{});
  };
  const auto gathered = [&](int ranks) {
    const Job grouped = job(ranks);
    REQUIRE_FALSE(cannot_simulate(grouped));
    return schedule_step(grouped,
                         steady_buckets(normed(), grouped.options().ddp(), grouped.options().torch),
                         {}, {})
        .schedule.collectives[3];
  };
  CHECK(gathered(2).size == Bytes(2 * (2 * 1'000'000 + 1) * 4));
  CHECK(gathered(8).size == Bytes(8 * (2 * 1'000'000 + 1) * 4));
  CHECK(gathered(2).transfer ==
        plan(job(2).within(1), CollectiveKind::all_gather, gathered(2).size).transfer);
  // NCCL keeps the buffers of one more communicator.
  const Job of_all(normed(), cluster, synced(free_of_costs()), AnalyticModel{});
  CHECK(peak_memory(job(2)).nccl ==
        peak_memory(of_all).nccl + nccl_buffers(batch_norm_job(job(2))));
  const auto says = [&](int ranks, const char* text) {
    return cannot_simulate(job(ranks)).value_or("").find(text) != std::string::npos;
  };
  CHECK(says(3, "Give a multiple of 2 that divides 8"));
  CHECK(says(6, "Give a multiple of 2 that divides 8"));
  CHECK(says(4, "the cluster's nodes differ"));  // groups of two are unknown
  CHECK(batch_norm_job(job(2)).cluster().ranks() == 2);
  DdpOptions without;
  without.sync_batchnorm_group = 2;
  CHECK(unsupported(without, {2, 0}).value_or("").find("add --sync-batchnorm") !=
        std::string::npos);

  cluster.nodes = 2;
  SimulationOptions options = synced(free_of_costs());
  const std::vector<Setting> settings =
      settings_of(Job(normed(), cluster, options, AnalyticModel{}));
  const auto group = std::ranges::find(settings, "SyncBatchNorm over groups of 2", &Setting::name);
  REQUIRE(group != settings.end());
  CHECK(group->before.find("new_subgroups(2)") != std::string::npos);
}

TEST_CASE("sync batch norm: since 1.1, and not together with round-robin groups") {
  DdpOptions options{.sync_batchnorm = true};
  CHECK(unsupported(options, {1, 0}).value_or("").find("no SyncBatchNorm (it came with 1.1)") !=
        std::string::npos);
  CHECK_FALSE(unsupported(options, {1, 13}));
  options.process_groups = 2;
  CHECK(unsupported(options, {1, 13}).value_or("").find("--process-groups") != std::string::npos);
}
