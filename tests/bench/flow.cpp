// Measures the time of max-min sharing and of collectives on shared links.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "ddpsim/traces/import.hpp"
#include "folded_network.hpp"
#include "max_min.hpp"

namespace ddpsim {
namespace {

using namespace literals;

/// Each flow uses two of many links. In each round, one flow leaves and joins again.
void BM_MaxMin_Change(benchmark::State& state) {
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  const std::uint32_t links = flows / 2;
  std::uint64_t random = 88172645463325252;
  const auto draw = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<LinkId>(random % links);
  };
  std::vector<std::vector<LinkId>> routes(flows);
  MaxMin solver(std::vector<std::int64_t>(links, 50'000'000'000));
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    const LinkId first = draw();
    routes[flow] = {first, (first + 1) % links};
    solver.add(flow, routes[flow], 20'000'000'000);
  }
  solver.settle();
  std::uint32_t next = 0;
  for (auto _ : state) {
    solver.remove(next);
    solver.add(next, routes[next], 20'000'000'000);
    benchmark::DoNotOptimize(solver.settle());
    next = (next + 1) % flows;
  }
  state.SetItemsProcessed(state.iterations());
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_MaxMin_Change)->ArgName("flows")->Arg(16)->Arg(256)->Arg(4096)->Complexity();

ClusterRequest v100s(std::int64_t ranks) {
  return {.text = "node:" + std::to_string(ranks / 8) +
                  " gpu:8xV100 nvswitch:150GBps nic:4x100Gbps:ib"};
}

/// The curve of 1000 caps with simulated links. BM_Tune1000Caps is the same with the analytic
/// model.
void BM_TuneFlow1000Caps(benchmark::State& state) {
  const Workload workload = *bundled_workload("resnet50-v100-b32");
  const ClusterRequest request = v100s(state.range(0));
  const Cluster cluster = load_cluster(request);
  const Fabric fabric = build_fabric(request);
  TuneOptions tuning;
  for (int i = 1; i <= 1000; ++i) tuning.caps.push_back(i * 0.1);
  for (auto _ : state) {
    // A new model, because a model remembers results of the round before.
    const CollectiveModel model = flow_model({.nccl = bundled_nccl(TorchVersion())}, fabric);
    benchmark::DoNotOptimize(tune(Job(workload, cluster, SimulationOptions{}, model), tuning));
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(BM_TuneFlow1000Caps)
    ->ArgName("ranks")
    ->Arg(8)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// One step, whose all-reduces pass two nodes that another job uses too.
void BM_FlowWithBackground(benchmark::State& state) {
  const Workload workload = *bundled_workload("resnet50-v100-b32");
  const ClusterRequest request = v100s(state.range(0));
  const Cluster cluster = load_cluster(request);
  const auto [fabric, background] = parse_background(
      R"({"schema": "ddpsim.background/1",
          "jobs": [{"nodes": [0, 1], "all_reduce": "64MiB", "first": "5ms", "every": "5ms"}]})",
      "background", request);
  const CollectiveTuning tuning{
      .nccl = bundled_nccl(TorchVersion()),
      .algorithms = state.range(1) == 0 ? Algorithm::ring : Algorithm::tree};
  for (auto _ : state) {
    const CollectiveModel model = flow_model(tuning, fabric, background);
    benchmark::DoNotOptimize(simulate(Job(workload, cluster, SimulationOptions{}, model)));
  }
}
BENCHMARK(BM_FlowWithBackground)
    ->ArgNames({"ranks", "tree"})
    ->ArgsProduct({{1024, 4096}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// One step, with one NIC at half its rate. Target: 2 s for 1024 GPUs.
void BM_FlowOverDegradedLink(benchmark::State& state) {
  const Workload workload = *bundled_workload("resnet50-v100-b32");
  Topology topology = load_topology(v100s(state.range(0)));
  topology.degraded.push_back({.link = "node0/nic0 > switch", .bandwidth = 50_Gbps});
  const Fabric fabric = build_fabric(topology);
  const CollectiveTuning tuning{.nccl = bundled_nccl(TorchVersion()),
                                .algorithms = Algorithm::ring};
  for (auto _ : state) {
    const CollectiveModel model = flow_model(tuning, fabric);
    benchmark::DoNotOptimize(simulate(Job(workload, topology.cluster, SimulationOptions{}, model)));
  }
}
BENCHMARK(BM_FlowOverDegradedLink)
    ->ArgName("ranks")
    ->Arg(64)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond);

/// One step, with one NIC at half its rate and another job on two nodes. Targets: 2 s for 1024 GPUs,
/// 10 s for 4096. It grows with the links, because what happens at a few of them is the same in a
/// cluster of any size.
void BM_FlowBackgroundAndDegradedLink(benchmark::State& state) {
  const Workload workload = *bundled_workload("resnet50-v100-b32");
  const ClusterRequest request = v100s(state.range(0));
  const Cluster cluster = load_cluster(request);
  auto [fabric, background] = parse_background(
      R"({"schema": "ddpsim.background/1",
          "jobs": [{"nodes": [0, 1], "all_reduce": "256MiB", "every": "50ms"}]})",
      "background", request);
  for (Link& link : fabric.links)
    if (link.name == "node0/nic0 > switch") link.bandwidth = 50_Gbps;
  const CollectiveTuning tuning{.nccl = bundled_nccl(TorchVersion())};
  for (auto _ : state) {
    const CollectiveModel model = flow_model(tuning, fabric, background);
    benchmark::DoNotOptimize(simulate(Job(workload, cluster, SimulationOptions{}, model)));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_FlowBackgroundAndDegradedLink)
    ->ArgName("ranks")
    ->RangeMultiplier(4)
    ->Range(64, 4096)
    ->Complexity()
    ->Unit(benchmark::kMillisecond);

/// Finds out what is alike on the rings of a cluster: O(n log n) of their hops.
void BM_Fold(benchmark::State& state) {
  const Fabric fabric = build_fabric(v100s(state.range(0)));
  NetworkLinks links;
  links.route_links = fabric.route_links;
  for (const Link& link : fabric.links) {
    links.capacities.push_back(static_cast<std::int64_t>(link.bandwidth.bytes_per_second()));
    links.latencies.push_back(link.latency);
  }
  // One degraded link leaves no two nodes alike.
  links.capacities[links.of(fabric.rings[0].to_next[0])[0]] /= 2;
  const PipelineShape shape =
      ring_all_reduce_shape(fabric, static_cast<int>(fabric.rings.size()), 8);
  const PipelineShape* const shapes[]{&shape};
  for (auto _ : state) benchmark::DoNotOptimize(fold(shapes, links));
  state.SetComplexityN(static_cast<std::int64_t>(shape.hops.size()));
}
BENCHMARK(BM_Fold)->ArgName("ranks")->RangeMultiplier(4)->Range(64, 4096)->Complexity()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace ddpsim
