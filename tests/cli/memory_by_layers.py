"""Measures the memory of backward for models of the catalogue with the recorder, for test_memory.py.

    main(NAME:BATCH[:TOKENS]…)

Prints a line of JSON per model: its activations, and the most memory of activations, gradients in flight and written
gradients."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "traces" / "recorder"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import torch_models  # noqa: E402
from ddpsim_recorder import Held, Model, Storages, tensors_in  # noqa: E402

TEXT = {"bert-base": lambda: torch_models.Bert(12, 768, 12), "gpt2": lambda: torch_models.Gpt2(12, 768, 12)}


def loss_of(name, output, tokens):
    if name.startswith("bert"):
        return output.sum()  # the catalogue's model has a pooler
    if name not in TEXT:
        return sum(F.cross_entropy(one, torch.zeros(one.shape[0], dtype=torch.int64)) for one in tensors_in(output))
    return F.cross_entropy(output[:, :-1].reshape(-1, output.shape[-1]), tokens[:, 1:].reshape(-1))


def holds(name, batch, tokens=128):
    model = TEXT[name]() if name in TEXT else torch_models.image_model(name)
    model.train()
    side = 299 if name == "inception_v3" else 224
    given = torch.randint(1, 1000, (batch, tokens)) if name in TEXT else torch.rand(batch, 3, side, side)
    storages = Storages()
    output = model(given)  # kept alive, as in most scripts
    outputs = [number for tensor in tensors_in(output) for number in storages.of(tensor)]
    loss = loss_of(name, output, given)
    held = Held([loss], Model(model), storages, outputs)
    loss.backward()
    order, most = held.in_order()
    sizes = [4 * parameter.numel() for parameter in model.parameters()]
    written = [0]
    for parameter in order:
        written.append(written[-1] + sizes[parameter])
    kept = held.bytes + sum(storages.bytes[number] for number in set(outputs))
    return {"activations": kept, "most": max(map(sum, zip(most, written)))}


def main(*models):
    torch.set_num_threads(1)
    torch_models.leave_weights_as_they_are()
    torch_models.DROPOUT = 0.1
    for text in models:
        model_name, *sizes = text.split(":")
        print(json.dumps({"model": text, **holds(model_name, *map(int, sizes))}), flush=True)
