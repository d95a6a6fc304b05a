// Whether one setting of buckets is worth advising for one job.
#pragma once

#include <optional>
#include <string>

#include "gain.hpp"

namespace ddpsim {

struct BucketCaps {
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

/// What a setting gains over today's, and whether that would be advised; nothing where the job's
/// PyTorch cannot set it.
struct Outcome {
  Gain gain;
  bool advised = false;
};
Outcome outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning,
                const std::optional<MeasuredCause>& measured);
/// The same whatever the cause of what today's replay misses: the least of both.
Outcome outcome(const Job& job, const BucketCaps& setting, const TuneOptions& tuning);
/// What one of two outcomes may be taken for without knowing which it will be.
Gain least_of(const Gain& a, const Gain& b);

/// The step that was measured, where it can be this job's.
std::optional<Duration> measured_step(const TuneOptions& tuning);

/// The recommendation becomes to keep what runs today, for that reason.
void withdraw(TuneResult& result, const std::string& reason);

}  // namespace ddpsim
