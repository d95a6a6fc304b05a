// Gradients that travel together under a scheme that fills buckets of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "recording.hpp"

namespace ddpsim {

/// By bucket, in the order they are reduced: parameters.
using GradientBuckets = std::vector<std::vector<std::size_t>>;

/// Parameters the scheme holds, in the order in which rank 0 writes their gradients, or defines them.
std::vector<std::size_t> parameters_as_written(const Workload& workload);
std::vector<std::size_t> parameters_as_defined(const Workload& workload);

/// DeepSpeed's: each is full when the next gradient in order would make it more than `most` elements. One that is larger by
/// itself has a bucket of its own.
GradientBuckets buckets_up_to(std::int64_t most, const Workload& workload,
                              const std::vector<std::size_t>& order);

/// By bucket: how many gradients a rank has written when all of it, and of the buckets in front, are there.
std::vector<std::size_t> complete_after(const GradientBuckets& buckets, const Recording& recording);

}  // namespace ddpsim
