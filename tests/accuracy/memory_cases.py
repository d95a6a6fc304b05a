#!/usr/bin/env python3
"""Compares peak memory that others published with that of `simulate`, in thirty cases that fitted nothing.

    tests/accuracy/memory_cases.py DDPSIM [--check]

For each case, memory_cases.json has the command, the published peak in GiB, and whether the job ran. The peaks were
read from torch.cuda.max_memory_allocated(), so they are compared with `allocated_bytes`. Some sources give the peak
before the optimizer's step (`before_step`); then the temporary memory of that step is left out. A job fits if its
`peak_bytes` is at most the memory of the GPU. If it does not fit, `simulate` ends with exit code 3. If a source does
not name its optimizer or attention, the program's defaults are used. With --check, the exit code is 4 if a limit below
is not met. Standard library only.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from quantile import quantile

HERE = pathlib.Path(__file__).parent
CASES = json.loads((HERE / "memory_cases.json").read_text(encoding="utf-8"))
MOST_MEDIAN = 7  # per cent
NEAR = 15  # per cent
# At least this many of 30 cases must be near. A case without a published peak counts if it is right about whether the
# job fits.
LEAST_NEAR = 27
GIB = 1 << 30


class Said:
    """The program's answer to a case."""

    def __init__(self, program, case):
        ran = subprocess.run(
            [program, "simulate", *case["command"], "--json"], cwd=HERE, capture_output=True, encoding="utf-8"
        )
        self.code, self.error = ran.returncode, " ".join(ran.stderr.split())
        memory = json.loads(ran.stdout)["memory"] if self.code == 0 else {}
        self.allocated_gib = memory["allocated_bytes"] / GIB if memory else None
        if memory and case.get("before_step") and memory["at"] == "optimizer":
            self.allocated_gib -= memory["parts"]["temporaries_bytes"] / GIB
        self.peak_gib = memory["peak_bytes"] / GIB if memory.get("peak_bytes") else None
        # Exit code 3 may have other reasons.
        self.fits = True if self.code == 0 else False if "GiB" in self.error or "memory" in self.error else None
        self.error_percent = None
        if case["peak_gib"] is not None and memory:
            self.error_percent = 100 * (self.allocated_gib / case["peak_gib"] - 1)


def name_of(case):
    return " ".join(case["command"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ddpsim")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    said = [(case, Said(str(pathlib.Path(arguments.ddpsim).resolve()), case)) for case in CASES]

    print("stated GiB  said GiB  error %  fits  case")
    for case, result in said:
        stated = "-" if case["peak_gib"] is None else f"{case['peak_gib']:.2f}"
        told = "-" if result.allocated_gib is None else f"{result.allocated_gib:.2f}"
        error = "-" if result.error_percent is None else f"{result.error_percent:+.1f}"
        fits = "right" if result.fits == case["fits"] else "WRONG"
        print(f"{stated:>10}  {told:>8}  {error:>7}  {fits:5} {name_of(case)}")
        if result.code != 0:
            print(f"{'':38}{result.error}")

    stated = [(case, result) for case, result in said if case["peak_gib"] is not None]
    errors = sorted(
        (abs(result.error_percent), name_of(case)) for case, result in stated if result.error_percent is not None
    )
    if not errors:
        sys.exit("memory_cases.py: the program answered none of the cases")
    sizes = [error for error, _ in errors]
    fits_right = sum(result.fits == case["fits"] for case, result in said)
    near = sum(error <= NEAR for error in sizes) + sum(
        case["peak_gib"] is None and result.fits == case["fits"] for case, result in said
    )
    median = statistics.median(sizes)
    print(
        f"\n{len(sizes)} of {len(stated)} stated peaks answered: median {median:.1f} %, p90 {quantile(sizes, 0.9):.1f} %, "
        f"worst {sizes[-1]:.1f} % ({errors[-1][1]})"
    )
    print(f"within {NEAR} % (or right about what does not fit): {near} of {len(said)}")
    print(f"fits or does not fit: {fits_right} of {len(said)} right")
    if arguments.check and (median > MOST_MEDIAN or near < LEAST_NEAR):
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
