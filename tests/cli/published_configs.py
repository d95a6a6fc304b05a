"""Fields of published config.json files that determine parameters, by the catalogue's name of the model.

They are written down a second time here, apart from models/src/catalogue_*.cpp, for the tests that build these models with
transformers."""


def llama(layers, hidden, heads, key_heads, feed_forward, vocabulary, kind="llama", tied=False, **more):
    return {
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "intermediate_size": feed_forward,
        "vocab_size": vocabulary,
        "tie_word_embeddings": tied,
        **more,
    }


def qwen3(layers, hidden, heads, feed_forward, tied=False):
    return llama(layers, hidden, heads, 8, feed_forward, 151936, kind="qwen3", tied=tied, head_dim=128)


def qwen3_moe(layers, hidden, heads, features):
    return llama(
        layers,
        hidden,
        heads,
        4,
        3 * hidden,
        151936,
        kind="qwen3_moe",
        head_dim=128,
        num_experts=128,
        num_experts_per_tok=8,
        moe_intermediate_size=features,
    )


def gemma(layers, hidden, heads, key_heads, feed_forward, kind, head=256, vocabulary=256000):
    return llama(layers, hidden, heads, key_heads, feed_forward, vocabulary, kind=kind, tied=True, head_dim=head)


def gpt_oss(layers, experts):
    return llama(
        layers,
        2880,
        64,
        8,
        2880,
        201088,
        kind="gpt_oss",
        head_dim=64,
        num_local_experts=experts,
        num_experts_per_tok=4,
    )


def whisper(hidden, layers, heads, vocabulary=51865, bins=80):
    return {
        "model_type": "whisper",
        "d_model": hidden,
        "encoder_layers": layers,
        "decoder_layers": layers,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": 4 * hidden,
        "decoder_ffn_dim": 4 * hidden,
        "vocab_size": vocabulary,
        "num_mel_bins": bins,
    }


def roberta(layers, hidden, heads, vocabulary=50265, kind="roberta", name="Roberta"):
    return {
        "model_type": kind,
        "architectures": [f"{name}ForMaskedLM"],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
        "vocab_size": vocabulary,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
    }


def clip(patch, hidden=768, layers=12, heads=12, text_hidden=512, text_heads=8, projected=512):
    return {
        "model_type": "clip",
        "architectures": ["CLIPModel"],
        "projection_dim": projected,
        "text_config": {
            "hidden_size": text_hidden,
            "intermediate_size": 4 * text_hidden,
            "num_attention_heads": text_heads,
            "num_hidden_layers": 12,
        },
        "vision_config": {
            "hidden_size": hidden,
            "intermediate_size": 4 * hidden,
            "num_attention_heads": heads,
            "num_hidden_layers": layers,
            "patch_size": patch,
        },
    }


def dinov2(layers, hidden, heads):
    return {
        "model_type": "dinov2",
        "architectures": ["Dinov2Model"],
        "image_size": 518,
        "patch_size": 14,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
    }


PUBLISHED = {
    "llama2-7b": llama(32, 4096, 32, 32, 11008, 32000),
    "llama3-8b": llama(32, 4096, 32, 8, 14336, 128256),
    "llama3.2-1b": llama(16, 2048, 32, 8, 8192, 128256, tied=True),
    "llama3.2-3b": llama(28, 3072, 24, 8, 8192, 128256, tied=True),
    "tinyllama-1.1b": llama(22, 2048, 32, 4, 5632, 32000),
    "mistral-7b": llama(32, 4096, 32, 8, 14336, 32000, kind="mistral"),
    "qwen2.5-0.5b": llama(24, 896, 14, 2, 4864, 151936, kind="qwen2", tied=True),
    "qwen2.5-1.5b": llama(28, 1536, 12, 2, 8960, 151936, kind="qwen2", tied=True),
    "qwen2.5-14b": llama(48, 5120, 40, 8, 13824, 152064, kind="qwen2"),
    "qwen2.5-32b": llama(64, 5120, 40, 8, 27648, 152064, kind="qwen2"),
    "qwen2.5-72b": llama(80, 8192, 64, 8, 29568, 152064, kind="qwen2"),
    "mpt-7b": {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "vocab_size": 50368},
    "opt-125m": {"model_type": "opt"},
    "opt-350m": {
        "model_type": "opt",
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "ffn_dim": 4096,
        "word_embed_proj_dim": 512,
        "do_layer_norm_before": False,
    },
    "bloom-560m": {"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16},
    "gpt-neox-20b": {"model_type": "gpt_neox"},
    "gpt-j-6b": {"model_type": "gptj"},
    "falcon-7b": {"model_type": "falcon"},
    "falcon-40b": {
        "model_type": "falcon",
        "hidden_size": 8192,
        "num_hidden_layers": 60,
        "num_attention_heads": 128,
        "num_kv_heads": 8,
        "new_decoder_architecture": True,
    },
    "t5-small": {"model_type": "t5"},
    "t5-3b": {"model_type": "t5", "d_model": 1024, "d_kv": 128, "num_heads": 32, "num_layers": 24, "d_ff": 16384},
    "qwen3-0.6b": qwen3(28, 1024, 16, 3072, tied=True),
    "qwen3-1.7b": qwen3(28, 2048, 16, 6144, tied=True),
    "qwen3-4b": qwen3(36, 2560, 32, 9728, tied=True),
    "qwen3-8b": qwen3(36, 4096, 32, 12288),
    "qwen3-14b": qwen3(40, 5120, 40, 17408),
    "qwen3-32b": qwen3(64, 5120, 64, 25600),
    "qwen3-30b-a3b": qwen3_moe(48, 2048, 32, 768),
    "qwen3-235b-a22b": qwen3_moe(94, 4096, 64, 1536),
    "gemma-2b": gemma(18, 2048, 8, 1, 16384, "gemma"),
    "gemma-7b": gemma(28, 3072, 16, 16, 24576, "gemma"),
    "gemma2-2b": gemma(26, 2304, 8, 4, 9216, "gemma2"),
    "gemma2-9b": gemma(42, 3584, 16, 8, 14336, "gemma2"),
    "gemma2-27b": gemma(46, 4608, 32, 16, 36864, "gemma2", head=128),
    "gemma3-1b": gemma(26, 1152, 4, 1, 6912, "gemma3_text", vocabulary=262144),
    "mixtral-8x7b": llama(32, 4096, 32, 8, 14336, 32000, kind="mixtral", num_local_experts=8),
    "mixtral-8x22b": llama(56, 6144, 48, 8, 16384, 32768, kind="mixtral", num_local_experts=8),
    "deepseek-v2-lite": llama(
        27,
        2048,
        16,
        16,
        10944,
        102400,
        kind="deepseek_v2",
        q_lora_rank=None,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        n_routed_experts=64,
        n_shared_experts=2,
        num_experts_per_tok=6,
        moe_intermediate_size=1408,
        first_k_dense_replace=1,
    ),
    "gpt-oss-20b": gpt_oss(24, 32),
    "gpt-oss-120b": gpt_oss(36, 128),
    "olmoe-1b-7b": llama(16, 2048, 16, 16, 1024, 50304, kind="olmoe", num_experts=64, num_experts_per_tok=8),
    "phi-2": llama(32, 2560, 32, 32, 10240, 51200, kind="phi", partial_rotary_factor=0.4),
    "phi-3-mini": llama(32, 3072, 32, 32, 8192, 32064, kind="phi3"),
    "phi-4": llama(40, 5120, 40, 10, 17920, 100352, kind="phi3"),
    "olmo2-7b": llama(32, 4096, 32, 32, 11008, 100352, kind="olmo2"),
    "smollm2-135m": llama(30, 576, 9, 3, 1536, 49152, tied=True),
    "smollm2-1.7b": llama(24, 2048, 32, 32, 8192, 49152, tied=True),
    "roberta-base": roberta(12, 768, 12),
    "roberta-large": roberta(24, 1024, 16),
    "xlm-roberta-base": roberta(12, 768, 12, 250002, kind="xlm-roberta", name="XLMRoberta"),
    "distilbert-base": {"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"]},
    "deberta-v3-base": {
        "model_type": "deberta-v2",
        "architectures": ["DebertaV2ForMaskedLM"],
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "vocab_size": 128100,
        "relative_attention": True,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": "p2c|c2p",
        "max_relative_positions": -1,
        "position_biased_input": False,
        "type_vocab_size": 0,
    },
    "modernbert-base": {"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"]},
    "modernbert-large": {
        "model_type": "modernbert",
        "architectures": ["ModernBertForMaskedLM"],
        "hidden_size": 1024,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "intermediate_size": 2624,
    },
    "bart-base": {
        "model_type": "bart",
        "architectures": ["BartForConditionalGeneration"],
        "d_model": 768,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 12,
        "decoder_attention_heads": 12,
        "encoder_ffn_dim": 3072,
        "decoder_ffn_dim": 3072,
    },
    "bart-large": {"model_type": "bart", "architectures": ["BartForConditionalGeneration"]},
    "whisper-tiny": {**whisper(384, 4, 6), "architectures": ["WhisperForConditionalGeneration"]},
    "whisper-base": {**whisper(512, 6, 8), "architectures": ["WhisperForConditionalGeneration"]},
    "whisper-small": {**whisper(768, 12, 12), "architectures": ["WhisperForConditionalGeneration"]},
    "whisper-medium": {**whisper(1024, 24, 16), "architectures": ["WhisperForConditionalGeneration"]},
    "whisper-large-v3": {
        **whisper(1280, 32, 20, vocabulary=51866, bins=128),
        "architectures": ["WhisperForConditionalGeneration"],
    },
    "wav2vec2-base": {"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForPreTraining"]},
    "wav2vec2-large": {
        "model_type": "wav2vec2",
        "architectures": ["Wav2Vec2ForPreTraining"],
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "codevector_dim": 768,
        "proj_codevector_dim": 768,
    },
    "hubert-base": {"model_type": "hubert", "architectures": ["HubertModel"]},
    "clip-vit-b-32": clip(32),
    "clip-vit-b-16": clip(16),
    "clip-vit-l-14": clip(14, 1024, 24, 16, 768, 12, 768),
    "dinov2-base": dinov2(12, 768, 12),
    "dinov2-large": dinov2(24, 1024, 16),
}
