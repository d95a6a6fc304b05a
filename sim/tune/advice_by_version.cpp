#include "advice_by_version.hpp"

#include <algorithm>
#include <utility>

#include "bucketing_search.hpp"
#include "gain.hpp"

namespace ddpsim {
namespace {

constexpr const char* kDepends =
    "which cap gains depends on PyTorch's version, which neither the workload nor --torch says";

struct Setting {
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

Job under(const Job& job, TorchVersion torch, NcclVersion nccl) {
  SimulationOptions options = job.options();
  options.ddp.torch = torch;
  options.possible_versions.clear();
  CollectiveModel model = job.model();
  if (AnalyticModel* chosen = nccl_of(model)) chosen->tuning.nccl = nccl;
  return job.with(std::move(options)).with(std::move(model));
}

/// The oldest and the newest of a range, as far as that NCCL can do what is asked of it. Between them
/// no rule of DDP's changes, and NCCL changes step by step.
std::vector<Job> ends_of(const Job& job, const VersionRange& range) {
  std::vector<Job> ends;
  for (const auto& [torch, nccl] :
       {std::pair(range.from, range.oldest_nccl), std::pair(range.to, range.newest_nccl)}) {
    Job end = under(job, torch, nccl);
    const AnalyticModel* chosen = nccl_of(end.model());
    if (chosen != nullptr && !can_select_algorithm(job.cluster(), chosen->tuning)) continue;
    ends.push_back(std::move(end));
  }
  return ends;
}

/// What the setting gains under the job's version, and whether that would be advised; nothing where
/// this version cannot set it.
struct Outcome {
  Gain gain;
  bool advised = false;
};
Outcome outcome(const Job& job, const Setting& setting, const TuneOptions& tuning) {
  DdpOptions options = job.options().ddp;
  options.bucket_cap_mb = setting.bucket_cap_mb;
  options.first_bucket_mb = setting.first_bucket_mb;
  if (unsupported(options)) return {};
  const std::vector<Bucket> before = buckets_of(job);
  const std::vector<Bucket> after = steady_buckets(job.workload(), options);
  const Duration step = simulate_times(with_buckets(job, before)).iteration;
  const Duration value = step - simulate_times(with_buckets(job, after)).iteration;
  const Gain gain = gain_with_interval(job, before, after, value, tuning.replay);
  return {gain, gain.value >= least_gain(step, tuning) && gain.low > Duration()};
}

AdviceByVersion keep(const VersionRange& range) {
  return {.versions = range, .set = false, .bucket_cap_mb = {}, .first_bucket_mb = {}, .gain = {}};
}

/// One setting over a whole range: the least it gains at either end; kept aside unless both advise it.
AdviceByVersion judged(const Job& job, const VersionRange& range, const Setting& setting,
                       const TuneOptions& tuning) {
  AdviceByVersion advice{.versions = range,
                         .set = true,
                         .bucket_cap_mb = setting.bucket_cap_mb,
                         .first_bucket_mb = setting.first_bucket_mb,
                         .gain = {.value = Duration::max(), .low = Duration::max(), .high = {}}};
  for (const Job& end : ends_of(job, range)) {
    const auto [gain, advised] = outcome(end, setting, tuning);
    if (!advised) return keep(range);
    advice.gain = {std::min(advice.gain.value, gain.value), std::min(advice.gain.low, gain.low),
                   std::max(advice.gain.high, gain.high)};
  }
  return advice;
}

/// The advice that this range would get if it were known.
AdviceByVersion own_advice(const Job& job, const VersionRange& range, const TuneOptions& tuning) {
  const TorchVersion torch = job.options().ddp.torch;
  // What was searched already was not advised, or not under both ends.
  if (torch >= range.from && torch <= range.to) return keep(range);
  const Job newest = ends_of(job, range).back();
  const std::vector<Bucket> buckets = buckets_of(newest);
  const Duration step = simulate_times(with_buckets(newest, buckets)).iteration;
  if (step - lower_bound(newest, buckets) < least_gain(step, tuning)) return keep(range);
  const Recommendation best = tune(newest, tuning).recommended;
  if (!best.set) return keep(range);
  return judged(job, range, {best.bucket_cap_mb, best.first_bucket_mb}, tuning);
}

void withdraw(TuneResult& result) {
  Recommendation& recommended = result.recommended;
  recommended.set = false;
  recommended.depends_on_version = true;
  recommended.bucket_cap_mb.reset();
  recommended.first_bucket_mb.reset();
  recommended.python.clear();
  recommended.most_robust = std::exchange(recommended.gain, Gain{});
  recommended.cap_range_mb = result.baseline().cap_range_mb;
  recommended.reason = kDepends;
}

/// Where one range's cap is good for all of them, that one after all; the newest range's first.
void recommend_common(const Job& job, TuneOptions tuning, TuneResult& result) {
  SimulationOptions certain = job.options();
  certain.possible_versions.clear();
  for (auto own = result.by_version.rbegin(); own != result.by_version.rend(); ++own) {
    if (!own->set || !own->bucket_cap_mb || own->first_bucket_mb) continue;
    std::vector<AdviceByVersion> common;
    for (const AdviceByVersion& advice : result.by_version)
      common.push_back(judged(job, advice.versions, {own->bucket_cap_mb, {}}, tuning));
    if (!std::ranges::all_of(common, &AdviceByVersion::set)) continue;
    tuning.caps = {*own->bucket_cap_mb};
    Recommendation recommended = tune(job.with(certain), tuning).recommended;
    if (!recommended.set) continue;
    recommended.reason += "; gains whichever PyTorch runs";
    result.recommended = std::move(recommended);
    result.by_version = std::move(common);
    return;
  }
}

}  // namespace

void hold_against_versions(const Job& job, const TuneOptions& tuning, TuneResult& result) {
  std::vector<VersionRange> ranges = job.options().possible_versions;
  std::erase_if(ranges, [&](const VersionRange& range) { return ends_of(job, range).empty(); });
  const Recommendation& recommended = result.recommended;
  if (recommended.set) {
    const Setting setting{recommended.bucket_cap_mb, recommended.first_bucket_mb};
    for (const VersionRange& range : ranges)
      result.by_version.push_back(judged(job, range, setting, tuning));
    if (std::ranges::all_of(result.by_version, &AdviceByVersion::set)) return;
    withdraw(result);
    if (!tuning.advise_each_version) return;
    for (AdviceByVersion& advice : result.by_version)
      if (!advice.set) advice = own_advice(job, advice.versions, tuning);
    recommend_common(job, tuning, result);
    return;
  }
  if (!tuning.advise_each_version) return;
  for (const VersionRange& range : ranges)
    result.by_version.push_back(own_advice(job, range, tuning));
  if (std::ranges::any_of(result.by_version, &AdviceByVersion::set)) {
    result.recommended.depends_on_version = true;
    result.recommended.reason = kDepends;
  }
}

}  // namespace ddpsim
