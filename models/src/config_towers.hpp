// Vision towers of models that read images and text, described by their vision_config.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config_images.hpp"

namespace ddpsim {

inline constexpr VitDefaults kSmolVlmDefaults = {
    .hidden = 1152, .layers = 12, .heads = 16, .feed_forward = 3072, .image = 224, .patch = 32};

/// A tower with its own model type: CLIP's, SigLIP's or Pixtral's.
ReadVision read_tower_of_type(Config& config, const std::string& base, std::string_view usual_type);
/// The tower of SmolVLM and Idefics 3. It differs from SigLIP's only in the order of definition.
ReadVision read_smolvlm_tower(Config& config, const std::string& base);
/// `tokens` is the number of tokens that an image becomes after pooling.
ReadVision read_gemma4_tower(Config& config, const std::string& base, std::int64_t tokens);

struct ReadQwenTower {
  ReadVision tower;
  std::int64_t merged = 0;  ///< patches that become one token
  std::int64_t out = 0;     ///< features of a token
};
ReadQwenTower read_qwen2_vl_tower(Config& config, const std::string& base);
ReadQwenTower read_qwen2_5_vl_tower(Config& config, const std::string& base);

}  // namespace ddpsim
