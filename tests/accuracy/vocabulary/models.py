"""Models by their public names: one of `ddpsim list`, or the dimensions in a published config.json or paper.

A model that only states its size ("7B", "1.3B GPT") has the dimensions of the paper whose model has that size, or those
of the usual proportions. A changed model ("20 layers", LoRA) is another one and is refused."""

import dataclasses
import json
import re

from vocabulary.entries import joined, means, number, refused, silent
from vocabulary.scan import SCALES, plain, scan

# Names of `ddpsim list`, by the tokens of a sample if a row does not state them; 0: images.
CATALOGUE = {
    0: "resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x4d resnext101_32x8d vgg11 vgg13 vgg16 vgg19 alexnet densenet121 "
    "vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14 swin_t swin_s swin_b convnext_tiny convnext_small convnext_base convnext_large efficientnet_b0 "
    "efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_s "
    "efficientnet_v2_m efficientnet_v2_l mobilenet_v2 mobilenet_v3_small mobilenet_v3_large inception_v3 dinov2-base dinov2-large unet-sd1.5 unet-sdxl",
    32: "transformer-base transformer-big",
    77: "clip-vit-b-32 clip-vit-b-16 clip-vit-l-14",
    128: "bert-base bert-large distilbert-base",
    448: "whisper-tiny whisper-base whisper-small whisper-medium whisper-large-v3",
    499: "wav2vec2-base wav2vec2-large hubert-base",
    512: "t5-small t5-base t5-large t5-3b t5-11b roberta-base roberta-large xlm-roberta-base deberta-v3-base bart-base bart-large",
    1024: "gpt2 gpt2-medium gpt2-large gpt2-xl modernbert-base modernbert-large",
    2048: "tinyllama-1.1b mpt-125m mpt-350m mpt-760m mpt-1b mpt-3b mpt-7b mpt-13b mpt-30b mpt-70b opt-125m opt-350m opt-1.3b opt-2.7b opt-6.7b "
    "opt-13b opt-30b opt-66b bloom-560m bloom-1b1 bloom-7b1 gpt-neox-20b gpt-j-6b falcon-7b falcon-40b phi-2 smollm2-135m smollm2-1.7b",
    4096: "llama2-7b llama2-13b llama2-34b llama2-70b yi-6b mistral-7b qwen2.5-0.5b qwen2.5-1.5b qwen2.5-3b qwen2.5-7b qwen2.5-14b qwen2.5-32b "
    "qwen2.5-72b qwen3-0.6b qwen3-1.7b qwen3-4b qwen3-8b qwen3-14b qwen3-32b qwen3-30b-a3b qwen3-235b-a22b gemma-2b gemma-7b gemma2-2b gemma2-9b "
    "gemma2-27b gemma3-1b mixtral-8x7b mixtral-8x22b deepseek-v2-lite gpt-oss-20b gpt-oss-120b olmoe-1b-7b phi-3-mini phi-4 olmo2-7b",
    8192: "llama3-8b llama3-70b llama3-405b llama3.2-1b llama3.2-3b",
}  # fmt: skip
# Other names of the same module.
ALIASES = {
    "resnet50": "ResNet-50 v1.5, RN50, ResNet50v1.5, resnet50_v1, RN50v1.5, ResNet50 v1b", "resnet101": "RN101", "resnet152": "RN152",
    "resnext101_32x4d": "ResNeXt-101 32x4d, ResNeXt101-32x4d, resnext101", "resnext50_32x4d": "ResNeXt-50, resnext50", "inception_v3": "Inception V3, Inception-v3, Inceptionv3, Inception3",
    "vit_b_16": "ViT-B/16, ViT-Base, ViT-B, ViT-base-patch16-224", "vit_l_16": "ViT-L/16, ViT-Large, ViT-L, vit-large-patch16-224", "vit_h_14": "ViT-H/14, ViT-Huge, ViT-H",
    "vit_b_32": "ViT-B/32", "vit_l_32": "ViT-L/32", "swin_t": "Swin-T, Swin Tiny", "swin_s": "Swin-S", "swin_b": "Swin-B, Swin Base", "convnext_tiny": "ConvNeXt-T",
    "convnext_base": "ConvNeXt-B", "convnext_large": "ConvNeXt-L", "unet-sd1.5": "Stable Diffusion 1.5, SD 1.5, SD1.5, Stable Diffusion v1.5, SD1, Stable Diffusion v1.4",
    "unet-sdxl": "SDXL, Stable Diffusion XL, SDXL UNet", "transformer-base": "Transformer base WMT", "transformer-big": "Transformer big, Transformer-big, Transformer big WMT",
    "bert-base": "BERT-base, BERT base uncased, bert-base-cased, BioBERT, BERT-base pre-training, accelerate NLP example, nlp_example, Accelerate NLP example script", "bert-large": "BERT-large, BERT large uncased, BERT-L, bert_large, BERT-Large-uncased", "distilbert-base": "DistilBERT, distilbert-base-uncased",
    "roberta-base": "RoBERTa base, roberta_base", "roberta-large": "RoBERTa large", "xlm-roberta-base": "XLM-R base", "deberta-v3-base": "DeBERTa-v3 base, DeBERTa base", "bart-large": "BART large",
    "whisper-large-v3": "Whisper large, whisper large v2", "wav2vec2-base": "wav2vec 2.0 base, wav2vec2", "wav2vec2-large": "wav2vec 2.0 large",
    "gpt2": "GPT-2, GPT-2 small, GPT-2 124M, GPT2-small, GPT-2 base, GPT-2 117M, gpt2-124M, nanoGPT 124M", "gpt2-medium": "GPT-2 Medium, GPT-2 345M, GPT-2 355M, GPT-2 350M",
    "gpt2-large": "GPT-2 Large, GPT-2 762M, GPT-2 774M, GPT-2 Large 762M", "gpt2-xl": "GPT-2 XL, GPT-XL 1.5B, GPT-2 1.5B, GPT2 1.5B, GPT-2 XL 1.5B, GPT-2 1558M, GPT-2-XL, GPT-XL, GPT-2 1.6B",
    "tinyllama-1.1b": "TinyLlama, TinyLlama 1.1B", "mpt-1b": "MPT-1.3B", "bloom-560m": "BLOOM-560M, BLOOMZ-560M", "bloom-1b1": "BLOOM-1.1B, BLOOMZ-1.1B", "bloom-7b1": "BLOOM-7.1B, BLOOM-7B, BLOOMZ-7B1, BLOOMZ 7.1B",
    "gpt-neox-20b": "GPT-NeoX, GPT-NeoX 20B", "gpt-j-6b": "GPT-J, GPT-J 6B, GPT-J-6B", "opt-1.3b": "OPT 1.3B", "phi-2": "Phi-2 2.7B", "phi-3-mini": "Phi-3 mini 3.8B, Phi-3-mini-4k", "phi-4": "Phi-4 14B",
    "llama2-7b": "Llama 2 7B, LLaMA-7B, LLaMA 1 7B, Llama 7B, Vicuna 7B, Alpaca 7B, Code Llama 7B, CodeLlama-7B, Granite 7B, Llama2 7B, LLaMAv1 7B",
    "llama2-13b": "Llama 2 13B, LLaMA-13B, Llama 13B, Vicuna 13B, CodeLlama-13B, LLaMA 1 13B", "llama2-34b": "Llama 2 34B, CodeLlama-34B, Code Llama 34B",
    "llama2-70b": "Llama 2 70B, LLaMA-2-70B", "llama3-8b": "Llama 3 8B, Llama 3.1 8B, Llama3.1-8B", "llama3-70b": "Llama 3 70B, Llama 3.1 70B, Llama 3.3 70B, Llama3.1-70B",
    "llama3-405b": "Llama 3.1 405B, Llama3.1-405B, Llama 3 405B", "llama3.2-1b": "Llama 3.2 1B", "llama3.2-3b": "Llama 3.2 3B", "mistral-7b": "Mistral 7B, Mistral-7B-v0.1, Zephyr 7B", "mixtral-8x7b": "Mixtral 8x7B, Mixtral",
    "qwen2.5-0.5b": "Qwen2 0.5B", "qwen2.5-1.5b": "Qwen2 1.5B", "qwen2.5-7b": "Qwen2 7B", "qwen2.5-72b": "Qwen2 72B", "gemma-7b": "Gemma 7B", "gemma2-9b": "Gemma 2 9B", "gemma2-27b": "Gemma 2 27B",
    "gemma2-2b": "Gemma 2 2B", "gemma3-1b": "Gemma 3 1B", "deepseek-v2-lite": "DeepSeek-V2 Lite", "olmo2-7b": "OLMo 2 7B, OLMo2 7B", "clip-vit-b-32": "CLIP ViT-B/32", "clip-vit-l-14": "CLIP ViT-L/14", "clip-vit-b-16": "CLIP ViT-B/16",
    "efficientnet_v2_s": "EfficientNetV2-S", "mobilenet_v2": "MobileNetV2", "mobilenet_v3_large": "MobileNetV3 large", "densenet121": "DenseNet-121", "dinov2-base": "DINOv2 ViT-B/14, DINOv2-B", "dinov2-large": "DINOv2 ViT-L/14, DINOv2-L",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Model:
    name: str  # of `ddpsim list`, or of the configuration file
    tokens: int  # of a sample if the row does not state them; 0: images
    config: "str | None" = None  # words of the program for dimensions, if it does not know the name
    # Only the size is stated, and the dimensions are those of a paper or of usual proportions.
    sized: bool = False


def gpt(layers, hidden, heads, vocabulary=50257):
    return {
        "model_type": "gpt2",
        "n_layer": layers,
        "n_embd": hidden,
        "n_head": heads,
        "vocab_size": vocabulary,
        "n_positions": 2048,
    }


def llama(layers, hidden, heads, kv_heads, ffn, vocabulary, tied=False):
    return {"model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
            "intermediate_size": ffn, "vocab_size": vocabulary, "tie_word_embeddings": tied, "architectures": ["LlamaForCausalLM"]}  # fmt: skip


def neox(layers, hidden, heads):
    return {"model_type": "gpt_neox", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": 4 * hidden,
            "vocab_size": 50304, "architectures": ["GPTNeoXForCausalLM"]}  # fmt: skip


def bloom(layers, hidden, heads):
    return {
        "model_type": "bloom",
        "architectures": ["BloomForCausalLM"],
        "n_layer": layers,
        "hidden_size": hidden,
        "n_head": heads,
        "vocab_size": 250880,
    }


# Sizes in billions. GPT-3: Brown et al. 2020, table 2.1. Megatron: Narayanan et al. 2021, table 1, and Shoeybi et al. 2019.
GPTS = {
    0.125: gpt(12, 768, 12), 0.35: gpt(24, 1024, 16), 0.76: gpt(24, 1536, 16), 1.3: gpt(24, 2048, 16), 1.7: gpt(24, 2304, 24), 2.7: gpt(32, 2560, 32),
    3.6: gpt(30, 3072, 32), 6.7: gpt(32, 4096, 32), 7.5: gpt(36, 4096, 32), 8.3: gpt(72, 3072, 24), 13.0: gpt(40, 5120, 40), 18.4: gpt(40, 6144, 48),
    39.1: gpt(48, 8192, 64), 76.1: gpt(60, 10240, 80), 145.6: gpt(80, 12288, 96), 175.0: gpt(96, 12288, 96), 310.1: gpt(96, 16384, 128),
    529.6: gpt(105, 20480, 128), 1008.0: gpt(128, 25600, 160),
}  # fmt: skip
LLAMAS = {
    1.1: "tinyllama-1.1b",
    7.0: "llama2-7b",
    8.0: "llama3-8b",
    13.0: "llama2-13b",
    34.0: "llama2-34b",
    70.0: "llama2-70b",
    405.0: "llama3-405b",
}
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([BMT])\b(?! ?tokens)", re.IGNORECASE)
NEAR = 0.08  # a stated size is rounded
OTHERS = {
    # Name: tokens, dimensions, other names.
    "llama-30b": (2048, llama(60, 6656, 52, 52, 17920, 32000), "LLaMA 30B, LLaMA-33B, Llama 1 30B"),
    "llama-65b": (2048, llama(80, 8192, 64, 64, 22016, 32000), "LLaMA 65B, Llama 1 65B"),
    "cs336-xl": (256, llama(48, 1600, 25, 25, 6400, 10000), "CS336 XL, Stanford CS336 XL, Stanford CS336 XL language model, CS336 XL language model"),
    "olmo-1b": (2048, llama(16, 2048, 16, 16, 8192, 50304, tied=True), "OLMo 1B"),  # norms without weights: 0.005 % fewer
    "olmo-7b": (2048, llama(32, 4096, 32, 32, 11008, 50304), "OLMo 7B"),
    "olmo2-1b": (4096, llama(16, 2048, 16, 16, 8192, 100352), "OLMo 2 1B, OLMo2 1B"),
    "olmo2-13b": (4096, llama(40, 5120, 40, 40, 13824, 100352), "OLMo 2 13B, OLMo2 13B"),
    "bloom-1b7": (2048, bloom(24, 2048, 16), "BLOOM-1.7B"),
    "bloom-3b": (2048, bloom(30, 2560, 32), "BLOOM-3B"),
    "bloom-176b": (2048, bloom(70, 14336, 112), "BLOOM, BLOOM-176B"),
    "opt-175b": (2048, gpt(96, 12288, 96, 50272), "OPT-175B"),
    "turing-nlg-17b": (1024, gpt(78, 4256, 28), "Turing-NLG, T-NLG, Turing-NLG 17B"),
    "mt-nlg-530b": (2048, gpt(105, 20480, 128), "MT-NLG, Megatron-Turing NLG 530B, MT-NLG 530B"),
    "yi-34b": (4096, llama(60, 7168, 56, 8, 20480, 64000), "Yi 34B"),
    "internlm-7b": (2048, llama(32, 4096, 32, 32, 11008, 103168), "InternLM-7B"),
    "baichuan-7b": (4096, llama(32, 4096, 32, 32, 11008, 64000), "Baichuan-7B, Baichuan 2 7B"),
    "openllama-3b": (2048, llama(26, 3200, 32, 32, 8640, 32000), "OpenLLaMA 3B, Open LLaMA 3B"),
    "sheared-llama-1.3b": (4096, llama(24, 2048, 16, 16, 5504, 32000), "Sheared LLaMA 1.3B"),
    "deepseek-7b": (4096, llama(30, 4096, 32, 32, 11008, 102400), "DeepSeek LLM 7B, DeepSeek 7B"),
    "deberta-v2-xlarge": (
        512,
        {"model_type": "deberta-v2", "architectures": ["DebertaV2ForSequenceClassification"], "hidden_size": 1536, "num_hidden_layers": 24, "num_attention_heads": 24,
         "intermediate_size": 6144, "vocab_size": 128100, "relative_attention": True, "position_buckets": 256, "pos_att_type": ["p2c", "c2p"],
         "position_biased_input": False, "type_vocab_size": 0, "norm_rel_ebd": "layer_norm", "share_att_key": True, "conv_kernel_size": 3},
        "DeBERTa-v2 xlarge, DeBERTa-XL, DeBERTa-XL 900M, DeBERTa XLarge",
    ),
    **{f"pythia-{size}": (2048, neox(*dims), f"Pythia {size}") for size, dims in {
        "70m": (6, 512, 8), "160m": (12, 768, 12), "410m": (24, 1024, 16), "1b": (16, 2048, 8), "1.4b": (24, 2048, 16), "2.8b": (32, 2560, 32),
        "6.9b": (32, 4096, 32), "12b": (36, 5120, 40)}.items()},
    **{f"cerebras-gpt-{size}": (2048, gpt(*dims), f"Cerebras-GPT {size}") for size, dims in {
        "111m": (10, 768, 12), "256m": (14, 1088, 17), "590m": (18, 1536, 12), "1.3b": (24, 2048, 16), "2.7b": (32, 2560, 32), "6.7b": (32, 4096, 32), "13b": (40, 5120, 40)}.items()},
}  # fmt: skip
CONFIGS = {name: config for name, (_, config, _) in OTHERS.items()} | {
    f"gpt-{size:g}b": config for size, config in GPTS.items()
}
TOKENS = {name: tokens for tokens, names in CATALOGUE.items() for name in names.split()} | {
    name: tokens for name, (tokens, _, _) in OTHERS.items()
}

WORDS = joined(
    *(means("model", name, *{plain(one): one for one in (name, *ALIASES.get(name, "").split(", ")) if one}.values()) for names in CATALOGUE.values() for name in names.split()),
    *(means("model", name, *(one for one in names.split(", ") if plain(one) != plain(name)), name) for name, (_, _, names) in OTHERS.items()),
    means("kind", "gpt", """
        minGPT, GPT, GPT-2 like, GPT-style, GPT style, GPT-3, GPT-like, GPT3, transformer, Megatron GPT, GPT2-like, GPT
        model, T-NLG like, GPT-3 style"""),
    means("kind", "llama", """
        LLM, decoder, dense, language model, Llama, LLaMA-like, Llama style, Llama-style, dense LLM, Llama-like,
        decoder-only, large language model, LM, dense decoder, dense transformer"""),
    number("layers", "count", "# layers"),
    # Its scripts cut questions with their paragraphs to that length.
    means("usual_sequence", 384, "SQuAD"),
    number("sequence", "tokens", "seq, seq len, sequence length, # tokens, s#, max_seq_length, seq#"),
    refused("model changed", """
        modded, removed, dropped, reduced, pruned, lm_head dropped, truncated, frozen, with frozen encoder, toy, tiny"""),
    refused("parameters added or left out", "LoRA, QLoRA, adapter, adapters, PEFT, DoRA"),
    refused("model's dimensions not stated", """
        MoE, mixture of experts, Switch, experts, supernet, VLA, policy, multimodal"""),
    silent("""
        Megatron, DeepSpeed, fine-tune, finetune, fine-tuning, finetuning, pretrain, pre-train, pretraining, pre-training, training,
        ImageNet, ImageNet-1k, CIFAR-10, CIFAR-100, CIFAR, MRPC, GLUE, WikiText, wikitext-103, OpenWebText, C4,
        COCO, WMT, WMT14, WMT16, hf, chat, instruct, base, uncased, cased, meta-llama, huggingface, HuggingFace,
        Hugging Face, transformers, torchvision, timm, model, architecture, Llama2 architecture, SFT, full, CI
        benchmark, benchmark, synthetic, synthetic data, SWAG, QNLI, SST-2, class, size, parameters, params, the, of,
        for, on, with, and, a, v1.5, v1, from scratch, classification, causal LM, CLM, MLM, run_clm, run_mlm,
        run_glue, phase 1, phase 2, 224px, # px, # pixels, 224, bing_bert, text, random data, dataset, task, alpaca,
        dolly, Shakespeare, the Pile, Pile, small, profile, billion, million, UNet, diffusion, v0.1, v0.3, Meta,
        EleutherAI, facebook, google, bigscience, mosaicml, Qwen, mistralai, microsoft, NVIDIA, DLRM-free, example,
        guide, generation, question answering"""),
)  # fmt: skip


def near(table, billions):
    return next((value for size, value in table.items() if abs(size - billions) <= NEAR * size), None)


def sized(kind, billions, layers=None):
    """The model of a stated size. Beyond the papers it has 12 l h² parameters, with h = 128 l if the layers are not stated."""
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


DIMENSIONS = joined(
    number("layers", "count", "n_layer, num_layers, num_hidden_layers, # layers, layers"),
    number("hidden", "count", "hidden, n_embd, hidden_size, d_model, hidden size, # hidden, dim"),
    number("heads", "count", "heads, n_head, num_heads, num_attention_heads, # heads, attention heads"),
    number("kv_heads", "count", "kv_heads, num_key_value_heads, # kv heads, kv heads"),
    number("ffn", "count", "ffn, intermediate_size, d_ff, ffn_hidden_size, ffn size"),
    number("vocab", "count", "vocab, vocab_size, vocabulary, padded_vocab_size"),
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
