#!/usr/bin/env python3
"""Compares the launches that an estimate counts in a step with those that a profiler counted on a GPU.

    launch_counts.py --ddpsim PROGRAM

Rows are the measured steps without a wrapper and without torch.compile whose model an estimate knows. The trivial
predictor counts one launch for each operator of the model. DDP's own launches are not compared: the estimate's count is
of the model alone."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

from errors import errors_of, percent

MEASURED = pathlib.Path(__file__).resolve().parents[1] / "lab" / "measured" / "gpu"
COUNTED = re.compile(r"(\d+) operators with (\d+) kernels in forward and backward, (\d+) with (\d+) in the optimizer")


def counted(ddpsim, spec):
    """Operators and kernels of a step, as the estimate's provenance says."""
    told = subprocess.run([ddpsim, "import", spec], capture_output=True, text=True, check=False)
    if told.returncode:
        sys.exit(f"{spec}: {told.stderr}")
    said = json.loads(told.stdout)["provenance"]["launches"]
    operators, kernels, steps, step_kernels = map(int, COUNTED.fullmatch(said).groups())
    return operators + steps, kernels + step_kernels


def spec_of(row, gpu):
    layout = ":channels_last" if row["channels_last"] else ""
    return row["estimate"].format(gpu=gpu) + layout


def rows_of(card):
    document = json.loads((card / "estimates.json").read_text(encoding="utf-8"))
    return [
        row
        for row in document["rows"]
        if "estimate" in row and "launches" in row and row["wrapper"] == "none" and not row["compiled"]
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddpsim", required=True)
    given = parser.parse_args()
    for card in sorted(path.parent for path in MEASURED.glob("*/estimates.json")):
        errors, trivial = [], []
        print(f"\n### Launches of a step on {card.name}\n")
        print("| model | form | measured | kernels counted | error % | operators |\n|---|---|---|---|---|---|")
        for row in rows_of(card):
            operators, kernels = counted(given.ddpsim, spec_of(row, "H100"))
            errors.append(percent(kernels, row["launches"]))
            trivial.append(percent(operators, row["launches"]))
            print(
                f"| {row['model']} | {row['form']} | {row['launches']} | {kernels} | {errors[-1]:+.0f} | {operators} |"
            )
        print(
            f"\nlaunches, {card.name}: {len(errors)} rows, {errors_of(errors)}; one an operator: {errors_of(trivial)}"
        )


if __name__ == "__main__":
    main()
