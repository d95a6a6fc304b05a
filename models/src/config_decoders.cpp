// Decoders that are built like Llama, by the model_type of their config.json. Messages list them in
// this order.
#include "config_decoders.hpp"

namespace ddpsim {

std::vector<ConfigFamily> decoder_families() {
  const std::vector<FieldAlias> of_experts = {{"num_local_experts", "n_routed_experts"},
                                              {"num_mtp_layers", "num_nextn_predict_layers"}};
  return {{"llama", "Llama", llama},
          {"mistral", "Mistral", mistral},
          {"mixtral", "Mixtral", mixtral, {{"num_experts", "num_local_experts"}}},
          {"qwen2", "Qwen2", qwen2},
          {"qwen3", "Qwen3", qwen3},
          {"qwen2_moe", "Qwen2Moe", qwen2_moe},
          {"qwen3_moe", "Qwen3Moe", qwen3_moe, {{"num_local_experts", "num_experts"}}},
          {"gemma", "Gemma", gemma},
          {"gemma2", "Gemma2", gemma2},
          {"gemma3_text", "Gemma3", gemma3},
          {"gemma4_text", "Gemma4", gemma4},
          {"phi", "Phi", phi},
          {"phi3", "Phi3", phi3},
          {"olmo", "Olmo", olmo},
          {"olmo2", "Olmo2", olmo2},
          {"olmoe", "Olmoe", olmoe, {{"num_local_experts", "num_experts"}}},
          {"deepseek_v2", "DeepseekV2", deepseek_v2, {{"num_experts", "n_routed_experts"}}},
          {"deepseek_v3", "DeepseekV3", deepseek_v3, of_experts},
          {"gpt_oss", "GptOss", gpt_oss, {{"num_experts", "num_local_experts"}}},
          {"stablelm", "StableLm", stablelm},
          {"granite", "Granite", granite},
          {"granitemoe", "GraniteMoe", granitemoe},
          {"glm", "Glm", glm},
          {"glm4", "Glm4", glm4},
          {"glm4_moe", "Glm4Moe", glm4_moe, of_experts},
          {"cohere", "Cohere", cohere},
          {"cohere2", "Cohere2", cohere2},
          {"starcoder2", "Starcoder2", starcoder2},
          {"smollm3", "SmolLM3", smollm3},
          {"nemotron", "Nemotron", nemotron}};
}

std::vector<ConfigFamily> part_families() {
  return {{"qwen2_vl_text", "Qwen2VLText", qwen2_vl_text},
          {"qwen2_5_vl_text", "Qwen2_5_VLText", qwen2_vl_text}};
}

}  // namespace ddpsim
