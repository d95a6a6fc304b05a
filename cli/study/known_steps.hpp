// Steps that were simulated: points of a sweep whose options differ in what decides buckets alone, and come to the same
// buckets, take the same step.
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
  std::string corrected_by{};   ///< the candidate whose measured step it rests on; empty: on none
  std::string contradiction{};  ///< its own was measured, and cannot be this job's
};

using Partition = std::vector<std::vector<std::size_t>>;  ///< of parameters, by bucket
Partition partition_of(const Job& job);

/// From any thread.
class KnownSteps {
 public:
  /// A workload on a candidate, by their indices. Points come in this order, so that few are swept at a time: what is known
  /// of others goes.
  using Place = std::pair<std::size_t, std::size_t>;
  /// `alike`: of PointSettings. Simulates where none such is known.
  KnownStep get(const Place& place, std::size_t alike, const Job& job,
                const std::function<KnownStep()>& simulate);

 private:
  using Steps = ReadOnce<std::pair<std::size_t, Partition>, KnownStep>;
  std::shared_ptr<Steps> at(const Place& place);

  std::mutex mutex_;
  std::map<Place, std::shared_ptr<Steps>> known_;
};

}  // namespace ddpsim
