#include "between_steps.hpp"

#include <algorithm>

#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"

namespace ddpsim {

Duration pause_after_step(const Job& job, const Recorded& recorded) {
  const Duration between = std::max(stall(recorded).value_or(Duration()), Duration());
  return (between - replaced_pause(job, recorded)) * job.options().accumulate;
}

void add_pause(const Job& job, const Recorded& recorded, StepTimes& times) {
  const Duration pause = pause_after_step(job, recorded);
  const Duration waited =
      (waited_for_data(recorded) - replaced_pause(job, recorded)) * job.options().accumulate;
  times.stall += pause;
  times.input += waited;
  times.pause += pause - waited;
}

Duration forward_ahead(const Job& job, const Recorded& recorded) {
  const Duration between = stall(recorded).value_or(Duration());
  const Duration ahead =
      std::min(-std::min(between, Duration()), recorded.forward.value_or(Duration()));
  return (ahead * job.options().accumulate).scaled(1 / compute_speed(job));
}

}  // namespace ddpsim
