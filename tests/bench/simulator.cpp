// Measures the commands whose answer a person waits for.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bucketing_search.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/elastic/elastic.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"
#include "many_gradients.hpp"

namespace ddpsim {
namespace {

Workload resnet50() {
  return *bundled_workload("resnet50-v100-b32");
}

/// `ranks` V100 GPUs, eight per node.
Cluster cluster_of(std::int64_t ranks) {
  return parse_cluster_line("node:" + std::to_string(ranks / 8) +
                            " gpu:8xV100 nvswitch:150GBps nic:4x100Gbps:ib");
}

Job job_on(std::int64_t ranks) {
  return Job(resnet50(), cluster_of(ranks), {},
             AnalyticModel{.tuning = {.nccl = bundled_nccl(TorchVersion())}});
}

/// The curve of 1000 caps, 0.1 to 100 MiB. Target: less than 1 s.
void BM_Tune1000Caps(benchmark::State& state) {
  const Job job = job_on(state.range(0));
  TuneOptions tuning;
  for (int i = 1; i <= 1000; ++i) tuning.caps.push_back(i * 0.1);
  for (auto _ : state) benchmark::DoNotOptimize(tune(job, tuning));
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(BM_Tune1000Caps)
    ->ArgName("ranks")
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Everything that `ddpsim tune` does by default: every bucket assignment, best partition and
/// verdict.
void BM_TuneEverything(benchmark::State& state) {
  const Job job = job_on(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(tune(job, {}));
}
BENCHMARK(BM_TuneEverything)
    ->ArgName("ranks")
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// More bucket assignments than can be simulated. Target: 5 s for 10,000 gradients.
void BM_TuneManyGradients(benchmark::State& state) {
  const Job job(many_gradients(state.range(0)), cluster_of(16), {},
                AnalyticModel{.tuning = {.nccl = bundled_nccl(TorchVersion())}});
  for (auto _ : state) benchmark::DoNotOptimize(tune(job, {}));
}
BENCHMARK(BM_TuneManyGradients)
    ->ArgName("gradients")
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// PyTorch 2.3 limits the first bucket separately, which gives some 47,000 bucket assignments.
void BM_TuneTwoLimits(benchmark::State& state) {
  SimulationOptions options;
  options.torch = {2, 3};
  const Job job(resnet50(), cluster_of(8), options,
                AnalyticModel{.tuning = {.nccl = bundled_nccl(options.torch)}});
  for (auto _ : state) benchmark::DoNotOptimize(tune(job, {}));
}
BENCHMARK(BM_TuneTwoLimits)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Compute times differ between ranks and steps. Target: 10 s for 1000 iterations of 1024 ranks.
void simulate_jittered(benchmark::State& state, Workload workload) {
  SimulationOptions options;
  options.iterations = static_cast<int>(state.range(0));
  options.variation.jitter = 0.02;
  const Job job(std::move(workload), cluster_of(1024), options,
                AnalyticModel{.tuning = {.nccl = bundled_nccl(TorchVersion())}});
  for (auto _ : state) benchmark::DoNotOptimize(simulate(job));
}
void BM_JitteredIterations(benchmark::State& state) {
  simulate_jittered(state, resnet50());
}
/// The host's launches are simulated, too.
void BM_JitteredIterationsOfAnEstimate(benchmark::State& state) {
  simulate_jittered(
      state, estimate_workload(parse_estimate_spec("resnet50@V100:b32"), *find_gpu("V100-32GB")));
}
BENCHMARK(BM_JitteredIterations)
    ->ArgName("iterations")
    ->Arg(20)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_JitteredIterationsOfAnEstimate)
    ->ArgName("iterations")
    ->Arg(20)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond);

/// A step and its confidence, with a bucket for each gradient. Target: 2 s for 100,000 buckets.
void BM_SimulateManyBuckets(benchmark::State& state) {
  SimulationOptions options;
  options.ddp_to_set().bucket_cap_mb = 1.0 / 1024;
  const Job job(many_gradients(state.range(0)), cluster_of(16), options,
                AnalyticModel{.tuning = {.nccl = bundled_nccl(TorchVersion())}});
  for (auto _ : state) {
    const SimulationResult result = simulate(job);
    benchmark::DoNotOptimize(assess(job, result.step.times, std::nullopt));
  }
}
BENCHMARK(BM_SimulateManyBuckets)
    ->ArgName("buckets")
    ->Arg(12'500)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Runs of 200 failures each, and the search for the best checkpoint interval. Target: 10 s for
/// 10,000 seeds.
void BM_ElasticSeeds(benchmark::State& state) {
  ElasticQuestion question;
  question.options.min_nodes = 6;
  question.options.max_nodes = 8;
  question.steps = {Duration::milliseconds(260), Duration::milliseconds(258),
                    Duration::milliseconds(256)};
  question.node_mtbf_seconds = 7.2e6;
  question.seeds = static_cast<int>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(simulate_elastic(question));
}
BENCHMARK(BM_ElasticSeeds)
    ->ArgName("seeds")
    ->Arg(1000)
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// A step and its confidence, as in `ddpsim simulate`. Target: 3 s for a million gradients, reading
/// (BM_ReadWorkload) included.
void BM_SimulateManyGradients(benchmark::State& state) {
  const Job job(many_gradients(state.range(0)), cluster_of(16), {},
                AnalyticModel{.tuning = {.nccl = bundled_nccl(TorchVersion())}});
  for (auto _ : state) {
    const SimulationResult result = simulate(job);
    benchmark::DoNotOptimize(assess(job, result.step.times, std::nullopt));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_SimulateManyGradients)
    ->ArgName("gradients")
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

void BM_SimulateStep(benchmark::State& state) {
  const Job job = job_on(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(job));
}
BENCHMARK(BM_SimulateStep)->ArgName("ranks")->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);

void BM_EnumerateBucketings(benchmark::State& state) {
  const Workload workload = resnet50();
  std::size_t count = 0;
  for (auto _ : state) {
    const std::vector<Bucketing> all = search_bucketings(workload, {}, {}, {}).found;
    count = all.size();
    benchmark::DoNotOptimize(all.data());
  }
  state.counters["bucketings"] = static_cast<double>(count);
}
BENCHMARK(BM_EnumerateBucketings)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ddpsim
