// Describes a step's collectives in ddpsim.result/1: the all-reduces of buckets, and the
// collectives of other schemes.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// A bucket and its index in launch order.
struct NumberedBucket : BucketResult {
  std::size_t index;
};
std::vector<NumberedBucket> numbered(const std::vector<BucketResult>& buckets);
const Described<NumberedBucket>& described_step_bucket();

const Described<CollectiveResult>& described_step_collective();

}  // namespace ddpsim
