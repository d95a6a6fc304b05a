"""What real PyTorch asked of its process groups under other schemes: tests/fixtures/schemes, made by test_scheme_trainings.py.

A file has `models` (parameters and shapes in the order of definition, `ready`: in which order a plain backward finishes their
gradients) and `trainings` (ranks, model, options, log of a settled step as collective_log.py words it, `first` where the first
step differs)."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "schemes"
PYTORCH = "2.13"
RANKS = (2, 4)


def logs(scheme):
    return json.loads((FOLDER / f"{scheme}.json").read_text())


def text_of(document):
    """A line a training, a line a model."""
    def lines(key):
        value = document[key]
        if key == "models":
            return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(model)}" for name, model in value.items()) + "\n}"
        if key == "trainings":
            return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        return json.dumps(value)
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {lines(key)}" for key in document) + "\n}\n"


def collectives(log):
    """[(kind, bytes, phase)] in the order of issue, marks left out; and whose parameters they are, where that is known."""
    told = []
    for phase, *entries in log:
        for entry in entries:
            if not entry.startswith("<") and not entry.endswith(">"):
                kind, size, _, _, *unit = entry.split(" ")
                told.append((kind, int(size), phase, unit[0] if unit else None))
    return told
