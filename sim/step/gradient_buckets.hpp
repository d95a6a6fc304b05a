// Gradients that are reduced together under a scheme with buckets of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "recording.hpp"

namespace ddpsim {

/// Parameters of each bucket, in the order in which buckets are reduced.
using GradientBuckets = std::vector<std::vector<std::size_t>>;

/// Parameters of the scheme, in the order in which rank 0 writes their gradients, or in the order
/// of definition.
std::vector<std::size_t> parameters_as_written(const Workload& workload);
std::vector<std::size_t> parameters_as_defined(const Workload& workload);

/// DeepSpeed's buckets: a bucket is full if the next gradient in order would make it larger than
/// `most` elements. A gradient that is larger by itself gets a bucket of its own.
GradientBuckets buckets_up_to(std::int64_t most, const Workload& workload,
                              const std::vector<std::size_t>& order);

/// For each bucket, how many gradients a rank has written when this bucket and all before it are
/// complete.
std::vector<std::size_t> complete_after(const GradientBuckets& buckets, const Recording& recording);

}  // namespace ddpsim
