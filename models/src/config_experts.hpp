// Experts that replace a decoder's feed-forward: their fields in a config.json, and their modules
// in a block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config_like_llama.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMostExperts = 65'536;

/// Experts whose width has a field of its own.
ExpertModules read_experts(Config& config, std::int64_t count, std::string_view active_key,
                           std::int64_t usual_active, std::int64_t usual_features);
/// Experts as wide as the feed-forward that they replace.
ExpertModules read_experts_of_block_width(Config& config, const ReadDecoder& read,
                                          std::int64_t count, std::int64_t usual_active);
/// Adds a shared expert, which processes every token.
void share_expert(ExpertModules& experts, const std::string& module, std::int64_t features);
void give_experts(BlockModules& block, const ExpertModules& experts);

}  // namespace ddpsim
