#include "ddpsim/sim/tune/tune.hpp"

#include <span>

#include "advice.hpp"
#include "advice_by_cause.hpp"
#include "advice_by_version.hpp"
#include "cap_search.hpp"

namespace ddpsim {

namespace {

constexpr const char* kOthersLeftOut =
    "a cap moves DDPOptimizer's cuts as well as the buckets, so only the caps of the curve were "
    "tried, not every bucketing";

}  // namespace

TuneResult tune(const Job& job, const TuneOptions& given) {
  TuneOptions tuning = given;
  const bool tries_some = tuning.caps.empty() && cap_cuts(job);
  // If a cap moves cuts as well as buckets, jumping between bucketings would miss some of the
  // possible steps.
  if (tries_some) {
    const std::span<const double> typed = typed_caps(job);
    tuning.caps.assign(typed.begin(), typed.end());
  }
  const std::optional<Duration> measured = measured_step(tuning);
  TuneResult result = measured ? tune_measured(job, tuning, *measured)
                               : search_caps(job, tuning, readings_of(std::nullopt));
  hold_against_versions(job, tuning, result);
  if (tries_some) result.left_out = kOthersLeftOut;
  return result;
}

}  // namespace ddpsim
