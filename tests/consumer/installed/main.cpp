#include <cstdio>

#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

int main() {
  const ddpsim::BuiltJob built = ddpsim::build_job(
      {.workload = {.source = "resnet50-v100-b32"}, .cluster = {.text = "2xv100-nvlink"}});
  const ddpsim::SimulationResult result = ddpsim::simulate(built.job);
  std::printf("%.3f ms\n", result.step.times.iteration.milliseconds());
  for (const std::string& warning : built.trust.warnings.texts())
    std::printf("warning: %s\n", warning.c_str());
  return result.step.times.iteration > ddpsim::Duration() ? 0 : 1;
}
