"""Builds a hundred modules of torchvision, timm and transformers from their classes, without weights, for
test_own_modules.py.

    python3 own_modules.py --choose SEED >own_modules.json

draws them. It shuffles all candidates and keeps those that real PyTorch builds and trains for one step on a CPU. They have at most 60
million parameters and take at most 40 seconds. ddpsim has no part in the choice.

`build(NAME)` gives a module and its inputs.
"""

import argparse
import json
import os
import random
import signal
import sys
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")

import torch  # noqa: E402

SHARES = {"torchvision": 25, "timm": 45, "transformers": 30}
MOST_PARAMETERS = 60_000_000
MOST_SECONDS = 40
BATCH, TOKENS = 2, 32
# Values that make text models small. Each is set if the model's configuration has this field.
SMALL = {
    "vocab_size": 1000,
    "hidden_size": 64,
    "d_model": 64,
    "n_embd": 64,
    "num_hidden_layers": 3,
    "n_layer": 3,
    "num_layers": 3,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 4,
    "n_head": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "head_dim": 16,
}
TASKS = ("CausalLM", "MaskedLM", "Seq2SeqLM", "ImageClassification")


def import_torchvision():
    """Imports torchvision, even if its compiled library was built for another PyTorch. Only detection models need that
    library."""
    try:
        import torchvision
    except RuntimeError:
        for name in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import_torchvision.library = library  # lives as long as the process
        import torchvision
    return torchvision


def candidates():
    torchvision = import_torchvision()
    import timm
    import transformers.models.auto.modeling_auto as auto

    found = [f"torchvision:{name}" for name in torchvision.models.list_models(module=torchvision.models)]
    found += [f"timm:{name}" for name in timm.list_models()]
    for task, mapping in zip(
        TASKS,
        (
            auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
            auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
            auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
            auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        ),
    ):
        found += [f"transformers:{kind}:{task}" for kind in mapping]
    return found


def build(name):
    """Returns the module in training mode, and its inputs of two samples: a tensor or keyword arguments. Both are on
    the default device."""
    library, _, rest = name.partition(":")
    torch.manual_seed(1)
    if library == "torchvision":
        torchvision = import_torchvision()
        side = 299 if rest == "inception_v3" else 224
        model = torchvision.models.get_model(
            rest, weights=None, **({"init_weights": False} if "inception" in rest or rest == "googlenet" else {})
        )
        return model, torch.rand(BATCH, 3, side, side)
    import_torchvision()
    if library == "timm":
        import timm

        model = timm.create_model(rest, pretrained=False)
        return model.train(), torch.rand(BATCH, *model.default_cfg["input_size"])
    return of_transformers(*rest.split(":"))


def of_transformers(kind, task):
    import transformers

    config = transformers.CONFIG_MAPPING[kind]()
    if task != "ImageClassification":
        for field, value in SMALL.items():
            if isinstance(getattr(config, field, None), int):
                setattr(config, field, value)
        for field in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
            if isinstance(getattr(config, field, None), int) or field == "decoder_start_token_id":
                setattr(config, field, 1)
        config = type(config)(**{key: value for key, value in config.to_dict().items() if key != "layer_types"})
    model = getattr(transformers, f"AutoModelFor{task}").from_config(config).train()
    if task == "ImageClassification":
        side = getattr(config, "image_size", 224)
        side = side if isinstance(side, int) else 224
        return model, {
            "pixel_values": torch.rand(BATCH, getattr(config, "num_channels", 3), side, side),
            "labels": torch.zeros(BATCH, dtype=torch.long),
        }
    tokens = torch.randint(3, 999, (BATCH, TOKENS))
    return model, {"input_ids": tokens, "labels": tokens}


def loss_of(outputs):
    """The loss that ddpsim.estimate takes by default."""
    if isinstance(getattr(outputs, "loss", None), torch.Tensor):
        return outputs.loss
    return sum(tensor.sum() for tensor in tensors_in(outputs) if tensor.is_floating_point() and tensor.requires_grad)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for one in value.values() for tensor in tensors_in(one)]
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in tensors_in(one)]
    return []


def run(model, inputs):
    return loss_of(model(**inputs) if isinstance(inputs, dict) else model(inputs))


def trains(name):
    """Whether real PyTorch builds the module and trains it for one step, within MOST_PARAMETERS and MOST_SECONDS."""

    def give_up(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(MOST_SECONDS)
    try:
        with torch.device("meta"):
            if sum(parameter.numel() for parameter in build(name)[0].parameters()) > MOST_PARAMETERS:
                return False
        model, inputs = build(name)
        run(model, inputs).backward()
        return any(parameter.grad is not None for parameter in model.parameters())
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return False
    finally:
        signal.alarm(0)


def choose(seed):
    order = candidates()
    random.Random(seed).shuffle(order)
    chosen = {library: [] for library in SHARES}
    for name in order:
        library = name.partition(":")[0]
        if len(chosen[library]) < SHARES[library] and trains(name):
            chosen[library].append(name)
            print(len(sum(chosen.values(), [])), name, file=sys.stderr, flush=True)
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--choose", type=int, required=True, metavar="SEED")
    seed = parser.parse_args().choose
    torch.set_num_threads(1)
    print(json.dumps({"seed": seed, "torch": torch.__version__, **choose(seed)}, indent=1))
