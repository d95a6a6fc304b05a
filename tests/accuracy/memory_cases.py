#!/usr/bin/env python3
"""Compares peak memory that others published with that of `simulate`, in cases that fitted nothing.

    tests/accuracy/memory_cases.py DDPSIM [--check] [--python PYTHON]

For each case, memory_cases.json has the command, the published peak in GiB, and whether the job ran. The peaks were
read from torch.cuda.max_memory_allocated(), so they are compared with `allocated_bytes`. Some sources give the memory
before the optimizer's step (`before_step`); then it is that moment without the temporary memory of the step. A job fits
if its `peak_bytes` is at most the memory of the GPU. If it does not fit, `simulate` ends with exit code 3. If a source
does not name its optimizer or attention, the program's defaults are used.

Some cases train a module of memory_modules.py. They need --python: a Python with PyTorch that imports the built package.
Every row of the published tables, where they are beside the checkout, must be a case or be left out with a reason. With
--check, the exit code is 4 if this or a limit below is not met. Standard library only.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from quantile import quantile

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path(os.environ.get("DDPSIM_SHARED", HERE.parents[1].parent / "shared")) / "data"
STATED = json.loads((HERE / "memory_cases.json").read_text(encoding="utf-8"))
CASES = STATED["cases"]
MOST_MEDIAN = 6  # per cent
NEAR = 15  # per cent
# At least this share of the cases must be near. A case without a published peak counts if it is right about whether the
# job fits.
LEAST_NEAR = 0.9
GIB = 1 << 30
TRACE = """
import sys
sys.path.insert(0, sys.argv[1])
import memory_modules
from ddpsim import _estimate
module, inputs, loss = getattr(memory_modules, sys.argv[2])()
_estimate.write_model(_estimate.trace_model(module, inputs, loss=loss), sys.argv[3])
"""


class Said:
    """The program's answer to a case."""

    def __init__(self, program, case, model):
        command = [word.replace("{model}", model) for word in case["command"]]
        ran = subprocess.run([program, "simulate", *command, "--json"], cwd=HERE, capture_output=True, encoding="utf-8")
        self.code, self.error = ran.returncode, " ".join(ran.stderr.split())
        memory = json.loads(ran.stdout)["memory"] if self.code == 0 else {}
        self.allocated_gib = memory["allocated_bytes"] / GIB if memory else None
        # Parameters, gradients and the optimizer's state, with momentum or Adam as in the case.
        self.trivial_gib = None
        if memory:
            parts = memory["parts"]
            self.trivial_gib = (2 * parts["parameters_bytes"] + parts["optimizer_bytes"]) / GIB
        if memory and case.get("before_step"):
            moment = next(moment for moment in memory["moments"] if moment["at"] == "optimizer")
            rounding = memory["parts"]["rounding_bytes"]
            self.allocated_gib = (moment["tensors_bytes"] + rounding - moment["temporaries_bytes"]) / GIB
        # Exit code 3 may have other reasons.
        self.fits = True if self.code == 0 else False if "GiB" in self.error or "memory" in self.error else None
        self.error_percent = self.trivial_percent = None
        if case["peak_gib"] is not None and memory:
            self.error_percent = 100 * (self.allocated_gib / case["peak_gib"] - 1)
            self.trivial_percent = 100 * (self.trivial_gib / case["peak_gib"] - 1)


def name_of(case):
    return " ".join(case["command"]).replace("{model}", case.get("module", ""))


def traced(python, name, folder):
    path = f"{folder}/{name}.json"
    if not pathlib.Path(path).exists():
        subprocess.run([python, "-W", "ignore", "-c", TRACE, str(HERE), name, path], check=True)
    return path


def answers(program, python):
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if "module" not in case:
                yield case, Said(program, case, "")
            elif python:
                yield case, Said(program, case, traced(python, case["module"], folder))


def covered():
    """Says which rows of the tables are cases, and why others are not. False if a row is neither."""
    sources = "\n".join(case["source"] for case in CASES) + "\n"
    complete = True
    # Each table, and how the source of a case names one of its rows.
    for table, key in STATED["tables"].items():
        if not (DATA / table).exists():
            print(f"{table}: skipped, because it is not beside the checkout")
            continue
        rows = list(csv.DictReader((DATA / table).open(encoding="utf-8", newline="")))
        reasons, neither = collections.Counter(), []
        for row in rows:
            if re.search(rf"{re.escape(table)}:? {re.escape(key.format(**row))}\b", sources):
                continue
            why = [
                one["why"]
                for one in STATED["left_out"]
                if all(re.fullmatch(text, row.get(column) or "") for column, text in one.items() if column != "why")
            ]
            if why:
                reasons[why[0]] += 1
            else:
                neither.append(key.format(**row))
        left_out = sum(reasons.values())
        print(f"{table}: {len(rows) - left_out - len(neither)} of {len(rows)} rows are cases; left out:")
        for why, count in reasons.most_common():
            print(f"{count:6}  {why}")
        if neither:
            complete = False
            print(f"  neither a case nor left out: {', '.join(neither)}")
    return complete


def summary(title, errors):
    """`errors`: size and name. Returns the median."""
    errors = sorted(errors)
    sizes = [error for error, _ in errors]
    print(
        f"{title}: {len(sizes)} peaks, median {statistics.median(sizes):.1f} %, p90 {quantile(sizes, 0.9):.1f} %, "
        f"worst {sizes[-1]:.1f} % ({errors[-1][1]})"
    )
    return statistics.median(sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ddpsim")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--python", help="a Python with PyTorch and the built package")
    arguments = parser.parse_args()
    complete = covered()
    said = list(answers(str(pathlib.Path(arguments.ddpsim).resolve()), arguments.python))
    if len(said) < len(CASES):
        print(f"{len(CASES) - len(said)} cases of modules are skipped: they need --python")

    print("\nstated GiB  said GiB  error %  fits  case")
    for case, result in said:
        stated = "-" if case["peak_gib"] is None else f"{case['peak_gib']:.2f}"
        told = "-" if result.allocated_gib is None else f"{result.allocated_gib:.2f}"
        error = "-" if result.error_percent is None else f"{result.error_percent:+.1f}"
        fits = "right" if result.fits == case["fits"] else "WRONG"
        print(f"{stated:>10}  {told:>8}  {error:>7}  {fits:5} {name_of(case)}")
        if result.code != 0:
            print(f"{'':38}{result.error}")

    answered = [(case, result) for case, result in said if result.error_percent is not None]
    if not answered:
        sys.exit("memory_cases.py: the program answered none of the cases")
    print()
    median = summary("ddpsim", [(abs(result.error_percent), name_of(case)) for case, result in answered])
    summary(
        "parameters, gradients and optimizer alone",
        [(abs(result.trivial_percent), name_of(case)) for case, result in answered],
    )
    fits_right = sum(result.fits == case["fits"] for case, result in said)
    near = sum(abs(result.error_percent) <= NEAR for _, result in answered) + sum(
        case["peak_gib"] is None and result.fits == case["fits"] for case, result in said
    )
    print(f"within {NEAR} % (or right about what does not fit): {near} of {len(said)}")
    print(f"fits or does not fit: {fits_right} of {len(said)} right")
    if arguments.check and (median > MOST_MEDIAN or near < LEAST_NEAR * len(said) or not complete):
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
