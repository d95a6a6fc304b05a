// How many samples an epoch has, and who gets which (torch/utils/data/distributed.py, 2.13).
#pragma once

#include <cstdint>

namespace ddpsim {

struct DataSet {
  std::int64_t size = 1;  ///< samples
  bool sampler_drop_last =
      false;  ///< DistributedSampler's: what does not divide among ranks is dropped, else some repeat
  bool loader_drop_last = false;  ///< DataLoader's: no smaller batch at the end
  bool operator==(const DataSet&) const = default;
};

/// What DistributedSampler makes of it.
struct SampledSet {
  std::int64_t per_rank = 0;
  std::int64_t repeated = 0;  ///< samples that some rank gets beside another
  std::int64_t dropped = 0;   ///< that no rank gets
  bool operator==(const SampledSet&) const = default;
};
/// Exactly `num_samples`, for 1 rank and more.
SampledSet deal_out(const DataSet& set, std::int64_t ranks);

/// What DataLoader makes of a rank's part.
struct BatchedSet {
  std::int64_t full = 0;     ///< batches of the size asked for
  std::int64_t tail = 0;     ///< samples of a smaller one behind them; 0: none
  std::int64_t dropped = 0;  ///< samples of this rank
  bool operator==(const BatchedSet&) const = default;
};
BatchedSet in_batches(const DataSet& set, std::int64_t per_rank, std::int64_t batch_size);

}  // namespace ddpsim
