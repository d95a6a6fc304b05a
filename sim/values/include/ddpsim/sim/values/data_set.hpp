// How many samples an epoch has, and which ranks get them (torch/utils/data/distributed.py, 2.13).
#pragma once

#include <cstdint>

namespace ddpsim {

struct DataSet {
  std::int64_t size = 1;  ///< samples
  /// Argument of DistributedSampler. True: samples that do not divide among the ranks are dropped.
  /// False: some samples repeat.
  bool sampler_drop_last = false;
  bool loader_drop_last = false;  ///< DataLoader's: no smaller last batch
  bool operator==(const DataSet&) const = default;
};

/// How DistributedSampler divides a data set.
struct SampledSet {
  std::int64_t per_rank = 0;
  std::int64_t repeated = 0;  ///< samples that two ranks get
  std::int64_t dropped = 0;   ///< samples that no rank gets
  bool operator==(const SampledSet&) const = default;
};
/// per_rank equals DistributedSampler's `num_samples` for any number of ranks from 1 on.
SampledSet deal_out(const DataSet& set, std::int64_t ranks);

/// How DataLoader divides one rank's samples into batches.
struct BatchedSet {
  std::int64_t full = 0;     ///< batches of the full size
  std::int64_t tail = 0;     ///< samples of a smaller last batch; 0: none
  std::int64_t dropped = 0;  ///< samples of this rank
  bool operator==(const BatchedSet&) const = default;
};
BatchedSet in_batches(const DataSet& set, std::int64_t per_rank, std::int64_t batch_size);

}  // namespace ddpsim
