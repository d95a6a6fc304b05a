"""What real PyTorch and DeepSpeed asked of their process groups under other schemes: tests/fixtures/schemes, made by
test_scheme_trainings.py.

models.json has the models trained: parameters and shapes in the order of definition, and `ready`, the order in which a plain
backward finishes their gradients. compiled.json: pieces of a compiled DDP (compiled_trainings.py). Each other file is a scheme's `trainings`: model, ranks, options, log of a settled step as
collective_log.py words it, and `first` where the first step differs."""

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
    """A line a training, a line a model."""

    def lines(value):
        if isinstance(value, list):
            return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        if isinstance(value, dict):
            return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()) + "\n}"
        return json.dumps(value)

    return "{\n" + ",\n".join(f"{json.dumps(key)}: {lines(value)}" for key, value in document.items()) + "\n}\n"


def collectives(log):
    """[(kind, bytes, phase, unit or None)] in the order of issue, marks left out."""
    told = []
    for phase, *entries in log:
        for entry in entries:
            if not entry.startswith("<") and not entry.endswith(">"):
                kind, size, _, _, *unit = entry.split(" ")
                told.append((kind, int(size), phase, *(unit or [None])))
    return told
