#include "advice.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {

std::optional<Duration> measured_step(const TuneOptions& tuning) {
  if (!tuning.replay || tuning.replay->contradicted()) return std::nullopt;
  return tuning.replay->measured;
}

Outcome outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning,
                const std::optional<MeasuredCause>& measured) {
  DdpOptions options = job.options().ddp;
  options.bucket_cap_mb = setting.bucket_cap_mb;
  options.first_bucket_mb = setting.first_bucket_mb;
  if (unsupported(options)) return {};
  const Gains gains(job, buckets_of(job), measured);
  const Gain gain = gains.of(steady_buckets(job.workload(), options));
  return {gain, gain.value >= least_gain(gains.step_before(), tuning) && gain.low > Duration()};
}

Outcome outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning) {
  const std::optional<Duration> measured = measured_step(tuning);
  if (!measured) return outcome(job, setting, tuning, std::nullopt);
  const Outcome compute = outcome(job, setting, tuning, MeasuredCause{*measured, Cause::compute});
  const Outcome communication =
      outcome(job, setting, tuning, MeasuredCause{*measured, Cause::communication});
  return {least_of(compute.gain, communication.gain), compute.advised && communication.advised};
}

Gain least_of(const Gain& a, const Gain& b) {
  return {std::min(a.value, b.value), std::min(a.low, b.low), std::max(a.high, b.high)};
}

void withdraw(TuneResult& result, const std::string& reason) {
  Recommendation& recommended = result.recommended;
  recommended.set = false;
  recommended.bucket_cap_mb.reset();
  recommended.first_bucket_mb.reset();
  recommended.python.clear();
  recommended.most_robust = std::exchange(recommended.gain, Gain{});
  recommended.cap_range_mb = result.baseline().cap_range_mb;
  recommended.reason = reason;
}

}  // namespace ddpsim
