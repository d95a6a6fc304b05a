#!/usr/bin/env python3
"""Compares the kernel times measured on a GPU with estimates of the very modules that ran there.

    tests/accuracy/traced_gpu.py PROGRAM [--recorded]

The modules are those of scripts/on_gpu/models.py, and the measurements lie in tests/lab/measured/gpu. Each module is
traced as it ran: model, batch, optimizer and channels_last. The estimate of the catalogue is shown beside it, and one
share of the peak rate that fits the card's rows best. With --recorded, the script lists where the backward of recorded
modules differs, by gradient. The script needs a Python with PyTorch, torchvision and transformers; PYTHONPATH must name
the built package.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "scripts" / "on_gpu")]

import torch  # noqa: E402

import models  # noqa: E402
from own_modules import import_torchvision  # noqa: E402
from quantile import quantile  # noqa: E402

MEASURED = ROOT / "tests/lab/measured/gpu"
WORDS = {"fp32": "fp32", "tf32": "tf32", "amp_bf16": "bf16"}
# From data sheets: dense TFLOP/s of H100 and H200. Convolutions in fp32 run in TF32.
PEAK_TFLOPS = {"fp32": 494.5, "tf32": 494.5, "amp_bf16": 989}
SHOWN_US = 100  # of a difference between two gradients


def workload(program, line):
    run = subprocess.run([program, "import", line], capture_output=True, encoding="utf-8", check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def step_us(of):
    return sum(of[part]["duration_us"] for part in ("forward", "backward", "optimizer"))


class Traces:
    """Traces each module once, for a batch and a memory format."""

    def __init__(self, program, folder):
        self.program, self.folder, self.known = program, pathlib.Path(folder), {}
        self.models = {model.name: model for model in models.MODELS}
        import_torchvision()

    def of(self, name, batch, channels_last):
        from ddpsim import _estimate

        key = name, batch, channels_last
        if key not in self.known:
            model = self.models[name]
            module, _, inputs = model.make(torch, "meta", batch, False)
            vision = model.package() == "torchvision"
            document = _estimate.trace_model(
                module,
                inputs if vision else {"input_ids": inputs, "labels": inputs},
                loss=cross_entropy if vision else None,
                optimizer="momentum" if model.optimizer == "sgd" else model.optimizer,
                channels_last=channels_last,
            )
            path = self.folder / f"{name}-{batch}-{channels_last}.json"
            _estimate.write_model(document, str(path))
            self.known[key] = path
        return self.known[key]

    def workload(self, row, gpu):
        path = self.of(row["model"], row["batch"], row["channels_last"])
        return workload(self.program, f"{path}@{gpu}:b{row['batch']}:{WORDS[row['precision']]}")


def cross_entropy(scores):
    return torch.nn.functional.cross_entropy(scores, torch.zeros(scores.shape[0], dtype=torch.long))


def summary(errors):
    sizes = [abs(error) for error in errors]
    return f"{len(sizes)} rows, median {statistics.median(sizes):.1%}, p90 {quantile(sizes, 0.9):.1%}, worst {max(sizes):.1%}"


def compare(traces, card):
    document = json.loads((MEASURED / card / "estimates.json").read_text(encoding="utf-8"))
    gpu = document["card"].split()[1]
    rows = [row for row in document["rows"] if row.get("wrapper") == "none" and not row["compiled"]]
    rows = [row for row in rows if "gpu_busy_us" in row]
    errors, of_catalogue, shares = {}, {}, {}
    for number, row in enumerate(rows):
        busy, ours = row["gpu_busy_us"], traces.workload(row, gpu)
        errors[number] = step_us(ours) / busy - 1
        at_peak = ours["sample"]["model_flops"] * row["batch"] / (PEAK_TFLOPS[row["precision"]] * 1e6)
        shares[number] = at_peak / busy
        beside = ""
        if "estimate" in row:
            theirs = workload(traces.program, row["estimate"].format(gpu=gpu))
            of_catalogue[number] = step_us(theirs) / busy - 1
            beside = f", catalogue {of_catalogue[number]:+.0%}"
        form = "channels_last" if row["channels_last"] else row["form"]
        print(
            f"{gpu} {row['model']:19}{form:14}{row['precision']:9} b{row['batch']:<4} busy {busy / 1000:6.1f} ms, "
            f"traced {step_us(ours) / 1000:6.1f} ({errors[number]:+.0%}){beside}",
            flush=True,
        )
    for words, chosen in (
        ("full batches", [number for number, row in enumerate(rows) if row["form"] != "launch_bound"]),
        ("small batches", [number for number, row in enumerate(rows) if row["form"] == "launch_bound"]),
    ):
        share = statistics.median(shares[number] for number in chosen)
        print(f"{gpu}, {words}: traced {summary([errors[number] for number in chosen])}")
        print(f"    one share of the peak: {summary([shares[number] / share - 1 for number in chosen])}")
        known = [of_catalogue[number] for number in chosen if number in of_catalogue]
        print(f"    catalogue {summary(known)}")


def by_gradient(traces, card):
    """Where the backward of a recorded module and its estimate differ, between two gradients that become ready."""
    for path in sorted((MEASURED / card / "recorded").glob("*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        row = {"model": path.stem, "batch": measured["batch_per_gpu"], "channels_last": False, "precision": "amp_bf16"}
        ours = traces.workload(row, measured["gpu"])
        print(f"{measured['gpu']} {path.stem}: forward, backward, optimizer in ms, measured and estimated")
        print(
            "   ",
            *(
                f"{of[part]['duration_us'] / 1000:.1f}"
                for part in ("forward", "backward", "optimizer")
                for of in (measured, ours)
            ),
        )
        names = [parameter["name"] for parameter in measured["parameters"]]
        expected = {
            ours["parameters"][entry["parameter"]]["name"]: entry["at_us"] for entry in ours["backward"]["ready"]
        }
        before = (0.0, 0.0)
        for entry in measured["backward"]["ready"]:
            name = names[entry["parameter"]]
            now = (entry["at_us"], expected.get(name, before[1]))
            took, said = now[0] - before[0], now[1] - before[1]
            if abs(took - said) > SHOWN_US:
                print(f"    {name:60} {took:8.0f} us, estimated {said:8.0f}")
            before = now


def main(program, *options):
    with tempfile.TemporaryDirectory() as folder:
        traces = Traces(program, folder)
        for card in sorted(path.name for path in MEASURED.iterdir() if (path / "estimates.json").exists()):
            (by_gradient if "--recorded" in options else compare)(traces, card)


if __name__ == "__main__":
    main(*sys.argv[1:])
