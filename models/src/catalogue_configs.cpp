// Models of transformers, by the config.json that Hugging Face publishes with them. The readers of
// config.json build them. Fields that are equal to the defaults of their class are left out.
#include "catalogue_entries.hpp"

namespace ddpsim {
namespace {

struct PublishedModel {
  std::string_view family;
  std::string_view name;
  std::string_view source;
  std::int64_t batch;
  std::int64_t tokens;  ///< 0: as the config says
  std::string_view config;
};

constexpr PublishedModel kPublished[] = {
    {"Qwen3", "qwen3-0.6b", "config.json of Qwen/Qwen3-0.6B", 4, 4096,
     R"({"model_type":"qwen3","hidden_size":1024,"num_hidden_layers":28,)"
     R"("num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":3072,"tie_word_embeddings":true})"},
    {"Qwen3", "qwen3-1.7b", "config.json of Qwen/Qwen3-1.7B", 2, 4096,
     R"({"model_type":"qwen3","hidden_size":2048,"num_hidden_layers":28,)"
     R"("num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":6144,"tie_word_embeddings":true})"},
    {"Qwen3", "qwen3-4b", "config.json of Qwen/Qwen3-4B", 1, 4096,
     R"({"model_type":"qwen3","hidden_size":2560,"num_hidden_layers":36,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":9728,"tie_word_embeddings":true})"},
    {"Qwen3", "qwen3-8b", "config.json of Qwen/Qwen3-8B", 1, 4096,
     R"({"model_type":"qwen3","hidden_size":4096,"num_hidden_layers":36,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":12288})"},
    {"Qwen3", "qwen3-14b", "config.json of Qwen/Qwen3-14B", 1, 4096,
     R"({"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":17408})"},
    {"Qwen3", "qwen3-32b", "config.json of Qwen/Qwen3-32B", 1, 4096,
     R"({"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":64,)"
     R"("num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":25600})"},
    {"Qwen3", "qwen3-30b-a3b", "config.json of Qwen/Qwen3-30B-A3B", 1, 4096,
     R"({"model_type":"qwen3_moe","num_hidden_layers":48,"head_dim":128})"},
    {"Qwen3", "qwen3-235b-a22b", "config.json of Qwen/Qwen3-235B-A22B", 1, 4096,
     R"({"model_type":"qwen3_moe","hidden_size":4096,"num_hidden_layers":94,)"
     R"("num_attention_heads":64,"head_dim":128,"intermediate_size":12288,)"
     R"("moe_intermediate_size":1536})"},
    {"Gemma", "gemma-2b", "config.json of google/gemma-2b", 1, 4096,
     R"({"model_type":"gemma","hidden_size":2048,"num_hidden_layers":18,)"
     R"("num_attention_heads":8,"num_key_value_heads":1,"intermediate_size":16384})"},
    {"Gemma", "gemma-7b", "config.json of google/gemma-7b", 1, 4096, R"({"model_type":"gemma"})"},
    {"Gemma", "gemma2-2b", "config.json of google/gemma-2-2b", 1, 4096,
     R"({"model_type":"gemma2"})"},
    {"Gemma", "gemma2-9b", "config.json of google/gemma-2-9b", 1, 4096,
     R"({"model_type":"gemma2","hidden_size":3584,"num_hidden_layers":42,)"
     R"("num_attention_heads":16,"num_key_value_heads":8,)"
     R"("intermediate_size":14336})"},
    {"Gemma", "gemma2-27b", "config.json of google/gemma-2-27b", 1, 4096,
     R"({"model_type":"gemma2","hidden_size":4608,"num_hidden_layers":46,)"
     R"("num_attention_heads":32,"num_key_value_heads":16,"head_dim":128,)"
     R"("intermediate_size":36864})"},
    {"Gemma", "gemma3-1b", "config.json of google/gemma-3-1b-pt", 2, 4096,
     R"({"model_type":"gemma3_text","hidden_size":1152,"num_attention_heads":4,)"
     R"("num_key_value_heads":1,"intermediate_size":6912,"vocab_size":262144})"},
    {"Mixtral, DeepSeek, gpt-oss, OLMoE", "mixtral-8x7b",
     "config.json of mistralai/Mixtral-8x7B-v0.1", 1, 4096, R"({"model_type":"mixtral"})"},
    {"Mixtral, DeepSeek, gpt-oss, OLMoE", "mixtral-8x22b",
     "config.json of mistralai/Mixtral-8x22B-v0.1", 1, 4096,
     R"({"model_type":"mixtral","hidden_size":6144,"num_hidden_layers":56,)"
     R"("num_attention_heads":48,"intermediate_size":16384,"vocab_size":32768})"},
    {"Mixtral, DeepSeek, gpt-oss, OLMoE", "deepseek-v2-lite",
     "config.json of deepseek-ai/DeepSeek-V2-Lite", 1, 4096,
     R"({"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,)"
     R"("num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":null,)"
     R"("intermediate_size":10944,"moe_intermediate_size":1408,)"
     R"("first_k_dense_replace":1})"},
    {"Mixtral, DeepSeek, gpt-oss, OLMoE", "gpt-oss-20b", "config.json of openai/gpt-oss-20b", 1,
     4096, R"({"model_type":"gpt_oss","num_hidden_layers":24,"num_local_experts":32})"},
    {"Mixtral, DeepSeek, gpt-oss, OLMoE", "gpt-oss-120b", "config.json of openai/gpt-oss-120b", 1,
     4096, R"({"model_type":"gpt_oss"})"},
    {"Mixtral, DeepSeek, gpt-oss, OLMoE", "olmoe-1b-7b", "config.json of allenai/OLMoE-1B-7B-0924",
     1, 4096, R"({"model_type":"olmoe","intermediate_size":1024})"},
    {"Phi, OLMo, SmolLM", "phi-2", "config.json of microsoft/phi-2", 1, 2048,
     R"({"model_type":"phi","hidden_size":2560,"num_hidden_layers":32,)"
     R"("intermediate_size":10240,"partial_rotary_factor":0.4})"},
    {"Phi, OLMo, SmolLM", "phi-3-mini", "config.json of microsoft/Phi-3-mini-4k-instruct", 1, 4096,
     R"({"model_type":"phi3"})"},
    {"Phi, OLMo, SmolLM", "phi-4", "config.json of microsoft/phi-4", 1, 4096,
     R"({"model_type":"phi3","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":10,)"
     R"("intermediate_size":17920,"vocab_size":100352})"},
    {"Phi, OLMo, SmolLM", "olmo2-7b", "config.json of allenai/OLMo-2-1124-7B", 1, 4096,
     R"({"model_type":"olmo2","vocab_size":100352})"},
    {"Phi, OLMo, SmolLM", "smollm2-135m", "config.json of HuggingFaceTB/SmolLM2-135M", 8, 2048,
     R"({"model_type":"llama","hidden_size":576,"num_hidden_layers":30,)"
     R"("num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,)"
     R"("vocab_size":49152,"tie_word_embeddings":true})"},
    {"Phi, OLMo, SmolLM", "smollm2-1.7b", "config.json of HuggingFaceTB/SmolLM2-1.7B", 2, 2048,
     R"({"model_type":"llama","hidden_size":2048,"num_hidden_layers":24,)"
     R"("intermediate_size":8192,"vocab_size":49152,"tie_word_embeddings":true})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "roberta-base",
     "config.json of FacebookAI/roberta-base", 16, 512,
     R"({"model_type":"roberta","architectures":["RobertaForMaskedLM"],)"
     R"("max_position_embeddings":514,"type_vocab_size":1})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "roberta-large",
     "config.json of FacebookAI/roberta-large", 8, 512,
     R"({"model_type":"roberta","architectures":["RobertaForMaskedLM"],)"
     R"("max_position_embeddings":514,"type_vocab_size":1,"hidden_size":1024,)"
     R"("num_hidden_layers":24,"num_attention_heads":16,)"
     R"("intermediate_size":4096})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "xlm-roberta-base",
     "config.json of FacebookAI/xlm-roberta-base", 16, 512,
     R"({"model_type":"xlm-roberta","architectures":["XLMRobertaForMaskedLM"],)"
     R"("max_position_embeddings":514,"type_vocab_size":1,"vocab_size":250002})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "distilbert-base",
     "config.json of distilbert/distilbert-base-uncased", 32, 128,
     R"({"model_type":"distilbert","architectures":["DistilBertForMaskedLM"]})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "deberta-v3-base",
     "config.json of microsoft/deberta-v3-base", 16, 512,
     R"({"model_type":"deberta-v2","hidden_size":768,"num_hidden_layers":12,)"
     R"("num_attention_heads":12,"intermediate_size":3072,"vocab_size":128100,)"
     R"("relative_attention":true,"position_buckets":256,)"
     R"("norm_rel_ebd":"layer_norm","share_att_key":true,)"
     R"("pos_att_type":"p2c|c2p","max_relative_positions":-1,)"
     R"("position_biased_input":false,"type_vocab_size":0})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "modernbert-base",
     "config.json of answerdotai/ModernBERT-base", 16, 1024, R"({"model_type":"modernbert"})"},
    {"RoBERTa, DistilBERT, DeBERTa, ModernBERT", "modernbert-large",
     "config.json of answerdotai/ModernBERT-large", 8, 1024,
     R"({"model_type":"modernbert","hidden_size":1024,"num_hidden_layers":28,)"
     R"("num_attention_heads":16,"intermediate_size":2624})"},
    {"BART", "bart-base", "config.json of facebook/bart-base", 8, 512,
     R"({"model_type":"bart","d_model":768,"encoder_layers":6,"decoder_layers":6,)"
     R"("encoder_attention_heads":12,"decoder_attention_heads":12,)"
     R"("encoder_ffn_dim":3072,"decoder_ffn_dim":3072})"},
    {"BART", "bart-large", "config.json of facebook/bart-large", 4, 512,
     R"({"model_type":"bart"})"},
    {"Whisper, wav2vec 2.0, HuBERT", "whisper-tiny", "config.json of openai/whisper-tiny", 32, 0,
     R"({"model_type":"whisper"})"},
    {"Whisper, wav2vec 2.0, HuBERT", "whisper-base", "config.json of openai/whisper-base", 16, 0,
     R"({"model_type":"whisper","d_model":512,"encoder_layers":6,)"
     R"("decoder_layers":6,"encoder_attention_heads":8,)"
     R"("decoder_attention_heads":8,"encoder_ffn_dim":2048,)"
     R"("decoder_ffn_dim":2048})"},
    {"Whisper, wav2vec 2.0, HuBERT", "whisper-small", "config.json of openai/whisper-small", 16, 0,
     R"({"model_type":"whisper","d_model":768,"encoder_layers":12,)"
     R"("decoder_layers":12,"encoder_attention_heads":12,)"
     R"("decoder_attention_heads":12,"encoder_ffn_dim":3072,)"
     R"("decoder_ffn_dim":3072})"},
    {"Whisper, wav2vec 2.0, HuBERT", "whisper-medium", "config.json of openai/whisper-medium", 8, 0,
     R"({"model_type":"whisper","d_model":1024,"encoder_layers":24,)"
     R"("decoder_layers":24,"encoder_attention_heads":16,)"
     R"("decoder_attention_heads":16,"encoder_ffn_dim":4096,)"
     R"("decoder_ffn_dim":4096})"},
    {"Whisper, wav2vec 2.0, HuBERT", "whisper-large-v3", "config.json of openai/whisper-large-v3",
     4, 0,
     R"({"model_type":"whisper","d_model":1280,"encoder_layers":32,)"
     R"("decoder_layers":32,"encoder_attention_heads":20,)"
     R"("decoder_attention_heads":20,"encoder_ffn_dim":5120,)"
     R"("decoder_ffn_dim":5120,"vocab_size":51866,"num_mel_bins":128})"},
    {"Whisper, wav2vec 2.0, HuBERT", "wav2vec2-base", "config.json of facebook/wav2vec2-base", 8, 0,
     R"({"model_type":"wav2vec2"})"},
    {"Whisper, wav2vec 2.0, HuBERT", "wav2vec2-large", "config.json of facebook/wav2vec2-large", 4,
     0,
     R"({"model_type":"wav2vec2","hidden_size":1024,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"intermediate_size":4096,"codevector_dim":768,)"
     R"("proj_codevector_dim":768})"},
    {"Whisper, wav2vec 2.0, HuBERT", "hubert-base", "config.json of facebook/hubert-base-ls960", 8,
     0, R"({"model_type":"hubert","architectures":["HubertModel"]})"},
    {"CLIP, DINOv2", "clip-vit-b-32", "config.json of openai/clip-vit-base-patch32", 64, 0,
     R"({"model_type":"clip","text_config":{},"vision_config":{}})"},
    {"CLIP, DINOv2", "clip-vit-b-16", "config.json of openai/clip-vit-base-patch16", 32, 0,
     R"({"model_type":"clip","text_config":{},"vision_config":{"patch_size":16}})"},
    {"CLIP, DINOv2", "clip-vit-l-14", "config.json of openai/clip-vit-large-patch14", 16, 0,
     R"({"model_type":"clip","projection_dim":768,"text_config":)"
     R"({"hidden_size":768,"intermediate_size":3072,"num_attention_heads":12},)"
     R"("vision_config":{"hidden_size":1024,"intermediate_size":4096,)"
     R"("num_attention_heads":16,"num_hidden_layers":24,"patch_size":14}})"},
    {"CLIP, DINOv2", "dinov2-base", "config.json of facebook/dinov2-base", 32, 0,
     R"({"model_type":"dinov2","architectures":["Dinov2Model"],)"
     R"("image_size":518})"},
    {"CLIP, DINOv2", "dinov2-large", "config.json of facebook/dinov2-large", 16, 0,
     R"({"model_type":"dinov2","architectures":["Dinov2Model"],"image_size":518,)"
     R"("hidden_size":1024,"num_hidden_layers":24,"num_attention_heads":16})"},
};

}  // namespace

std::vector<CatalogueFamily> config_catalogue() {
  std::vector<CatalogueFamily> families;
  for (const PublishedModel& model : kPublished) {
    if (families.empty() || families.back().name != model.family)
      families.push_back({.name = model.family, .models = {}});
    families.back().models.push_back({.name = model.name,
                                      .shape = {},
                                      .batch = model.batch,
                                      .size = model.tokens,
                                      .source = model.source,
                                      .config = model.config});
  }
  return families;
}

}  // namespace ddpsim
