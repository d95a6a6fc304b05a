#include "host_ahead.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

namespace ddpsim {
namespace {

/// `busy` plus this share of the rest.
Duration between(Duration busy, Duration recorded, double share) {
  return busy + (recorded - busy).scaled(share);
}

/// The profiler makes no launch cheaper. Without it a launch takes the usual time, or the recorded
/// time if that is less.
void forget_profiled_cost(Launches& launches) {
  const Duration usual = DdpCosts{}.host_kernel;
  const std::optional<PartTimes>& cost = launches.cost;
  if (cost && std::max({cost->forward, cost->backward, cost->optimizer}) > usual)
    launches.cost.reset();
}

/// Everything in backward moves along. The host's times per step are no longer known.
void shorten_backward(Recorded& recorded, Duration shorter) {
  Backward& backward = *recorded.backward;
  const double left = backward.duration > Duration() ? shorter / backward.duration : 1;
  for (ReadyEvent& event : backward.ready) {
    event.at = event.at.scaled(left);
    // The host launched each copy, so most of its time was a wait.
    event.copied_at.reset();
  }
  backward.duration = shorter;
  for (RecordedCollective& collective : recorded.recorded_with.collectives)
    for (Duration* instant : {&collective.launch, &collective.start})
      *instant = instant->scaled(left);
  recorded.host_ready.clear();
  recorded.host_held.clear();
  if (recorded.launches) forget_profiled_cost(*recorded.launches);
}

/// Takes the difference out of the waits for launches, as far as there are any. The work at the
/// same time stays unchanged.
void shorten_wait(Duration& wait, Duration before, Duration after) {
  wait = std::max(Duration(), wait - (before - after));
}

void leave_launch_waits(Recorded& recorded, double share) {
  PartTimes& busy = *recorded.busy;
  PartTimes& waits = recorded.launch_waits;
  Backward& backward = *recorded.backward;
  busy.backward = between(busy.backward, backward.duration, share);
  shorten_wait(waits.backward, backward.duration, busy.backward);
  shorten_backward(recorded, busy.backward);
  if (recorded.forward && *recorded.forward > Duration()) {
    const Duration forward = between(busy.forward, *recorded.forward, share);
    std::optional<Duration>& broadcast = recorded.recorded_with.buffer_broadcast;
    if (broadcast) broadcast = broadcast->scaled(forward / *recorded.forward);
    shorten_wait(waits.forward, *recorded.forward, forward);
    recorded.forward = busy.forward = forward;
  }
  if (recorded.optimizer) {
    const Duration optimizer = between(busy.optimizer, *recorded.optimizer, share);
    shorten_wait(waits.optimizer, *recorded.optimizer, optimizer);
    recorded.optimizer = busy.optimizer = optimizer;
  }
  recorded.recorded_with.exposed.reset();
  recorded.recorded_with.finalize.reset();
  recorded.recorded_with.collectives.clear();
}

Duration between_steps(const Recorded& recorded) {
  return std::max(stall(recorded).value_or(Duration()), Duration());
}

/// The step without anything between it and the next one.
void set_between(Recorded& recorded, Duration pause) {
  recorded.iteration = Duration();
  recorded.iteration = pause - *stall(recorded);
}

/// Keeps a share of each wait for the host: for launches, and between steps.
void leave_host_waits(Recorded& recorded, double share) {
  if (!recorded.backward) return;
  const Duration waited = waited_for_data(recorded);
  const Duration pause = (between_steps(recorded) - waited).scaled(share);
  const bool overlapped = stall(recorded).value_or(Duration()) < Duration();
  if (recorded.busy) leave_launch_waits(recorded, share);
  if (!recorded.busy && overlapped) return;
  if (waited + pause > Duration())
    set_between(recorded, waited + pause);
  else
    recorded.iteration.reset();
}

/// Keeps a share of the waits for batches.
void leave_input_waits(Recorded& recorded, double share) {
  if (!recorded.data_loading || !recorded.iteration) return;
  DataLoading& loading = *recorded.data_loading;
  const Duration waited = waited_for_data(recorded);
  const Duration without = *recorded.iteration - waited;
  if (loading.interval) loading.interval = between(without, *loading.interval, share);
  for (Duration* wait : {&loading.median, &loading.p90, &loading.mean}) *wait = wait->scaled(share);
  set_between(recorded, between_steps(recorded) - waited + waited.scaled(share));
}

/// Removes the wait from a part and from the step.
void leave_out(Recorded& recorded, std::optional<Duration>& part, Duration& wait) {
  const Duration gone = std::min(wait, part.value_or(Duration()));
  if (part) *part -= gone;
  if (recorded.iteration) *recorded.iteration -= gone;
  wait = Duration();
}

void launch_at_once(Recorded& recorded) {
  PartTimes& waits = recorded.launch_waits;
  if (!recorded.backward) return;
  if (waits.forward + waits.backward > Duration()) {
    leave_out(recorded, recorded.forward, waits.forward);
    std::optional<Duration> backward = recorded.backward->duration;
    leave_out(recorded, backward, waits.backward);
    shorten_backward(recorded, *backward);
  }
  if (!recorded.launches) return;
  recorded.launches->forward = std::min<std::int64_t>(recorded.launches->forward, 1);
  for (std::int64_t& launches : recorded.launches->backward) launches = 0;
}

/// Applies the share of waits at which the workload stops being too short.
template <typename With, typename TooShort>
Workload shortened(With with, TooShort too_short) {
  constexpr int kHalvings = 30;
  double least = 0;
  double most = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (least + most) / 2;
    (too_short(with(middle)) ? least : most) = middle;
  }
  return with(most);
}

template <typename Set>
Workload each_rank(Workload workload, Set set) {
  set(static_cast<Recorded&>(workload));
  for (RankRecording& rank : workload.ranks) set(static_cast<Recorded&>(rank));
  return workload;
}

}  // namespace

Workload launched_at_once(Workload workload) {
  return each_rank(std::move(workload), launch_at_once);
}

Workload stepped_at_once(Workload workload) {
  return each_rank(std::move(workload), [](Recorded& recorded) {
    leave_out(recorded, recorded.optimizer, recorded.launch_waits.optimizer);
    if (recorded.launches)
      recorded.launches->optimizer = std::min<std::int64_t>(recorded.launches->optimizer, 1);
  });
}

Workload host_partly_ahead(Workload workload, double share) {
  return each_rank(std::move(workload),
                   [&](Recorded& recorded) { leave_host_waits(recorded, share); });
}

Workload input_partly_there(Workload workload, double share) {
  return each_rank(std::move(workload),
                   [&](Recorded& recorded) { leave_input_waits(recorded, share); });
}

Workload host_ahead(Workload workload) {
  return host_partly_ahead(std::move(workload), 0);
}

std::optional<Job> without_profiler(const Job& job, Duration measured) {
  const Workload& recorded = job.workload();
  const bool paused = between_steps(recorded) > waited_for_data(recorded);
  const bool host = launch_bound(recorded) || paused;
  SimulationOptions steady = job.options();
  steady.iterations = 0;
  const Job timed = job.with(std::move(steady));
  const auto step = [&](const Workload& workload) {
    return simulate_times(timed.with(workload)).iteration;
  };
  if (measured >= step(recorded)) return std::nullopt;
  Workload without = host ? host_ahead(recorded) : recorded;
  if (host && measured > step(without))
    return job.with(shortened([&](double share) { return host_partly_ahead(recorded, share); },
                              [&](const Workload& workload) { return step(workload) < measured; }));
  if (measured <= step(input_partly_there(without, 0))) return std::nullopt;
  return job.with(shortened([&](double share) { return input_partly_there(without, share); },
                            [&](const Workload& workload) { return step(workload) < measured; }));
}

}  // namespace ddpsim
