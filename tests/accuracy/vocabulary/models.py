"""Models by their public names: one of `ddpsim list`, or the dimensions in a published config.json or paper.

A model that only states its size ("7B", "1.3B GPT") has the dimensions of the paper whose model has that size, or those
of the usual proportions. A changed model ("20 layers", LoRA) is another one and is refused."""

import dataclasses
import json
import re

from vocabulary.entries import joined, means
from vocabulary.scan import SCALES, scan
from vocabulary.tables import table

# Names of `ddpsim list`, by the tokens of a sample if a row does not state them; 0: images.
CATALOGUE = {
    0: "resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x4d resnext101_32x8d vgg11 vgg13 "
    "vgg16 vgg19 alexnet densenet121 vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14 swin_t swin_s swin_b convnext_tiny "
    "convnext_small convnext_base convnext_large efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 "
    "efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_s efficientnet_v2_m "
    "efficientnet_v2_l mobilenet_v2 mobilenet_v3_small mobilenet_v3_large inception_v3 dinov2-base dinov2-large "
    "unet-sd1.5 unet-sdxl",
    32: "transformer-base transformer-big",
    77: "clip-vit-b-32 clip-vit-b-16 clip-vit-l-14",
    128: "bert-base bert-large distilbert-base",
    448: "whisper-tiny whisper-base whisper-small whisper-medium whisper-large-v3",
    499: "wav2vec2-base wav2vec2-large hubert-base",
    512: "t5-small t5-base t5-large t5-3b t5-11b roberta-base roberta-large xlm-roberta-base deberta-v3-base bart-base "
    "bart-large",
    1024: "gpt2 gpt2-medium gpt2-large gpt2-xl modernbert-base modernbert-large",
    2048: "tinyllama-1.1b mpt-125m mpt-350m mpt-760m mpt-1b mpt-3b mpt-7b mpt-13b mpt-30b mpt-70b opt-125m opt-350m "
    "opt-1.3b opt-2.7b opt-6.7b opt-13b opt-30b opt-66b bloom-560m bloom-1b1 bloom-7b1 gpt-neox-20b gpt-j-6b "
    "falcon-7b falcon-40b phi-2 smollm2-135m smollm2-1.7b",
    4096: "llama2-7b llama2-13b llama2-34b llama2-70b yi-6b mistral-7b qwen2.5-0.5b qwen2.5-1.5b qwen2.5-3b qwen2.5-7b "
    "qwen2.5-14b qwen2.5-32b qwen2.5-72b qwen3-0.6b qwen3-1.7b qwen3-4b qwen3-8b qwen3-14b qwen3-32b qwen3-30b-a3b "
    "qwen3-235b-a22b gemma-2b gemma-7b gemma2-2b gemma2-9b gemma2-27b gemma3-1b mixtral-8x7b mixtral-8x22b "
    "deepseek-v2-lite gpt-oss-20b gpt-oss-120b olmoe-1b-7b phi-3-mini phi-4 olmo2-7b",
    8192: "llama3-8b llama3-70b llama3-405b llama3.2-1b llama3.2-3b",
}


@dataclasses.dataclass(frozen=True)
class Model:
    name: str  # of `ddpsim list`, or of the configuration file
    # Tokens of a sample if the row does not state them; 0: images.
    tokens: int
    # Words of the program, or a configuration, for a model without a name.
    config: "str | None" = None
    # Only the size is stated, and the dimensions are those of a paper or of usual proportions.
    sized: bool = False


def gpt(layers, hidden, heads, vocabulary=50257):
    sizes = {"n_layer": layers, "n_embd": hidden, "n_head": heads, "vocab_size": vocabulary}
    return {"model_type": "gpt2", **sizes, "n_positions": 2048}


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
        "tie_word_embeddings": bool(tied),
    }


def neox(layers, hidden, heads):
    sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
    kind = {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "vocab_size": 50304}
    return kind | sizes | {"intermediate_size": 4 * hidden}


def bloom(layers, hidden, heads):
    kind = {"model_type": "bloom", "architectures": ["BloomForCausalLM"], "vocab_size": 250880}
    return kind | {"n_layer": layers, "hidden_size": hidden, "n_head": heads}


def deberta(layers, hidden, heads):
    return {
        "model_type": "deberta-v2",
        "architectures": ["DebertaV2ForSequenceClassification"],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
        "vocab_size": 128100,
        "relative_attention": True,
        "position_buckets": 256,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "conv_kernel_size": 3,
    }


# Sizes in billions: layers, width, heads. GPT-3: Brown et al. 2020, table 2.1. Megatron: Narayanan et al. 2021, table
# 1, and Shoeybi et al. 2019.
GPTS = """0.125 12 768 12, 0.35 24 1024 16, 0.76 24 1536 16, 1.3 24 2048 16, 1.7 24 2304 24, 2.7 32 2560 32,
    3.6 30 3072 32,
    6.7 32 4096 32, 7.5 36 4096 32, 8.3 72 3072 24, 13 40 5120 40, 18.4 40 6144 48, 39.1 48 8192 64, 76.1 60 10240 80,
    145.6 80 12288 96, 175 96 12288 96, 310.1 96 16384 128, 529.6 105 20480 128, 1008 128 25600 160"""
GPTS = {float(size): gpt(*map(int, dims)) for size, *dims in map(str.split, GPTS.split(","))}
LLAMAS = {
    1.1: "tinyllama-1.1b",
    7.0: "llama2-7b",
    8.0: "llama3-8b",
    13.0: "llama2-13b",
    34.0: "llama2-34b",
    70.0: "llama2-70b",
    405.0: "llama3-405b",
}
# Models that the program does not know by name: kind, tokens of a sample, and the arguments of the kind's
# configuration. OLMo's norms have no weights, which are 0.005 % of it.
OTHERS = """
    llama-30b llama 2048 60 6656 52 52 17920 32000
    llama-65b llama 2048 80 8192 64 64 22016 32000
    cs336-xl llama 256 48 1600 25 25 6400 10000
    olmo-1b llama 2048 16 2048 16 16 8192 50304 1
    olmo-7b llama 2048 32 4096 32 32 11008 50304
    olmo2-1b llama 4096 16 2048 16 16 8192 100352
    olmo2-13b llama 4096 40 5120 40 40 13824 100352
    yi-34b llama 4096 60 7168 56 8 20480 64000
    internlm-7b llama 2048 32 4096 32 32 11008 103168
    baichuan-7b llama 4096 32 4096 32 32 11008 64000
    openllama-3b llama 2048 26 3200 32 32 8640 32000
    sheared-llama-1.3b llama 4096 24 2048 16 16 5504 32000
    deepseek-7b llama 4096 30 4096 32 32 11008 102400
    bloom-1b7 bloom 2048 24 2048 16
    bloom-3b bloom 2048 30 2560 32
    bloom-176b bloom 2048 70 14336 112
    opt-175b gpt 2048 96 12288 96 50272
    turing-nlg-17b gpt 1024 78 4256 28
    mt-nlg-530b gpt 2048 105 20480 128
    cerebras-gpt-111m gpt 2048 10 768 12
    cerebras-gpt-256m gpt 2048 14 1088 17
    cerebras-gpt-590m gpt 2048 18 1536 12
    cerebras-gpt-1.3b gpt 2048 24 2048 16
    cerebras-gpt-2.7b gpt 2048 32 2560 32
    cerebras-gpt-6.7b gpt 2048 32 4096 32
    cerebras-gpt-13b gpt 2048 40 5120 40
    pythia-70m neox 2048 6 512 8
    pythia-160m neox 2048 12 768 12
    pythia-410m neox 2048 24 1024 16
    pythia-1b neox 2048 16 2048 8
    pythia-1.4b neox 2048 24 2048 16
    pythia-2.8b neox 2048 32 2560 32
    pythia-6.9b neox 2048 32 4096 32
    pythia-12b neox 2048 36 5120 40
    deberta-v2-xlarge deberta 512 24 1536 24"""
KINDS = {"gpt": gpt, "llama": llama, "neox": neox, "bloom": bloom, "deberta": deberta}
OTHERS = {name: (kind, *map(int, numbers)) for name, kind, *numbers in map(str.split, OTHERS.strip().splitlines())}
CONFIGS = {name: KINDS[kind](*dims) for name, (kind, _, *dims) in OTHERS.items()}
CONFIGS |= {f"gpt-{size:g}b": config for size, config in GPTS.items()}
TOKENS = {name: tokens for tokens, names in CATALOGUE.items() for name in names.split()}
TOKENS |= {name: tokens for name, (_, tokens, *_) in OTHERS.items()}
WORDS = joined(*(means("model", name, name) for name in TOKENS), table("models"))
DIMENSIONS = table("dimensions")
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([BMT])\b(?! ?tokens)", re.IGNORECASE)
NEAR = 0.08  # a stated size is rounded


def near(table, billions):
    return next((value for size, value in table.items() if abs(size - billions) <= NEAR * size), None)


def sized(kind, billions, layers=None):
    """The model of a stated size. Beyond the papers it has 12 l h² parameters, with h = 128 l if the layers are not
    stated."""
    if layers:
        hidden = 128 * max(1, round((billions * 1e9 / (12 * layers)) ** 0.5 / 128))
        return Model(
            f"{kind}-{billions:g}b-{layers}",
            2048,
            f"llama:layers={layers},hidden={hidden},ffn={128 * round(hidden / 48)}",
            True,
        )
    if kind == "llama" and near(LLAMAS, billions):
        name = near(LLAMAS, billions)
        return Model(name, TOKENS[name], None, True)
    size = next((one for one in GPTS if abs(one - billions) <= NEAR * one), None)
    if size:
        return Model(f"gpt-{size:g}b", 2048, None, True)
    layers = max(2, round((billions * 1e9 / (12 * 128**2)) ** (1 / 3)))
    return Model(
        f"{kind}-{billions:g}b",
        2048,
        f"llama:layers={layers},hidden={128 * layers},ffn={128 * round(128 * layers / 48)}",
        True,
    )


def by_dimensions(text):
    """The model whose layers and width a text states: a GPT-2, or by default a Llama."""
    stated = {name: values[0] for name, values in scan(text, DIMENSIONS).facts.items()}
    if not {"layers", "hidden"} <= stated.keys() or max(stated.values()) > 10**6:
        return None
    heads = stated.get("heads") or max(1, stated["hidden"] // 128)
    if re.search("GPT", text):
        config = json.dumps(gpt(stated["layers"], stated["hidden"], heads, stated.get("vocab", 50257)))
        return Model("GPT of stated dimensions", 1024, config)
    words = ",".join(
        f"{name}={stated[name]}" for name in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab") if name in stated
    )
    return Model("Llama of stated dimensions", 2048, "llama:" + words)


def model_of(text, millions="", remarks=""):
    """The model that a text names, the tokens it states, and a reason instead of a model if there is none."""
    text = text.replace('"', "")
    found = scan(text, WORDS)
    described = by_dimensions(f"{text} ; {remarks}")
    if described and not found.facts.get("model"):
        return described, next(iter(found.facts.get("sequence", [])), None), None
    stated = next(iter(found.facts.get("sequence", []) + found.facts.get("usual_sequence", [])), None)
    if found.refused:
        return None, stated, found.refused[0]
    outside = re.sub(r"\([^)]*\)", "", text)  # brackets hold remarks
    if scan(outside if found.facts.get("model") else SIZE.sub(" ", outside), WORDS).unknown:
        return None, stated, "model's dimensions not stated"
    layers = next(iter(found.facts.get("layers", [])), None)
    names = found.facts.get("model", [])
    if names and layers:
        return None, stated, "model changed"
    if names:
        return Model(names[0], TOKENS[names[0]]), stated, None
    kind = next(iter(found.facts.get("kind", [])), None)
    written = SIZE.search(text)
    billions = (
        float(written.group(1)) * SCALES[written.group(2).lower()] / 1e9
        if written
        else float(millions) / 1e3
        if kind and re.fullmatch(r"\d+(\.\d+)?", millions)
        else 0
    )
    if billions >= 0.05:
        return sized(kind or "llama", billions, layers), stated, None
    return None, stated, "model's dimensions not stated"
