"""Writes configs/ and written_configs.json: config.json files, with the number of parameters of their models.

    python3 -m venv venv && venv/bin/pip install transformers==5.24.0 torch==2.13.0
    venv/bin/python tests/cli/field/make_configs.py [FOLDER]

Most files are written by transformers' own classes; others have forms that these classes can read. Each model is built
on the meta device by the class that `architectures` names, and tied parameters count once. ddpsim is not used. Sizes
are those of the named published models, from memory. `published` is the number of elements on a model's page, also from
memory, if it counts the same tensors. The number of the built model is printed next to it.
"""

import json
import pathlib
import sys

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}

# fmt: off
# For each name: class of the configuration, class of the model, fields that differ from the defaults, and published
# count or None. Few lines per model make the table readable.
MODELS = {
    "qwen3-8b": ("Qwen3Config", "Qwen3ForCausalLM", dict(
        vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8,
        head_dim=128, max_position_embeddings=40960, max_window_layers=36, tie_word_embeddings=False), 8190735360),
    "qwen3-235b-a22b": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", dict(
        vocab_size=151936, hidden_size=4096, intermediate_size=12288, moe_intermediate_size=1536, num_hidden_layers=94, num_attention_heads=64,
        num_key_value_heads=4, head_dim=128, num_experts=128, num_experts_per_tok=8, norm_topk_prob=True, max_position_embeddings=40960,
        tie_word_embeddings=False), 235093634560),
    "qwen2-7b": ("Qwen2Config", "Qwen2ForCausalLM", dict(
        vocab_size=152064, hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4,
        max_position_embeddings=131072, max_window_layers=28, tie_word_embeddings=False), 7615616512),
    "qwen2.5-0.5b": ("Qwen2Config", "Qwen2ForCausalLM", dict(
        vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2,
        max_position_embeddings=32768, max_window_layers=24, tie_word_embeddings=True), 494032768),
    "llama-2-7b": ("LlamaConfig", "LlamaForCausalLM", dict(
        vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32,
        max_position_embeddings=4096, tie_word_embeddings=False), 6738415616),
    "llama-3.2-1b": ("LlamaConfig", "LlamaForCausalLM", dict(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
        head_dim=64, max_position_embeddings=131072, rope_parameters=LLAMA3, tie_word_embeddings=True), 1235814400),
    "llama-3-8b-reward": ("LlamaConfig", "LlamaForSequenceClassification", dict(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        max_position_embeddings=8192, tie_word_embeddings=False, num_labels=1), 7504928768),
    "mistral-7b-v0.3": ("MistralConfig", "MistralForCausalLM", dict(
        vocab_size=32768, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        max_position_embeddings=32768, sliding_window=None, tie_word_embeddings=False), 7248023552),
    "mixtral-8x22b-v0.1": ("MixtralConfig", "MixtralForCausalLM", dict(
        vocab_size=32000, hidden_size=6144, intermediate_size=16384, num_hidden_layers=56, num_attention_heads=48, num_key_value_heads=8,
        num_local_experts=8, num_experts_per_tok=2, max_position_embeddings=65536, sliding_window=None, tie_word_embeddings=False), None),
    "gemma-2b": ("GemmaConfig", "GemmaForCausalLM", dict(
        vocab_size=256000, hidden_size=2048, intermediate_size=16384, num_hidden_layers=18, num_attention_heads=8, num_key_value_heads=1,
        head_dim=256), 2506172416),
    "gemma-2-2b": ("Gemma2Config", "Gemma2ForCausalLM", dict(
        vocab_size=256000, hidden_size=2304, intermediate_size=9216, num_hidden_layers=26, num_attention_heads=8, num_key_value_heads=4,
        head_dim=256, query_pre_attn_scalar=256), 2614341888),
    "gemma-3-1b-it": ("Gemma3TextConfig", "Gemma3ForCausalLM", dict(
        vocab_size=262144, hidden_size=1152, intermediate_size=6912, num_hidden_layers=26, num_attention_heads=4, num_key_value_heads=1,
        head_dim=256, sliding_window=512, max_position_embeddings=32768), 999885952),
    "gemma-3-4b-it": ("Gemma3Config", "Gemma3ForConditionalGeneration", dict(
        text_config=dict(model_type="gemma3_text", vocab_size=262208, hidden_size=2560, intermediate_size=10240, num_hidden_layers=34,
                         num_attention_heads=8, num_key_value_heads=4, head_dim=256, sliding_window=1024),
        vision_config=dict(model_type="siglip_vision_model", hidden_size=1152, image_size=896, intermediate_size=4304, num_attention_heads=16,
                           num_hidden_layers=27, patch_size=14, vision_use_head=False), mm_tokens_per_image=256), 4300079472),
    "phi-3-mini-4k": ("Phi3Config", "Phi3ForCausalLM", dict(
        vocab_size=32064, hidden_size=3072, intermediate_size=8192, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32,
        max_position_embeddings=4096, sliding_window=2047, tie_word_embeddings=False), 3821079552),
    "phi-2": ("PhiConfig", "PhiForCausalLM", dict(
        vocab_size=51200, hidden_size=2560, intermediate_size=10240, num_hidden_layers=32, num_attention_heads=32, partial_rotary_factor=0.4,
        max_position_embeddings=2048, tie_word_embeddings=False), 2779683840),
    "stablelm-2-1_6b": ("StableLmConfig", "StableLmForCausalLM", dict(
        vocab_size=100352, hidden_size=2048, intermediate_size=5632, num_hidden_layers=24, num_attention_heads=32, num_key_value_heads=32,
        use_qkv_bias=True, layer_norm_eps=1e-5, tie_word_embeddings=False), 1644515328),
    "olmo-1b": ("OlmoConfig", "OlmoForCausalLM", dict(
        vocab_size=50304, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=16, tie_word_embeddings=True),
        1176764416),
    "olmo-2-1124-7b": ("Olmo2Config", "Olmo2ForCausalLM", dict(
        vocab_size=100352, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32,
        tie_word_embeddings=False), 7298617344),
    "deepseek-v2-lite": ("DeepseekV2Config", "DeepseekV2ForCausalLM", dict(
        vocab_size=102400, hidden_size=2048, intermediate_size=10944, moe_intermediate_size=1408, num_hidden_layers=27, num_attention_heads=16,
        num_key_value_heads=16, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, first_k_dense_replace=1, kv_lora_rank=512,
        q_lora_rank=None, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, n_group=1, topk_group=1, topk_method="greedy",
        tie_word_embeddings=False), 15706484224),
    "moonlight-16b-a3b": ("DeepseekV3Config", "DeepseekV3ForCausalLM", dict(
        vocab_size=163840, hidden_size=2048, intermediate_size=11264, moe_intermediate_size=1408, num_hidden_layers=27, num_attention_heads=16,
        num_key_value_heads=16, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, first_k_dense_replace=1, kv_lora_rank=512,
        q_lora_rank=None, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, n_group=1, topk_group=1, routed_scaling_factor=2.446,
        max_position_embeddings=8192, tie_word_embeddings=False), None),
    "gpt-oss-20b": ("GptOssConfig", "GptOssForCausalLM", dict(
        vocab_size=201088, hidden_size=2880, intermediate_size=2880, num_hidden_layers=24, num_attention_heads=64, num_key_value_heads=8,
        head_dim=64, num_local_experts=32, num_experts_per_tok=4, sliding_window=128), 20914757184),
    "glm-4-9b-0414": ("Glm4Config", "Glm4ForCausalLM", dict(
        vocab_size=151552, hidden_size=4096, intermediate_size=13696, num_hidden_layers=40, num_attention_heads=32, num_key_value_heads=2,
        head_dim=128, attention_bias=True, tie_word_embeddings=False, max_position_embeddings=32768), 9400279040),
    "granite-3.3-2b": ("GraniteConfig", "GraniteForCausalLM", dict(
        vocab_size=49159, hidden_size=2048, intermediate_size=8192, num_hidden_layers=40, num_attention_heads=32, num_key_value_heads=8,
        attention_multiplier=0.015625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22,
        max_position_embeddings=131072, tie_word_embeddings=True), None),
    "smollm3-3b": ("SmolLM3Config", "SmolLM3ForCausalLM", dict(
        vocab_size=128256, hidden_size=2048, intermediate_size=11008, num_hidden_layers=36, num_attention_heads=16, num_key_value_heads=4,
        max_position_embeddings=65536, tie_word_embeddings=True), 3075098624),
    "c4ai-command-r-v01": ("CohereConfig", "CohereForCausalLM", dict(
        vocab_size=256000, hidden_size=8192, intermediate_size=22528, num_hidden_layers=40, num_attention_heads=64, num_key_value_heads=64,
        logit_scale=0.0625, use_qk_norm=False), 34980831232),
    "gpt2-medium": ("GPT2Config", "GPT2LMHeadModel", dict(n_embd=1024, n_layer=24, n_head=16), 354823168),
    "gpt-neox-20b": ("GPTNeoXConfig", "GPTNeoXForCausalLM", dict(
        vocab_size=50432, hidden_size=6144, intermediate_size=24576, num_hidden_layers=44, num_attention_heads=64, tie_word_embeddings=False),
        20554567680),
    "gpt-j-6b": ("GPTJConfig", "GPTJForCausalLM", dict(
        vocab_size=50400, n_positions=2048, n_embd=4096, n_layer=28, n_head=16, rotary_dim=64, tie_word_embeddings=False), 6050882784),
    "opt-350m": ("OPTConfig", "OPTForCausalLM", dict(
        vocab_size=50272, hidden_size=1024, ffn_dim=4096, num_hidden_layers=24, num_attention_heads=16, word_embed_proj_dim=512,
        do_layer_norm_before=False), 331196416),
    "bloom-560m": ("BloomConfig", "BloomForCausalLM", dict(vocab_size=250880, hidden_size=1024, n_layer=24, n_head=16), 559214592),
    "falcon-7b": ("FalconConfig", "FalconForCausalLM", dict(
        vocab_size=65024, hidden_size=4544, num_hidden_layers=32, num_attention_heads=71, multi_query=True, parallel_attn=True, bias=False,
        alibi=False, new_decoder_architecture=False), 6921720704),
    "mpt-7b": ("MptConfig", "MptForCausalLM", dict(
        d_model=4096, n_heads=32, n_layers=32, expansion_ratio=4, max_seq_len=2048, vocab_size=50432, no_bias=True), 6649286656),
    "bert-base-uncased": ("BertConfig", "BertForMaskedLM", dict(), 109514298),
    "bert-large-mnli": ("BertConfig", "BertForSequenceClassification", dict(
        vocab_size=28996, hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, num_labels=3), None),
    "bert-base-multilingual-cased": ("BertConfig", "BertModel", dict(vocab_size=119547), 177853440),
    "roberta-base": ("RobertaConfig", "RobertaForMaskedLM", dict(
        vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5), 124697433),
    "xlm-roberta-large": ("XLMRobertaConfig", "XLMRobertaForMaskedLM", dict(
        vocab_size=250002, hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16,
        max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5), None),
    "distilbert-base-uncased": ("DistilBertConfig", "DistilBertForMaskedLM", dict(), 66985530),
    "albert-base-v2": ("AlbertConfig", "AlbertForMaskedLM", dict(
        hidden_size=768, num_attention_heads=12, intermediate_size=3072, embedding_size=128, num_hidden_layers=12,
        attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0), None),
    "electra-small-discriminator": ("ElectraConfig", "ElectraForPreTraining", dict(
        embedding_size=128, hidden_size=256, intermediate_size=1024, num_attention_heads=4, num_hidden_layers=12), None),
    "deberta-v3-base-ner": ("DebertaV2Config", "DebertaV2ForTokenClassification", dict(
        vocab_size=128100, hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, relative_attention=True,
        position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], type_vocab_size=0,
        max_relative_positions=-1, position_biased_input=False, num_labels=9), None),
    "modernbert-base": ("ModernBertConfig", "ModernBertForMaskedLM", dict(), None),
    "t5-small": ("T5Config", "T5ForConditionalGeneration", dict(), 60506624),
    "t5-v1_1-base": ("T5Config", "T5ForConditionalGeneration", dict(
        d_model=768, d_ff=2048, num_layers=12, num_decoder_layers=12, num_heads=12, feed_forward_proj="gated-gelu"), None),
    "mt5-small": ("MT5Config", "MT5ForConditionalGeneration", dict(vocab_size=250112), None),
    "bart-large-mnli": ("BartConfig", "BartForSequenceClassification", dict(
        vocab_size=50265, num_labels=3, classifier_dropout=0.0), 407344131),
    "pegasus-large": ("PegasusConfig", "PegasusForConditionalGeneration", dict(
        vocab_size=96103, d_model=1024, encoder_layers=16, decoder_layers=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096,
        encoder_attention_heads=16, decoder_attention_heads=16, max_position_embeddings=1024, scale_embedding=True), None),
    "opus-mt-en-de": ("MarianConfig", "MarianMTModel", dict(
        vocab_size=58101, d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        encoder_attention_heads=8, decoder_attention_heads=8, max_position_embeddings=512, activation_function="swish", scale_embedding=True,
        pad_token_id=58100, decoder_start_token_id=58100, static_position_embeddings=True), None),
    "vit-base-patch16-224": ("ViTConfig", "ViTForImageClassification", dict(num_labels=1000), 86567656),
    "deit-base-distilled-patch16-224": ("DeiTConfig", "DeiTForImageClassificationWithTeacher", dict(num_labels=1000), 87338192),
    "swin-tiny-patch4-window7-224": ("SwinConfig", "SwinForImageClassification", dict(num_labels=1000), 28288354),
    "convnext-tiny-224": ("ConvNextConfig", "ConvNextForImageClassification", dict(num_labels=1000), 28589128),
    "beit-base-patch16-224": ("BeitConfig", "BeitForImageClassification", dict(
        num_labels=1000, use_relative_position_bias=True, use_mean_pooling=True, layer_scale_init_value=0.1), None),
    "dinov2-base": ("Dinov2Config", "Dinov2Model", dict(image_size=518, patch_size=14), 86580480),
    "clip-vit-base-patch32": ("CLIPConfig", "CLIPModel", dict(), 151277313),
    "siglip-base-patch16-224": ("SiglipConfig", "SiglipModel", dict(), 203155970),
    "whisper-small": ("WhisperConfig", "WhisperForConditionalGeneration", dict(
        vocab_size=51865, d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12,
        encoder_ffn_dim=3072, decoder_ffn_dim=3072, num_mel_bins=80), 241734912),
    "wav2vec2-base-960h": ("Wav2Vec2Config", "Wav2Vec2ForCTC", dict(), None),
    "hubert-large-ls960-ft": ("HubertConfig", "HubertForCTC", dict(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, conv_bias=True, feat_extract_norm="layer",
        do_stable_layer_norm=True, feat_proj_layer_norm=True), None),
    "llava-1.5-7b": ("LlavaConfig", "LlavaForConditionalGeneration", dict(
        text_config=dict(model_type="llama", vocab_size=32064, max_position_embeddings=4096),
        vision_config=dict(model_type="clip_vision_model", hidden_size=1024, image_size=336, intermediate_size=4096, num_attention_heads=16,
                           num_hidden_layers=24, patch_size=14, projection_dim=768, vocab_size=32000),
        image_token_id=32000, tie_word_embeddings=False), 7063427072),
}

SMALL_BART = dict(encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=80, decoder_layers=2, vocab_size=300)
SMALL_ENCODER = dict(vocab_size=300, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4)
SMALL_FALCON = dict(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
SMALL_T5 = dict(vocab_size=300, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4)
SEVEN = {str(one): f"LABEL_{one}" for one in range(7)}

# For each name: model_type, class of the model, and fields of the file. These have names from attribute_map, ignored
# fields, and null.
FILES = {
    "bart-by-aliases": ("bart", "BartForConditionalGeneration", dict(SMALL_BART, hidden_size=64, num_hidden_layers=3)),
    "whisper-by-aliases": ("whisper", "WhisperForConditionalGeneration", dict(
        hidden_size=64, num_hidden_layers=3, num_key_value_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=80,
        vocab_size=51865, max_source_positions=50, max_target_positions=40)),
    "marian-both-names": ("marian", "MarianMTModel", dict(
        SMALL_BART, d_model=64, hidden_size=64, encoder_layers=3, num_hidden_layers=3, pad_token_id=0)),
    "t5-by-aliases": ("t5", "T5ForConditionalGeneration", dict(
        vocab_size=300, hidden_size=64, head_dim=8, d_ff=96, num_hidden_layers=3, num_attention_heads=4)),
    "mixtral-by-aliases": ("mixtral", "MixtralForCausalLM", dict(SMALL_ENCODER, num_key_value_heads=2, num_experts=6)),
    "olmoe-by-aliases": ("olmoe", "OlmoeForCausalLM", dict(SMALL_ENCODER, num_local_experts=6, num_experts_per_tok=2)),
    "deepseek-v2-by-aliases": ("deepseek_v2", "DeepseekV2ForCausalLM", dict(
        SMALL_ENCODER, num_key_value_heads=4, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, first_k_dense_replace=1)),
    "swin-by-aliases": ("swin", "SwinForImageClassification", dict(
        embed_dim=32, depths=[2, 1], num_attention_heads=[2, 4], num_hidden_layers=2, image_size=32, patch_size=4, window_size=4)),
    "convnext-by-aliases": ("convnext", "ConvNextForImageClassification", dict(
        hidden_sizes=[8, 16, 24], depths=[1, 1, 2], num_hidden_layers=3, image_size=64)),
    "gpt2-as-published": ("gpt2", "GPT2LMHeadModel", dict(
        activation_function="gelu_new", attn_pdrop=0.1, bos_token_id=50256, embd_pdrop=0.1, eos_token_id=50256, initializer_range=0.02,
        layer_norm_epsilon=1e-05, n_ctx=1024, n_embd=768, n_head=12, n_layer=12, n_positions=1024, resid_pdrop=0.1,
        summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}}, vocab_size=50257)),
    "bloom-560m-as-published": ("bloom", "BloomForCausalLM", dict(
        apply_residual_connection_post_layernorm=False, attention_dropout=0.0, attention_softmax_in_fp32=True, bias_dropout_fusion=True,
        bos_token_id=1, eos_token_id=2, hidden_dropout=0.0, initializer_range=0.02, layer_norm_epsilon=1e-05, masked_softmax_fusion=True,
        n_embed=1024, n_inner=None, n_layer=24, num_attention_heads=16, offset_alibi=100, pad_token_id=3, pretraining_tp=1,
        seq_length=2048, skip_bias_add=True, skip_bias_add_qkv=False, unk_token_id=0, use_cache=True, vocab_size=250880)),
    "vit-narrow-pooler": ("vit", "ViTModel", dict(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, image_size=32, patch_size=8, pooler_output_size=32)),
    "deit-narrow-pooler": ("deit", "DeiTModel", dict(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, image_size=32, patch_size=8, pooler_output_size=32)),
    "stablelm-usual-key-heads": ("stablelm", "StableLmForCausalLM", dict(SMALL_ENCODER, hidden_size=128, num_attention_heads=64)),
    "falcon-one-branch-after-the-other": ("falcon", "FalconForCausalLM", dict(SMALL_FALCON, parallel_attn=False, num_ln_in_parallel_attn=2)),
    "falcon-null-is-false": ("falcon", "FalconForCausalLM", dict(SMALL_FALCON, multi_query=None, parallel_attn=None)),
    "llama-null-key-heads": ("llama", "LlamaForCausalLM", dict(SMALL_ENCODER, num_key_value_heads=None, head_dim=None)),
    "t5-sequence-classes": ("t5", "T5ForSequenceClassification", dict(SMALL_T5, id2label=SEVEN)),
    "t5-token-classes": ("t5", "T5ForTokenClassification", dict(SMALL_T5, id2label=SEVEN)),
    "mt5-answers": ("mt5", "MT5ForQuestionAnswering", SMALL_T5),
    "roberta-next-words": ("roberta", "RobertaForCausalLM", dict(SMALL_ENCODER, is_decoder=True)),
    "xlm-roberta-next-words": ("xlm-roberta", "XLMRobertaForCausalLM", dict(SMALL_ENCODER, is_decoder=True)),
    "electra-next-words": ("electra", "ElectraForCausalLM", dict(SMALL_ENCODER, embedding_size=32, is_decoder=True)),
}
# fmt: on


def count(config, architecture):
    """The elements of all parameters, and of those that train. A tied parameter counts once."""
    with torch.device("meta"):
        model = getattr(transformers, architecture)(config)
    model.tie_weights()
    return (
        sum(parameter.numel() for parameter in model.parameters()),
        sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
    )


def row(name, kind, architecture, source, published=None):
    """The row for configs/NAME.json, with the counts for the file itself."""
    config = kind.from_dict(json.loads((HERE / "configs" / f"{name}.json").read_text(encoding="utf-8")))
    total, trained = count(config, architecture)
    print(
        f"{name:34} {config.model_type:18} {architecture:40} {total:15,} {trained:15,}"
        + ("" if published is None else " as published" if published == total else f" PUBLISHED {published:,}"),
        flush=True,
    )
    why = f"{total:,} parameters, a tied one once; 4 bytes each in the one bucket"
    if trained != total:
        why = f"{total:,} parameters, of which {trained:,} train (requires_grad), and DDP's buckets hold those: 4 bytes each in the one bucket"
    if published is not None and published == total:
        why += "; as published"
    return {
        "name": f"{name}: {config.model_type}, {architecture}",
        "source": f"transformers {transformers.__version__}, {source}; counted of {architecture} on the meta device",
        "run": [
            "buckets",
            f"INPUT/configs/{name}.json@A100:b1:fp32",
            "--order",
            "definition",
            "--torch",
            "2.8",
            "--bucket-cap-mb",
            "4000000",
            "--json",
        ],
        "values": {"buckets/0/bytes": 4 * trained},
        "tolerance": 0,
        "why": why,
    }


def rows_of_files():
    rows = []
    for name, (model_type, architecture, fields) in FILES.items():
        file = {"model_type": model_type, "architectures": [architecture], **fields}
        (HERE / "configs" / f"{name}.json").write_text(json.dumps(file, indent=1), encoding="utf-8")
        kind = CONFIG_MAPPING[model_type]
        rows.append(row(name, kind, architecture, f"{kind.__name__}.from_dict()"))
    return rows


def main():
    rows = []
    (HERE / "configs").mkdir(exist_ok=True)
    for name, (kind, architecture, fields, published) in MODELS.items():
        config = getattr(transformers, kind)(**fields)
        config.architectures = [architecture]
        path = HERE / "configs" / f"{name}.json"
        path.write_text(config.to_json_string(), encoding="utf-8")
        written = json.loads(path.read_text(encoding="utf-8"))
        assert written["model_type"] == config.model_type and written["architectures"] == [architecture], name
        rows.append(row(name, getattr(transformers, kind), architecture, f"{kind}.to_json_string()", published))
    rows += rows_of_files()
    (HERE / "written_configs.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
