#include <cstdio>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"

int main() {
  const ddpsim::Job job(*ddpsim::bundled_workload("resnet50-v100-b32"),
                        ddpsim::load_cluster({"2xv100-nvlink", {}, {}}), {},
                        ddpsim::AnalyticModel{});
  const ddpsim::SimulationResult result = ddpsim::simulate(job);
  std::printf("%.3f ms\n", result.step.times.iteration.milliseconds());
  return result.step.times.iteration > ddpsim::Duration() ? 0 : 1;
}
