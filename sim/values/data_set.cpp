#include "ddpsim/sim/values/data_set.hpp"

#include <algorithm>

namespace ddpsim {

SampledSet deal_out(const DataSet& set, std::int64_t ranks) {
  const bool drops = set.sampler_drop_last && set.size % ranks != 0;
  SampledSet sampled;
  // With drop_last, DistributedSampler takes ceil((size - ranks) / ranks), and 0 for fewer samples than ranks.
  sampled.per_rank = drops ? set.size / ranks : (set.size + ranks - 1) / ranks;
  sampled.repeated = std::max<std::int64_t>(sampled.per_rank * ranks - set.size, 0);
  sampled.dropped = std::max<std::int64_t>(set.size - sampled.per_rank * ranks, 0);
  return sampled;
}

BatchedSet in_batches(const DataSet& set, std::int64_t per_rank, std::int64_t batch_size) {
  BatchedSet batched{.full = per_rank / batch_size};
  const std::int64_t left = per_rank % batch_size;
  (set.loader_drop_last ? batched.dropped : batched.tail) = left;
  return batched;
}

}  // namespace ddpsim
