#include "quick_step.hpp"

#include <algorithm>
#include <cmath>

#include "best_partition.hpp"
#include "cap_search.hpp"
#include "comm_hook.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "kernel_costs.hpp"
#include "memory_load.hpp"
#include "rates.hpp"

namespace ddpsim {
namespace {

/// Sizes per doubling, from the smallest on, between which the times of collectives are
/// interpolated. They are close together, because times jump where NCCL's choice changes.
constexpr double kSizesPerDoubling = 128;
constexpr double kSmallest = 1024;

double index_of(double bytes) {
  return elementary::log2(std::max(bytes, kSmallest) / kSmallest) * kSizesPerDoubling;
}

double bytes_at(std::size_t index) {
  return kSmallest * elementary::exp2(static_cast<double>(index) / kSizesPerDoubling);
}

/// The compute stream and the wire running at the same time, in seconds.
class TwoStreams {
 public:
  TwoStreams(double backward_end, double rate) : backward_end_(backward_end), rate_(rate) {}

  /// Runs the wire's next collective once compute has reached `progress` and the wire is free.
  /// Returns when it ends.
  double run(double progress, double seconds, double compute_loss) {
    reach(progress);
    if (now_ < wire_free_) reach(progress_ + (wire_free_ - now_) * speed_);
    speed_ = 1 - compute_loss;
    const double beside = progress_ < backward_end_ ? (backward_end_ - progress_) / speed_ : 0;
    wire_free_ =
        now_ + (beside * rate_ >= seconds ? seconds / rate_ : beside + seconds - beside * rate_);
    return wire_free_;
  }
  double end_of_backward() {
    reach(backward_end_);
    return backward_ended_;
  }

 private:
  /// Lets compute run until the point it would have reached at this time if collectives were free.
  void reach(double progress) {
    if (progress_ < backward_end_ && progress >= backward_end_) {
      go_on_to(backward_end_);
      backward_ended_ = now_;
    }
    go_on_to(progress);
  }
  void go_on_to(double progress) {
    if (progress <= progress_) return;
    const double beside = std::max(wire_free_ - now_, 0.0);
    const double needed = (progress - progress_) / speed_;
    now_ += needed <= beside ? needed : beside + progress - progress_ - beside * speed_;
    progress_ = progress;
  }

  double backward_end_;
  /// Rate of the wire while compute runs.
  double rate_;
  double now_ = 0;
  /// Progress of compute, as the time at which it would be there with free collectives.
  double progress_ = 0;
  double backward_ended_ = 0;
  double wire_free_ = 0;
  double speed_ = 1;  ///< of compute until then
};

}  // namespace

bool QuickStep::can_estimate(const Job& job) {
  const DdpOptions& ddp = job.options().ddp();
  return !cap_cuts(job) && !no_partition_because(job.workload(), ddp.comm_hook) &&
         ddp.process_groups == 1 && collectives_at_a_time(job) == 1 &&
         bucket_limits(ddp, job.options().torch).rebuilt_from.has_value();
}

QuickStep::QuickStep(const Job& job) {
  const FreeCollectives free = with_free_collectives(job);
  for (const TimePoint start : free.starts) starts_.push_back(start.since_start().seconds());
  backward_end_ = free.backward_end.since_start().seconds();
  const KernelCosts kernels(job);
  copied_before_.push_back(0);
  for (const std::size_t parameter : free.order) {
    const Bytes bytes = job.gradients()[parameter];
    copied_before_.push_back(copied_before_.back() + kernels.copy(bytes).seconds());
  }
  // Together the copies take as long as before, whether that time is recorded or zero with views.
  const double all_copies = copied_before_.back();
  const double share = all_copies > 0 ? free.copies_out.seconds() / all_copies : 0;
  for (double& copied : copied_before_) copied *= share;
  event_latency_ = job.options().costs.event_latency.seconds();
  afterwards_ = free.iteration.seconds() - backward_end_ - copied_before_.back();
  const Rates rates = rates_of(job);
  beside_compute_ = rates.communication;

  const Job among = reduced_among(job);
  const Workload& workload = job.workload();
  const Dtype dtype = workload.parameters[free.order.front()].dtype;
  Bytes all;
  for (const std::size_t parameter : free.order) all += job.gradients()[parameter];
  const double most = index_of(static_cast<double>(all.count()));
  for (std::size_t i = 0; i <= static_cast<std::size_t>(most) + 1; ++i) {
    const Bytes bytes = wire_bytes(job.options().ddp(), dtype, Bytes(std::llround(bytes_at(i))));
    const CollectivePlan planned = plan(among, CollectiveKind::all_reduce, bytes);
    const double load = planned.choice ? memory_load(CollectiveKind::all_reduce, bytes,
                                                     planned.transfer, among.cluster())
                                       : 0;
    by_size_.push_back(
        {planned.transfer.seconds(),
         rates.compute_loss_per_channel * planned.channels + rates.compute_loss_per_load * load});
  }
}

QuickStep::Collective QuickStep::collective(Bytes bytes) const {
  const double place = index_of(static_cast<double>(bytes.count()));
  const auto below = std::min(static_cast<std::size_t>(place), by_size_.size() - 2);
  const double share = std::clamp(place - static_cast<double>(below), 0.0, 1.0);
  const Collective& low = by_size_[below];
  const Collective& high = by_size_[below + 1];
  return {low.seconds + share * (high.seconds - low.seconds),
          low.compute_loss + share * (high.compute_loss - low.compute_loss)};
}

double QuickStep::seconds(std::span<const std::size_t> ends,
                          std::span<const Bytes> bytes_before) const {
  std::vector<double> reduced;
  reduced.reserve(ends.size());
  TwoStreams streams(backward_end_, beside_compute_);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const Collective next = collective(bytes_before[end] - bytes_before[begin]);
    reduced.push_back(streams.run(starts_[end - 1], next.seconds, next.compute_loss));
    begin = end;
  }
  double copied = streams.end_of_backward();
  begin = 0;
  for (std::size_t b = 0; b < ends.size(); ++b) {
    copied = std::max(copied, reduced[b] + event_latency_) + copied_before_[ends[b]] -
             copied_before_[begin];
    begin = ends[b];
  }
  return copied + afterwards_;
}

}  // namespace ddpsim
