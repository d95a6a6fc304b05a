#include "job_report.hpp"

#include "ddpsim/models/model_flops.hpp"

namespace ddpsim {

ReportContext context_of(const BuiltJob& built) {
  return {.job = built.job, .provenance = built.provenance, .trust = built.trust};
}

ReportedStep reported_step(const Job& job, const StepTimes& times) {
  return {.budget = budget_of(times),
          .speed = training_speed(step_work(job), times),
          .data = data_supply(job, times.iteration - times.input, times.host)};
}

std::string next_or_measure(const Job& job, TypedLine typed, const char* command,
                            std::string next) {
  if (!launch_bound(job.workload())) return next;
  typed.set("--measured-step", "TIME");
  return typed.for_command(command);
}

}  // namespace ddpsim
