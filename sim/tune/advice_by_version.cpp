#include "advice_by_version.hpp"

#include <algorithm>
#include <utility>

#include "advice.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "setting.hpp"

namespace ddpsim {
namespace {

constexpr const char* kDepends =
    "which cap gains depends on PyTorch's version, which is unknown (pass --torch)";
constexpr const char* kDependsOnBoth =
    "which cap gains depends on PyTorch's version, which is unknown (pass --torch), and then on "
    "whether compute or communication explains the residual";

Job under(const Job& job, TorchVersion torch, NcclVersion nccl) {
  SimulationOptions options = job.options();
  options.torch = torch;
  options.possible_versions.clear();
  CollectiveModel model = job.model();
  if (AnalyticModel* chosen = nccl_of(model)) chosen->tuning.nccl = nccl;
  return job.with(std::move(options)).with(std::move(model));
}

/// The oldest and the newest version of a range and, between them, each NCCL version that came with
/// a PyTorch. DDP's rules are the same within the range, but NCCL's choice may differ only in the
/// middle. If the NCCL version is given, only the two ends are left.
std::vector<std::pair<TorchVersion, NcclVersion>> versions_of(const VersionRange& range) {
  std::vector<std::pair<TorchVersion, NcclVersion>> found{{range.from, range.oldest_nccl}};
  for (const TorchVersion torch : torch_releases()) {
    const bool between = torch > range.from && torch < range.to;
    if (!between || range.oldest_nccl == range.newest_nccl) continue;
    if (bundled_nccl(torch) != found.back().second) found.emplace_back(torch, bundled_nccl(torch));
  }
  found.emplace_back(range.to, range.newest_nccl);
  return found;
}

/// The job under each version whose NCCL can do what the job asks for.
std::vector<Job> jobs_of(const Job& job, const VersionRange& range) {
  std::vector<Job> jobs;
  for (const auto& [torch, nccl] : versions_of(range)) {
    Job one = under(job, torch, nccl);
    const AnalyticModel* chosen = nccl_of(one.model());
    if (chosen != nullptr && !can_select_algorithm(job.cluster(), chosen->tuning)) continue;
    jobs.push_back(std::move(one));
  }
  return jobs;
}

AdviceByVersion keep(const VersionRange& range) {
  return {.versions = range, .set = false, .bucket_cap_mb = {}, .first_bucket_mb = {}, .gain = {}};
}

/// Judges one setting over a whole range by the least gain under any of its versions. Keeps the
/// current setting unless this one is harmless under all versions, for the gain expected under the
/// likeliest version.
AdviceByVersion judged(const Job& job, const VersionRange& range, const BucketCaps& setting,
                       Duration expected, const TuneOptions& tuning) {
  AdviceByVersion advice{.versions = range,
                         .set = true,
                         .bucket_cap_mb = setting.bucket_cap_mb,
                         .first_bucket_mb = setting.first_bucket_mb,
                         .gain = {.value = Duration::max(), .low = Duration::max(), .high = {}}};
  for (const Job& end : jobs_of(job, range)) {
    const std::optional<Outcome> at_end =
        outcome(end, setting, tuning, readings_of(measured_step(tuning)));
    if (!at_end || !at_end->is_harmless(expected)) return keep(range);
    const Gain& gain = at_end->gain.gain;
    advice.gain = {std::min(advice.gain.value, gain.value), std::min(advice.gain.low, gain.low),
                   std::max(advice.gain.high, gain.high)};
  }
  return advice;
}

/// Whether any cap could gain enough to be recommended.
bool may_gain(const Job& job, const TuneOptions& tuning) {
  const auto may = [&](const Job& likely) {
    const std::vector<Bucket> buckets = buckets_of(likely);
    const Duration step = simulate_times(with_buckets(likely, buckets)).iteration;
    return step - lower_bound(likely, buckets) >= measurable(step, tuning);
  };
  const std::optional<Duration> measured = measured_step(tuning);
  if (!measured) return may(job);
  return may(as_measured(job, MeasuredCause{*measured, Cause::compute})) ||
         may(as_measured(job, MeasuredCause{*measured, Cause::communication}));
}

/// The advice for this range if it were known.
AdviceByVersion own_advice(const Job& job, const VersionRange& range, const TuneOptions& tuning) {
  const TorchVersion torch = job.options().torch;
  // The version searched already was not advised, or not under each NCCL.
  if (torch >= range.from && torch <= range.to) return keep(range);
  const Job newest = jobs_of(job, range).back();
  if (!may_gain(newest, tuning)) return keep(range);
  const Recommendation best = tune(newest, tuning).recommended;
  if (!best.set) return keep(range);
  return judged(job, range, {best.bucket_cap_mb, best.first_bucket_mb}, best.expected, tuning);
}

/// Recommends the setting of one range if it is good for all of them; the newest range's comes
/// first.
void recommend_common(const Job& job, TuneOptions tuning, TuneResult& result) {
  SimulationOptions certain = job.options();
  certain.possible_versions.clear();
  for (auto own = result.by_version.rbegin(); own != result.by_version.rend(); ++own) {
    if (!own->set || !own->bucket_cap_mb || own->first_bucket_mb) continue;
    tuning.caps = {*own->bucket_cap_mb};
    TuneResult tuned = tune(job.with(certain), tuning);
    if (!tuned.recommended.set) continue;
    std::vector<AdviceByVersion> common;
    for (const AdviceByVersion& advice : result.by_version)
      common.push_back(judged(job, advice.versions, {own->bucket_cap_mb, {}},
                              tuned.recommended.expected, tuning));
    if (!std::ranges::all_of(common, &AdviceByVersion::set)) continue;
    result.recommended = std::move(tuned.recommended);
    result.recommended.reason += "; no slower under any PyTorch version that may run";
    result.by_cause = std::move(tuned.by_cause);
    result.by_version = std::move(common);
    return;
  }
}

/// From the advice for each cause of the current step's residual, keeps what gains under every
/// version.
void keep_what_holds(const Job& job, const std::vector<VersionRange>& ranges,
                     const TuneOptions& tuning, std::vector<AdviceByCause>& by_cause) {
  for (AdviceByCause& advice : by_cause) {
    const Readings reading{MeasuredCause{tuning.replay->measured, advice.cause}};
    const auto holds = [&](const Job& end) {
      const std::optional<Outcome> at_end =
          outcome(end, {advice.bucket_cap_mb, advice.first_bucket_mb}, tuning, reading);
      return at_end && at_end->is_advised();
    };
    for (const VersionRange& range : ranges)
      if (advice.set && !std::ranges::all_of(jobs_of(job, range), holds))
        advice = {.cause = advice.cause,
                  .set = false,
                  .bucket_cap_mb = {},
                  .first_bucket_mb = {},
                  .gain = {}};
  }
}

}  // namespace

void hold_against_versions(const Job& job, const TuneOptions& tuning, TuneResult& result) {
  std::vector<VersionRange> ranges = job.options().possible_versions;
  std::erase_if(ranges, [&](const VersionRange& range) { return jobs_of(job, range).empty(); });
  const Recommendation& recommended = result.recommended;
  if (recommended.depends_on_cause) {
    keep_what_holds(job, ranges, tuning, result.by_cause);
    if (std::ranges::any_of(result.by_cause, &AdviceByCause::set)) return;
    result.recommended.depends_on_cause = false;
    result.recommended.depends_on_version = true;
    result.recommended.reason = kDependsOnBoth;
    return;
  }
  if (recommended.set) {
    const BucketCaps setting{recommended.bucket_cap_mb, recommended.first_bucket_mb};
    for (const VersionRange& range : ranges)
      result.by_version.push_back(judged(job, range, setting, recommended.expected, tuning));
    if (std::ranges::all_of(result.by_version, &AdviceByVersion::set)) return;
    withdraw(result, kDepends);
    result.recommended.depends_on_version = true;
    keep_what_holds(job, ranges, tuning, result.by_cause);
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
    // The version must be known before anything is measured.
    result.recommended.measure_first.reset();
    result.recommended.reason = kDepends;
  }
}

bool is_nowhere_slower(const Job& job, const Change& change, const ChangeTraits& traits,
                       Duration expected, const TuneOptions& tuning) {
  for (const VersionRange& range : job.options().possible_versions)
    for (const Job& version : jobs_of(job, range)) {
      if (!is_possible(change(version), version)) continue;
      const Gains gains(version, buckets_of(version), readings_of(measured_step(tuning)));
      const Outcome there{gains.of(change, traits), measurable(gains.step_before(), tuning)};
      if (!there.is_harmless(expected)) return false;
    }
  return true;
}

}  // namespace ddpsim
