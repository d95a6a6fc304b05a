// Waits for batches, for the step of paper_step.hpp. It takes 360 us, or 389 with every cost.
#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

#include <algorithm>
#include <vector>

#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

SimulationOptions loaded(int workers, Duration batch, SimulationOptions options = free_of_costs()) {
  options.data_loader = DataLoader{.num_workers = workers, .batch = batch};
  return options;
}

Duration sum_of_parts(const StepTimes& times) {
  return times.forward + times.backward + times.sync_batchnorm + times.slowest_gpu +
         times.unexplained + times.exposed_communication + times.finalize + times.optimizer +
         times.model_averaging + times.stall;
}

}  // namespace

TEST_CASE(
    "data supply: the slower of loader and step sets the pace, and the wait is part of the step") {
  struct Case {
    int workers;
    Duration batch, iteration;
  };
  for (const Case& one : {Case{1, 500_us, 500_us}, Case{2, 900_us, 450_us}, Case{3, 900_us, 360_us},
                          Case{0, 500_us, 860_us}, Case{1, 360_us, 360_us}}) {
    const int workers = one.workers;
    const Duration batch = one.batch;
    const Duration iteration = one.iteration;
    CAPTURE(workers);
    const StepResult step = step_with(loaded(workers, batch));
    const StepTimes& times = step.times;
    CHECK(times.iteration == iteration);
    CHECK(times.stall == iteration - 360_us);
    CHECK(times.loss[LossCause::input] == times.stall);
    CHECK(sum_of_parts(times) == times.iteration);
    CHECK(times.alone() == step_with(free_of_costs()).times.alone());
    REQUIRE(step.data);
    CHECK(step.data->step_without == 360_us);
    CHECK(step.data->wait == times.stall);
    CHECK(step.data->cause == (times.stall > 0_us ? SupplyCause::workers : SupplyCause::none));
    CHECK(simulate_times(Job(workload(), gpus(), loaded(workers, batch), wire())).iteration ==
          iteration);
  }
}

TEST_CASE(
    "data supply: the least number of workers that keep up, and the first steps of an epoch") {
  const DataSupply supply = *step_with(loaded(2, 900_us)).data;
  CHECK(supply.interval == 450_us);
  CHECK(supply.least_workers == 3);
  CHECK(supply.first_wait == 900_us);
  CHECK(supply.warm_up_steps == 2);
  CHECK(supply.warm_up_extra == 720_us);  // 900 instead of 2 x 90
  SimulationOptions run = loaded(1, 500_us);
  run.iterations = 3;
  const SimulationResult first = simulated(run);
  REQUIRE(first.iterations.size() == 3);
  CHECK(first.iterations[0].times.loss[LossCause::input] == 500_us);
  // A batch arrives every 500 us. The step waits for the rest of that after the step before.
  for (const std::size_t k : {1u, 2u}) {
    const StepTimes& before = first.iterations[k - 1].times;
    CHECK(first.iterations[k].times.loss[LossCause::input] ==
          500_us - (before.iteration - before.loss[LossCause::input]));
  }
}

TEST_CASE("data supply: ranks of a node share its cores and its storage") {
  SimulationOptions options = loaded(4, 100_us);
  // Two ranks share the core: a batch takes 200 us of it.
  options.data_loader->cores = 1;
  CHECK(step_with(options).data->interval == 200_us);
  options.data_loader->batch = 400_us;
  const DataSupply cores = *step_with(options).data;
  CHECK(cores.cause == SupplyCause::cores);
  CHECK_FALSE(cores.least_workers);
  options = loaded(4, 10_us);
  options.data_loader->storage = 1_GBps;
  options.data_loader->sample_bytes = 300'000_B;  // a batch of one sample
  const StepResult storage = step_with(options);
  CHECK(storage.data->cause == SupplyCause::storage);
  CHECK(storage.times.iteration == 600_us);
  // There are two ranks on the node. Without waits they read two samples per step.
  REQUIRE(storage.data->storage_demand);
  CHECK(storage.data->storage_demand->bytes_per_second() ==
        doctest::Approx(2 * 300'000 / storage.data->step_without.seconds()));
}

TEST_CASE("data supply: a shared storage serves all nodes at the rate of one") {
  DataLoader loader{.num_workers = 4, .sample_bytes = 300'000_B, .storage = 1_GBps};
  Cluster cluster;
  cluster.nodes = 8;
  cluster.gpus_per_node = 2;
  CHECK(seconds_of_a_batch(loader, 1, cluster) == doctest::Approx(600e-6));
  loader.storage_shared = true;
  CHECK(seconds_of_a_batch(loader, 1, cluster) == doctest::Approx(8 * 600e-6));
}

TEST_CASE("data supply: the copy before each step adds to it, pinned or not") {
  SimulationOptions options = loaded(2, 100_us);
  DataLoader& loader = *options.data_loader;
  loader.batch_bytes = 100'000_B;
  loader.pcie = 10_GBps;
  loader.pin = 5_GBps;
  CHECK(step_with(options).times.iteration == 380_us);  // staged at 5 GB/s
  loader.pin_memory = true;
  const StepResult pinned = step_with(options);
  CHECK(pinned.times.iteration == 370_us);
  CHECK(pinned.data->cause == SupplyCause::copy);
  CHECK(pinned.data->copy == 10_us);
}

TEST_CASE("data supply: each micro-batch takes a batch") {
  SimulationOptions options = free_of_costs();
  options.accumulate = 2;
  const Duration plain = step_with(options).times.iteration;
  options = loaded(1, 500_us, options);
  CHECK(plain < 1000_us);
  CHECK(step_with(options).times.iteration == 1000_us);
}

TEST_CASE("data supply: the wait is drawn after the step") {
  const SimulationResult result =
      simulate(Job(workload(), gpus(), loaded(1, 500_us), wire()), nullptr, WithTimeline::yes);
  const auto& spans = result.timeline.ranks.front().spans;
  const auto wait = std::ranges::find(spans, "waits for data", &Span::name);
  REQUIRE(wait != spans.end());
  CHECK(wait->start == TimePoint(360_us));
  CHECK(wait->end == TimePoint(500_us));
}

TEST_CASE("data supply: workers that limited a recording also limit the prediction") {
  Workload step = workload();
  step.iteration = 450_us;  // a pause of 120 after 330 of work
  step.data_loading =
      DataLoading{.median = 100_us, .p90 = 110_us, .mean = 100_us, .count = 9, .interval = {}};
  CHECK(waited_for_data(step) == 100_us);
  CHECK(supply_interval(step) == 450_us);
  for (const auto& [mean, waits] : {std::pair(4_us, false), {5_us, true}, {8_us, true}}) {
    // A mean wait counts from 1 % of a step on.
    Workload other = step;
    other.data_loading->mean = mean;
    CHECK(supply_interval(other).has_value() == waits);
  }
  // As far as known, the workers kept up, so the pause is replayed.
  StepResult result = step_with(free_of_costs(), step);
  CHECK(result.times.iteration == 480_us);
  CHECK_FALSE(result.data->simulated);
  step.data_loading->interval = 450_us;
  result = step_with(free_of_costs(), step);  // 380 us and the wait
  CHECK(result.times.iteration == 450_us);
  CHECK(result.data->wait == 70_us);
  SimulationOptions slower = free_of_costs();
  slower.compute_scale = 0.5;
  CHECK(step_with(slower, step).data->cause == SupplyCause::none);
  step.data_loading->processes = false;
  CHECK_FALSE(supply_interval(step));
}

TEST_CASE("data set: samples and batches, as DistributedSampler and DataLoader count them") {
  CHECK(deal_out({.size = 10}, 4) == SampledSet{.per_rank = 3, .repeated = 2, .dropped = 0});
  CHECK(deal_out({.size = 10, .sampler_drop_last = true}, 4) ==
        SampledSet{.per_rank = 2, .repeated = 0, .dropped = 2});
  CHECK(deal_out({.size = 3, .sampler_drop_last = true}, 4) ==
        SampledSet{.per_rank = 0, .repeated = 0, .dropped = 3});
  CHECK(deal_out({.size = 8, .sampler_drop_last = true}, 4) ==
        SampledSet{.per_rank = 2, .repeated = 0, .dropped = 0});
  CHECK(in_batches({.size = 10}, 10, 4) == BatchedSet{.full = 2, .tail = 2, .dropped = 0});
  CHECK(in_batches({.size = 10, .loader_drop_last = true}, 10, 4) ==
        BatchedSet{.full = 2, .tail = 0, .dropped = 2});
}

TEST_CASE("epoch: full steps, one step with a smaller batch, and the loader's start") {
  Workload step = workload();
  step.batch_per_gpu = 4;
  SimulationOptions options = free_of_costs();
  // Each of two ranks has 10 samples: batches of 4, 4 and 2.
  options.data_set = DataSet{.size = 20};
  const Epoch epoch = *step_with(options, step).epoch;
  CHECK(epoch.steps == 3);
  // In the smaller step, forward takes 50 us, backward 100 with gradients at 25, 60 and 95, and the
  // optimizer 15. The buckets end at 115, 205 and 225.
  CHECK(epoch.tail_step == 240_us);
  CHECK(epoch.time == 960_us);
  options.data_set->loader_drop_last = true;
  CHECK(step_with(options, step).epoch->time == 720_us);
}

// Two workers give two batches every 900 us: at 900, 1800 and 2700. A step takes 360, so five steps
// end at 900 + 720 (two), 1800 + 720 (two) and 2700 + 360.
TEST_CASE("epoch: the last round of workers may be incomplete") {
  Workload step = workload();
  step.batch_per_gpu = 4;
  SimulationOptions options = loaded(2, 900_us);
  // Each of two ranks has five batches of four.
  options.data_set = DataSet{.size = 40};
  CHECK(step_with(options, step).epoch->time == 3060_us);
  options.data_set->size = 32;
  CHECK(step_with(options, step).epoch->time == 2520_us);
  options.data_set->size = 8;
  CHECK(step_with(options, step).epoch->time == 1260_us);
}

TEST_CASE("data supply: under every scheme spans are ordered by start, including the wait") {
  const std::vector<Scheme> all = {
      Ddp{},
      NaiveAllReduce{},
      Fsdp1{},
      Fsdp2{},
      Zero{.stage = 1},
      Zero{.stage = 2},
      Zero{.stage = 3},
      MegatronOptimizer{.overlap_grad_reduce = true, .overlap_param_gather = true},
      ZeroRedundancy{},
      DataParallel{},
      ParameterServer{.host = true},
      PeriodicAveraging{},
      SlowMo{}};
  for (const Scheme& scheme : all) {
    CAPTURE(name_of(scheme));
    SimulationOptions options = loaded(1, 5000_us, all_costs());
    options.scheme = scheme;
    options.torch = {2, 8};
    options.data_loader->batch_bytes = 100'000_B;
    options.data_loader->pcie = 10_GBps;
    const Job job(workload(), gpus(), options, AnalyticModel{});
    REQUIRE_FALSE(cannot_simulate(job));
    const SimulationResult result = simulate(job, nullptr, WithTimeline::yes);
    REQUIRE(result.step.data);
    CHECK(result.step.data->wait > 0_us);
    for (const RankTimeline& rank : result.timeline.ranks) {
      CHECK(std::ranges::is_sorted(rank.spans, {}, &Span::start));
      CHECK(std::ranges::count(rank.spans, "waits for data", &Span::name) == 1);
      CHECK(std::ranges::count(rank.spans, "copy of the batch", &Span::name) == 1);
    }
  }
}
