// A fast estimate of the step, bucket by bucket, for searches over more bucketings than can be
// simulated.
//
// Compute runs as with free collectives, but more slowly while a collective runs. A bucket is sent
// once its last gradient is ready and the bucket before it has ended, more slowly while compute
// runs. Copies out follow, bucket by bucket, and then the rest of the step. Everything else in the
// simulation is left out: hosts, events, kernels of hooks. The estimate tells which bucketings to
// simulate and is never an answer itself. Times of collectives are interpolated between sizes.
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

  /// Seconds of the step with buckets that end before each index in `ends`; the last index is the
  /// number of gradients. `bytes_before[k]` are the bytes of the first k gradients in ready order.
  double seconds(std::span<const std::size_t> ends, std::span<const Bytes> bytes_before) const;

  /// Whether a step can be computed quickly. It can for one communicator whose collectives run one
  /// after the other, and gradients that may share a bucket and become ready in the order of
  /// assignment.
  static bool can_estimate(const Job& job);

 private:
  struct Collective {
    double seconds = 0;  ///< alone
    /// Share of its rate that compute loses meanwhile.
    double compute_loss = 0;
  };
  Collective collective(Bytes bytes) const;

  std::vector<double> starts_;
  double backward_end_;
  /// Total time to copy out the first k gradients.
  std::vector<double> copied_before_;
  double event_latency_;
  /// Time from the last copy out to the end of the step.
  double afterwards_;
  /// Rate of a collective while compute runs.
  double beside_compute_;
  std::vector<Collective> by_size_;
};

}  // namespace ddpsim
