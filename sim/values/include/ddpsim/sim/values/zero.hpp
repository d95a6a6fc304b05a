// DeepSpeed's ZeRO (deepspeed/runtime/zero, 0.19).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cpu_offload.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"
#include "ddpsim/sim/values/wrap_policy.hpp"

namespace ddpsim {

/// DeepSpeed's ZeRO. Sizes are in elements, as in its configuration.
struct Zero {
  int stage = 2;
  std::int64_t reduce_bucket_size = 500'000'000;
  /// As in DeepSpeed's configuration. DeepSpeed uses it only if PyTorch has no
  /// all_gather_into_tensor; ddpsim never uses it.
  std::int64_t allgather_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;  ///< absent: only in stage 3
  /// Dtype of parameters and gradients (bf16, fp16); the optimizer's state is fp32.
  std::optional<Dtype> param_dtype;
  std::int64_t stage3_prefetch_bucket_size = 50'000'000;
  std::int64_t stage3_param_persistence_threshold = 100'000;
  std::int64_t stage3_max_live_parameters = 1'000'000'000;
  std::int64_t stage3_max_reuse_distance = 1'000'000'000;
  /// Stage 3: modules whose parameters are gathered together (set_z3_leaf_modules). Default: every
  /// module with parameters of its own.
  WrapPolicy wrap = {.by = WrapPolicy::By::leaves, .modules = {}};
  std::optional<int> zero_hpz_partition_size;  ///< ZeRO++: ranks that share a secondary copy
  bool zero_quantized_weights = false;         ///< ZeRO++: all-gathers of 8 bits per element
  bool zero_quantized_gradients = false;       ///< ZeRO++: gradients of 4 bits per element
  std::optional<Dtype> communication_data_type;
  DeepSpeedVersion deepspeed{};
  /// Parameters can be offloaded only in stage 3.
  CpuOffload offload = {.fused = true, .cpu_rate = kShareOfHost};

  /// Dtype in which gradients are sent. Absent: that of the parameters.
  std::optional<Dtype> sent_in() const {
    return communication_data_type ? communication_data_type : param_dtype;
  }
  std::string_view name() const { return stage == 1 ? "zero1" : stage == 2 ? "zero2" : "zero3"; }
  /// With bf16, too, a rank's gradients are searched for infinities (stages 1 and 2).
  bool searches_bfloat16() const { return deepspeed >= DeepSpeedVersion{0, 19, 3}; }
  /// Every gradient's hook counts all parameters that backward will reach. From 0.18.7 on only the
  /// first does.
  bool counts_in_every_hook() const {
    return deepspeed >= DeepSpeedVersion{0, 18, 3} && deepspeed < DeepSpeedVersion{0, 18, 7};
  }

  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;
  /// One scheme for each name.
  static std::vector<Zero> all();

  bool operator==(const Zero&) const = default;
};

}  // namespace ddpsim
