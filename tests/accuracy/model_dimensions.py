"""Dimensions of the models in published rows of other schemes.

They are the keys of a `config.json` on the model's page, or a name of `ddpsim list`. A row may use several names for a
model. Names that leave the dimensions open ("dense 7B", "LLM fine-tune") are not listed."""


def llama(layers, hidden, heads, kv_heads, ffn, vocabulary, tied=False):
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": ffn,
        "vocab_size": vocabulary,
        "tie_word_embeddings": tied,
    }


def mpt(layers, hidden, heads):
    """The configuration of an MPT. All have the same vocabulary and feed-forward ratio.

    Source: llm-foundry's scripts/train/yamls/pretrain/mpt-*.yaml.
    """
    return {
        "model_type": "mpt",
        "architectures": ["MPTForCausalLM"],
        "n_layers": layers,
        "d_model": hidden,
        "n_heads": heads,
        "expansion_ratio": 4,
        "vocab_size": 50368,
        "max_seq_len": 2048,
    }


def bloom(layers, hidden, heads):
    return {
        "model_type": "bloom",
        "architectures": ["BloomForCausalLM"],
        "n_layer": layers,
        "hidden_size": hidden,
        "n_head": heads,
        "vocab_size": 250880,
    }


def qwen2(layers, hidden, heads, kv_heads, ffn):
    return {
        "model_type": "qwen2",
        "architectures": ["Qwen2ForCausalLM"],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": ffn,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    }


LLAMA2_7B = llama(32, 4096, 32, 32, 11008, 32000)
LLAMA2_13B = llama(40, 5120, 40, 40, 13824, 32000)
LLAMA2_34B = llama(48, 8192, 64, 8, 22016, 32000)  # published as CodeLlama-34b
LLAMA2_70B = llama(80, 8192, 64, 8, 28672, 32000)
LLAMA3_8B = llama(32, 4096, 32, 8, 14336, 128256)
LLAMA3_70B = llama(80, 8192, 64, 8, 28672, 128256)

CONFIGS = {
    "MPT-125m": mpt(12, 768, 12),
    "MPT-350m": mpt(24, 1024, 16),
    "MPT-760m": mpt(24, 1536, 12),
    "MPT-1b": mpt(24, 2048, 16),
    "MPT-3b": mpt(32, 2560, 20),
    "MPT-7b": mpt(32, 4096, 32),
    "MPT-13b": mpt(40, 5120, 40),
    "MPT-30b": mpt(48, 7168, 56),
    "MPT-70b": mpt(80, 8192, 64),
    "Llama-7B": LLAMA2_7B,  # the first Llama is the same
    "Llama-13B": LLAMA2_13B,
    "Llama2-7B": LLAMA2_7B,
    "Llama2-13B": LLAMA2_13B,
    "Llama2-34B": LLAMA2_34B,
    "Llama2-70B": LLAMA2_70B,
    "Llama3-8B": LLAMA3_8B,
    "Llama3.1-8B": LLAMA3_8B,
    "Llama3-70B": LLAMA3_70B,
    "Llama3.1-70B": LLAMA3_70B,
    "Llama3.1-405B": llama(126, 16384, 128, 8, 53248, 128256),
    "Granite 7B": LLAMA2_7B,
    "Mistral-7B": llama(32, 4096, 32, 8, 14336, 32000),
    "TinyLlama 1.1B": llama(22, 2048, 32, 4, 5632, 32000),
    "OLMo 1B": llama(16, 2048, 16, 16, 8192, 50304, tied=True),  # norms without weights: 0.005 % fewer
    "OLMo 7B": llama(32, 4096, 32, 32, 11008, 50304),
    "BLOOM-560M": bloom(24, 1024, 16),
    "BLOOM-1.1B": bloom(24, 1536, 16),
    "BLOOM-1.7B": bloom(24, 2048, 16),
    "BLOOM-3B": bloom(30, 2560, 32),
    "BLOOM-7.1B": bloom(30, 4096, 32),
    "Qwen2.5-0.5B": qwen2(24, 896, 14, 2, 4864),
    "Qwen2.5-1.5B": qwen2(28, 1536, 12, 2, 8960),
    "Qwen2.5-3B": qwen2(36, 2048, 16, 2, 11008),
    "Qwen2.5-7B": qwen2(28, 3584, 28, 4, 18944) | {"vocab_size": 152064, "tie_word_embeddings": False},
    "T5-large": {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "num_layers": 24,
        "num_decoder_layers": 24,
        "d_model": 1024,
        "num_heads": 16,
        "d_kv": 64,
        "d_ff": 4096,
        "vocab_size": 32128,
    },
    "T5-3b": {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "num_layers": 24,
        "num_decoder_layers": 24,
        "d_model": 1024,
        "num_heads": 32,
        "d_kv": 128,
        "d_ff": 16384,
        "vocab_size": 32128,
    },
}

CATALOGUE = {
    "AlexNet": "alexnet",
    "Inception V3": "inception_v3",
    "ResNet-50": "resnet50",
    "ResNet50": "resnet50",
    "ResNet50 ImageNet": "resnet50",
    "ResNet-101": "resnet101",
    "ResNet-152": "resnet152",
    "VGG-16": "vgg16",
    "VGG16": "vgg16",
    "BERT-base": "bert-base",
    "BERT-large": "bert-large",
    "BERT-large pretrain": "bert-large",
    "BERT-large (bing_bert)": "bert-large",
    "GPT-2": "gpt2",
    "GPT-2 Medium": "gpt2-medium",
    "model of the guide's script": "bert-base",  # accelerate's examples/nlp_example.py: bert-base-cased on MRPC
    "GPT-2 Large 762M": "gpt2-large",
    "GPT-2 XL 1.5B": "gpt2-xl",
    "GPT-XL 1.5B": "gpt2-xl",
}

# Tokens per sample if a row does not state them, for scripts that cut their text to one length. Scripts that only limit
# the length are not listed, because the real lengths of their batches are unknown.
SEQUENCES = {
    "Llama3-8B": 8192,
    "Llama3.1-8B": 8192,
    "Llama3-70B": 8192,
    "Llama3.1-70B": 8192,  # torchtitan's train_configs
    "Llama3.1-405B": 8192,
    "BERT-large pretrain": 128,
    "BERT-large (bing_bert)": 128,  # the first phase of pre-training
}


# In transformers these have no fused attention, or had none until 2024 (GPT-2, BERT). llm-foundry, torchtitan and
# YaFSDP train the others with fused attention.
EAGER = ("bloom", "t5", "gpt2", "bert")


def has_eager_attention(name):
    kind = CONFIGS[name]["model_type"] if name in CONFIGS else CATALOGUE[name]
    return kind.startswith(EAGER)


def plain(name):
    """A name without punctuation, so that "Llama-2 7B" and "Llama2-7B" are equal."""
    return "".join(character for character in name.lower() if character.isalnum())


BY_PLAIN_NAME = {plain(name): name for name in (*CONFIGS, *CATALOGUE)}


def stem(model):
    """The name in this table, or None. A remark in brackets is ignored ("Granite 7B (Llama2 architecture)")."""
    for name in (model, model.split(" (")[0]):
        if plain(name) in BY_PLAIN_NAME:
            return BY_PLAIN_NAME[plain(name)]
    return None


def has_tokens(name):
    """Whether a sample is a sequence of tokens and not an image."""
    return CATALOGUE.get(name, "bert").startswith(("bert", "gpt2", "transformer"))


def file_name(name):
    """The name of the configuration file; None if the program knows the model itself."""
    return None if name in CATALOGUE else name.replace(" ", "-").lower() + ".json"
