// The streams of one class of ranks while their programs are written, and how they hand over to each other.
#pragma once

#include <algorithm>
#include <utility>

#include "ddpsim/sim/step.hpp"
#include "operations.hpp"
#include "rank_classes.hpp"
#include "step_plan.hpp"

namespace ddpsim {

class RankStreams {
 public:
  RankStreams(const StepPlan& step, const StepKind& kind, const RankClass& alike,
              std::size_t gradients)
      : step_(step),
        costs_(step.job.options().costs),
        host_lead_(kind.host_lead),
        scale_(compute_speed(step.job) / (alike.state ? alike.state->slowdown : 1)) {
    programs_.rank = alike.rank;
    // Room for a plain step: gradient, wait for a slow host, copy; a few operations around each bucket.
    const std::size_t around = 6 * (step.buckets.size() + 1);
    programs_.compute.reserve(3 * gradients + around);
    programs_.host.reserve(around);
    programs_.communication.reserve(around);
    start_at_offset(alike);
  }

  /// Of its forward on the schedule's clock, or of its host where that begins first.
  Duration start() const { return start_ - host_lead_.value_or(Duration()); }
  const HostTime& host_time() const { return host_time_; }
  /// The GPU waits for what the host launches.
  bool waits_for_launches() const { return host_lead_.has_value(); }
  RankPrograms take() { return std::move(programs_); }
  std::size_t host_operations() const { return programs_.host.size(); }
  std::size_t last_on_compute() const {
    return programs_.compute.empty() ? 0 : programs_.compute.size() - 1;
  }

  /// A time of the GPU recorded on, on this one.
  Duration scaled(Duration recorded) const {
    return scale_ == 1 ? recorded : recorded.scaled(1 / scale_);
  }

  void host(OperationKind purpose, Duration duration, std::int32_t bucket = -1) {
    host_time_.step += duration;
    append_work(programs_.host, purpose, duration, bucket);
  }
  /// The host launches kernels that the next ones wait behind. A host far ahead only has its time counted.
  void launch(OperationKind purpose, Duration each, std::int64_t kernels) {
    host_time_.step += each * kernels;
    if (waits_for_launches()) append_work(programs_.host, purpose, each * kernels);
  }
  /// One GPU by itself would launch them here.
  void note_kernels(std::int64_t kernels) { host_time_.model += costs_.host_kernel * kernels; }
  /// So many of the model's kernels: the first runs when it has been launched, the last not before it has.
  void launched(OperationKind purpose, std::int64_t kernels, Duration work,
                std::int32_t bucket = -1) {
    note_kernels(kernels);
    const auto launch_and_wait = [&](std::int64_t count) {
      launch(purpose, costs_.host_kernel, count);
      if (waits_for_launches())
        append_wait(programs_.compute, purpose, record_on_host(purpose), costs_.launch_latency);
    };
    const Duration last = kernels > 1 ? work.scaled(1.0 / static_cast<double>(kernels)) : work;
    if (kernels > 0) launch_and_wait(1);
    compute(purpose, work - last, bucket);
    if (kernels > 1) launch_and_wait(kernels - 1);
    compute(purpose, last, bucket);
  }
  void compute(OperationKind purpose, Duration duration, std::int32_t bucket = -1) {
    append_work(programs_.compute, purpose, duration, bucket);
  }

  /// Kernels of a communication hook that its host takes so long to launch: the last not before it has.
  void launched_by_hook(const std::vector<Duration>& kernels, Duration launching,
                        std::int32_t bucket) {
    constexpr auto purpose = OperationKind::comm_hook;
    if (kernels.empty()) return;
    for (std::size_t k = 0; k + 1 < kernels.size(); ++k) compute(purpose, kernels[k], bucket);
    host(OperationKind::launch, launching, bucket);
    hold_compute(purpose, record_on_host(OperationKind::launch), costs_.launch_latency);
    compute(purpose, kernels.back(), bucket);
  }

  /// `since_start`: of the step.
  void hold_host_until(Duration since_start, OperationKind purpose, std::int32_t bucket) {
    append_wait_until(programs_.host, purpose, std::max(start_ + since_start, start_), bucket);
  }
  void hold_compute(OperationKind purpose, EventId event, Duration latency) {
    append_wait(programs_.compute, purpose, event, latency);
  }

  EventId record_on_host(OperationKind purpose) { return record(programs_.host, purpose); }

  /// Not before host and compute stream are where they are now; returns its end.
  EventId collective(OperationKind purpose, std::uint32_t index, std::int32_t bucket = -1) {
    const EventId launched = record_on_host(OperationKind::launch);
    const EventId filled = record(programs_.compute, OperationKind::copy_in);
    append_wait(programs_.communication, purpose, launched, costs_.launch_latency);
    return run(purpose, index, filled, bucket);
  }

  /// The compute stream hands over to a collective and goes on when it is done.
  void blocking_collective(OperationKind purpose, std::uint32_t index, Duration return_latency) {
    const EventId done = run(purpose, index, record(programs_.compute, purpose), -1);
    hold_compute(purpose, done, return_latency + step_.to_device[index]);
  }

  /// Of a bucket, in the midst of backward.
  void collective_and_wait(std::uint32_t index, std::int32_t bucket) {
    constexpr auto purpose = OperationKind::all_reduce;
    const EventId done = collective(purpose, index, bucket);
    hold_compute(purpose, done, costs_.event_latency + step_.to_device[index]);
  }

  /// The host goes on when the compute stream has done all there is.
  void wait_for_device() {
    append_wait(programs_.host, OperationKind::launch,
                record(programs_.compute, OperationKind::comm_hook), costs_.event_latency);
  }

  /// Launched by the host; the compute stream goes on with what came of it.
  void exchange(std::uint32_t statistics) {
    constexpr auto purpose = OperationKind::sync_batch_norm;
    host(OperationKind::launch, costs_.host_launch);
    const EventId launched = record_on_host(OperationKind::launch);
    append_wait(programs_.communication, purpose, launched, costs_.launch_latency);
    blocking_collective(purpose, statistics, costs_.event_latency);
  }

  /// The host waits for the compute stream, which has nothing to do until the host has launched more: so often a round
  /// trip.
  void read_on_host(int times) {
    constexpr auto purpose = OperationKind::sync_batch_norm;
    append_wait(programs_.host, purpose, record(programs_.compute, purpose),
                (costs_.launch_latency + costs_.host_launch) * times);
    hold_compute(purpose, record_on_host(purpose), Duration());
  }

 private:
  /// Ranks of one job do not begin their forwards together: data loading and what follows the last
  /// all-reduce differ, and nobody waits for anybody in between.
  void start_at_offset(const RankClass& alike) {
    if (!alike.state && !alike.recording && !host_lead_) return;
    if (alike.state)
      start_ = alike.state->start;
    else if (alike.recording)
      start_ = scaled(step_.job.workload().ranks[*alike.recording].offset);
    append_wait_until(programs_.host, OperationKind::forward, start());
    append_wait_until(programs_.compute, OperationKind::forward, start_);
  }
  EventId record(Program& program, OperationKind purpose) {
    append_record(program, purpose, programs_.events);
    return programs_.events++;
  }
  EventId run(OperationKind purpose, std::uint32_t index, EventId filled, std::int32_t bucket) {
    append_wait(programs_.communication, purpose, filled,
                costs_.event_latency + step_.to_host[index]);
    append_collective(programs_.communication, purpose, index, bucket);
    return record(programs_.communication, purpose);
  }

  const StepPlan& step_;
  const DdpCosts& costs_;
  const std::optional<Duration> host_lead_;
  HostTime host_time_;
  double scale_;  ///< compute speed, as a multiple of that of the GPU recorded on
  Duration start_;
  RankPrograms programs_;
};

}  // namespace ddpsim
