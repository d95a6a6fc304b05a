// Steps that were already simulated. Points of a sweep take the same step if their options differ only in options that decide
// buckets, and the buckets are equal.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "read_once.hpp"

namespace ddpsim {

struct KnownStep {
  StepTimes times;
  std::optional<Confidence> confidence;
  /// The candidate whose measured step corrected this one; empty if none did.
  std::string corrected_by{};
  /// Why the measured step of this candidate cannot belong to this job; empty if it can.
  std::string contradiction{};
};

/// Parameters of each bucket.
using Partition = std::vector<std::vector<std::size_t>>;
Partition partition_of(const Job& job);

/// Can be used from any thread.
class KnownSteps {
 public:
  /// Indices of a workload and a candidate. Points come in this order, so only a few places are in use at a time, and the steps of
  /// older places are dropped.
  using Place = std::pair<std::size_t, std::size_t>;
  /// Returns the step of a job, and simulates it if it is not known. `alike` is PointSettings::alike.
  KnownStep get(const Place& place, std::size_t alike, const Job& job,
                const std::function<KnownStep()>& simulate);

 private:
  using Steps = ReadOnce<std::pair<std::size_t, Partition>, KnownStep>;
  std::shared_ptr<Steps> at(const Place& place);

  std::mutex mutex_;
  std::map<Place, std::shared_ptr<Steps>> known_;
};

}  // namespace ddpsim
