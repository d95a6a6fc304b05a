// A step bucket by bucket, for searches that look at more bucketings than can be simulated.
//
// Compute runs as it would beside free collectives, more slowly while one is resident; a bucket is on the wire once its last
// gradient is there and the bucket in front has ended, more slowly while compute runs; copies out follow, bucket by bucket,
// then what comes behind them. What the simulation knows besides is left out: hosts, events, kernels of hooks. It tells which
// bucketings to simulate; no answer is its own. Collectives' times are interpolated between sizes.
#pragma once

#include <span>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "free_collectives.hpp"

namespace ddpsim {

class QuickStep {
 public:
  /// Precondition: can_estimate(job).
  explicit QuickStep(const Job& job);

  /// Seconds of the step cut behind each of `ends`, the last of which is the number of gradients; `bytes_before` are
  /// those of the first gradients in the order they are ready.
  double seconds(std::span<const std::size_t> ends, std::span<const Bytes> bytes_before) const;

  /// One communicator whose collectives run one behind the other, gradients that may share a bucket and are ready in the
  /// order they are assigned.
  static bool can_estimate(const Job& job);

 private:
  struct Collective {
    double seconds = 0;       ///< alone
    double compute_loss = 0;  ///< share of its rate that compute loses beside it
  };
  Collective collective(Bytes bytes) const;

  std::vector<double> starts_;
  double backward_end_;
  std::vector<double> copied_before_;  ///< what copies out of the first gradients take together
  double event_latency_;
  double afterwards_;      ///< from the last copy out to the end of the step
  double beside_compute_;  ///< rate of a collective
  std::vector<Collective> by_size_;
};

}  // namespace ddpsim
