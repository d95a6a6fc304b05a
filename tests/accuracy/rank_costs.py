#!/usr/bin/env python3
"""Compares the cost of several ranks with public measurements that isolate it.

    rank_costs.py SHARED --ddpsim build/release/cli/ddpsim

1. Fleets: the slowest of n GPUs over the median, drawn from measured values of each GPU (data/ranks/spread_raw.csv).
   It is compared with gpu_spread times the expected maximum of n normal draws.
2. Jobs of Megatron-LM with a time per rank (data/ranks/perrank_jobs.csv): the loss of their steps beyond the logged
   synchronisation of gradients.
3. PyTorch DDP on B200 (data/ranks/weakscale_ddp.csv): whole steps on 1 to 16 GPUs, predicted from the step of one GPU.
4. MLPerf submissions at two scales (data/ranks/mlperf_pairs.csv), whose runs agree within 1 %.
5. Trainings with and without overlap whose source states the step without and its own table of all-reduces
   (given_steps.py).

None of these values was used to choose several_gpus and several_nodes. The fleets of 1 gave gpu_spread, the trainings
of 5 the slowdown of NCCL while compute runs, and 4 together with published steps gave per_doubling. Each is compared
with predictors that know no mechanism. Standard library only.
"""

import argparse
import collections
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

from given_steps import GivenSteps
from published_scaling import EXPECTED_MAXIMUM

GPU_SPREADS = {"V100": 0.015, "RTX PRO": 0.007}  # rank_slowdown.cpp
OTHER_GPU_SPREAD = 0.011
SEVERAL_GPUS, SEVERAL_NODES, PER_DOUBLING = 0.026, 0.035, 0.01  # rank_slowdown.hpp
DRAWS = 2000
MOST_RUN_CV = 0.01


def gpu_spread(gpu):
    return next((spread for name, spread in GPU_SPREADS.items() if name in gpu), OTHER_GPU_SPREAD)


def slowdown(gpu, gpus, nodes, accumulate=1):
    """Extra compute as shares of compute: for the slowest GPU, and the rest of the multi-GPU overhead."""
    if gpus == 1:
        return 0, 0
    return (
        gpu_spread(gpu) * EXPECTED_MAXIMUM(gpus),
        (SEVERAL_GPUS + SEVERAL_NODES * (1 - 1 / nodes) + PER_DOUBLING * math.log2(nodes)) / accumulate,
    )


def constant(gpus, nodes):
    """The former rule: 4.5 % on several ranks, and 2.5 % more for each doubling of the nodes."""
    return 0 if gpus == 1 else 0.045 + 0.025 * math.log2(nodes)


def ranks(shared):
    return os.path.join(shared, "data", "ranks")


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.exit(print(f"skipped: {path} is not there"))
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rmse(errors):
    return math.sqrt(statistics.fmean(e * e for e in errors))


def fleets(shared):
    values = collections.defaultdict(list)
    for row in read(ranks(shared), "spread_raw.csv"):
        values[row["gpu"], row["workload"].split(",")[0], row["metric"]].append(float(row["rel_to_fleet_median"]))
    lines = [
        "| the slowest of n GPUs over the median | GPUs | n = 2 | 8 | 64 | taken for 2, 8, 64 |",
        "|---|---|---|---|---|---|",
    ]
    for (gpu, workload, metric), fleet in sorted(values.items()):
        middle, draw = statistics.median(fleet), random.Random(1)
        drawn = [
            100 * (statistics.fmean(max(draw.choices(fleet, k=n)) for _ in range(DRAWS)) / middle - 1)
            for n in (2, 8, 64)
        ]
        taken = [100 * gpu_spread(gpu) * EXPECTED_MAXIMUM(n) for n in (2, 8, 64)]
        lines.append(
            f"| {gpu}, {workload}, {metric} | {len(fleet)} | "
            + " | ".join(f"{value:.2f} %" for value in drawn)
            + " | "
            + ", ".join(f"{value:.1f}" for value in taken)
            + " % |"
        )
    return lines


def megatron(shared):
    """Loss relative to the median of the one-GPU jobs, and to the median rank of the same job.

    Both are shown because jobs ran on different nodes, whose one-GPU steps differ by 3 %.
    """
    rows = read(ranks(shared), "perrank_jobs.csv")
    lines = [
        "| Megatron-LM, 32 micro-batches a step: loss beyond logged synchronisation | jobs | mechanisms | 4.5 % + 2.5 % a "
        "doubling | nothing | best constant |",
        "|---|---|---|---|---|---|",
    ]
    for gpu in sorted({row["gpu"] for row in rows}):
        jobs = [row for row in rows if row["gpu"] == gpu]

        def computing(row):
            return float(row["elapsed_ms_median"]) - float(row["all_grads_sync_ms"])

        ones = [row for row in jobs if row["n_gpus"] == "1"]
        alone = statistics.median(map(computing, ones))
        around = statistics.median(computing(row) / float(row["compute_ms_rank_median"]) for row in ones)
        several = [row for row in jobs if row["n_gpus"] != "1"]
        for over, loss in (
            ("one-GPU jobs", lambda row: computing(row) / alone - 1),
            ("the job's middle rank", lambda row: computing(row) / float(row["compute_ms_rank_median"]) / around - 1),
        ):
            losses = [100 * loss(row) for row in several]
            sizes = [(int(row["n_gpus"]), int(row["nodes"])) for row in several]
            best = statistics.fmean(losses)
            cells = [
                rmse([m - 100 * p for m, p in zip(losses, predicted)])
                for predicted in (
                    [sum(slowdown(gpu, n, k, 32)) for n, k in sizes],
                    [constant(n, k) for n, k in sizes],
                    [0] * len(sizes),
                )
            ]
            cells.append(rmse([m - best for m in losses]))
            lines.append(
                f"| {gpu}, over {over} | {len(several)} | RMSE " + " | ".join(f"{cell:.2f}" for cell in cells) + " |"
            )
    return lines


class Program:
    def __init__(self, ddpsim):
        self.ddpsim = ddpsim

    def step(self, *arguments):
        run = subprocess.run(
            [self.ddpsim, "simulate", *arguments, "--json"], capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            sys.exit(f"{' '.join(arguments)}\n{run.stderr}")
        return json.loads(run.stdout)


def compute_of(step):
    return step["forward_us"] - step["buffer_broadcast_us"] + step["backward_compute_us"] + step["optimizer_us"]


def weak_scaling(shared, program):
    """Predicts from the step of one GPU under DDP with the same model and batch."""
    rows = [row for row in read(ranks(shared), "weakscale_ddp.csv") if row["gpu"].startswith("B200")]
    steps = collections.defaultdict(dict)
    for row in rows:
        if row["scaling"] == "weak":
            steps[row["model"], row["per_gpu_batch"]][int(row["n_gpus"])] = float(row["p50_step_s"]) * 1e3
    lines = [
        "| PyTorch DDP on B200 | GPUs | measured loss | mechanisms | interval | 4.5 % + 2.5 % a doubling | nothing |",
        "|---|---|---|---|---|---|---|",
    ]
    held, apart = [], collections.defaultdict(list)
    for (model, batch), by_gpus in sorted(steps.items()):
        workload, alone = f"{model}@B200:b{batch}:amp", by_gpus[1]
        # The step of one GPU is given, and what its host takes is in it.
        given = ("--launch-cost", "0us")
        one = program.step(workload, "b200", "--nodes", "1", "--gpus-per-node", "1", *given)
        scale = compute_of(one) / 1e3 / (alone - (one["iteration_us"] - compute_of(one)) / 1e3)
        for gpus, measured in sorted(by_gpus.items()):
            if gpus == 1:
                continue
            nodes = max(1, gpus // 8)
            arguments = [
                workload,
                "b200",
                *given,
                "--nodes",
                str(nodes),
                "--gpus-per-node",
                "8",
                "--compute-scale",
                f"{scale:.6f}±{0.01 * scale:.6f}",
            ]
            step = program.step(*arguments)
            low, high = (step["iteration_us"] / 1e3 * (1 + p / 100) for p in step["confidence"]["interval_percent"])
            held.append(low <= measured <= high)
            shown = []
            for name, predicted in (
                ("mechanisms", step),
                ("nothing", program.step(*arguments, "--rank-slowdown", "0%")),
                ("constant", program.step(*arguments, f"--rank-slowdown={100 * constant(gpus, nodes):.3f}%")),
            ):
                loss = 100 * (predicted["iteration_us"] / 1e3 / alone - 1)
                apart[name].append(loss - 100 * (measured / alone - 1))
                shown.append(loss)
            lines.append(
                f"| {model}, batch {batch} | {gpus} | {100 * (measured / alone - 1):.1f} % | {shown[0]:.1f} % | "
                f"{100 * (low / alone - 1):+.1f} to {100 * (high / alone - 1):+.1f} % | {shown[2]:.1f} % | "
                f"{shown[1]:.1f} % |"
            )
    lines.append(
        f"| RMSE, points | {len(held)} | | {rmse(apart['mechanisms']):.2f} | {sum(held)} held | "
        f"{rmse(apart['constant']):.2f} | {rmse(apart['nothing']):.2f} |"
    )
    return lines


def mlperf(shared):
    """Compares compute only. The networks of these systems add more."""
    lines = [
        "| MLPerf, one submitter at two scales | pairs | median error of efficiency | p90 | 4.5 % + 2.5 % a doubling "
        "| efficiency 1 | 0.97 |",
        "|---|---|---|---|---|---|---|",
    ]
    pairs = [
        row
        for row in read(ranks(shared), "mlperf_pairs.csv")
        if row["accelerator_kind"] == "GPU"
        and float(row["base_run_cv"]) < MOST_RUN_CV
        and float(row["run_cv"]) < MOST_RUN_CV
    ]
    for kind, members in (
        ("SXM", [p for p in pairs if "SXM" in p["gpu"]]),
        ("PCIe", [p for p in pairs if "SXM" not in p["gpu"]]),
    ):
        errors = collections.defaultdict(list)
        for pair in members:
            sizes = [
                (int(pair[key]), max(1, int(pair[key]) // int(pair["accelerators_per_node"])))
                for key in ("base_n_gpus", "n_gpus")
            ]
            accumulate = int(pair["grad_accum"] or 1)
            base, here = (1 + sum(slowdown(pair["gpu"], *size, accumulate)) for size in sizes)
            before, after = (1 + constant(*size) for size in sizes)
            for name, predicted in (
                ("mechanisms", base / here),
                ("constant", before / after),
                ("one", 1),
                ("0.97", 0.97),
            ):
                errors[name].append(100 * abs(predicted - float(pair["weak_efficiency"])))
        if not members:
            continue
        tail = sorted(errors["mechanisms"])[math.ceil(0.9 * len(members)) - 1]
        lines.append(
            f"| {kind} | {len(members)} | {statistics.median(errors['mechanisms']):.1f} points | {tail:.1f} | "
            + " | ".join(f"{statistics.median(errors[name]):.1f}" for name in ("constant", "one", "0.97"))
            + " |"
        )
    return lines


# The optimizer, an AdamW in Python, was not timed.
OPTIMIZERS_US = (50e3, 100e3, 150e3)


def overlap(shared, program, folder):
    rows = read(os.path.join(shared, "data", "levers"), "levers.csv")
    given = GivenSteps(program.ddpsim, rows, folder)

    def errors(optimizer, *options):
        found = []
        for row in given.alone.values():
            alone, overlapped = (1e6 * float(row[key]) for key in ("before", "after"))
            buckets = ("--bucket-cap-mb", "0", "--torch", "2.4", "--gradient-as-bucket-view")
            step = program.step(*given.job(row, optimizer), *buckets, *options)
            found.append((step["iteration_us"] - overlapped) / alone)
        return f"{statistics.median(found):+.3f}, worst {max(found, key=abs):+.3f}"

    lines = [
        "| step with overlap over step without, six settings | optimizer taken for | as predicted | NCCL not slowed by compute |",
        "|---|---|---|---|",
    ]
    for optimizer in OPTIMIZERS_US:
        lines.append(
            f"| off by | {optimizer / 1e3:.0f} ms | {errors(optimizer)} | {errors(optimizer, '--interference', 'nccl:1')} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("shared")
    parser.add_argument("--ddpsim", required=True)
    arguments = parser.parse_args()
    program = Program(arguments.ddpsim)
    with tempfile.TemporaryDirectory() as folder:
        for lines in (
            fleets(arguments.shared),
            megatron(arguments.shared),
            weak_scaling(arguments.shared, program),
            mlperf(arguments.shared),
            overlap(arguments.shared, program, folder),
        ):
            print("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
