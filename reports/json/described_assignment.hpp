// Describes a bucket of `buckets`: the gradients that are reduced together.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

/// A bucket and its index in launch order.
struct AssignedBucket {
  const Bucket& bucket;
  std::size_t index;
};

std::vector<AssignedBucket> assigned_buckets(const std::vector<Bucket>& buckets);
const Described<AssignedBucket>& described_assigned_bucket();

}  // namespace ddpsim
