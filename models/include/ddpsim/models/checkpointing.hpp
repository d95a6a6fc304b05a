// Activation checkpointing: which activations forward drops, and which layers backward runs again.
//
//   full       torch.utils.checkpoint around each block (use_reentrant=False). Only the block's
//              input is kept.
//   selective  torch.utils.checkpoint around each block, with a policy that chooses operators. The
//              outputs of fused attention and of every second matrix product are kept, starting
//              with the first product. This is torchtitan's selective_ac_option "op". Megatron
//              uses the word for something else: there only the core of attention is run again,
//              and fused attention does that anyway.
//
// Backward runs a block again when it first needs one of its activations, before the block's first
// gradient. Since PyTorch 2.1 it stops early, once nothing more is needed. So the last product of a
// block runs again only if a later layer keeps a mask or its own input. Source:
// torch/utils/checkpoint.py.
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
  /// Number of blocks that are checkpointed, counted from the first; absent: all.
  std::optional<std::int64_t> blocks;
  bool operator==(const Checkpointing&) const = default;
};

/// Reads "none", "full", "selective", or the number of blocks to checkpoint in full, such as "12".
/// Absent for any other text.
std::optional<Checkpointing> checkpointing_from_name(std::string_view name);
std::string name_of(const Checkpointing& checkpointing);

/// What checkpointing does with a layer's output.
enum class LayerFate {
  kept,  ///< as without checkpointing
  /// The output is kept even if no backward reads it. The layer does not run again.
  saved,
  /// The output is dropped. The layer runs again in backward.
  run_again,
};

/// One fate per layer, in the order of Model::layers.
std::vector<LayerFate> layer_fates(const Model& model, const Checkpointing& checkpointing);

}  // namespace ddpsim
