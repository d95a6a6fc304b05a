// Reads the config.json of each decoder family that is built like Llama.
#pragma once

#include "config_fields.hpp"

namespace ddpsim {

// Families without experts (config_dense_decoders.cpp).
DescribedModel llama(Config& config);
DescribedModel mistral(Config& config);
DescribedModel qwen2(Config& config);
DescribedModel qwen2_vl_text(Config& config);
DescribedModel qwen3(Config& config);
DescribedModel phi(Config& config);
DescribedModel phi3(Config& config);
DescribedModel olmo(Config& config);
DescribedModel olmo2(Config& config);
DescribedModel stablelm(Config& config);
DescribedModel granite(Config& config);
DescribedModel glm(Config& config);
DescribedModel glm4(Config& config);
DescribedModel cohere(Config& config);
DescribedModel cohere2(Config& config);
DescribedModel starcoder2(Config& config);
DescribedModel smollm3(Config& config);
DescribedModel nemotron(Config& config);

// Families with experts (config_expert_decoders.cpp).
DescribedModel mixtral(Config& config);
DescribedModel qwen2_moe(Config& config);
DescribedModel qwen3_moe(Config& config);
DescribedModel olmoe(Config& config);
DescribedModel deepseek_v2(Config& config);
DescribedModel deepseek_v3(Config& config);
DescribedModel glm4_moe(Config& config);
DescribedModel gpt_oss(Config& config);
DescribedModel granitemoe(Config& config);

// The Gemma family. Gemma 4 may have experts (config_gemma.cpp).
DescribedModel gemma(Config& config);
DescribedModel gemma2(Config& config);
DescribedModel gemma3(Config& config);
DescribedModel gemma4(Config& config);

}  // namespace ddpsim
