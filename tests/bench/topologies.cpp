// Measures the time to find the channels of a cluster, and to build the fabric of the channels.
#include <benchmark/benchmark.h>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {
namespace {

void BM_Topology_Load(benchmark::State& state, const char* cluster) {
  for (auto _ : state) benchmark::DoNotOptimize(load_topology({cluster, {}, {}}));
}
BENCHMARK_CAPTURE(BM_Topology_Load, dgx1v, "dgx1v")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Topology_Load, dgxh100_128, "dgxh100@128")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Topology_Load, puzzle, "node:1 gpu:13xV100 nvlink:60x25GBps:mesh")
    ->Unit(benchmark::kMicrosecond);

/// 1024 ranks in nodes of 8 GPUs and of 1 GPU.
void BM_Fabric_Build(benchmark::State& state, const char* cluster) {
  const Topology topology = load_topology({cluster, {}, {}});
  std::size_t routes = 0;
  for (auto _ : state) {
    const Fabric fabric = build_fabric(topology);
    routes = fabric.rings.size() * fabric.rings.front().ranks.size();
    benchmark::DoNotOptimize(routes);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(routes));
}
BENCHMARK_CAPTURE(BM_Fabric_Build, dgxa100_128, "dgxa100@128")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Fabric_Build, v100_1024, "node:1024 gpu:1xV100 nic:1x100Gbps")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Fabric_Build, leaf_spine,
                  "node:128 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps oversubscription:2")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ddpsim
