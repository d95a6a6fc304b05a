// Megatron-Core's distributed optimizer (megatron/core/distributed).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// Megatron-Core's DistributedDataParallel with its distributed optimizer. Sizes are in parameters.
struct MegatronOptimizer {
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  /// Absent: with overlap, the larger of 40 M and 1 M per rank.
  std::optional<std::int64_t> bucket_size;
  /// Dtype of the parameters (bf16, fp16); the optimizer's state is fp32.
  std::optional<Dtype> param_dtype;
  bool grad_reduce_in_fp32 = false;

  std::string_view name() const { return "megatron"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const MegatronOptimizer&) const = default;
};

}  // namespace ddpsim
