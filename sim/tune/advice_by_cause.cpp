#include "advice_by_cause.hpp"

#include <algorithm>
#include <optional>

#include "advice.hpp"
#include "cap_search.hpp"

namespace ddpsim {
namespace {

constexpr const char* kDependsOnCause =
    "which cap gains depends on whether compute or communication explains the residual of the "
    "current step";

AdviceByCause own(const Recommendation& advised, Cause cause) {
  return {.cause = cause,
          .set = advised.set,
          .bucket_cap_mb = advised.bucket_cap_mb,
          .first_bucket_mb = advised.first_bucket_mb,
          .gain = advised.gain};
}

}  // namespace

TuneResult tune_measured(const Job& job, const TuneOptions& tuning, Duration measured) {
  const Readings readings = readings_of(measured);
  TuneResult result = search_caps(job, tuning, readings);
  const Recommendation& recommended = result.recommended;
  for (const std::optional<MeasuredCause>& reading : readings) {
    if (!recommended.set) {
      result.by_cause.push_back(own(recommend_cap(job, tuning, {reading}), reading->cause));
      continue;
    }
    result.by_cause.push_back(own(recommended, reading->cause));
    const BucketCaps setting{recommended.bucket_cap_mb, recommended.first_bucket_mb};
    result.by_cause.back().gain = outcome(job, setting, tuning, {reading})->gain.gain;
  }
  if (recommended.set || std::ranges::none_of(result.by_cause, &AdviceByCause::set)) return result;
  withdraw(result, kDependsOnCause);
  result.recommended.depends_on_cause = true;
  return result;
}

}  // namespace ddpsim
