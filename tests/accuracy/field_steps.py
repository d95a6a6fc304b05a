#!/usr/bin/env python3
"""Compares estimated steps under DDP with steps that others measured at many batch sizes.

    field_steps.py --ddpsim PROGRAM --shared FOLDER

FOLDER/data/field holds the rows. Their scripts wait for the GPU in every step, and fp16 there means autocast with
GradScaler. Nothing measured is given to the program. Two simple predictors stand beside it. One takes the same share of
the GPU's peak rate for all rows of a model. The other has that model's shortest measured step as a floor. Both know the
measured steps."""

import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

from errors import errors_of, percent

HERE = pathlib.Path(__file__).parent
ROWS = "ddp-scaling-v100.csv"
PRECISIONS = {"fp16": "amp", "fp32": "fp32", "bf16": "bf16"}
# The configuration of a model that the catalogue does not name.
CONFIGURED = {"vit_b_16": "vit_b_16.json"}
CLUSTERS = {
    "1": "node:1 gpu:1xV100",
    "2": "node:1 gpu:2xV100 nvlink:2x25GBps:pair",
    "4": "node:1 gpu:4xV100 nvlink:6x25GBps:mesh",
    "8": "dgx1v",
}


def spec_of(row, known):
    model = row["model"] if row["model"] in known else CONFIGURED[row["model"]]
    gpu = row["gpu"].split("_")[0].upper()
    layout = ":channels_last" if row["channels_last"] == "True" else ""
    return f"{model}@{gpu}:b{row['batch_per_gpu']}:{PRECISIONS[row['precision']]}{layout}:sync"


def predicted(ddpsim, row, known):
    command = [ddpsim, "simulate", spec_of(row, known), CLUSTERS[row["gpus"]], "--optimizer", "momentum", "--json"]
    told = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"{' '.join(command)}: {told.stderr}")
    return json.loads(told.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    given = parser.parse_args()
    rows = list(csv.DictReader((given.shared / "data/field" / ROWS).open(encoding="utf-8")))
    ddpsim = str(pathlib.Path(given.ddpsim).resolve())
    listed = subprocess.run([ddpsim, "list", "--json"], capture_output=True, text=True, check=True).stdout
    known = json.loads(listed).get("models", [])
    known = {one if isinstance(one, str) else one["name"] for one in known}
    by_model = {}
    for row in rows:
        by_model.setdefault(row["model"], []).append(row)
    lines, errors, widths, held = [], [], [], 0
    shares, floors = [], []
    for own in by_model.values():
        per_sample = statistics.median(float(row["mean_step_ms"]) / int(row["batch_per_gpu"]) for row in own)
        floor = min(float(row["mean_step_ms"]) for row in own)
        for row in own:
            measured = float(row["mean_step_ms"])
            told = predicted(ddpsim, row, known)
            step = told["iteration_us"] / 1000
            low, high = (step * (1 + of / 100) for of in told["confidence"]["interval_percent"])
            inside = low <= measured <= high
            held += inside
            errors.append(percent(step, measured))
            widths.append(high / low)
            shares.append(percent(per_sample * int(row["batch_per_gpu"]), measured))
            floors.append(percent(max(per_sample * int(row["batch_per_gpu"]), floor), measured))
            lines.append(
                f"| {row['model']} | {row['gpus']} | {row['batch_per_gpu']} | {measured:.1f} | {step:.1f} "
                f"| {errors[-1]:+.0f} | {low:.0f} to {high:.0f} | {'yes' if inside else 'no'} |"
            )
    print("| model | GPUs | batch | measured ms | predicted ms | error % | 80 % interval ms | held |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))
    width = math.exp(statistics.median(map(math.log, widths)))
    print(
        f"\nfield steps: {len(errors)} rows, {errors_of(errors)}; interval holds {held} of {len(errors)}, width {width:.2f}  "
    )
    print(f"one share of the peak rate for each model: {errors_of(shares)}  ")
    print(f"that share with a floor: {errors_of(floors)}")


if __name__ == "__main__":
    main()
