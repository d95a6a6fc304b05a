"""Reads the logs of collectives of PyTorch and DeepSpeed under other schemes, in tests/fixtures/schemes.

test_scheme_trainings.py makes them.

`models.json` has the trained models: parameters and shapes in the order of definition, and `ready`, the order in which
a plain backward finishes their gradients. `compiled.json` has the pieces of a compiled DDP (compiled_trainings.py).
`zero_0_14.json` was made once with DeepSpeed 0.14.5.
Each other file has the `trainings` of a scheme: model, ranks, options, and the log of a settled step in the format of
collective_log.py. `first` is the log of the first step if it differs."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "schemes"
PYTORCH, DEEPSPEED = "2.13", "0.19.8"
RANKS = (2, 4)


def models():
    return json.loads((FOLDER / "models.json").read_text())["models"]


def trainings(scheme):
    return json.loads((FOLDER / f"{scheme}.json").read_text())["trainings"]


def text_of(document):
    """The text of a document with one line per training or model."""

    def lines(value):
        if isinstance(value, list):
            return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        if isinstance(value, dict):
            return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()) + "\n}"
        return json.dumps(value)

    return "{\n" + ",\n".join(f"{json.dumps(key)}: {lines(value)}" for key, value in document.items()) + "\n}\n"


def collectives(log):
    """The collectives of a log in order: kind, bytes, phase, and unit or None. Marks are left out."""
    told = []
    for phase, *entries in log:
        for entry in entries:
            if not entry.startswith("<") and not entry.endswith(">"):
                kind, size, _, _, *unit = entry.split(" ")
                told.append((kind, int(size), phase, *(unit or [None])))
    return told
