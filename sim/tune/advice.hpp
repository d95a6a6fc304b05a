// Whether one setting of buckets is worth advising for one job.
#pragma once

#include <optional>
#include <string>

#include "gain.hpp"

namespace ddpsim {

/// What a setting gains over today's where the job's PyTorch can set it.
struct Outcome {
  WeighedGain gain;
  Duration measurable;
  bool is_advised() const { return is_worth(gain, measurable); }
  /// As predicted not slower than today's, and no worse where it goes wrong than what is expected elsewhere may cost.
  bool is_harmless(Duration expected) const {
    return gain.gain.value >= Duration() && gain.regret() <= bearable_regret(expected, measurable);
  }
};
std::optional<Outcome> outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning,
                               const Readings& readings);

/// The step that was measured, where it can be this job's.
std::optional<Duration> measured_step(const TuneOptions& tuning);

/// The recommendation becomes to keep what runs today, for that reason.
void withdraw(TuneResult& result, const std::string& reason);

}  // namespace ddpsim
