#include "advice_by_cause.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "advice.hpp"
#include "cap_search.hpp"

namespace ddpsim {
namespace {

constexpr const char* kDependsOnCause =
    "which cap gains depends on whether compute or communication is what the replay of today's "
    "step misses";

bool same_point(const CurvePoint& a, const CurvePoint& b) {
  return a.bucket_cap_mb == b.bucket_cap_mb && a.first_bucket_mb == b.first_bucket_mb;
}

/// Both were searched over the same settings, in the same order.
void note_other_steps(TuneResult& result, const TuneResult& other) {
  result.default_setting.if_communication = other.default_setting.iteration;
  if (result.today) result.today->point.if_communication = other.baseline().iteration;
  for (std::size_t i = 0; i < result.curve.size(); ++i)
    result.curve[i].if_communication = other.curve[i].iteration;
  if (same_point(result.best, result.default_setting))
    result.best.if_communication = result.default_setting.if_communication;
  for (const CurvePoint& point : result.curve)
    if (same_point(point, result.best)) result.best.if_communication = point.if_communication;
}

AdviceByCause own(const Recommendation& advised, Cause cause) {
  return {.cause = cause,
          .set = advised.set,
          .bucket_cap_mb = advised.bucket_cap_mb,
          .first_bucket_mb = advised.first_bucket_mb,
          .gain = advised.gain};
}

}  // namespace

TuneResult tune_measured(const Job& job, const TuneOptions& tuning, Duration measured) {
  constexpr Cause kCauses[] = {Cause::compute, Cause::communication};
  TuneResult result = search_caps(job, tuning, MeasuredCause{measured, Cause::compute});
  const TuneResult other = search_caps(job, tuning, MeasuredCause{measured, Cause::communication});
  note_other_steps(result, other);
  const Recommendation advised[] = {result.recommended, other.recommended};
  for (const Recommendation& one : advised) {
    if (!one.set) continue;
    const BucketCaps setting{one.bucket_cap_mb, one.first_bucket_mb};
    Outcome outcomes[2];
    for (std::size_t c = 0; c < 2; ++c)
      outcomes[c] = outcome(job, setting, tuning, MeasuredCause{measured, kCauses[c]});
    if (!outcomes[0].advised || !outcomes[1].advised) continue;
    result.recommended = one;
    result.recommended.gain = least_of(outcomes[0].gain, outcomes[1].gain);
    for (std::size_t c = 0; c < 2; ++c) {
      result.by_cause.push_back(own(one, kCauses[c]));
      result.by_cause.back().gain = outcomes[c].gain;
    }
    return result;
  }
  for (std::size_t c = 0; c < 2; ++c) result.by_cause.push_back(own(advised[c], kCauses[c]));
  if (!advised[0].set && !advised[1].set) return result;
  withdraw(result, kDependsOnCause);
  result.recommended.depends_on_cause = true;
  return result;
}

}  // namespace ddpsim
