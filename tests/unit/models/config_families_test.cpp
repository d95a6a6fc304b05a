// Compares every type of config.json with the model of transformers 5.24: number of parameters and
// elements, first and last parameter in definition order. A comparison of all names, shapes and
// gradient orders is in tests/cli/test_model_configs.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_config.hpp"
#include "model_digest.hpp"

using namespace ddpsim;

namespace {

struct Built {
  const char* config;
  std::size_t parameters;
  std::int64_t elements;
  const char* first;
  const char* last;
};

constexpr Built
    kBuilt
        [] =
            {
                {R"({"model_type":"llama","architectures":["LlamaForSequenceClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"attention_bias":true,"mlp_bias":true,"pad_token_id":0,"id2label":{"0":"a","1":"b","2":"c"}})",
                 35, 82048, "model.embed_tokens.weight", "score.weight"},
                {R"({"model_type":"mixtral","architectures":["MixtralForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"num_local_experts":4})",
                 21, 211264, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 25, 272704, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"qwen3","architectures":["Qwen3ForTokenClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"head_dim":8})",
                 26, 68834, "model.embed_tokens.weight", "score.bias"},
                {R"({"model_type":"qwen2_moe","architectures":["Qwen2MoeForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"num_experts":4,"moe_intermediate_size":32,"num_experts_per_tok":2,"shared_expert_intermediate_size":48,"mlp_only_layers":[0]})",
                 31, 116096, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"qwen3_moe","architectures":["Qwen3MoeForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"num_experts":4,"moe_intermediate_size":32,"num_experts_per_tok":2})",
                 25, 113024, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"gemma","architectures":["GemmaForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 20, 449600, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"gemma2","architectures":["Gemma2ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 24, 449856, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"gemma3_text","architectures":["Gemma3ForCausalLM"],"hidden_size":64,"num_hidden_layers":7,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 93, 1529920, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"gemma4_text","architectures":["Gemma4ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"hidden_size_per_layer_input":0,"enable_moe_block":true,"num_experts":4,"top_k_experts":2,"moe_intermediate_size":32,"attention_k_eq_v":true,"num_global_key_value_heads":1,"head_dim":16,"global_head_dim":32,"num_kv_shared_layers":0})",
                 43, 137640, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"phi","architectures":["PhiForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"qk_layernorm":true})",
                 41, 89068, "model.embed_tokens.weight", "lm_head.bias"},
                {R"({"model_type":"phi3","architectures":["Phi3ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"pad_token_id":0})",
                 15, 100160, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"olmo","architectures":["OlmoForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 16, 99840, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"olmo2","architectures":["Olmo2ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 25, 100352, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"olmoe","architectures":["OlmoeForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"num_experts":4,"num_experts_per_tok":2})",
                 25, 211456, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"deepseek_v2","architectures":["DeepseekV2ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":4,"qk_rope_head_dim":8,"qk_nope_head_dim":16,"v_head_dim":12,"head_dim":8,"kv_lora_rank":16,"moe_intermediate_size":32,"first_k_dense_replace":1,"n_routed_experts":4,"q_lora_rank":null,"num_experts_per_tok":2})",
                 26, 119392, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"deepseek_v3","architectures":["DeepseekV3ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":4,"qk_rope_head_dim":8,"qk_nope_head_dim":16,"v_head_dim":12,"head_dim":8,"kv_lora_rank":16,"moe_intermediate_size":32,"first_k_dense_replace":1,"n_routed_experts":16,"q_lora_rank":24})",
                 30, 183184, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"gpt_oss","architectures":["GptOssForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"num_local_experts":4})",
                 37, 288208, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"stablelm","architectures":["StableLmForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 26, 100480, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"stablelm","architectures":["StableLmForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"qk_layernorm":true,"use_parallel_residual":true,"use_qkv_bias":true})",
                 40, 100672, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"granite","architectures":["GraniteForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 21, 100160, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"granitemoe","architectures":["GraniteMoeForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 21, 359232, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"glm","architectures":["GlmForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"pad_token_id":0})",
                 25, 274240, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"glm4","architectures":["Glm4ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"pad_token_id":0})",
                 29, 274496, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"glm4_moe","architectures":["Glm4MoeForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"n_routed_experts":4,"moe_intermediate_size":32,"pad_token_id":0,"use_qk_norm":true,"num_experts_per_tok":2})",
                 28, 112768, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"cohere","architectures":["CohereForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"use_qk_norm":true})",
                 22, 81024, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"cohere2","architectures":["Cohere2ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 18, 80832, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"starcoder2","architectures":["Starcoder2ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 35, 69696, "model.embed_tokens.weight", "model.norm.bias"},
                {R"({"model_type":"smollm3","architectures":["SmolLM3ForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2,"pad_token_id":0})",
                 20, 80960, "model.embed_tokens.weight", "model.norm.weight"},
                {R"({"model_type":"nemotron","architectures":["NemotronForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2})",
                 24, 88192, "model.embed_tokens.weight", "lm_head.weight"},
                {R"({"model_type":"gpt2","architectures":["GPT2ForTokenClassification"],"n_embd":64,"n_layer":2,"n_head":4,"vocab_size":300,"pad_token_id":0})",
                 30, 184962, "transformer.wte.weight", "classifier.bias"},
                {R"({"model_type":"bert","architectures":["BertForSequenceClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300})",
                 41, 115202, "bert.embeddings.word_embeddings.weight", "classifier.bias"},
                {R"({"model_type":"roberta","architectures":["RobertaForSequenceClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300})",
                 41, 115202, "roberta.embeddings.word_embeddings.weight",
                 "classifier.out_proj.bias"},
                {R"({"model_type":"xlm-roberta","architectures":["XLMRobertaForMaskedLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300})",
                 42, 115500, "lm_head.bias", "roberta.encoder.layer.1.output.LayerNorm.bias"},
                {R"({"model_type":"distilbert","architectures":["DistilBertForSequenceClassification"],"dim":64,"n_layers":2,"n_heads":4,"hidden_dim":96,"vocab_size":300})",
                 40, 115074, "distilbert.embeddings.word_embeddings.weight", "classifier.bias"},
                {R"({"model_type":"albert","architectures":["AlbertForMaskedLM"],"hidden_size":64,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"embedding_size":32,"num_hidden_groups":2,"inner_group_num":2})",
                 76, 148044, "albert.embeddings.word_embeddings.weight", "predictions.dense.bias"},
                {R"({"model_type":"electra","architectures":["ElectraForPreTraining"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"embedding_size":32})",
                 43, 91137, "electra.embeddings.word_embeddings.weight",
                 "discriminator_predictions.dense_prediction.bias"},
                {R"({"model_type":"deberta-v2","architectures":["DebertaV2ForSequenceClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"relative_attention":true,"position_buckets":16,"pos_att_type":["p2c","c2p"],"position_biased_input":false,"type_vocab_size":0,"norm_rel_ebd":"layer_norm","share_att_key":true})",
                 42, 84482, "deberta.embeddings.word_embeddings.weight", "classifier.bias"},
                {R"({"model_type":"deberta-v2","architectures":["DebertaV2ForTokenClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"relative_attention":true,"position_buckets":16,"pos_att_type":["p2c","c2p"],"position_biased_input":false,"type_vocab_size":0,"share_att_key":false,"conv_kernel_size":3})",
                 50, 109314, "deberta.embeddings.word_embeddings.weight", "classifier.bias"},
                {R"({"model_type":"modernbert","architectures":["ModernBertForMaskedLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":50368})",
                 17, 3348032, "model.embeddings.tok_embeddings.weight", "decoder.bias"},
                {R"({"model_type":"mt5","architectures":["MT5ForConditionalGeneration"],"d_model":64,"d_kv":16,"d_ff":96,"num_layers":2,"num_heads":4,"vocab_size":100})",
                 51, 179456, "shared.weight", "decoder.final_layer_norm.weight"},
                {R"({"model_type":"t5","architectures":["T5EncoderModel"],"d_model":64,"d_kv":16,"d_ff":96,"num_layers":2,"num_heads":4,"vocab_size":100})",
                 19, 64192, "shared.weight", "encoder.final_layer_norm.weight"},
                {R"({"model_type":"bart","architectures":["BartForConditionalGeneration"],"d_model":64,"encoder_layers":2,"decoder_layers":2,"encoder_attention_heads":4,"decoder_attention_heads":4,"encoder_ffn_dim":96,"decoder_ffn_dim":80,"vocab_size":300})",
                 91, 297568, "model.shared.weight", "model.decoder.layernorm_embedding.bias"},
                {R"({"model_type":"mbart","architectures":["MBartForConditionalGeneration"],"d_model":64,"encoder_layers":2,"decoder_layers":2,"encoder_attention_heads":4,"decoder_attention_heads":4,"encoder_ffn_dim":96,"decoder_ffn_dim":80,"vocab_size":300})",
                 95, 297824, "model.shared.weight", "model.decoder.layer_norm.bias"},
                {R"({"model_type":"pegasus","architectures":["PegasusForConditionalGeneration"],"d_model":64,"encoder_layers":2,"decoder_layers":2,"encoder_attention_heads":4,"decoder_attention_heads":4,"encoder_ffn_dim":96,"decoder_ffn_dim":80,"vocab_size":300})",
                 91, 297312, "model.shared.weight", "model.decoder.layer_norm.bias"},
                {R"({"model_type":"marian","architectures":["MarianMTModel"],"d_model":64,"encoder_layers":2,"decoder_layers":2,"encoder_attention_heads":4,"decoder_attention_heads":4,"encoder_ffn_dim":96,"decoder_ffn_dim":80,"vocab_size":300,"pad_token_id":0})",
                 87, 297056, "model.shared.weight", "model.decoder.layers.1.final_layer_norm.bias"},
                {R"({"model_type":"whisper","architectures":["WhisperForConditionalGeneration"],"d_model":64,"encoder_layers":2,"decoder_layers":2,"encoder_attention_heads":4,"decoder_attention_heads":4,"encoder_ffn_dim":96,"decoder_ffn_dim":80,"vocab_size":51865,"max_source_positions":30,"max_target_positions":20})",
                 89, 3496992, "model.encoder.conv1.weight", "model.decoder.layer_norm.bias"},
                {R"({"model_type":"vit","architectures":["ViTForImageClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"image_size":32,"patch_size":8})",
                 40, 72450, "vit.embeddings.cls_token", "classifier.bias"},
                {R"({"model_type":"deit","architectures":["DeiTForImageClassificationWithTeacher"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"image_size":32,"patch_size":8})",
                 43, 72708, "deit.embeddings.cls_token", "distillation_classifier.bias"},
                {R"({"model_type":"beit","architectures":["BeitForImageClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"image_size":32,"patch_size":8,"use_relative_position_bias":true})",
                 43, 71906, "beit.embeddings.cls_token", "classifier.bias"},
                {R"({"model_type":"dinov2","architectures":["Dinov2ForImageClassification"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"image_size":32,"patch_size":8,"use_mask_token":false})",
                 44, 114114, "dinov2.embeddings.cls_token", "classifier.bias"},
                {R"({"model_type":"dinov2_with_registers","architectures":["Dinov2WithRegistersModel"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"image_size":32,"patch_size":8,"use_mask_token":false})",
                 44, 114176, "embeddings.cls_token", "layernorm.bias"},
                {R"({"model_type":"swin","architectures":["SwinForImageClassification"],"embed_dim":32,"depths":[2,1],"num_heads":[2,4],"image_size":32,"patch_size":4,"window_size":4})",
                 62, 86122, "swin.embeddings.patch_embeddings.projection.weight",
                 "classifier.bias"},
                {R"({"model_type":"convnext","architectures":["ConvNextForImageClassification"],"hidden_sizes":[8,16,24,32],"depths":[1,2,1,1],"image_size":32})",
                 65, 28802, "convnext.embeddings.patch_embeddings.weight", "classifier.bias"},
                {R"({"model_type":"convnextv2","architectures":["ConvNextV2ForImageClassification"],"hidden_sizes":[8,16,24,32],"depths":[1,1,1,1],"image_size":32})",
                 60, 26386, "convnextv2.embeddings.patch_embeddings.weight", "classifier.bias"},
                {R"({"model_type":"clip","architectures":["CLIPModel"],"text_config":{"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"max_position_embeddings":20},"vision_config":{"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"image_size":32,"patch_size":8},"projection_dim":48})",
                 78, 157825, "logit_scale", "text_projection.weight"},
                {R"({"model_type":"siglip","architectures":["SiglipModel"],"text_config":{"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"max_position_embeddings":20},"vision_config":{"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"image_size":32,"patch_size":8}})",
                 88, 184930, "logit_scale", "vision_model.head.mlp.fc2.bias"},
                {R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],"text_config":{"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"clip_vision_model","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_index":299})",
                 80, 169952, "model.vision_tower.embeddings.class_embedding", "lm_head.weight"},
                {R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],"text_config":{"model_type":"qwen2","tie_word_embeddings":true,"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"siglip_vision_model","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_index":299,"vision_feature_layer":[-1,-2],"vision_feature_select_strategy":"full","multimodal_projector_bias":false})",
                 92, 171168, "model.vision_tower.embeddings.patch_embedding.weight",
                 "model.language_model.norm.weight"},
                {R"({"model_type":"llava_next","architectures":["LlavaNextForConditionalGeneration"],"text_config":{"model_type":"mistral","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"clip_vision_model","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_index":299,"image_grid_pinpoints":[[32,64]]})",
                 81, 170016, "model.image_newline", "lm_head.weight"},
                {R"({"model_type":"gemma3","architectures":["Gemma3ForConditionalGeneration"],"text_config":{"model_type":"gemma3_text","head_dim":16,"num_hidden_layers":7,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"vision_use_head":false,"model_type":"siglip_vision_model","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_index":299,"mm_tokens_per_image":4})",
                 148, 301792, "model.vision_tower.embeddings.patch_embedding.weight",
                 "model.language_model.norm.weight"},
                {R"({"model_type":"gemma4","architectures":["Gemma4ForConditionalGeneration"],"text_config":{"model_type":"gemma4_text","hidden_size_per_layer_input":0,"head_dim":16,"global_head_dim":32,"num_kv_shared_layers":0,"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"gemma4_vision","hidden_size":48,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":4,"head_dim":12,"intermediate_size":80,"patch_size":4,"position_embedding_size":20,"pooling_kernel_size":2,"standardize":true},"audio_config":null,"image_token_id":299,"vision_soft_tokens_per_image":4})", 57,
                 142800, "model.vision_tower.patch_embedder.position_embedding_table",
                 "model.embed_vision.embedding_projection.weight"},
                {R"({"model_type":"paligemma","architectures":["PaliGemmaForConditionalGeneration"],"text_config":{"model_type":"gemma","head_dim":16,"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"vision_use_head":false,"model_type":"siglip_vision_model","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_index":299,"projection_dim":64})",
                 75, 146448, "model.vision_tower.embeddings.patch_embedding.weight",
                 "model.language_model.norm.weight"},
                {R"({"model_type":"mistral3","architectures":["Mistral3ForConditionalGeneration"],"text_config":{"model_type":"mistral","head_dim":16,"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"pixtral","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_index":299})",
                 53, 169152, "model.vision_tower.patch_conv.weight",
                 "model.language_model.norm.weight"},
                {R"({"model_type":"smolvlm","architectures":["SmolVLMForConditionalGeneration"],"text_config":{"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"smolvlm_vision","hidden_size":48,"num_hidden_layers":3,"num_attention_heads":4,"intermediate_size":80,"image_size":32,"patch_size":8},"image_token_id":299,"scale_factor":2})",
                 75, 174800, "model.vision_model.embeddings.patch_embedding.weight",
                 "lm_head.weight"},
                {R"({"model_type":"qwen2_vl","architectures":["Qwen2VLForConditionalGeneration"],"text_config":{"model_type":"qwen2_vl_text","rope_parameters":{"rope_type":"default","rope_theta":1000000.0,"mrope_section":[2,3,3]},"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"qwen2_vl_vision","depth":2,"embed_dim":48,"hidden_size":64,"num_heads":4,"patch_size":4},"image_token_id":299})", 58,
                 211072, "model.visual.patch_embed.proj.weight", "lm_head.weight"},
                {R"({"model_type":"qwen2_5_vl","architectures":["Qwen2_5_VLForConditionalGeneration"],"text_config":{"model_type":"qwen2_5_vl_text","rope_parameters":{"rope_type":"default","rope_theta":1000000.0,"mrope_section":[2,3,3]},"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300,"num_key_value_heads":2},"vision_config":{"model_type":"qwen2_5_vl_vision","depth":2,"hidden_size":48,"intermediate_size":80,"out_hidden_size":64,"num_heads":4,"patch_size":4,"fullatt_block_indexes":[1]},"image_token_id":299})",
                 57, 196944, "model.visual.patch_embed.proj.weight", "lm_head.weight"},
                {R"({"model_type":"wav2vec2","architectures":["Wav2Vec2ForCTC"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":32,"mask_time_prob":0.0})",
                 52, 4328160, "wav2vec2.feature_extractor.conv_layers.0.conv.weight",
                 "lm_head.bias"},
                {R"({"model_type":"hubert","architectures":["HubertForCTC"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":32,"feat_extract_norm":"layer","do_stable_layer_norm":true,"conv_bias":true,"mask_time_prob":0.0})",
                 71, 4337888, "hubert.feature_extractor.conv_layers.0.conv.weight", "lm_head.bias"},
};

Model model_of_text(const std::string& content) {
  const ModelDescription description = model_of_config(content, "c.json");
  return build_model(description, std::nullopt, std::nullopt);
}

std::int64_t elements_of_model(const Model& model) {
  std::int64_t sum = 0;
  for (const Parameter& parameter : model.parameters) {
    std::int64_t count = 1;
    for (const std::int64_t size : *parameter.shape) count *= size;
    sum += count;
  }
  return sum;
}

/// Number of parameters with a gradient. The last block of a tower may have none, because nothing
/// reads its output.
std::size_t reached_parameters(const Model& model) {
  std::set<std::size_t> reached;
  for (const Layer& layer : model.layers)
    if (layer.reached) reached.insert(layer.parameters.begin(), layer.parameters.end());
  return reached.size();
}

void check_parameters(const Model& model) {
  std::set<std::string> names;
  for (const Parameter& parameter : model.parameters) names.insert(parameter.name);
  CHECK(names.size() == model.parameters.size());
  std::vector<std::size_t> ready = model.ready_order;
  std::ranges::sort(ready);
  CHECK(ready.size() == reached_parameters(model));
  CHECK(std::ranges::adjacent_find(ready) == ready.end());
}

std::string complaint_about(const std::string& content) {
  return complaint_of([&] { model_of_config(content, "c.json"); });
}

bool complaint_has(const std::string& content, const std::string& part) {
  const std::string message = complaint_about(content);
  CAPTURE(message);
  return message.find(part) != std::string::npos;
}

const Layer& layer_of(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &Layer::name);
  REQUIRE(found != model.layers.end());
  return *found;
}

}  // namespace

TEST_CASE("config.json: every model type has the parameters of its class") {
  for (const Built& built : kBuilt) {
    CAPTURE(built.config);
    const Model model = model_of_text(built.config);
    CHECK(model.parameters.size() == built.parameters);
    CHECK(elements_of_model(model) == built.elements);
    CHECK(model.parameters.front().name == built.first);
    CHECK(model.parameters.back().name == built.last);
  }
}

TEST_CASE("config.json: every model type in full, as a digest") {
  // The order is that of kBuilt.
  const std::vector<std::string> digests = {
      "6c85bf0057bd1008", "b25cefd88694a21c", "91854b4dc5875215", "15bb30dc5b039878",
      "e159fa673f662782", "5338620260a48f28", "6e50502be015e68f", "8ad79fe2b7a60cb0",
      "c6b57981410e764f", "a16a39ac08876dad", "a2f571625dce7b98", "5c884aa6e6763b72",
      "2ac5748246135401", "804d170ee5b31a74", "89b950094f4798fd", "77234528b125ea29",
      "858cc557fdbf78b5", "f066af07c7ca86f7", "5e8e3d8acea18b37", "4620607cd2004335",
      "25ee5f8e0f135423", "78636359befec628", "fe64f26e752cc64b", "766617772f4783ea",
      "3698e8959b523bce", "1887669644379536", "8b901f4ca1441866", "b38703f1fa9a394f",
      "abb8e0d4e9110929", "ab89515cf0c4066d", "33b885d8d52f408c", "45ff625f115138b2",
      "8c2439ac2041c092", "77472c2ae3d2da62", "e0f3352a958d8095", "3ec4316d32db6ac3",
      "e48c0f3f65173a2f", "7a1695213752e6db", "9448a5dbba7abde6", "c64bad9ab8480d20",
      "42def3700970c2bf", "2bed26f4781d36cf", "714601fa067fd5ad", "1fd545fa8f5b7e52",
      "76213d98856462ea", "d99f93cbb72347d9", "151ea0a59a74b9f8", "d898b7cd0422edcc",
      "cc78cd49c13a0617", "71579080882e4a2f", "654dc1e5c745957a", "5b3bf9e3be57caab",
      "d77dbbc9fbe5cfaa", "a13f5be23a057f7d", "2a17b22af371e017", "85a2151dc5331835",
      "f4d63c11ccfe331d", "febe06855ec0fe7c", "c5a27f2edcdca47a", "5fcd4348b91c0ed2",
      "69b160c02637fc11", "b8e4afeada5278be", "1d3f77f3618625f9", "1640f4fb4aa9cb27",
      "7345bfaad5915267", "fca803a136df5f7a", "61a49fe5ec8937c8", "c94c221a61c4bf67",
      "735dbc075df0608c",
  };
  REQUIRE(digests.size() == std::size(kBuilt));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    CAPTURE(kBuilt[i].config);
    CHECK(model_digest::digest_of(model_of_config(kBuilt[i].config, "c.json")) == digests[i]);
  }
}

TEST_CASE("config.json: ALBERT's layers form one group by default") {
  const std::string begin =
      R"({"model_type":"albert","architectures":["AlbertModel"],"hidden_size":64,)"
      R"("num_hidden_layers":4,"num_attention_heads":4,"intermediate_size":96)";
  const auto parameters = [&](const std::string& rest) {
    return model_of_text(begin + rest + "}").parameters.size();
  };
  CHECK(parameters("") == parameters(R"(,"num_hidden_groups":1)"));
  CHECK(parameters("") < parameters(R"(,"num_hidden_groups":2)"));
}

TEST_CASE("config.json: every parameter has a name of its own and is ready once") {
  for (const Built& built : kBuilt) {
    CAPTURE(built.config);
    check_parameters(model_of_text(built.config));
  }
}

TEST_CASE("config.json: without any single field, the file makes a complete model or is refused") {
  std::size_t refused = 0;
  std::size_t made = 0;
  for (const Built& built : kBuilt) {
    const auto whole = nlohmann::json::parse(built.config);
    for (const auto& [key, value] : whole.items()) {
      auto config = whole;
      config.erase(key);
      CAPTURE(config.dump());
      try {
        check_parameters(model_of_text(config.dump()));
        ++made;
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 0);
  CHECK(made > refused);
}

TEST_CASE(
    "config.json: a field may have its alias as its name, and two values for it are refused") {
  struct Alias {
    const char* type;
    const char* alias;
    const char* field;
    const char* value;
    const char* other;
  };
  constexpr Alias kAliases[] = {
      {"mixtral", "num_experts", "num_local_experts", "4", "5"},
      {"qwen3_moe", "num_local_experts", "num_experts", "16", "17"},
      {"olmoe", "num_local_experts", "num_experts", "16", "17"},
      {"deepseek_v2", "num_experts", "n_routed_experts", "16", "17"},
      {"deepseek_v3", "num_local_experts", "n_routed_experts", "16", "17"},
      {"deepseek_v3", "num_mtp_layers", "num_nextn_predict_layers", "1", "2"},
      {"gpt_oss", "num_experts", "num_local_experts", "16", "17"},
      {"gpt2", "hidden_size", "n_embd", "96", "120"},
      {"gpt2", "max_position_embeddings", "n_positions", "64", "65"},
      {"gpt2", "num_attention_heads", "n_head", "8", "16"},
      {"gpt2", "num_hidden_layers", "n_layer", "3", "4"},
      {"gptj", "hidden_size", "n_embd", "1024", "2048"},
      {"gptj", "num_hidden_layers", "n_layer", "3", "4"},
      {"bloom", "n_embed", "hidden_size", "96", "104"},
      {"bloom", "num_hidden_layers", "n_layer", "3", "4"},
      {"bloom", "num_attention_heads", "n_head", "4", "2"},
      {"mpt", "hidden_size", "d_model", "96", "112"},
      {"mpt", "num_hidden_layers", "n_layers", "3", "4"},
      {"mpt", "num_attention_heads", "n_heads", "8", "4"},
      {"falcon", "n_embed", "hidden_size", "142", "213"},
      {"distilbert", "hidden_size", "dim", "96", "108"},
      {"distilbert", "num_hidden_layers", "n_layers", "3", "4"},
      {"distilbert", "num_attention_heads", "n_heads", "8", "4"},
      {"t5", "hidden_size", "d_model", "96", "97"},
      {"mt5", "head_dim", "d_kv", "8", "9"},
      {"t5", "num_attention_heads", "num_heads", "3", "4"},
      {"bart", "hidden_size", "d_model", "96", "112"},
      {"mbart", "num_hidden_layers", "encoder_layers", "3", "4"},
      {"pegasus", "num_attention_heads", "encoder_attention_heads", "8", "4"},
      {"marian", "hidden_size", "d_model", "96", "112"},
      {"whisper", "num_key_value_heads", "encoder_attention_heads", "8", "4"},
      {"swin", "num_attention_heads", "num_heads", "[3,6,12,12]", "[3,6,12,24]"},
      {"swin", "num_hidden_layers", "num_layers", "4", "5"},
      {"convnext", "num_hidden_layers", "num_stages", "4", "5"},
      {"convnextv2", "num_hidden_layers", "num_stages", "4", "5"}};
  for (const Alias& one : kAliases) {
    const auto config = [&](const std::string& fields) {
      return std::string(R"({"model_type":")") + one.type + "\"" + fields + "}";
    };
    const std::string native = std::string(",\"") + one.field + "\":" + one.value;
    const std::string alias = std::string(",\"") + one.alias + "\":" + one.value;
    CAPTURE(config(alias));
    const std::int64_t elements = elements_of_model(model_of_text(config(native)));
    CHECK(elements_of_model(model_of_text(config(alias))) == elements);
    CHECK(elements_of_model(model_of_text(config(alias + native))) == elements);
    CHECK(complaint_has(config(native + ",\"" + one.alias + "\":" + one.other),
                        std::string("c.json:/") + one.alias + ": " + one.alias + " and " +
                            one.field + " name one field"));
  }
  // Its class copies num_layers for the decoder before it reads the alias.
  const Model t5 = model_of_text(R"({"model_type":"t5","num_hidden_layers":1})");
  CHECK(layer_of(t5, "decoder.block.5.layer.0.SelfAttention.q").weights > 0);
  // The class of this type has no such alias.
  CHECK(complaint_has(R"({"model_type":"granitemoe","num_experts":4})", "c.json:/num_experts"));
  CHECK(complaint_has(R"({"model_type":"falcon","n_layer":4})", "c.json:/n_layer"));
}

TEST_CASE("config.json: a field that its class does not read may repeat what is built") {
  const auto takes = [](const std::string& same, const std::string& other, const std::string& key) {
    CHECK(complaint_about(same).empty());
    CHECK(complaint_has(other, "c.json:/" + key + ": " + key + " is not read by its class"));
  };
  takes(R"({"model_type":"gpt2","n_ctx":1024})", R"({"model_type":"gpt2","n_ctx":512})", "n_ctx");
  takes(R"({"model_type":"bloom","n_inner":256,"skip_bias_add":true,"skip_bias_add_qkv":true})",
        R"({"model_type":"bloom","n_inner":64})", "n_inner");
  takes(R"({"model_type":"mpt","expansion_ratio":4})",
        R"({"model_type":"mpt","expansion_ratio":2})", "expansion_ratio");
  takes(R"({"model_type":"falcon","n_head":71,"n_layer":32,"n_head_kv":1})",
        R"({"model_type":"falcon","n_head_kv":8})", "n_head_kv");
  takes(R"({"model_type":"stablelm","head_dim":80})", R"({"model_type":"stablelm","head_dim":64})",
        "head_dim");
  takes(R"({"model_type":"swin","hidden_size":768,"num_layers":4})",
        R"({"model_type":"swin","hidden_size":96})", "hidden_size");
  takes(R"({"model_type":"hubert","num_feat_extract_layers":7})",
        R"({"model_type":"hubert","num_feat_extract_layers":6})", "num_feat_extract_layers");
}

TEST_CASE("config.json: question answering has two classes") {
  for (const auto& [type, classes] :
       std::vector<std::pair<std::string, std::string>>{{"bert", "Bert"},
                                                        {"roberta", "Roberta"},
                                                        {"xlm-roberta", "XLMRoberta"},
                                                        {"distilbert", "DistilBert"},
                                                        {"albert", "Albert"},
                                                        {"electra", "Electra"},
                                                        {"deberta-v2", "DebertaV2"},
                                                        {"modernbert", "ModernBert"},
                                                        {"t5", "T5"}}) {
    const std::string begin = R"({"model_type":")" + type + R"(","architectures":[")" + classes +
                              R"(ForQuestionAnswering"])";
    CAPTURE(begin);
    CHECK(complaint_about(begin + "}").empty());
    CHECK(complaint_about(begin + R"(,"num_labels":2})").empty());
    CHECK(complaint_has(begin + R"(,"num_labels":7})", "c.json:/num_labels"));
    CHECK(complaint_has(begin + R"(,"id2label":{"0":"a","1":"b","2":"c"}})", "c.json:/id2label"));
  }
}

TEST_CASE("config.json: the norms of a Falcon depend on its parallel branches") {
  const auto layer = [](const std::string& more) {
    std::vector<std::string> norms;
    for (const Parameter& one :
         model_of_text(R"({"model_type":"falcon","num_hidden_layers":1)" + more + "}").parameters)
      if (one.name.ends_with(".weight") && one.name.find("h.0.") != std::string::npos &&
          one.shape->size() == 1)
        norms.push_back(one.name.substr(std::string("transformer.h.0.").size()));
    return norms;
  };
  using Names = std::vector<std::string>;
  CHECK(layer("") == Names{"input_layernorm.weight"});
  CHECK(layer(R"(,"parallel_attn":false,"num_ln_in_parallel_attn":2)") ==
        Names{"post_attention_layernorm.weight", "input_layernorm.weight"});
  CHECK(layer(R"(,"new_decoder_architecture":true)") == Names{"ln_attn.weight", "ln_mlp.weight"});
  CHECK(layer(R"(,"new_decoder_architecture":true,"num_ln_in_parallel_attn":1)") ==
        Names{"input_layernorm.weight"});
  CHECK(complaint_has(R"({"model_type":"falcon","num_ln_in_parallel_attn":2})",
                      "c.json:/num_ln_in_parallel_attn"));
  CHECK(complaint_has(
      R"({"model_type":"falcon","new_decoder_architecture":true,"parallel_attn":false})",
      "c.json:/parallel_attn"));
}

TEST_CASE("config.json: the numbers of layers and stages match the lists that name them") {
  CHECK(complaint_has(R"({"model_type":"llama","layer_types":["full_attention"]})",
                      "layer_types names 1 layers, and num_hidden_layers is 32"));
  CHECK(complaint_has(R"({"model_type":"modernbert","layer_types":["full_attention"]})",
                      "layer_types names 1 layers, and num_hidden_layers is 22"));
  CHECK(complaint_has(R"({"model_type":"convnextv2","num_stages":3})", "c.json:/num_stages"));
  CHECK(complaint_has(R"({"model_type":"olmoe","head_dim":64})", "c.json:/head_dim"));
  CHECK(complaint_has(R"({"model_type":"convnext","hidden_sizes":[8,16],"depths":[1,1]})",
                      "num_stages is 4"));
}

TEST_CASE("config.json: each remaining place is computed after Swin halves an image") {
  // Eight places per side become four, each with the features of four neighbours.
  const Model swin = model_of_text(
      R"({"model_type":"swin","architectures":["SwinForImageClassification"],"embed_dim":32,)"
      R"("depths":[2,1],"num_heads":[2,4],"image_size":32,"patch_size":4,"window_size":4})");
  const std::int64_t places = 4 * 4;
  CHECK(layer_of(swin, "swin.encoder.layers.0.downsample.reduction").product->multiply_adds() ==
        places * 4 * 32 * 2 * 32);
}

TEST_CASE("config.json: a token uses only active experts, but all experts have parameters") {
  const auto described = [](const char* active) {
    return model_of_text(
        std::string(R"({"model_type":"mixtral","num_hidden_layers":1,"hidden_size":8,)"
                    R"("num_attention_heads":2,"num_key_value_heads":2,)"
                    R"("intermediate_size":16,"vocab_size":9,"num_local_experts":4,)"
                    R"("num_experts_per_tok":)") +
        active + "}");
  };
  const Model one = described("1");
  const Model two = described("2");
  CHECK(elements_of_model(one) == elements_of_model(two));
  const std::string name = "model.layers.0.mlp.experts.gate_up_proj";
  CHECK(layer_of(two, name).product->multiply_adds() ==
        2 * layer_of(one, name).product->multiply_adds());
  CHECK(layer_of(one, name).weights == 4 * 2 * 16 * 8);
  CHECK(
      complaint_has(R"({"model_type":"mixtral","num_experts_per_tok":9})", "/num_experts_per_tok"));
}

TEST_CASE("config.json: architectures selects the head, and another class is refused by name") {
  const std::string small =
      R"("model_type":"llama","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,)"
      R"("intermediate_size":8,"vocab_size":9)";
  const auto last = [&](const std::string& more) {
    return model_of_text("{" + small + more + "}").parameters.back();
  };
  CHECK(last("").name == "lm_head.weight");
  CHECK(last(R"(,"architectures":["LlamaModel"])").name == "norm.weight");
  const Parameter score =
      last(R"(,"architectures":["LlamaForSequenceClassification"],"id2label":{"0":"reward"})");
  CHECK(score.name == "score.weight");
  CHECK(*score.shape == std::vector<std::int64_t>{1, 8});
  CHECK(last(R"(,"architectures":["LlamaForTokenClassification"],"num_labels":5)").name ==
        "score.bias");
  CHECK(complaint_has("{" + small + R"(,"architectures":["MistralForCausalLM"]})",
                      "c.json:/architectures/0"));
  CHECK(complaint_has("{" + small + R"(,"architectures":["LlamaForRewards"]})", "LlamaForRewards"));
  CHECK(complaint_has("{" + small +
                          R"(,"architectures":["LlamaForTokenClassification"],"num_labels":5,)"
                          R"("id2label":{"0":"a"}})",
                      "id2label names 1"));
}

TEST_CASE("config.json: ignored fields are listed, and an unknown dimension is an error") {
  const auto ignored = [](const std::string& more) {
    return model_of_config(
               R"({"model_type":"llama","hidden_size":8,"num_attention_heads":2)" + more + "}",
               "c.json")
        .ignored;
  };
  CHECK(ignored("").empty());
  CHECK(ignored(R"(,"bos_token_id":1,"torch_dtype":"bfloat16","rms_norm_eps":1e-5)").empty());
  CHECK(ignored(R"(,"attention_dropout":0.1,"rope_theta":1e4)") ==
        std::vector<std::string>{"attention_dropout", "rope_theta"});
  CHECK(complaint_has(R"({"model_type":"llama","num_local_experts":8})",
                      "c.json:/num_local_experts"));
  CHECK(complaint_has(R"({"model_type":"llama","adapter_size":64})", "c.json:/adapter_size"));
  CHECK(complaint_about(R"({"model_type":"llama","num_local_experts":0})").empty());
}

constexpr const char* kText =
    R"("text_config":{"model_type":"llama","hidden_size":8,"num_hidden_layers":1,)"
    R"("num_attention_heads":2,"intermediate_size":8,"vocab_size":9})";

TEST_CASE(
    "config.json: text with an unsupported tower is refused, but its text part can be built") {
  const std::string unknown = R"({"model_type":"zebra",)" + std::string(kText);
  CHECK(complaint_has(unknown + "}", "the model type"));
  const std::string remedy = R"("architectures": ["LlamaForCausalLM"])";
  CHECK(complaint_has(unknown + "}", remedy));
  const ModelDescription description = model_of_config(unknown + "," + remedy + "}", "c.json");
  REQUIRE(description.notes.size() == 1);
  CHECK(description.notes.front().find("LlamaForCausalLM is built of text_config") == 0);
  CHECK(build_model(description, 4, std::nullopt).parameters.back().name == "lm_head.weight");
  CHECK(complaint_has(R"({"model_type":"gemma3","text_config":{"model_type":"zebra"}})", "zebra"));
  CHECK(complaint_has(R"({"model_type":"llava",)" + std::string(kText) + "}",
                      "vision_config is missing"));
  CHECK(complaint_has(
      R"({"model_type":"llava","vision_config":{"model_type":"x"},)" + std::string(kText) + "}",
      "c.json:/vision_config/model_type"));
  CHECK(complaint_has(R"({"model_type":"gemma4","audio_config":{"hidden_size":8}})",
                      "Write null for audio_config"));
}

TEST_CASE("config.json: a note says which tie_word_embeddings counts") {
  const auto notes = [](const std::string& outer) {
    return model_of_config(
               R"({"model_type":")" + outer +
                   R"(","vision_config":{"model_type":"clip_vision_model"},)"
                   R"("text_config":{"model_type":"llama","tie_word_embeddings":true,"hidden_size":8,)"
                   R"("num_attention_heads":2}})",
               "c.json")
        .notes;
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& part) {
    return std::ranges::any_of(
        all, [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  CHECK(has(notes(R"(llava","tie_word_embeddings":false,"a":")"), "true in text_config counts"));
  CHECK(has(notes(R"(llava_next","tie_word_embeddings":false,"a":")"),
            "false of the whole file counts"));
  CHECK(!has(notes(R"(llava","tie_word_embeddings":true,"a":")"), "tie_word_embeddings"));
}

TEST_CASE("config.json: blocks of a tower after the last one read get no gradient, with a note") {
  const auto described = [](const std::string& layer) {
    return model_of_config(
        R"({"model_type":"llava","vision_feature_layer":)" + layer +
            R"(,"vision_config":{"model_type":"pixtral","num_hidden_layers":3},)" + kText + "}",
        "c.json");
  };
  const auto without = [&](const std::string& layer) {
    const Model model = build_model(described(layer), 4, std::nullopt);
    return model.parameters.size() - model.ready_order.size();
  };
  CHECK(without("-1") == 0);
  CHECK(without("3") == 0);
  CHECK(without("-2") == 9);
  CHECK(without("[-3,1]") == 18);
  CHECK(described("-1").notes.size() + 1 == described("-2").notes.size());
  CHECK(complaint_of([&] { described("4"); }).find("/vision_feature_layer") != std::string::npos);
}

TEST_CASE("config.json: a sequence must fit the image, and the default also fits words") {
  const ModelDescription description = model_of_config(
      R"({"model_type":"mistral3","vision_config":{"model_type":"pixtral","image_size":1540,)"
      R"("patch_size":14},"text_config":{"model_type":"mistral","num_hidden_layers":1}})",
      "c.json");
  CHECK(description.image_tokens == 110 * 110 / 4);
  CHECK(description.usual_size == 8192);
}

TEST_CASE("config.json: Qwen2-VL's text fields may be next to vision_config") {
  const std::string vision =
      R"("vision_config":{"depth":1,"embed_dim":8,"num_heads":2,"hidden_size":8})";
  const std::string sizes =
      R"("hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,)"
      R"("intermediate_size":8,"vocab_size":9,"tie_word_embeddings":true)";
  const auto names = [](const std::string& content) {
    std::vector<std::string> all;
    for (const Parameter& parameter : model_of_text(content).parameters)
      all.push_back(parameter.name);
    return all;
  };
  const std::string flat = R"({"model_type":"qwen2_vl",)" + vision + "," + sizes + "}";
  const std::string nested =
      R"({"model_type":"qwen2_vl",)" + vision + R"(,"text_config":{)" + sizes + "}}";
  CHECK(names(flat) == names(nested));
  CHECK(names(flat).back() == "model.language_model.norm.weight");
  CHECK(complaint_has(R"({"model_type":"qwen2_vl","vision_config":{"embed_dim":8,"num_heads":2,)"
                      R"("hidden_size":16},)" +
                          sizes + "}",
                      "features, but words"));
}

TEST_CASE("config.json: T5's output layer is always tied, with a note if the file says otherwise") {
  const ModelDescription description =
      model_of_config(R"({"model_type":"t5","tie_word_embeddings":false})", "c.json");
  REQUIRE(description.notes.size() == 2);
  CHECK(description.notes.front().find("overruled") != std::string::npos);
  CHECK(description.notes.back() ==
        "architectures is missing: T5ForConditionalGeneration is assumed");
  CHECK(complaint_has(R"({"model_type":"bart","tie_word_embeddings":false})",
                      "/tie_word_embeddings"));
}

TEST_CASE("config.json: an unknown type is not replaced by one with a similar name") {
  for (const char* type : {"mixtrall", "mistral2", "lama", "qwen4"}) {
    const std::string message = complaint_about(std::string(R"({"model_type":")") + type + "\"}");
    CAPTURE(message);
    CHECK(message.find("Did you mean") == std::string::npos);
    CHECK(message.find("Record the job") != std::string::npos);
  }
  CHECK(complaint_has(R"({"model_type":"deberta_v2"})", "Write \"deberta-v2\""));
}

TEST_CASE("config.json: contradictions and files without a model are refused or noted") {
  CHECK(std::ranges::any_of(
      model_of_config(R"({"model_type":"wav2vec2","layerdrop":0.1})", "c.json").notes,
      [](const std::string& note) { return note.starts_with("layerdrop 0.1 is not simulated"); }));
  CHECK(complaint_has(R"({"model_type":"deberta-v2","relative_attention":true})",
                      "pos_att_type names neither"));
  CHECK(complaint_has(R"({"model_type":"llama","architectures":["LlamaModel","LlamaForCausalLM"]})",
                      "several classes"));
  CHECK(complaint_has(R"({"peft_type":"LORA","r":8})", "config of an adapter (PEFT)"));
  CHECK(complaint_has(R"({"_class_name":"UNet2DConditionModel"})", "diffusers"));
  CHECK(complaint_has(R"({"tokenizer_class":"LlamaTokenizer"})", "a tokenizer"));
}

TEST_CASE("config.json: an unknown class is refused with the list of known ones") {
  CHECK(complaint_about(R"({"model_type":"llama","architectures":["LlamaForNothing"]})") ==
        "c.json:/architectures/0: the class \"LlamaForNothing\" is unknown, so its head would be a "
        "guess. Write the class whose parameters your model has, one of LlamaForCausalLM, "
        "LlamaLMHeadModel, LlamaForSequenceClassification, LlamaForTokenClassification, "
        "LlamaForQuestionAnswering, LlamaModel; or record the job");
}

TEST_CASE("config.json: a decoder for question answering has two outputs per token") {
  const Model model = model_of_text(
      R"({"model_type":"llama","architectures":["LlamaForQuestionAnswering"],"hidden_size":64,)"
      R"("num_hidden_layers":1,"num_attention_heads":4,"intermediate_size":96,"vocab_size":300})");
  CHECK(model.parameters.back().name == "qa_outputs.bias");
  CHECK(model.parameters.back().shape == std::vector<std::int64_t>{2});
  CHECK(layer_of(model, "qa_outputs").weights == 2 * 64 + 2);
}

TEST_CASE("config.json: the layers of Gemma 4 with full attention, by either name of the pattern") {
  const auto digest = [](const std::string& more) {
    return model_digest::digest_of(model_of_text(
        R"({"model_type":"gemma4_text","hidden_size":64,"num_hidden_layers":4,)"
        R"("num_attention_heads":4,"num_key_value_heads":2,"intermediate_size":96,)"
        R"("vocab_size":300,"hidden_size_per_layer_input":0,"head_dim":16,"global_head_dim":32,)"
        R"("num_kv_shared_layers":0)" +
        more + "}"));
  };
  const std::string listed =
      R"(,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"])";
  CHECK(digest(R"(,"sliding_window_pattern":2)") == digest(listed));
  CHECK(digest(R"(,"_sliding_window_pattern":2)") == digest(listed));
  CHECK(digest(R"(,"sliding_window_pattern":4)") != digest(listed));
}
