#include "ddpsim/sim/tune.hpp"

#include <vector>

#include "advice.hpp"
#include "advice_by_cause.hpp"
#include "advice_by_version.hpp"
#include "cap_search.hpp"

namespace ddpsim {

namespace {

/// Where a cap moves cuts as well as buckets no jump from one bucketing to the next finds every step there is: caps that
/// people set, from the first bucket's size on.
const std::vector<double> kCapsTried = {1,  2,  3,  4,  5,  6,   8,   10,  12,  15,  20,  25,
                                        30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000};
constexpr const char* kOthersLeftOut =
    "a cap moves the cuts of DDPOptimizer as well as the buckets: not every bucketing was tried, "
    "but the caps of the curve";

}  // namespace

TuneResult tune(const Job& job, const TuneOptions& given) {
  TuneOptions tuning = given;
  const bool tries_some = tuning.caps.empty() && cap_cuts(job);
  if (tries_some) tuning.caps = kCapsTried;
  const std::optional<Duration> measured = measured_step(tuning);
  TuneResult result = measured ? tune_measured(job, tuning, *measured)
                               : search_caps(job, tuning, readings_of(std::nullopt));
  hold_against_versions(job, tuning, result);
  if (tries_some) result.left_out = kOthersLeftOut;
  return result;
}

}  // namespace ddpsim
