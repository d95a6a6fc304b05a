// Each family of decoders built as Llama is: what it reads from its config.json.
#pragma once

#include "config_fields.hpp"

namespace ddpsim {

// Without experts (config_dense_decoders.cpp).
Described llama(Config& config);
Described mistral(Config& config);
Described qwen2(Config& config);
Described qwen2_vl_text(Config& config);
Described qwen3(Config& config);
Described phi(Config& config);
Described phi3(Config& config);
Described olmo(Config& config);
Described olmo2(Config& config);
Described stablelm(Config& config);
Described granite(Config& config);
Described glm(Config& config);
Described glm4(Config& config);
Described cohere(Config& config);
Described cohere2(Config& config);
Described starcoder2(Config& config);
Described smollm3(Config& config);
Described nemotron(Config& config);

// With experts (config_expert_decoders.cpp).
Described mixtral(Config& config);
Described qwen2_moe(Config& config);
Described qwen3_moe(Config& config);
Described olmoe(Config& config);
Described deepseek_v2(Config& config);
Described deepseek_v3(Config& config);
Described glm4_moe(Config& config);
Described gpt_oss(Config& config);
Described granitemoe(Config& config);

// Gemma, of which the fourth may have experts (config_gemma.cpp).
Described gemma(Config& config);
Described gemma2(Config& config);
Described gemma3(Config& config);
Described gemma4(Config& config);

}  // namespace ddpsim
