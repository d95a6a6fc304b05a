// One long run under several seeds. It is simulated again with other options or other checkpoint
// intervals.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ddpsim/sim/elastic/elastic.hpp"

namespace ddpsim {

inline constexpr double kYear = 365.25 * 24 * 3600;  // seconds

double in_seconds(RunTime time);

/// Length of one run of a question.
RunTime length_of(const ElasticQuestion& question);
/// Number of failures in a run whose length is not given.
inline constexpr double kFailuresDue = 200;

Sampled sampled(const std::vector<double>& values);
double mean_goodput(const std::vector<double>& values);

class ElasticRuns {
 public:
  ElasticRuns(const ElasticQuestion& question, RunTime length, Progress* progress);

  /// Number of steps between checkpoints for an interval in seconds.
  std::int64_t steps_of(double interval) const;
  const std::vector<RunTime>& steps() const { return steps_; }
  double step_seconds() const { return in_seconds(steps_.back()); }

  std::vector<RunOutcome> outcomes(std::int64_t checkpoint_steps) const {
    return outcomes(question_.options, failures_, checkpoint_steps);
  }
  std::vector<RunOutcome> outcomes(const ElasticOptions& options,
                                   std::int64_t checkpoint_steps) const {
    return outcomes(options, drawn(options), checkpoint_steps);
  }

  const std::vector<double>& goodputs(std::int64_t checkpoint_steps);
  static std::vector<double> goodputs_of(const std::vector<RunOutcome>& outcomes);
  /// Intervals tried so far, shortest first.
  const std::map<std::int64_t, std::vector<double>>& tried() const { return goodputs_; }

 private:
  using Drawn = std::vector<std::vector<NodeFailure>>;

  Drawn drawn(const ElasticOptions& options) const;
  std::vector<RunOutcome> outcomes(const ElasticOptions& options, const Drawn& failures,
                                   std::int64_t checkpoint_steps) const;

  const ElasticQuestion& question_;
  const RunTime length_;
  Progress* const progress_;
  std::vector<RunTime> steps_;
  Drawn failures_;
  std::map<std::int64_t, std::vector<double>> goodputs_;
};

}  // namespace ddpsim
