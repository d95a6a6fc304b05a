// What DeepSpeed's stages 1 and 2 send in a step: buckets of gradients, norms and parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gradient_buckets.hpp"
#include "step_collectives.hpp"
#include "zero_stream.hpp"

namespace ddpsim {

struct PlannedReduction {
  Bytes gradients;  ///< in the type of computation
  StepCollective all_reduce;
};

struct PlannedBucket {
  std::vector<PlannedReduction> reductions;
  Bytes single;  ///< gradients of all reductions, in fp32
  Bytes gradients() const {
    Bytes all;
    for (const PlannedReduction& reduction : reductions) all += reduction.gradients;
    return all;
  }
};

struct Zero12Plan {
  const Zero& scheme;
  bool overlaps;
  GradientBuckets buckets;
  std::vector<PlannedBucket> planned;
  StepCollective norm;
  std::optional<StepCollective> overflow;
  StepCollective gather;
  OwnedPart owned;           ///< rank 0's
  std::int64_t tensors = 0;  ///< of all ranks
};

Zero12Plan plan_zero12(const Job& job, const Zero& scheme);

}  // namespace ddpsim
