// Which gradients travel together, as the document and the table of `buckets` have it.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

/// A bucket and its place in launch order.
struct AssignedBucket {
  const Bucket& bucket;
  std::size_t index;
};

std::vector<AssignedBucket> assigned_buckets(const std::vector<Bucket>& buckets);
const Described<AssignedBucket>& described_assigned_bucket();

}  // namespace ddpsim
