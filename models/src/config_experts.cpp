#include "config_experts.hpp"

#include <fmt/format.h>

namespace ddpsim {
namespace {

constexpr std::int64_t kMostExpertFeatures = 67'108'864;  ///< of all experts of a layer

constexpr std::string_view kSaysExperts =
    "experts: DDP all-reduces the parameters of all experts, but a token uses only the active "
    "ones. Expert parallelism and its all-to-all are not simulated";

std::int64_t read_active(Config& config, std::string_view key, std::int64_t usual,
                         std::int64_t count) {
  const std::int64_t active = config.number(key, usual, kMostExperts);
  if (active > count)
    config.refuse(key, fmt::format("{} of {} experts cannot be active for a token", active, count));
  config.note(std::string(kSaysExperts));
  return active;
}

ExpertModules experts_of_mlp(const Config& config, std::int64_t count, std::int64_t active,
                             std::int64_t features) {
  if (count > kMostExpertFeatures / features)
    config.refuse("intermediate_size", "the experts of one layer are too many and too wide");
  return {.count = count,
          .active = active,
          .features = features,
          .router = {"mlp.gate"},
          .first_weight = "mlp.experts.gate_up_proj",
          .last_weight = "mlp.experts.down_proj"};
}

}  // namespace

ExpertModules read_experts(Config& config, std::int64_t count, std::string_view active_key,
                           std::int64_t usual_active, std::int64_t usual_features) {
  // Two statements, so that assumptions are listed in the same order with every compiler.
  const std::int64_t active = read_active(config, active_key, usual_active, count);
  const std::int64_t features =
      config.number("moe_intermediate_size", usual_features, kMostFeedForward);
  return experts_of_mlp(config, count, active, features);
}

ExpertModules read_experts_of_block_width(Config& config, const ReadDecoder& read,
                                          std::int64_t count, std::int64_t usual_active) {
  const std::int64_t active = read_active(config, "num_experts_per_tok", usual_active, count);
  return experts_of_mlp(config, count, active, read.llama.feed_forward);
}

void share_expert(ExpertModules& experts, const std::string& module, std::int64_t features) {
  experts.shared_features = features;
  experts.shared_gate = {module + ".gate_proj"};
  experts.shared_up = {module + ".up_proj"};
  experts.shared_down = {module + ".down_proj"};
}

void give_experts(BlockModules& block, const ExpertModules& experts) {
  block.feed_forward.experts = experts;
}

}  // namespace ddpsim
