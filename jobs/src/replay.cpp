#include "ddpsim/jobs/replay.hpp"

#include <fmt/format.h>

#include "ddpsim/jobs/measured_step.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

namespace ddpsim {

Job replay_current(BuiltJob& built, const Job& steady) {
  Trust& trust = built.trust;
  if (!built.measured_step) return steady;
  require_possible(*built.measured_step, steady, built.provenance.workload_source);
  const StepTimes times = simulate_times(steady);
  trust.replay = Replay{built.measured_step->median, times.iteration, built.measured_step->spread,
                        built.measured_step->source, most_apart(steady, times)};
  trust.correction = correct(steady, trust.replay);
  if (!trust.correction) trust.warnings.overturn(contradiction(*trust.replay));
  return trust.correction ? explained(steady, trust.correction->all_compute) : steady;
}

std::optional<std::string> without_recorded_waits(BuiltJob& built) {
  if (!built.measured_step || cannot_simulate(built.job)) return std::nullopt;
  const Duration measured = built.measured_step->median;
  std::optional<Job> real = without_profiler(built.job, measured);
  if (!real) return std::nullopt;
  built.job = *std::move(real);
  return fmt::format(
      "the recorded step is longer than the measured {:.4g} ms, and waits caused by the profiler "
      "explain that. Waits for the host, then those for input, are shortened until the step is "
      "the measured one",
      measured.milliseconds());
}

}  // namespace ddpsim
