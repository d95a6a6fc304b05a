#include "ddpsim/sim/tune/recorded_job.hpp"

#include <algorithm>
#include <utility>

#include "bucketing_search.hpp"
#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/recorded_buckets.hpp"
#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

using Collectives = std::vector<RecordedCollective>;

bool are(const std::vector<Bucket>& buckets, const Collectives& recorded,
         const DdpOptions& options) {
  return std::ranges::equal(
      buckets, recorded, [&](const Bucket& bucket, const RecordedCollective& collective) {
        return wire_bytes(options, bucket.dtype, bucket.bytes) == collective.bytes;
      });
}

/// One version for each set of rules that the job may follow: its own first, then the newest
/// version of each other range.
std::vector<TorchVersion> versions_of(const SimulationOptions& options) {
  const TorchVersion own = options.torch;
  std::vector<TorchVersion> versions{own};
  // Not std::views::reverse: clang before 16 cannot compile views over libstdc++.
  for (auto range = options.possible_versions.rbegin(); range != options.possible_versions.rend();
       ++range)
    if (own < range->from || own > range->to) versions.push_back(range->to);
  return versions;
}

struct FoundSetting {
  BucketSetting setting;
  std::vector<Bucket> buckets;
};
std::optional<FoundSetting> setting_of(const Collectives& recorded, const Job& job) {
  for (const TorchVersion torch : versions_of(job.options())) {
    DdpOptions options = with_recorded_hook(job.options().ddp(), job.workload().recorded_with);
    options.bucket_cap_mb.reset();
    options.first_bucket_mb.reset();
    const auto buckets = [&](const Bucketing& bucketing) {
      return buckets_under(job.workload(), options, torch, bucketing.limits);
    };
    const auto match = [&](const Bucketing& bucketing) {
      return bucketing.point.reachable && are(buckets(bucketing), recorded, options);
    };
    const Bucketing standard = default_bucketing(job.workload(), options, torch);
    if (match(standard)) return FoundSetting{{torch, {}, {}}, buckets(standard)};
    const std::vector<Bucketing> all = search_bucketings(job.workload(), options, torch, {}).found;
    const auto found = std::ranges::find_if(all, [&](const Bucketing& bucketing) {
      return bucketing.point.buckets == recorded.size() && match(bucketing);
    });
    if (found == all.end()) continue;
    const CurvePoint& point = found->point;
    const bool first_follows = point.bucket_cap_mb && cap_holds_for_first_bucket(torch);
    const bool first_default = point.first_bucket_mb == standard.point.first_bucket_mb;
    const auto& [low, high] = point.cap_range_mb;
    return FoundSetting{
        {torch, point.bucket_cap_mb ? std::optional(round_cap(low, high)) : std::nullopt,
         first_follows || first_default ? std::nullopt : point.first_bucket_mb},
        buckets(*found)};
  }
  return std::nullopt;
}

}  // namespace

Duration RecordedJob::recorded() const {
  Duration sum;
  for (const RecordedBucket& bucket : buckets) sum += bucket.median;
  return sum;
}

Duration RecordedJob::predicted() const {
  Duration sum;
  for (const RecordedBucket& bucket : buckets) sum += bucket.predicted;
  return sum;
}

bool is_inside(const RecordedBucket& bucket, bool waits_apart) {
  if (!waits_apart) return bucket.predicted <= bucket.least;
  // Share by which a transfer of one step repeats, from clocks that agree to microseconds.
  constexpr double kRepeats = 0.1;
  return bucket.predicted >= bucket.least.scaled(1 - kRepeats) &&
         bucket.predicted <= bucket.most.scaled(1 + kRepeats);
}

std::optional<RecordedJob> recorded_job(const Job& job) {
  const Workload& workload = job.workload();
  const RecordedWith& with = workload.recorded_with;
  if (with.collectives.empty()) return std::nullopt;
  RecordedJob current;
  const RecordedAllReduces samples = recorded_all_reduces(workload);
  current.waits_apart = samples.waits_apart;
  if (!workload.carried_over) current.iterations = step_spread(workload);
  current.torch = workload.torch;
  current.nccl = with.nccl;
  current.ranks = with.world_size;
  current.micro_batches = micro_batches(workload);
  // NCCL's times tell nothing about gloo's, nor the reverse.
  const bool same_backend = (with.nccl_kernels > 0) == (nccl_of(job.model()) != nullptr);
  current.comparable = same_backend && is_recorded_on(workload, job.cluster());
  if (const auto& calibration = job.cluster().calibration)
    current.fitted_to_recorded = std::ranges::any_of(
        calibration->shapes,
        [](const CalibratedShape& shape) { return shape.timed_by != TimedBy::all_reduce_perf; });
  for (std::size_t i = 0; i < with.collectives.size(); ++i) {
    const RecordedCollective& one = with.collectives[i];
    const CollectivePlan planned = plan(job, CollectiveKind::all_reduce, one.bytes, i);
    const std::vector<Duration>& times = samples.buckets[i].times;
    current.buckets.push_back({.bytes = one.bytes,
                               .least = times.front(),
                               .median = quantile(times, 0.5),
                               .most = times.back(),
                               .predicted = planned.transfer});
    current.steps = times.size();
    current.channels = std::max(current.channels, one.channels);
    if (planned.choice)
      current.predicted_channels = std::max(current.predicted_channels, planned.channels);
  }
  if (cannot_assign(workload)) return current;
  const DdpOptions options = with_recorded_hook(job.options().ddp(), with);
  current.same_buckets =
      are(steady_buckets(workload, options, job.options().torch), with.collectives, options);
  current.asked_otherwise = options.bucket_cap_mb || options.first_bucket_mb ||
                            !options.bucket_cap_mb_list.empty() || options.find_unused_parameters ||
                            options.static_graph;
  if (current.same_buckets || current.asked_otherwise) return current;
  if (auto found = setting_of(with.collectives, job)) {
    current.setting = found->setting;
    current.others = std::move(found->buckets);
  } else {
    current.others = cut_as_recorded(workload);
  }
  return current;
}

Job as_recorded(const Job& job, const RecordedJob& current) {
  if (current.others.empty() || job.options().iterations > 0) return job;
  SimulationOptions options = job.options();
  options.buckets = current.others;
  return job.with(std::move(options));
}

}  // namespace ddpsim
