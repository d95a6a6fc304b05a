#!/usr/bin/env python3
"""Compares the memory of training steps measured on a GPU with that of `simulate`, for traces and for the catalogue.

    tests/accuracy/measured_memory.py PROGRAM [ESTIMATES.json...]

The documents are those of scripts/on_gpu/estimates.py; default: all that are kept in tests/lab/measured/gpu. The script
traces the modules that were trained there, so it needs a Python with PyTorch, torchvision and transformers. PYTHONPATH must
name the built package. What was allocated before a model was trained is subtracted. A row counts only if that is little,
because some of it was freed meanwhile. Compiled models are left out.

The script prints a line for each row, then the errors of the trace, and of the catalogue where it has the same
parameters. A trivial predictor adds activations to parameters, gradients and optimizer, with the best constant of bytes
per FLOP. Then the memory that the allocator reserved is compared with what tensors took.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from quantile import quantile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "scripts" / "on_gpu")]

import torch  # noqa: E402

from own_modules import import_torchvision  # noqa: E402

import_torchvision()

import models  # noqa: E402
from ddpsim import _estimate  # noqa: E402

MOST_BEFORE = 0.02
WORDS = {"fp32": "fp32", "tf32": "tf32", "amp_bf16": "bf16"}


def trace(model, path, batch=2):
    with torch.device("meta"):
        module, _, inputs = model.make(torch, "meta", batch, False)
    if inputs.is_floating_point():
        labels = torch.zeros(batch, dtype=torch.long)
        document = _estimate.trace_model(
            module, (inputs,), loss=lambda out: torch.nn.functional.cross_entropy(out, labels)
        )
    else:
        document = _estimate.trace_model(module, {"input_ids": inputs, "labels": inputs})
    _estimate.write_model(document, path)


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *words):
        ran = subprocess.run([self.path, *words], capture_output=True, encoding="utf-8")
        if ran.returncode:
            sys.exit(ran.stderr)
        return json.loads(ran.stdout)

    def memory(self, row, line, gpu):
        optimizer = "momentum" if row["optimizer"] == "sgd" else row["optimizer"]
        said = self.run(
            "simulate", line, f"node:1 gpu:1x{gpu}", "--optimizer", optimizer, "--memory", "1000GiB", "--json"
        )
        return said["memory"]


def without_ddp(memory, row, key):
    """Without DDP there are no buckets."""
    return memory[key] - (memory["parts"]["buckets_bytes"] if row["wrapper"] == "none" else 0)


def rows_of(paths):
    for path in paths:
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        gpu = pathlib.Path(path).parent.name.removeprefix("nvidia-").partition("-")[0].upper()
        for row in document["rows"]:
            if row["wrapper"] in ("none", "ddp") and not row["compiled"]:
                yield gpu, row


def errors(title, found):
    found = sorted((abs(error), name) for name, error in found)
    sizes = [size for size, _ in found]
    print(
        f"{title}: {len(sizes)} rows, median {statistics.median(sizes):.1%}, p90 {quantile(sizes, 0.9):.1%}, "
        f"worst {sizes[-1]:.1%} ({found[-1][1]})"
    )


def main(path, *documents):
    program = Program(path)
    documents = documents or sorted((ROOT / "tests" / "lab" / "measured" / "gpu").glob("*/estimates.json"))
    by_trace, by_catalogue, reserved, parts = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for gpu, row in rows_of(documents):
            before = row["allocated_before_bytes"]
            if before > MOST_BEFORE * row["peak_memory_bytes"]:
                continue
            own = row["peak_memory_bytes"] - before
            file = f"{folder}/{row['model']}.json"
            if not pathlib.Path(file).exists():
                trace(next(model for model in models.MODELS if model.name == row["model"]), file)
            form = "" if row["wrapper"] == "none" else f" {row['wrapper']}"
            name = f"{gpu} {row['model']} {row['precision']} batch {row['batch']}{form}"
            line = f"{file}@{gpu}:b{row['batch']}:{WORDS[row['precision']]}"
            memory = program.memory(row, line, gpu)
            said = without_ddp(memory, row, "allocated_bytes")
            by_trace.append((name, said / own - 1))
            words = f"{name:50} measured {own / 1e9:6.2f} GB  trace {said / own - 1:+6.1%} at {memory['at']}"
            if "estimate" in row:
                known = program.memory(row, row["estimate"].format(gpu=gpu), gpu)
                if known["parts"]["parameters_bytes"] == 4 * row["parameters"]:
                    by_catalogue.append((name, without_ddp(known, row, "allocated_bytes") / own - 1))
                    words += f"  catalogue {by_catalogue[-1][1]:+6.1%}"
            reserved.append(
                (
                    name,
                    row["reserved_memory_bytes"] / row["peak_memory_bytes"] - 1,
                    memory["peak_bytes"] / memory["allocated_bytes"] - 1,
                )
            )
            work = program.run("import", line)["sample"]["model_flops"] * row["batch"]
            fixed = 2 * memory["parts"]["parameters_bytes"] + memory["parts"]["optimizer_bytes"]
            parts.append((name, own, fixed, work))
            print(words, flush=True)
    print()
    errors("trace", by_trace)
    errors("catalogue, the same parameters", by_catalogue)
    best = min(
        (max(own - fixed, 0) / work for _, own, fixed, work in parts),
        key=lambda each: statistics.median(abs((fixed + each * work) / own - 1) for _, own, fixed, work in parts),
    )
    errors(
        "parameters, gradients, optimizer, best bytes per FLOP",
        [(name, (fixed + best * work) / own - 1) for name, own, fixed, work in parts],
    )
    shares = [share for _, share, _ in reserved]
    print(
        f"reserved beyond allocated: median {statistics.median(shares):.1%}, {min(shares):.1%} to {max(shares):.1%}; "
        f"predicted median {statistics.median(said for *_, said in reserved):.1%}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
