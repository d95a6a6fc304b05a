#include "ddpsim/sim/recorded_today.hpp"

#include <algorithm>
#include <variant>

#include "bucketing_search.hpp"

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

/// With the hook that the recorded all-reduces show, not the one asked for.
DdpOptions as_recorded(DdpOptions options, const RecordedWith& with) {
  options.comm_hook = with.wire == Dtype::float16    ? CommHook::fp16_compress
                      : with.wire == Dtype::bfloat16 ? CommHook::bf16_compress
                                                     : CommHook::none;
  return options;
}

/// One version of each set of rules the job may follow: its own first, then the newest of other ranges.
std::vector<TorchVersion> versions_of(const SimulationOptions& options) {
  const TorchVersion own = options.ddp.torch;
  std::vector<TorchVersion> versions{own};
  // Not std::views::reverse: clang before 16 cannot compile views over libstdc++.
  for (auto range = options.possible_versions.rbegin(); range != options.possible_versions.rend();
       ++range)
    if (own < range->from || own > range->to) versions.push_back(range->to);
  return versions;
}

std::optional<BucketSetting> setting_of(const Collectives& recorded, const Job& job) {
  for (const TorchVersion torch : versions_of(job.options())) {
    DdpOptions options = as_recorded(job.options().ddp, job.workload().recorded_with);
    options.torch = torch;
    options.bucket_cap_mb.reset();
    options.first_bucket_mb.reset();
    const auto match = [&](const Bucketing& bucketing) {
      return bucketing.point.reachable &&
             are(buckets_under(job.workload(), options, bucketing.limits), recorded, options);
    };
    if (match(default_bucketing(job.workload(), options))) return BucketSetting{torch, {}, {}};
    const std::vector<Bucketing> all = search_bucketings(job.workload(), options, {}).found;
    const auto found = std::ranges::find_if(all, [&](const Bucketing& bucketing) {
      return bucketing.point.buckets == recorded.size() && match(bucketing);
    });
    if (found == all.end()) continue;
    const CurvePoint& point = found->point;
    const bool first_follows = point.bucket_cap_mb && cap_holds_for_first_bucket(torch);
    const bool first_default =
        point.first_bucket_mb == default_bucketing(job.workload(), options).point.first_bucket_mb;
    return BucketSetting{torch, point.bucket_cap_mb,
                         first_follows || first_default ? std::nullopt : point.first_bucket_mb};
  }
  return std::nullopt;
}

}  // namespace

Duration RecordedToday::recorded() const {
  Duration sum;
  for (const RecordedBucket& bucket : buckets) sum += bucket.duration;
  return sum;
}

Duration RecordedToday::predicted() const {
  Duration sum;
  for (const RecordedBucket& bucket : buckets) sum += bucket.predicted;
  return sum;
}

std::optional<RecordedToday> recorded_today(const Job& job) {
  const Workload& workload = job.workload();
  const RecordedWith& with = workload.recorded_with;
  if (with.collectives.empty()) return std::nullopt;
  RecordedToday today;
  today.ranks = with.world_size;
  const bool other_backend =
      with.nccl_kernels > 0 && std::holds_alternative<GlooModel>(job.model());
  today.comparable = !other_backend && with.world_size > 1 &&
                     with.world_size == job.cluster().ranks() &&
                     (workload.gpu.empty() || workload.gpu == job.cluster().gpu.name);
  for (std::size_t i = 0; i < with.collectives.size(); ++i) {
    const RecordedCollective& one = with.collectives[i];
    const CollectivePlan planned = plan(job, CollectiveKind::all_reduce, one.bytes, i);
    today.buckets.push_back({one.bytes, one.duration, planned.transfer});
    today.channels = std::max(today.channels, one.channels);
    if (planned.choice)
      today.predicted_channels = std::max(today.predicted_channels, planned.channels);
  }
  if (cannot_assign(workload)) return today;
  const DdpOptions options = as_recorded(job.options().ddp, with);
  today.same_buckets = are(steady_buckets(workload, options), with.collectives, options);
  today.asked_otherwise = options.bucket_cap_mb || options.first_bucket_mb ||
                          !options.bucket_cap_mb_list.empty() || options.find_unused_parameters ||
                          options.static_graph;
  if (!today.same_buckets && !today.asked_otherwise)
    today.setting = setting_of(with.collectives, job);
  return today;
}

}  // namespace ddpsim
