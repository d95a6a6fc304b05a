// What DeepSpeed's stage 3 gathers and sends in a step: single parameters, buckets of gradients and
// norms.
#pragma once

#include <cstdint>
#include <vector>

#include "gradient_buckets.hpp"
#include "process_groups.hpp"
#include "unit_sizes.hpp"
#include "zero_stream.hpp"

namespace ddpsim {

/// Sizes of what is gathered and reduced for a parameter, padded to a multiple of the ranks.
class Zero3Sizes {
 public:
  Zero3Sizes(const Job& job, const Zero& scheme)
      : workload_(job.workload()), scheme_(scheme), ranks_(job.cluster().ranks()) {}

  std::int64_t ranks() const { return ranks_; }
  std::int64_t padded(std::size_t parameter) const {
    return padded_to(ranks_, elements_of(workload_.parameters[parameter]));
  }
  Bytes computed(std::size_t parameter) const {
    return Bytes(padded(parameter) * element_size(dtype(parameter)));
  }
  Bytes gathered(std::size_t parameter) const {
    return scheme_.zero_quantized_weights ? Bytes(padded(parameter)) : computed(parameter);
  }
  Bytes reduced(std::size_t parameter) const {
    if (scheme_.zero_quantized_gradients) return Bytes((padded(parameter) + 1) / 2);
    return Bytes(padded(parameter) *
                 element_size(scheme_.communication_data_type.value_or(dtype(parameter))));
  }
  Bytes gradient(std::size_t parameter) const {
    return Bytes(elements_of(workload_.parameters[parameter]) * element_size(dtype(parameter)));
  }
  Bytes shard(Bytes of) const { return Bytes(of.count() / ranks_); }

 private:
  Dtype dtype(std::size_t parameter) const {
    return scheme_.param_dtype.value_or(workload_.parameters[parameter].dtype);
  }

  const Workload& workload_;
  const Zero& scheme_;
  const std::int64_t ranks_;
};

struct Zero3Bucket {
  Bytes computed;
  Bytes single;  ///< a rank's parts, in fp32
  StepCollective reduce;
};

struct Zero3Plan {
  const Zero& scheme;
  Zero3Sizes sizes;
  bool overlaps;
  ProcessGroups all;
  ProcessGroups secondary;  ///< hpZ's
  std::vector<Unit> modules;
  GradientBuckets buckets;
  std::vector<Zero3Bucket> planned;
  StepCollective norm;
  std::vector<StepCollective> persistent;
  OwnedPart owned;
};

Zero3Plan plan_zero3(const Job& job, const Zero& scheme);

}  // namespace ddpsim
