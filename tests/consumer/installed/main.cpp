#include <cstdio>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/collective_model.hpp"
#include "ddpsim/sim/step.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"

int main() {
  const ddpsim::Workload workload = *ddpsim::bundled_workload("resnet50-v100-b32");
  const ddpsim::Cluster cluster = ddpsim::load_cluster({"2xv100-nvlink", {}, {}});
  const ddpsim::AnalyticModel model{.cluster = cluster, .tuning = {}};
  const ddpsim::SimulationResult result = ddpsim::simulate(workload, cluster, {}, model);
  std::printf("%.3f ms\n", result.step.times.iteration.milliseconds());
  return result.step.times.iteration > ddpsim::Duration() ? 0 : 1;
}
