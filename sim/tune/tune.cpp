#include "ddpsim/sim/tune.hpp"

#include "advice.hpp"
#include "advice_by_cause.hpp"
#include "advice_by_version.hpp"
#include "cap_search.hpp"

namespace ddpsim {

TuneResult tune(const Job& job, const TuneOptions& tuning) {
  const std::optional<Duration> measured = measured_step(tuning);
  TuneResult result = measured ? tune_measured(job, tuning, *measured)
                               : search_caps(job, tuning, readings_of(std::nullopt));
  hold_against_versions(job, tuning, result);
  return result;
}

}  // namespace ddpsim
