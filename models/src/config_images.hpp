// Shared by the readers of image models: sizes, patches, and the blocks of a vision tower.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config_fields.hpp"
#include "vision.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMostPixels = 8'192;

struct VitDefaults {
  std::int64_t hidden = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t feed_forward = 3072;
  std::int64_t image = 224;
  std::int64_t patch = 16;
};

struct ReadVision {
  VisionShape shape;
  std::int64_t image = 0;
  std::int64_t patches = 0;
  std::int64_t heads = 0;
};

/// Requires that the number of patches does not exceed the most tokens, because all patches attend
/// to all.
void require_patches(const Config& config, std::int64_t side);
/// Side of an image. Images that are not square are refused.
std::int64_t read_side(Config& config, std::string_view key, std::int64_t usual);
ReadVision read_vision(Config& config, const std::string& base, const VitDefaults& usual);
std::int64_t read_feed_forward(Config& config, const VitDefaults& usual);

AttentionModules vit_attention(std::int64_t hidden, std::int64_t heads, const std::string& module,
                               const char* output, bool bias);
/// A block of CLIP, SigLIP and their successors. They differ in the order of definition.
BlockModules tower_block(std::int64_t hidden, std::int64_t heads, std::int64_t feed_forward,
                         const char* order);

inline constexpr const char* kClipBlock =
    "self_attn.k_proj self_attn.v_proj self_attn.q_proj self_attn.out_proj layer_norm1 mlp "
    "layer_norm2";
inline constexpr const char* kSiglipBlock =
    "layer_norm1 self_attn.k_proj self_attn.v_proj self_attn.q_proj self_attn.out_proj layer_norm2 "
    "mlp";

inline constexpr VitDefaults kClipDefaults = {.patch = 32};

/// A tower with CLIP's embeddings, blocks, and a norm after them.
ReadVision read_tower(Config& config, const std::string& base, const VitDefaults& usual,
                      const char* block_order);
/// Image towers in the definition order of CLIP and SigLIP.
ReadVision read_clip_tower(Config& config, const std::string& base, const VitDefaults& usual);
/// Includes the pooling head, unless `vision_use_head` is false.
ReadVision read_siglip_tower(Config& config, const std::string& base, const VitDefaults& usual);

}  // namespace ddpsim
