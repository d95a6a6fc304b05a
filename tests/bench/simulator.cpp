// How long do the questions take that a person waits for?
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bucketing_search.hpp"
#include "ddpsim/sim/collective_model.hpp"
#include "ddpsim/sim/simulation_options.hpp"
#include "ddpsim/sim/step.hpp"
#include "ddpsim/sim/tune.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {
namespace {

Workload resnet50() {
  return *bundled_workload("resnet50-v100-b32");
}

/// `ranks` V100 GPUs, eight to a node.
Cluster cluster_of(std::int64_t ranks) {
  return parse_cluster_line("node:" + std::to_string(ranks / 8) +
                            " gpu:8xV100 nvswitch:150GBps nic:4x100Gbps:ib");
}

Job job_on(std::int64_t ranks) {
  return Job(resnet50(), cluster_of(ranks), {},
             AnalyticModel{.tuning = {.nccl = bundled_nccl(DdpOptions{}.torch)}});
}

/// The curve over 1000 caps, 0.1 to 100 MiB; issue target: under a second.
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

/// Every bucket assignment, best partition and verdict: what `ddpsim tune` does unasked.
void BM_TuneEverything(benchmark::State& state) {
  const Job job = job_on(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(tune(job, {}));
}
BENCHMARK(BM_TuneEverything)
    ->ArgName("ranks")
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_SimulateStep(benchmark::State& state) {
  const Job job = job_on(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(job));
}
BENCHMARK(BM_SimulateStep)->ArgName("ranks")->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);

void BM_EnumerateBucketings(benchmark::State& state) {
  const Workload workload = resnet50();
  std::size_t count = 0;
  for (auto _ : state) {
    const std::vector<Bucketing> all = search_bucketings(workload, {}, {}).found;
    count = all.size();
    benchmark::DoNotOptimize(all.data());
  }
  state.counters["bucketings"] = static_cast<double>(count);
}
BENCHMARK(BM_EnumerateBucketings)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ddpsim
