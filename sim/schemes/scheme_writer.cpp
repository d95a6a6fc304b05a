#include "scheme_writer.hpp"

#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

SchemeWriter::SchemeWriter(const Job& job, StepCollectives& collectives, const StepKind& kind,
                           const RankClass& rank_class, const Recording& recording)
    : job_(job),
      collectives_(collectives),
      recording_(recording),
      kernels_(job),
      launches_(recording.launches().value_or(Launches())),
      every_gradient_(kind.detail != Detail::none),
      streams_(job, collectives, kind, rank_class, recording.gradients(), 64) {
  // A host without counted launches is assumed to be one forward ahead of its GPU, as with DDP.
  if (!streams_.host_computes()) streams_.begin_ahead(streams_.scaled(recording.forward(false)));
  begun_ = streams_.record_on_compute(OperationKind::forward);
}

void SchemeWriter::begin_batch(bool adds, std::optional<Dtype> gradients) {
  adds_ = adds;
  gradient_type_ = gradients;
  forward_ = 0;
  gradients_ = 0;
  share_ = 0;
}

void SchemeWriter::forward_to(double share, int gpus) {
  phase_ = OperationKind::forward;
  if (share <= forward_) return;
  constexpr auto purpose = OperationKind::forward;
  const auto between = [&](Duration all) { return all.scaled(share) - all.scaled(forward_); };
  const auto kernels_until = [&](double of) {
    return static_cast<std::int64_t>(of * static_cast<double>(launches_.forward));
  };
  const std::int64_t kernels = kernels_until(share) - kernels_until(forward_);
  const Duration work = recording_.forward(false);
  streams_.wait_as_recorded(purpose, kernels, between(work),
                            between(recording_.waited_in_forward()));
  streams_.launched(purpose, kernels, between(streams_.scaled(work)), -1, gpus);
  forward_ = share;
}

void SchemeWriter::backward_to(std::size_t gradient) {
  phase_ = OperationKind::backward;
  for (; gradients_ <= gradient; ++gradients_) {
    const GradientInterval interval = recording_.gradient(gradients_);
    work_on(interval, 1);
    share_ = 0;
    if (adds_) {
      const std::int64_t recorded =
          element_size(job_.workload().parameters[interval.parameter].dtype);
      const std::int64_t size = gradient_type_ ? element_size(*gradient_type_) : recorded;
      accumulate(Bytes(interval.bytes.count() / recorded * size));
    }
    if (every_gradient_ && !streams_.in_intervals())
      written_.gradients.push_back({interval.parameter, streams_.last_on_compute()});
  }
}

void SchemeWriter::pack(Duration kernel) {
  pack(kernel, job_.options().costs.host_copy_kernel, 1);
}

void SchemeWriter::pack_each(std::int64_t count, Duration kernels) {
  pack(kernels, job_.options().costs.host_hook_kernel, count);
}

void SchemeWriter::pack(Duration kernels, Duration launch, std::int64_t count) {
  streams_.launch(OperationKind::pack, launch, count);
  if (streams_.waits_for_launches())
    streams_.hold_compute(phase_, streams_.record_on_host(OperationKind::launch),
                          job_.options().costs.launch_latency);
  streams_.compute(OperationKind::pack, kernels);
}

void SchemeWriter::accumulate(Bytes gradients) {
  constexpr auto purpose = OperationKind::backward;
  streams_.launch(purpose, job_.options().costs.host_copy_kernel, 1);
  const Duration kernel = kernels_.accumulate(gradients);
  written_.accumulated += kernel;
  streams_.compute(purpose, kernel);
}

void SchemeWriter::backward_to(const UnitHook& hook) {
  phase_ = OperationKind::backward;
  if (hook.share >= 1) return backward_to(hook.gradient);
  if (hook.gradient > 0) backward_to(hook.gradient - 1);
  if (hook.gradient == gradients_) work_on(recording_.gradient(gradients_), hook.share);
}

/// Runs the work before a gradient up to that share.
void SchemeWriter::work_on(const GradientInterval& interval, double share) {
  if (share <= share_) return;
  constexpr auto purpose = OperationKind::backward;
  const double before = std::exchange(share_, share);
  const auto between = [&](Duration all) {
    return before == 0 && share == 1 ? all : all.scaled(share) - all.scaled(before);
  };
  const auto kernels_until = [&](double of) {
    return static_cast<std::int64_t>(of * static_cast<double>(interval.kernels));
  };
  const std::int64_t kernels = kernels_until(share) - kernels_until(before);
  const Duration work = interval.compute + interval.idle;
  streams_.wait_as_recorded(purpose, kernels, between(work),
                            between(interval.waited + interval.waited_copy));
  streams_.launched(purpose, kernels, between(streams_.scaled(work)));
}

void SchemeWriter::end_backward() {
  backward_to(recording_.gradients() - 1);
  constexpr auto purpose = OperationKind::backward;
  const Duration rest = recording_.after_last_gradient();
  streams_.wait_as_recorded(purpose, 0, rest, recording_.waited_after_last());
  streams_.launched(purpose, 0, streams_.scaled(rest));
}

void SchemeWriter::optimizer(double share) {
  phase_ = OperationKind::optimizer;
  constexpr auto purpose = OperationKind::optimizer;
  const Duration all = streams_.scaled(recording_.optimizer());
  const Duration own = all.scaled(share);
  streams_.wait_as_recorded(purpose, launches_.optimizer, recording_.optimizer(),
                            recording_.waited_in_optimizer());
  streams_.launched(purpose, launches_.optimizer, own);
  written_.optimizer_left_out = all - own;
}

void SchemeWriter::leave_out_optimizer() {
  written_.optimizer_left_out = streams_.scaled(recording_.optimizer());
}

void SchemeWriter::optimizer_on_host(Duration step, std::optional<EventId> there) {
  phase_ = OperationKind::optimizer;
  leave_out_optimizer();
  written_.optimizer_on_host = true;
  streams_.note_kernels(OperationKind::optimizer, launches_.optimizer);
  constexpr auto purpose = OperationKind::host_step;
  streams_.hold_host(purpose, there ? *there : streams_.record_on_compute(purpose));
  streams_.host(purpose, step);
  streams_.hold_compute(purpose, streams_.record_on_host(purpose),
                        job_.options().costs.launch_latency);
}

void SchemeWriter::hold_host(EventId there, Duration work) {
  streams_.hold_host(OperationKind::host_copy, there);
  if (work > Duration()) streams_.host(OperationKind::host_step, work);
}

void SchemeWriter::hold_for_host() {
  constexpr auto purpose = OperationKind::host_copy;
  streams_.hold_compute(purpose, streams_.record_on_host(purpose),
                        job_.options().costs.launch_latency);
}

void SchemeWriter::launch_copies(std::size_t tensors) {
  streams_.launch(OperationKind::host_copy, job_.options().costs.host_hook_kernel,
                  static_cast<std::int64_t>(tensors));
}

SchemeWriter::Launched SchemeWriter::launch(RankStreams::SideStream stream,
                                            const StepCollective& collective,
                                            std::vector<EventId> ready,
                                            RankStreams::Behind behind) {
  const Launched launched = launch_async(stream, collective, std::move(ready), behind);
  if (streams_.host_computes()) wait_for(launched);
  return launched;
}

SchemeWriter::Launched SchemeWriter::launch_async(RankStreams::SideStream stream,
                                                  const StepCollective& collective,
                                                  std::vector<EventId> ready,
                                                  RankStreams::Behind behind) {
  const std::uint32_t index = planned(collective);
  const DdpCosts& costs = job_.options().costs;
  if (hooks_ > Duration()) streams_.host(OperationKind::hook, std::exchange(hooks_, Duration()));
  const EventId done =
      streams_.launch_on(stream, purpose_of(collective.scheduled.kind), index, std::move(ready),
                         costs.host_launch + costs.host_comm_hook, -1, behind);
  return {done, index};
}

void SchemeWriter::launch_and_wait(const StepCollective& collective, OperationKind behind) {
  wait_for(launch({}, collective, {streams_.record_on_compute(behind)}));
}

EventId SchemeWriter::call_launcher() {
  if (hooks_ > Duration()) streams_.host(OperationKind::hook, std::exchange(hooks_, Duration()));
  streams_.host(OperationKind::launch, job_.options().costs.host_launch);
  return streams_.record_on_host(OperationKind::launch);
}

SchemeWriter::Launched SchemeWriter::launch_after(EventId called, RankStreams::SideStream stream,
                                                  const StepCollective& collective,
                                                  std::vector<EventId> ready) {
  const std::uint32_t index = planned(collective);
  return {streams_.launch_after(called, stream, purpose_of(collective.scheduled.kind), index,
                                std::move(ready), -1),
          index};
}

std::uint32_t SchemeWriter::planned(const StepCollective& collective) {
  const std::uint32_t index = launched_++;
  if (index == collectives_.count()) collectives_.add(collective);
  DDPSIM_ASSERT(collectives_[index].unit == collective.unit &&
                    collectives_[index].scheduled.kind == collective.scheduled.kind,
                "every rank launches the same collectives in the same order", index);
  return index;
}

void SchemeWriter::wait_for(const Launched& launched) {
  streams_.hold_compute_for(purpose_of(collectives_[launched.collective].scheduled.kind),
                            launched.done, launched.collective);
}

void SchemeWriter::wait_for_all(std::vector<Launched>& launched) {
  for (const Launched& one : launched) wait_for(one);
  launched.clear();
}

void SchemeWriter::run_on(RankStreams::SideStream stream, OperationKind purpose, Duration work) {
  streams_.hold_for_launch(stream, purpose);
  streams_.work_on(stream, purpose, work);
}

void SchemeWriter::copy_on(RankStreams::SideStream stream, std::size_t tensors, Duration copies) {
  launch_copies(tensors);
  run_on(stream, OperationKind::host_copy, copies);
}

/// As with DDP, hooks of a host that is ahead are added up until the next launch.
void SchemeWriter::call_hook(Duration hook) {
  hooks_ += hook;
  if (streams_.waits_for_launches() || streams_.host_computes())
    streams_.host(OperationKind::hook, std::exchange(hooks_, Duration()));
}

void SchemeWriter::read_on_host() {
  if (streams_.host_computes()) return;  // the host is where compute is
  const DdpCosts& costs = job_.options().costs;
  streams_.round_trip(OperationKind::launch, costs.event_latency + costs.launch_latency,
                      Duration());
}

RankStep SchemeWriter::finish() {
  written_.start = streams_.start();
  written_.host = streams_.host_time();
  written_.recorded_waits = streams_.recorded_waits();
  written_.copies_in_intervals = streams_.copies_in_intervals();
  written_.awaited = streams_.take_awaited();
  written_.programs = streams_.take();
  return std::move(written_);
}

OperationKind SchemeWriter::purpose_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return OperationKind::all_gather;
    case CollectiveKind::reduce_scatter:
      return OperationKind::reduce_scatter;
    case CollectiveKind::all_reduce:
      return OperationKind::all_reduce;
    default:
      return OperationKind::broadcast;
  }
}

}  // namespace ddpsim
