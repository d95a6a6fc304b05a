#!/usr/bin/env python3
"""Compares predicted gains of single settings with public measurements with and without each of them.

    settings.py SHARED --ddpsim build/release/cli/ddpsim

Rows are chosen by the facts that they state about the job, whatever they measured. The first table has the trainings
whose all-reduces and step without overlap are given. Rows for which inputs had to be assumed are shown apart, with the
assumptions. All other rows are listed with the facts that they lack.

A gain is a share of the step (or of the training) before the change. Its sign is right if it is the measured sign, or
if both gains are too small to be measured (2 %). Two simple predictors are shown for comparison. One says no effect,
within 2 %. For signs, the other knows the purpose of each setting: all gain except SyncBatchNorm. No value here was
used to choose a constant of the model, with one exception. The six trainings with and without overlap gave the slowdown
of NCCL while compute runs (rank_costs.py). Standard library only.
"""

import argparse
import collections
import csv
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import rank_costs

MEASURABLE = 2.0  # per cent
OPTIMIZER_US = 100e3  # assumed for the language model
SIGNS_AIM, INTERVALS_AIM = 90, 75
LANGUAGE_MODEL = "damek/cs336-assignment2-systems"
# For each method, the passes of the encoder with gradients; then the steps of a training
# (tests/cli/test_sync_batchnorm.py).
PASSES = {"MoCo": 1, "SimCLR": 2, "SimSiam": 2, "BarlowTwins": 2, "BYOL": 2, "SwaV": 2}
STEPS = 100 * (50_000 // 512)
# The rows state neither their GPU nor how ResNet-18 takes CIFAR's 32 x 32 pixels. It may take them as they are, with 49
# times less compute than for 224 x 224. Or it has a stem that keeps them, with 0.56 instead of 1.82 G multiplications
# (He et al. 2015, 4.2).
SYNCED_ON = (
    ("V100", "node:1 gpu:4xV100 nvlink:6x25GBps:mesh"),
    ("T4", "node:1 gpu:4xT4 pcie:12GBps"),
    ("A100", "node:1 gpu:4xA100 nvswitch:300GBps"),
)
SMALLER_IMAGES = (3.2, 49)
T4_JOB = "bert-base@T4:b16:fp32"
T4_ASSUMED = "128 tokens"
NANOGPT_MASKS = {"dtype": "float32", "bytes": 12 * 4 * 1024 * 1024, "tensors": 12}

LACKING = (
    ("flat all-reduce (no overlap)", "not DDP: nothing overlaps in either"),
    ("optimizer state sharding", "not DDP: ZeRO"),
    ("ZeroRedundancyOptimizer", "not DDP: ZeRO"),
    ("FSDP", "not DDP: FSDP"),
    ("overlap_comm", "not DDP: DeepSpeed"),
    ("channels_last", "one GPU: not communication"),
    ("kernel alone", "a kernel, not a step"),
    ("gradient_as_bucket_view", "GPU, ranks and batch not stated"),
    ("micro-benchmark", "a micro-benchmark: no step"),
    ("DDP implementation", "two implementations of 2018"),
    ("no_sync off -> wrong", "not a setting: code without effect"),
    ("Bagua-Net", "another transport"),
    ("PowerSGD", "parts of a hook taken out"),
    ("broadcast_buffers True", "model, GPU and ranks not stated"),
    ("set of DDP settings", "several settings, not named"),
    ("fp32 -> fp16", "GPU not known to the program"),
    ("NVLink removed", "another machine, of a GPU not known to the program"),
)


class Case:
    """A measured gain with its prediction. `coarse` is the possible rounding error of the measured gain in per cent."""

    def __init__(self, row, predicted, low, high, assumed="", coarse=0.0):
        self.row, self.predicted, self.low, self.high, self.assumed, self.coarse = (
            row,
            predicted,
            low,
            high,
            assumed,
            coarse,
        )
        self.source = row["source"].split("@")[0]
        slower_is_more = row["higher_is_better"] != "True" and row["before"]
        self.measured = 100 * (
            1 - (float(row["after"]) / float(row["before"]) if slower_is_more else 1 / float(row["speedup"]))
        )

    def sign(self, predicted):
        if abs(self.measured) <= MEASURABLE and abs(predicted) <= MEASURABLE:
            return True
        return self.measured * predicted > 0

    def holds(self, low, high):
        return low - self.coarse <= self.measured <= high + self.coarse


class Program(rank_costs.Program):
    def answer(self, *arguments):
        run = subprocess.run([self.ddpsim, *arguments, "--json"], capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def gain_of(self, name, *job):
        """The gain in a row of `advise` and the current step in us: value, low, high, step."""
        answer = self.answer("advise", *job)
        gain = next(row["gain_us"] for row in answer["rows"] if row["levers"] == [name])
        return gain["value"], gain["low"], gain["high"], answer["iteration_us"]


class LanguageModel:
    """The trainings of two GPUs. Their table of all-reduces and their steps without overlap are given."""

    def __init__(self, program, rows, folder):
        self.program, self.folder = program, folder
        self.alone = {
            row["batch"]: row
            for row in rows
            if row["source"].startswith(LANGUAGE_MODEL) and "overlap off" in row["lever"]
        }
        table, self.cluster = (os.path.join(folder, name) for name in ("table.csv", "cluster.json"))
        with open(table, "w", encoding="utf-8") as file:
            file.write(
                "bytes,time_us\n" + "".join(f"{mb}000000,{1e3 * ms}\n" for mb, ms in rank_costs.ALL_REDUCES_MS.items())
            )
        subprocess.run(
            [
                program.ddpsim,
                "calibrate",
                table + "@1x2",
                "--cluster",
                "node:1 gpu:2xA100 pcie:25GBps:p2p",
                "-o",
                self.cluster,
            ],
            check=True,
            capture_output=True,
        )

    def job(self, batch):
        sizes, row = rank_costs.language_model(), self.alone[batch]
        alone, wire = (1e6 * float(row[key]) for key in ("before", "comm_before"))
        backward, written, ready = (alone - wire - OPTIMIZER_US) * 2 / 3, 0, []
        for i in reversed(range(len(sizes))):
            written += sizes[i]
            ready.append({"parameter": i, "at_us": backward * written / sum(sizes)})
        path = os.path.join(self.folder, "workload.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "schema": "ddpsim.workload/1",
                    "name": "two GPUs",
                    "forward": {"duration_us": backward / 2},
                    "parameters": [
                        {"name": f"p{i}", "shape": [size], "dtype": "float32"} for i, size in enumerate(sizes)
                    ],
                    "backward": {"duration_us": backward, "ready": ready},
                    "optimizer": {"duration_us": OPTIMIZER_US},
                },
                file,
            )
        return [path, self.cluster, "--rank-slowdown", "0%"]

    def overlap(self, row):
        step = self.program.answer(
            "simulate", *self.job(row["batch"]), "--bucket-cap-mb", "0", "--torch", "2.4", "--gradient-as-bucket-view"
        )
        alone, (low, high) = 1e6 * float(row["before"]), step["confidence"]["interval_percent"]
        gains = [100 * (1 - step["iteration_us"] * (1 + percent / 100) / alone) for percent in (0, high, low)]
        return Case(row, *gains)

    def bucket_size(self, row):
        """Predicts another bucket size. The rows do not say whether the wrapper closes a bucket after the gradient that
        fills it.

        The prediction does so, as PyTorch does. The interval also covers closing it before that gradient.
        """
        before, after = (words.split()[0] for words in row["lever"].removeprefix("bucket size ").split(" -> "))
        job = self.job(row["batch"])
        answer = self.program.answer("tune", *job, "--bucket-cap-mb", before, "--torch", "2.6", "--caps", after)
        recommended, step = answer["recommended"], answer["today"]["iteration_us"]
        gain = recommended["most_robust_gain_us"] or recommended["gain_us"]
        value, low, high = (100 * gain[key] / step for key in ("value", "low", "high"))
        other = 100 * (1 - self.step_at_most(job, float(after)) / self.step_at_most(job, float(before)))
        return Case(row, value, min(low, other), max(high, other))

    def step_at_most(self, job, mib):
        limits, bucket = [], []
        for size in reversed(rank_costs.language_model()):
            if bucket and 4 * (sum(bucket) + size) > mib * 1048576:
                limits.append(4 * sum(bucket[:-1]) + 1)
                bucket = []
            bucket.append(size)
        limits.append(4 * sum(bucket[:-1]) + 1)
        step = self.program.answer(
            "simulate",
            *job,
            "--torch",
            "2.11",
            "--bucket-cap-mb-list",
            ",".join(f"{(limit + 0.5) / 1048576:.9f}" for limit in limits),
        )
        assert len(step["buckets"]) == len(limits), (mib, len(step["buckets"]), len(limits))
        return step["iteration_us"]


def share(row, gain, assumed):
    value, low, high, step = gain
    return Case(row, *(100 * us / step for us in (value, low, high)), assumed)


def no_sync(program, row):
    cluster, assumed = (
        ("node:2 gpu:1xT4 nic:1x10Gbps:tcp", ", 10 Gb/s")
        if row["nodes"] == "2"
        else ("node:1 gpu:2xT4 pcie:12GBps", ", PCIe 3.0 x16")
    )
    return share(row, program.gain_of("accumulate 4 under no_sync()", T4_JOB, cluster), T4_ASSUMED + assumed)


@functools.cache
def synced_gains(program, passes):
    return [
        program.gain_of(
            "BatchNorm in place of SyncBatchNorm",
            f"resnet18@{gpu}:b128",
            cluster,
            "--torch",
            "2.6",
            "--sync-batchnorm",
            "--accumulate",
            str(passes),
            "--compute-scale",
            str(scale),
        )
        for gpu, cluster in SYNCED_ON
        for scale in SMALLER_IMAGES
    ]


def sync_batchnorm(program, row):
    """The time that SyncBatchNorm adds, relative to the step measured without it.

    The value is the median over all jobs that the row may mean, and the interval covers them all.
    """
    values, lows, highs, _ = zip(*synced_gains(program, PASSES[row["model"].split()[0]]))
    training = 60e6 * float(row["before"]) / STEPS
    case = share(row, (-statistics.median(values), -max(highs), -min(lows), training), "V100, T4 or A100; two stems")
    case.coarse = 100 / float(row["before"])  # times in whole minutes
    return case


def masks(program, row, folder):
    path = os.path.join(folder, "nanogpt.json")
    subprocess.run([program.ddpsim, "import", "gpt2@RTX3090:b12:amp", "-o", path], check=True, capture_output=True)
    with open(path, encoding="utf-8") as file:
        workload = json.load(file)
    workload["buffers"] = [NANOGPT_MASKS]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(workload, file)
    return share(
        row,
        # Enough memory, because batch and attention are assumed.
        program.gain_of(
            "broadcast_buffers=False", path, "node:1 gpu:8xRTX3090 pcie:25GBps:no-p2p", "--memory", "40GiB"
        ),
        "batch 12, fp16, PCIe 4.0 x16",
    )


def cases(program, rows, folder):
    """The cases of all rows that can be predicted, and counts of the others by the fact that they lack."""
    language_model, found, lacking = LanguageModel(program, rows, folder), [], collections.Counter()
    for row in rows:
        setting, ours = row["lever"], row["source"].startswith(LANGUAGE_MODEL)
        if ours and setting.startswith("overlap off"):
            found.append(language_model.overlap(row))
        elif ours and setting.startswith("bucket size"):
            found.append(language_model.bucket_size(row))
        elif setting.startswith("no_sync off->on"):
            found.append(no_sync(program, row))
        elif setting == "SyncBatchNorm off->on":
            found.append(sync_batchnorm(program, row))
        elif setting.startswith("causal mask excluded"):
            found.append(masks(program, row, folder))
        else:
            lacking[next((why for part, why in LACKING if part in setting), "**not looked at**")] += 1
    return found, lacking


def score(name, chosen):
    by_source = collections.defaultdict(list)
    for case in chosen:
        by_source[case.source].append(case)

    def percents(right):
        of_all = 100 * statistics.fmean(map(right, chosen))
        of_sources = 100 * statistics.fmean(statistics.fmean(map(right, of)) for of in by_source.values())
        return f"{of_all:.0f} %; {of_sources:.0f} %"

    def off(predicted):
        return f"{statistics.median(abs(predicted(case) - case.measured) for case in chosen):.1f} points"

    def usual(case):
        return -100 if "SyncBatchNorm" in case.row["lever"] else 100

    large = [case for case in chosen if abs(case.measured) > MEASURABLE]
    cells = (
        name,
        f"{len(chosen)}, {len(large)}; {len(by_source)}",
        percents(lambda case: case.sign(case.predicted)),
        percents(lambda case: case.holds(case.low, case.high)),
        off(lambda case: case.predicted),
        percents(lambda case: case.sign(usual(case))),
        percents(lambda case: case.sign(0)),
        percents(lambda case: case.holds(-MEASURABLE, MEASURABLE)),
        off(lambda case: 0),
    )
    return [f"| {' | '.join(cells)} |"]


def tables(found, lacking):
    stated, assumed = ([case for case in found if bool(case.assumed) == which] for which in (False, True))
    lines = [
        "| source | setting | batch | measured gain | predicted | interval | sign | held | assumed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in found:
        sign, held = case.sign(case.predicted), case.holds(case.low, case.high)
        cells = (
            case.source,
            case.row["lever"].split(" (")[0],
            case.row["batch"][:14],
            f"{case.measured:+.1f} %",
            f"{case.predicted:+.1f} %",
            f"{case.low:+.1f} to {case.high:+.1f} %",
            "right" if sign else "wrong",
            "yes" if held else "no",
            case.assumed,
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| rows (each row once; each source once) | n, of them over 2 %; sources | sign right | 80 % interval holds "
        "| median off by | what settings are for: sign | no effect: sign | within 2 % | off by |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups = (
        ("step and all-reduces measured; the optimizer taken for 100 ms", stated),
        ("inputs of the job assumed", assumed),
        ("all", found),
    )
    for name, chosen in groups:
        if chosen:
            lines += score(name, chosen)
    lines += [
        f"\naimed at: signs {SIGNS_AIM} %, intervals {INTERVALS_AIM} %",
        f"\nnot predicted: {sum(lacking.values())} rows",
    ]
    lines += [f"- {count}: {why}" for why, count in lacking.most_common()]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("shared")
    parser.add_argument("--ddpsim", required=True)
    arguments = parser.parse_args()
    path = os.path.join(arguments.shared, "data", "levers", "levers.csv")
    if not os.path.exists(path):
        sys.exit(print(f"skipped: {path} is not there"))
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(tables(*cases(Program(arguments.ddpsim), rows, folder))))


if __name__ == "__main__":
    main()
