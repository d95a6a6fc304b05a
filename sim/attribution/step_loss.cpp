// How much longer rank 0's step takes than one GPU's without DDP, by cause. The time by which its
// work takes longer is split with this formula:
//
//   work = one GPU's  x  (1 + slowest GPU + unexplained)  x  straggler  x  jitter
#include <algorithm>
#include <array>

#include "between_steps.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "stream_causes.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

/// Splits a rank's work by cause. Returns the part that one GPU alone would take.
Duration share_out(Duration work, Duration ahead, const PlannedStep& planned, const Job& job,
                   Loss& loss) {
  const SimulationOptions& options = job.options();
  const Duration alike = work.scaled(1 / planned.slowdown);
  const Duration given =
      options.variation.jitter > 0 ? alike.scaled(steady_slowdown(options.variation, 0)) : work;
  loss[LossCause::straggler] += given - alike;
  loss[LossCause::jitter] += work - given;

  const SlowdownShares shares =
      slowdown_shares(options.rank_slowdown, job.cluster(), options.accumulate);
  const Duration here = alike - ahead;
  const Duration expected = here.scaled(1 / options.unexplained_compute);
  const Duration alone = expected.scaled(1 / shares.slowdown());
  const Duration slowest =
      shares.unexplained == 0 ? expected - alone : alone.scaled(shares.slowest_gpu);
  loss[LossCause::slowest_gpu] += slowest;
  loss[LossCause::unexplained] += here - alone - slowest;
  return alone;
}

}  // namespace

Loss attribute_loss(const PlannedStep& planned, const StreamCauses& causes, const Job& job,
                    const StepTimes& times) {
  Loss loss = causes.loss();
  loss[LossCause::copies] += planned.copies_in_intervals;
  loss[planned.optimizer_on_host ? LossCause::offload : LossCause::sharded_optimizer] -=
      planned.optimizer_left_out;

  // A recorded broadcast is at the start of the recorded forward, which may overlap the step
  // before.
  const Duration hidden = std::min(times.forward_ahead, planned.recorded_broadcast);
  loss[LossCause::buffer_broadcast] += planned.recorded_broadcast - hidden;
  loss[LossCause::copies] += planned.recorded_copies;
  const Duration alone =
      share_out(causes.work() + planned.optimizer_left_out - planned.copies_in_intervals -
                    planned.recorded_broadcast - planned.recorded_copies - planned.accumulated,
                times.forward_ahead - hidden, planned, job, loss);
  const Duration computed = alone + planned.accumulated + pause_after_step(job, job.workload());
  // One GPU alone also waits for the model's launches as recorded. It waits longer if the host then
  // has no other time for them.
  const Duration by_itself =
      std::max(computed + planned.recorded_waits, planned.host.value_or(HostTime()).model);
  loss[LossCause::launch_bound] -= by_itself - computed;
  DDPSIM_ASSERT(times.iteration - loss.total() == by_itself, "a step is one GPU's and what is lost",
                times.iteration, loss.total(), by_itself);
  return loss;
}

std::string_view name_of(LossCause cause) {
  constexpr std::array<std::string_view, kLossCauses> kNames = {"copies",
                                                                "hooks",
                                                                "interference",
                                                                "slowest_gpu",
                                                                "straggler",
                                                                "jitter",
                                                                "exposed_all_reduce",
                                                                "used_map",
                                                                "buffer_broadcast",
                                                                "sync_batchnorm",
                                                                "model_averaging",
                                                                "exposed_all_gather",
                                                                "exposed_reduce_scatter",
                                                                "exposed_broadcast",
                                                                "sharded_optimizer",
                                                                "offload",
                                                                "launch_bound",
                                                                "input",
                                                                "unexplained"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace ddpsim
