// Activation checkpointing: what forward forgets of a transformer's blocks, and backward computes again.
//
//   full       torch.utils.checkpoint around each block (use_reentrant=False): its input stays, nothing else
//   selective  around each block, with a policy of operators: outputs of fused attention and of every other matrix
//              product stay, from the first; as torchtitan's selective_ac_option "op". Not what Megatron calls so: there
//              the attention's core alone is computed again, which fused attention does by itself
//
// Backward computes a block again when it first needs something of it, before the block's first gradient, and ends
// where nothing more is needed (early stop, since PyTorch 2.1): the last product of a block is not run again unless
// something behind it keeps a mask or its input. Source: torch/utils/checkpoint.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct Checkpointing {
  enum class Policy { none, full, selective };
  Policy policy = Policy::none;
  std::optional<std::int64_t> blocks;  ///< only so many, from the first; else all
  bool operator==(const Checkpointing&) const = default;
};

/// "none", "full", "selective", or how many blocks are checkpointed in full: "12". Absent: none of these.
std::optional<Checkpointing> checkpointing_from_name(std::string_view name);
std::string name_of(const Checkpointing& checkpointing);

/// What becomes of what a layer gives.
enum class LayerFate {
  kept,       ///< as without checkpointing
  saved,      ///< its output stays, even where nobody's backward reads it; it is not run again
  run_again,  ///< forgotten, and computed again
};

/// In the order of Model::layers.
std::vector<LayerFate> layer_fates(const Model& model, const Checkpointing& checkpointing);

}  // namespace ddpsim
