#include "finalize_backward.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "optimizer_in_backward.hpp"

namespace ddpsim {
namespace {

class CopiesOut {
 public:
  CopiesOut(const StepPlan& step, const Recording& recording, const WorkInFlight& work,
            RankStreams& streams)
      : step_(step),
        costs_(step.job.options().costs),
        recording_(recording),
        work_(work),
        streams_(streams),
        map_done_(work.local_used_map) {}

  /// Waits for each bucket's all-reduce, then copies its gradients out. Returns the optimizer's
  /// time before the copies.
  Duration write() {
    const double share = recorded_share();
    const Duration stepped = step_.steps_by_bucket ? step_and_broadcast() : Duration();
    for (std::size_t b = 0; b < step_.buckets.size(); ++b) {
      if (step_.ddp().optimizer_in_backward) {  // gradients stay in their buckets
        if (!work_.stepped[b])
          step_bucket(step_, recording_, b, OperationKind::copy_out, work_, streams_);
        continue;
      }
      if (!step_.hooks[b].waits) wait_for_hook(b);
      copy_out(b, share);
    }
    wait_for_map();
    return stepped;
  }

 private:
  /// hook_with_zero_step. Ranks differ only in the buckets they step; other ranks' steps run on
  /// side streams.
  Duration step_and_broadcast() {
    constexpr auto purpose = OperationKind::optimizer;
    const auto ranks = static_cast<std::size_t>(step_.job.cluster().ranks());
    const EventId written = streams_.record_on_compute(OperationKind::backward);
    std::vector<RankStreams::SideStream> others;
    std::vector<EventId> done;
    Duration own;
    for (std::size_t b = 0; b < step_.buckets.size(); ++b) {
      const Duration steps = share_of_optimizer(step_, recording_, b, streams_);
      EventId stepped = 0;
      if (b % ranks == 0) {
        wait_for_hook(b);
        streams_.compute(purpose, steps, static_cast<std::int32_t>(b));
        own += steps;
        stepped = streams_.record_on_compute(purpose);
      } else {
        if (others.size() < b % ranks) {
          others.push_back(streams_.open());
          streams_.follow_on(others.back(), purpose, written);
        }
        const RankStreams::SideStream& stream = others[b % ranks - 1];
        streams_.hold_on(stream, purpose, work_.buckets[b]);
        streams_.work_on(stream, purpose, steps);
        stepped = streams_.record_on(stream, purpose);
      }
      done.push_back(streams_.launch_on({}, OperationKind::broadcast, step_.parameter_broadcasts[b],
                                        {stepped}, costs_.host_launch, -1));
    }
    for (std::size_t b = 0; b < done.size(); ++b)
      streams_.hold_compute_for(OperationKind::broadcast, done[b], step_.parameter_broadcasts[b]);
    return own;
  }

  /// Waits for what a hook does after its all-reduce, on a stream of its own.
  void wait_for_hook(std::size_t b) {
    const HookStage& stage = step_.hooks[b].stages.back();
    if (!stage.collective) return;
    const EventId reduced = work_.buckets[b];
    const Duration latency = costs_.event_latency;
    const Duration ended = step_.collectives[*stage.collective].to_device;
    Duration behind;
    for (const Duration kernel : stage.then.kernels) behind += kernel;
    if (behind > Duration()) {  // from stream to stream twice
      streams_.hold_compute(OperationKind::all_reduce, reduced, ended);
      streams_.hold_compute(OperationKind::copy_out, reduced, ended + latency + behind + latency);
    } else {
      streams_.hold_compute_for(OperationKind::all_reduce, reduced, *stage.collective);
    }
  }

  /// Copies a bucket's gradients out. Before it copies a parameter that this rank did not use, the
  /// host must know whether any rank used it. So it waits once for the map of used parameters and
  /// reads it back (finalize_bucket_dense). From then on the host is not ahead.
  void copy_out(std::size_t b, double share) {
    const Bucket& bucket = step_.buckets[b];
    const bool copies =
        !step_.ddp().gradient_as_bucket_view && bucket.closed_by != ClosedBy::sparse;
    const auto label = static_cast<std::int32_t>(b);
    std::int64_t kernels = 0;
    Duration modelled;
    const auto append = [&] {
      streams_.launch(OperationKind::copy_out, costs_.host_copy_kernel, std::exchange(kernels, 0));
      streams_.compute(OperationKind::copy_out, std::exchange(modelled, Duration()).scaled(share),
                       label);
    };
    for (const std::size_t parameter : bucket.parameters) {
      if (map_done_ && recording_.is_unused(parameter)) {
        append();
        wait_for_map(costs_.launch_latency + costs_.host_launch);
        host_was_held_ = !streams_.host_computes();
      }
      if (!copies || !step_.used[parameter]) continue;
      ++kernels;
      modelled += step_.copies[parameter];
      if (!host_was_held_) continue;
      streams_.launched_alone(OperationKind::copy_out, costs_.host_copy_kernel,
                              std::exchange(modelled, Duration()).scaled(share), label);
      kernels = 0;
    }
    append();
  }

  /// Waits for the map unless that was done before. `round_trip`: time in which the host reads it
  /// and launches the next kernel.
  void wait_for_map(Duration round_trip = {}) {
    if (!map_done_) return;
    constexpr auto purpose = OperationKind::local_used_map;
    streams_.hold_compute_for(purpose, *std::exchange(map_done_, {}), *step_.local_used_map);
    if (round_trip > Duration()) streams_.round_trip(purpose, round_trip, costs_.host_copy_kernel);
  }

  /// Factor by which modelled copies out are scaled, so that together they take the recorded time.
  double recorded_share() const {
    const std::optional<Duration> recorded = recording_.copies_out();
    if (!recorded || step_.copies_out <= Duration()) return 1;
    return std::max(0.0, streams_.scaled(*recorded) / step_.copies_out);
  }

  const StepPlan& step_;
  const DdpCosts& costs_;
  const Recording& recording_;
  const WorkInFlight& work_;
  RankStreams& streams_;
  std::optional<EventId> map_done_;  ///< until it is waited for
  /// Whether the host has waited for the map in this step.
  bool host_was_held_ = false;
};

}  // namespace

Duration finalize_backward(const StepPlan& step, const Recording& recording,
                           const WorkInFlight& work, RankStreams& streams) {
  return CopiesOut(step, recording, work, streams).write();
}

}  // namespace ddpsim
