#include "optimizer_in_backward.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

double share_of(const StepPlan& step, Bytes bytes) {
  const Bytes all = step.gradients;
  return all > Bytes() ? static_cast<double>(bytes.count()) / static_cast<double>(all.count()) : 0;
}

std::int64_t kernels_of_steps(const StepPlan& step, std::size_t bucket) {
  return static_cast<std::int64_t>(step.buckets[bucket].parameters.size()) *
         step_kernels(step.job.options().optimizer.kind);
}

}  // namespace

Duration share_of_optimizer(const StepPlan& step, const Recording& recording, std::size_t bucket,
                            const RankStreams& streams) {
  return streams.scaled(recording.optimizer().scaled(share_of(step, step.buckets[bucket].bytes)));
}

void step_bucket(const StepPlan& step, const Recording& recording, std::size_t bucket,
                 OperationKind purpose, const WorkInFlight& work, RankStreams& streams) {
  const auto label = static_cast<std::int32_t>(bucket);
  const std::uint32_t all_reduce = *step.hooks[bucket].stages.back().collective;
  streams.hold_compute_for(OperationKind::all_reduce, work.buckets[bucket], all_reduce);
  // The bucket is divided in place.
  streams.compute(purpose, step.kernels.copy(step.buckets[bucket].bytes), label);
  const Duration recorded = share_of_optimizer(step, recording, bucket, streams);
  streams.compute(OperationKind::optimizer, recorded, label);
  const Duration single = step.kernels.kernels(kernels_of_steps(step, bucket), Bytes());
  streams.compute(purpose, std::max(single - recorded, Duration()), label);
}

void step_others(const StepPlan& step, const Recording& recording, const Launches& launches,
                 RankStreams& streams) {
  streams.wait_as_recorded(OperationKind::optimizer, launches.optimizer, recording.optimizer(),
                           recording.waited_in_optimizer());
  Duration left = streams.scaled(recording.optimizer());
  for (std::size_t b = 0; b < step.buckets.size(); ++b)
    left -= share_of_optimizer(step, recording, b, streams);
  streams.note_kernels(OperationKind::optimizer, launches.optimizer);
  streams.compute(OperationKind::optimizer, std::max(left, Duration()));
}

Duration host_time_of_steps(const StepPlan& step, std::size_t bucket) {
  const DdpCosts& costs = step.job.options().costs;
  return costs.host_step * static_cast<std::int64_t>(step.buckets[bucket].parameters.size()) +
         costs.host_step_kernel * kernels_of_steps(step, bucket);
}

std::vector<std::size_t> steps_before(const PlannedStep& planned, const Execution& execution) {
  const std::vector<OperationTime>& compute = execution.ranks.front().compute;
  const std::vector<WrittenGradient>& gradients = planned.gradients.front();
  std::vector<std::size_t> before;
  for (const BucketCollectives& bucket : planned.buckets) {
    const TimePoint reduced = execution.collectives[bucket.collectives.back()].end;
    // Computing a gradient begins when the previous one has been written.
    std::size_t gradient = 1;
    while (gradient < gradients.size() && compute[gradients[gradient - 1].operation].end < reduced)
      ++gradient;
    before.push_back(gradient);
  }
  return before;
}

}  // namespace ddpsim
