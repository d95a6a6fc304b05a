// Whether one bucket setting is worth recommending for one job.
#pragma once

#include <optional>
#include <string>

#include "gain.hpp"

namespace ddpsim {

/// What a setting gains over the current one, if the job's PyTorch version can set it.
struct Outcome {
  WeighedGain gain;
  Duration measurable;
  bool is_advised() const { return is_worth(gain, measurable); }
  /// Whether it is predicted not to be slower than the current setting, and its regret is bearable
  /// for what is expected elsewhere.
  bool is_harmless(Duration expected) const {
    return gain.gain.value >= Duration() && gain.regret() <= bearable_regret(expected, measurable);
  }
};
std::optional<Outcome> outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning,
                               const Readings& readings);

/// The measured step, if it can be this job's.
std::optional<Duration> measured_step(const TuneOptions& tuning);

/// Changes the recommendation to keeping the current setting, for this reason.
void withdraw(TuneResult& result, const std::string& reason);

}  // namespace ddpsim
