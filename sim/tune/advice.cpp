#include "advice.hpp"

#include <utility>

#include "ddpsim/sim/step/job_buckets.hpp"

namespace ddpsim {

std::optional<Duration> measured_step(const TuneOptions& tuning) {
  if (!tuning.replay || tuning.replay->contradicted()) return std::nullopt;
  return tuning.replay->measured;
}

std::optional<Outcome> outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning,
                               const Readings& readings) {
  DdpOptions options = job.options().ddp();
  options.bucket_cap_mb = setting.bucket_cap_mb;
  options.first_bucket_mb = setting.first_bucket_mb;
  if (unsupported(options, job.options().torch)) return std::nullopt;
  const Gains gains(job, buckets_of(job), readings);
  const std::vector<Bucket> after = steady_buckets(job.workload(), options, job.options().torch);
  return Outcome{
      gains.of([&](const Job& one) { return with_buckets(one, after, setting); }, kBucketsAlone),
      measurable(gains.step_before(), tuning)};
}

void withdraw(TuneResult& result, const std::string& reason) {
  Recommendation& recommended = result.recommended;
  recommended.set = false;
  recommended.bucket_cap_mb.reset();
  recommended.first_bucket_mb.reset();
  recommended.python.clear();
  recommended.expected = recommended.regret = Duration();
  recommended.next_worse.reset();
  recommended.measure_first.reset();
  recommended.most_robust = std::exchange(recommended.gain, Gain{});
  recommended.cap_range_mb = result.baseline().cap_range_mb;
  recommended.reason = reason;
}

}  // namespace ddpsim
