#!/usr/bin/env python3
"""Compares the step time of the catalogue's models with traces of the same models of torchvision and transformers.

    tests/accuracy/traced_catalogue.py PROGRAM [NAME...]

The script needs a Python with PyTorch, torchvision and transformers. PYTHONPATH must name the built package. The script
prints one line for each model and GPU, then the median and the largest difference. The catalogue counts as the truth
here, because it was checked against measurements. Names, shapes, buffers and the order of gradients must be equal.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import torch  # noqa: E402

from own_modules import import_torchvision  # noqa: E402
from published_configs import PUBLISHED  # noqa: E402

import_torchvision()  # transformers and diffusers import it too

GPUS = ("V100:fp32", "A100:amp", "H100:bf16")


def images(name, side):
    torchvision = import_torchvision()
    more = {"inception_v3": {"init_weights": False}}.get(name, {})
    return torchvision.models.get_model(name, weights=None, **more), torch.empty(8, 3, side, side)


# Fields of unet/config.json that differ from the class.
UNETS = {
    "unet-sd1.5": {"cross_attention_dim": 768},
    "unet-sdxl": {
        "block_out_channels": (320, 640, 1280),
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        "attention_head_dim": (5, 10, 20),
        "transformer_layers_per_block": (1, 2, 10),
        "cross_attention_dim": 2048,
        "use_linear_projection": True,
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 2816,
    },
}


def unet(name, side):
    import diffusers

    fields = UNETS[name]
    inputs = {
        "sample": torch.empty(2, 4, side, side),
        "timestep": torch.zeros(2, dtype=torch.long),
        "encoder_hidden_states": torch.empty(2, 77, fields["cross_attention_dim"]),
    }
    if "addition_embed_type" in fields:
        inputs["added_cond_kwargs"] = {"text_embeds": torch.empty(2, 1280), "time_ids": torch.empty(2, 6)}
    return diffusers.UNet2DConditionModel(**fields).train(), inputs


def words(kind, task, **fields):
    """Returns a function that builds a model of transformers with the sizes of its catalogue entry."""

    def build(batch, tokens, attention):
        import transformers

        config = transformers.CONFIG_MAPPING[kind](**fields)
        maker = transformers.AutoModel if task is None else getattr(transformers, f"AutoModelFor{task}")
        # A cache copies keys and values, and serves generation alone.
        config.use_cache = False
        model = maker.from_config(config, attn_implementation=attention).train()
        ids = torch.zeros(batch, tokens, dtype=torch.long)
        inputs = {"input_ids": ids}
        if task:
            inputs["labels"] = ids
        return model, inputs

    return build


def published(name):
    """Returns a function that builds a model of transformers from the config.json that was published with it."""

    def build(batch, tokens, attention):
        import transformers

        config = transformers.CONFIG_MAPPING[PUBLISHED[name]["model_type"]].from_dict(PUBLISHED[name])
        if hasattr(config, "use_cache"):
            config.use_cache = False
        config._attn_implementation = attention
        named = (config.architectures or [None])[0]
        maker = getattr(transformers, named) if named else transformers.AutoModelForCausalLM
        model = maker._from_config(config) if named else maker.from_config(config, attn_implementation=attention)
        ids = torch.zeros(batch, tokens, dtype=torch.long)
        kind = config.model_type
        if kind == "dinov2":
            inputs = {"pixel_values": torch.empty(batch, 3, tokens, tokens)}
        elif kind == "clip":
            inputs = {"input_ids": ids, "pixel_values": torch.empty(batch, 3, 224, 224), "return_loss": True}
        elif kind == "whisper":
            inputs = {
                "input_features": torch.empty(batch, config.num_mel_bins, 2 * config.max_source_positions),
                "labels": ids,
            }
        else:
            inputs = {"input_ids": ids, "labels": ids}
        return model.train(), inputs

    return build


def llama(layers, hidden, heads, key_heads, head, ffn, vocabulary, kind="llama", **more):
    fields = dict(
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        intermediate_size=ffn,
        vocab_size=vocabulary,
        **more,
    )
    if kind != "qwen2":
        fields["head_dim"] = head
    return words(kind, "CausalLM", **fields)


def gpt2(layers, hidden, heads):
    return words("gpt2", "CausalLM", n_layer=layers, n_embd=hidden, n_head=heads)


def opt(layers, hidden, heads, **more):
    return words(
        "opt",
        "CausalLM",
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        ffn_dim=4 * hidden,
        word_embed_proj_dim=more.pop("embedded", hidden),
        **more,
    )


def bloom(layers, hidden, heads):
    return words("bloom", "CausalLM", n_layer=layers, hidden_size=hidden, n_head=heads, vocab_size=250880)


def mpt(layers, hidden, heads):
    return words("mpt", "CausalLM", n_layers=layers, d_model=hidden, n_heads=heads, vocab_size=50368, max_seq_len=2048)


def t5(layers, hidden, heads, head, ffn):
    return words(
        "t5",
        "Seq2SeqLM",
        num_layers=layers,
        num_decoder_layers=layers,
        d_model=hidden,
        num_heads=heads,
        d_kv=head,
        d_ff=ffn,
        decoder_start_token_id=0,
    )


# For each name: the function that makes the module, then batch, tokens and attention of the catalogue entry.
TEXT = {
    "bert-base": (words("bert", None), 32, 128, "eager"),
    "bert-large": (
        words("bert", None, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
        16,
        128,
        "eager",
    ),
    "gpt2": (gpt2(12, 768, 12), 8, 1024, "eager"),
    "gpt2-medium": (gpt2(24, 1024, 16), 4, 1024, "eager"),
    "gpt2-large": (gpt2(36, 1280, 20), 2, 1024, "eager"),
    "gpt2-xl": (gpt2(48, 1600, 25), 1, 1024, "eager"),
    "llama2-7b": (llama(32, 4096, 32, 32, 128, 11008, 32000), 1, 4096, "sdpa"),
    "llama2-13b": (llama(40, 5120, 40, 40, 128, 13824, 32000), 1, 4096, "sdpa"),
    "llama3-8b": (llama(32, 4096, 32, 8, 128, 14336, 128256), 1, 8192, "sdpa"),
    "tinyllama-1.1b": (llama(22, 2048, 32, 4, 64, 5632, 32000), 4, 2048, "sdpa"),
    "mistral-7b": (llama(32, 4096, 32, 8, 128, 14336, 32000, kind="mistral", sliding_window=None), 1, 4096, "sdpa"),
    "qwen2.5-1.5b": (
        llama(28, 1536, 12, 2, 128, 8960, 151936, kind="qwen2", tie_word_embeddings=True),
        2,
        4096,
        "sdpa",
    ),
    "qwen2.5-7b": (llama(28, 3584, 28, 4, 128, 18944, 152064, kind="qwen2"), 1, 4096, "sdpa"),
    "mpt-125m": (mpt(12, 768, 12), 16, 2048, "eager"),
    "opt-125m": (opt(12, 768, 12), 8, 2048, "sdpa"),
    "opt-350m": (opt(24, 1024, 16, embedded=512, do_layer_norm_before=False), 4, 2048, "sdpa"),
    "opt-1.3b": (opt(24, 2048, 32), 2, 2048, "sdpa"),
    "opt-6.7b": (opt(32, 4096, 32), 1, 2048, "sdpa"),
    "bloom-560m": (bloom(24, 1024, 16), 4, 2048, "eager"),
    "bloom-7b1": (bloom(30, 4096, 32), 1, 2048, "eager"),
    "gpt-j-6b": (words("gptj", "CausalLM"), 1, 2048, "sdpa"),
    "gpt-neox-20b": (words("gpt_neox", "CausalLM"), 1, 2048, "sdpa"),
    "t5-small": (t5(6, 512, 8, 64, 2048), 16, 512, "eager"),
    "t5-base": (t5(12, 768, 12, 64, 3072), 8, 512, "eager"),
    "t5-large": (t5(24, 1024, 16, 64, 4096), 4, 512, "eager"),
    **{
        name: (published(name), *words)
        for name, words in {
            "qwen2.5-0.5b": (4, 4096, "sdpa"),
            "qwen2.5-14b": (1, 4096, "sdpa"),
            "llama3.2-1b": (1, 8192, "sdpa"),
            "llama3.2-3b": (1, 8192, "sdpa"),
            "qwen3-0.6b": (4, 4096, "sdpa"),
            "qwen3-1.7b": (2, 4096, "sdpa"),
            "qwen3-8b": (1, 4096, "sdpa"),
            "qwen3-32b": (1, 4096, "sdpa"),
            "qwen3-30b-a3b": (1, 4096, "sdpa"),
            "gemma-2b": (1, 4096, "sdpa"),
            "gemma-7b": (1, 4096, "sdpa"),
            "gemma2-2b": (1, 4096, "eager"),
            "gemma2-9b": (1, 4096, "eager"),
            "gemma3-1b": (2, 4096, "sdpa"),
            "mixtral-8x7b": (1, 4096, "sdpa"),
            "deepseek-v2-lite": (1, 4096, "sdpa"),
            "gpt-oss-20b": (1, 4096, "eager"),
            "olmoe-1b-7b": (1, 4096, "sdpa"),
            "phi-2": (1, 2048, "sdpa"),
            "phi-3-mini": (1, 4096, "sdpa"),
            "phi-4": (1, 4096, "sdpa"),
            "olmo2-7b": (1, 4096, "sdpa"),
            "smollm2-135m": (8, 2048, "sdpa"),
            "roberta-base": (16, 512, "sdpa"),
            "roberta-large": (8, 512, "sdpa"),
            "distilbert-base": (32, 128, "sdpa"),
            "deberta-v3-base": (16, 512, "eager"),
            "modernbert-base": (16, 1024, "sdpa"),
            "bart-base": (8, 512, "sdpa"),
            "bart-large": (4, 512, "sdpa"),
            "whisper-tiny": (32, 448, "sdpa"),
            "whisper-small": (16, 448, "sdpa"),
            "whisper-large-v3": (4, 448, "sdpa"),
            "clip-vit-b-32": (64, 77, "sdpa"),
            "clip-vit-l-14": (16, 77, "sdpa"),
            "dinov2-base": (32, 518, "sdpa"),
        }.items()
    },
}
IMAGES = (
    "resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d vgg11 vgg13 vgg16 vgg19 alexnet densenet121 "
    "inception_v3 vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14 swin_t swin_s swin_b convnext_tiny convnext_small convnext_base "
    "convnext_large efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5 "
    "efficientnet_b6 efficientnet_b7 efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l mobilenet_v2 mobilenet_v3_small "
    "mobilenet_v3_large unet-sd1.5 unet-sdxl"
).split()


def workload(program, line):
    run = subprocess.run([program, "import", line], capture_output=True, encoding="utf-8", check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def step(of):
    return [of[part]["duration_us"] for part in ("forward", "backward", "optimizer")]


def launched(of):
    """Kernels of a step that the host launches."""
    launches = of["host"]["launches"]
    return launches["forward"] + sum(launches["backward"]) + launches["optimizer"]


def traced(name, side, folder):
    from ddpsim import _estimate

    with torch.device("meta"):
        if name in IMAGES:
            model, inputs = (unet if name in UNETS else images)(name, side)
        else:
            build, batch, tokens, attention = TEXT[name]
            model, inputs = build(batch, tokens, attention)
    path = f"{folder}/model.json"
    document = _estimate.trace_model(model, inputs)
    _estimate.write_model(document, path)
    return path, document


def facts(of):
    """What must be equal."""
    return {
        "names": [one["name"] for one in of["parameters"]],
        "shapes": [one["shape"] for one in of["parameters"]],
        "buffers": sorted((one["dtype"], one["tensors"], one["bytes"]) for one in of.get("buffers", [])),
        "gradients": [of["parameters"][one["parameter"]]["name"] for one in of["backward"]["ready"]],
    }


def told_differences(name, ours, theirs):
    ours, theirs = facts(ours), facts(theirs)
    for what, traced in ours.items():
        if traced == theirs[what]:
            continue
        first = next((pair for pair in zip(traced, theirs[what]) if pair[0] != pair[1]), "lengths")
        print(f"{name:17}{what} differ, first traced and catalogue: {first}", flush=True)


def compare(program, name, side, folder):
    """By GPU, the relative difference between the two step times."""
    path, document = traced(name, side, folder)
    # What takes images alone has no length and no choice of attention.
    takes_images = name in IMAGES or name.startswith("dinov2")
    batch, tokens = (32, "") if takes_images else (TEXT[name][1], f":s{TEXT[name][2]}")
    found = {}
    for gpu in GPUS:
        device, precision = gpu.split(":")
        ours = workload(program, f"{path}@{device}:b{batch}:{precision}")
        # The attention of a catalogue entry may differ from that of the library's class.
        same = "" if takes_images else f":attn={TEXT[name][3]}"
        theirs = workload(program, f"{name}@{device}:b{batch}{tokens}:{precision}{same}")
        if gpu == GPUS[0]:
            told_differences(name, ours, theirs)
        a, b = step(ours), step(theirs)
        parts = " ".join(f"{mine / other - 1:+7.1%}" for mine, other in zip(a, b))
        found[gpu] = sum(a) / sum(b) - 1
        kernels = "/".join(str(launched(of)) for of in (ours, theirs))
        kept = ours["activations"]["bytes"] / theirs["activations"]["bytes"] - 1
        count = len(ours["parameters"]) - len(theirs["parameters"])
        flops = ours["sample"]["model_flops"] / theirs["sample"]["model_flops"] - 1
        print(
            f"{name:17}{gpu:10} step {found[gpu]:+7.1%}  parts {parts}  kept {kept:+7.1%}  flops {flops:+7.2%}  parameters {count:+d}  launches {kernels}",
            flush=True,
        )
    return found


def main(program, *names):
    differences = {}
    listed = subprocess.run([program, "list", "--json"], capture_output=True, encoding="utf-8", check=True)
    sides = {
        row["name"]: int(row["summary"].split()[-4])
        for row in json.loads(listed.stdout)["models"]
        if row["summary"].endswith("pixels a side")
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in names or [*IMAGES, *TEXT]:
            for gpu, difference in compare(program, name, sides.get(name), folder).items():
                differences[name, gpu] = difference
    for gpu in GPUS:
        some = {key: value for key, value in differences.items() if key[1] == gpu}
        worst = max(some, key=lambda key: abs(some[key]))
        print(
            f"{gpu:10} {len(some)} models: median {statistics.median(map(abs, some.values())):.1%}, "
            f"largest {some[worst]:+.1%} ({worst[0]})"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
