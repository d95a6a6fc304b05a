#!/usr/bin/env python3
"""Compares predicted gains of single settings with public measurements with and without each of them.

    settings.py SHARED --ddpsim build/release/cli/ddpsim

setting_rows.py reads a row's change, and scheme_rows.py the jobs before and after it, by the words that it states. Some
sources state the step without overlap and their own all-reduces (given_steps.py); the first table has these. The others
take their compute from the estimate, and usual values are named. Rows that cannot be read are listed by reason.

A gain is a share of the step before the change. Its sign is right if it is the measured sign, or if both gains are
too small to be measured (2 %). Two simple predictors are shown for comparison. One says no effect, within 2 %. For
signs, the other knows the purpose of each setting: all gain except SyncBatchNorm and sharding. No value here was used
to choose a constant of the model, with one exception. Six trainings with and without overlap gave the slowdown of
NCCL while compute runs (rank_costs.py). Standard library only.
"""

import argparse
import collections
import csv
import os
import statistics
import sys
import tempfile

import scheme_rows
from given_steps import GPU, GivenSteps, turns_overlap_on
from row_words import NotPredicted, Words
from scheme_names import scheme_of
from scheme_options import ddp_options
from scheme_program import Predictor, Program
from setting_rows import measured_gain, number_of, sides_of

MEASURABLE = 2.0  # per cent
SIGNS_AIM, INTERVALS_AIM = 90, 75
# The names that `advise` has for a change from the first value to the second.
ADVISED = {
    "syncs_each": "accumulate {micro_batches} under no_sync()",
    "broadcast_buffers": "broadcast_buffers=False",
    "bucket_view": "gradient_as_bucket_view=True",
    "static_graph": "static_graph=True",
}
COSTS = ("sync_batchnorm",)  # a setting for another purpose than speed


class Case:
    """A measured gain with its prediction, in per cent."""

    def __init__(self, row, predicted, low, high, assumed="", given=False):
        self.row, self.predicted, self.low, self.high = row, predicted, min(low, high), max(low, high)
        self.assumed, self.given = assumed, given
        self.source = (row.get("source") or "").split("@")[0]
        self.measured = measured_gain(row)
        words = Words(sides_of(row)[1])
        self.usual = -100 if any(words.get(cost) for cost in COSTS) or words.has("scheme", "zero_redundancy") else 100

    def sign(self, predicted):
        if abs(self.measured) <= MEASURABLE and abs(predicted) <= MEASURABLE:
            return True
        return self.measured * predicted > 0

    def holds(self, low, high):
        return low <= self.measured <= high


class Settings:
    """Predicts rows of one changed setting."""

    def __init__(self, program, rows, folder):
        self.program, self.rows = program, rows
        self.predictor, self.given = Predictor(program, folder), GivenSteps(program.path, rows, folder)

    def case(self, row):
        measured_gain(row)
        before, after = sides_of(row)
        try:
            jobs = [scheme_rows.job_of(side) for side in (before, after)]
        except NotPredicted as reason:
            if str(reason) != "GPU not stated":
                raise
            return self.of_given_step(row, before, after)
        if jobs[0] == jobs[1]:
            raise NotPredicted("the change is none for the program")
        return self.advised(row, *jobs) or self.of_two_steps(row, *jobs)

    def advised(self, row, before, after):
        """The gain that `advise` says, with its interval, if it knows the change."""
        sides = [Words(side) for side in sides_of(row)]
        changed = [concept for concept in ADVISED if sides[0].get(concept) != sides[1].get(concept)]
        if len(changed) != 1 or before.scheme != "ddp":
            return None
        answer = self.program("advise", self.predictor.workload(before), before.cluster, *before.options, "--json")
        name = ADVISED[changed[0]].format(micro_batches=before.micro_batches)
        gain = next((one["gain_us"] for one in answer["rows"] if one["levers"] == [name]), None)
        if gain is None:
            return None
        shares = [100 * gain[key] / answer["iteration_us"] for key in ("value", "low", "high")]
        return Case(row, *shares, ", ".join(after.assumed))

    def of_two_steps(self, row, before, after):
        """The gain between two estimated steps. Their errors are taken as independent."""
        steps = [self.predictor.step_s(job) for job in (before, after)]
        (low_a, high_a), (low_b, high_b) = (self.interval(job) for job in (before, after))
        gains = (steps[1] / steps[0], steps[1] * high_b / (steps[0] * low_a), steps[1] * low_b / (steps[0] * high_a))
        return Case(row, *(100 * (1 - gain) for gain in gains), ", ".join(after.assumed))

    def interval(self, job):
        percents = self.predictor.simulate(job)["interval_percent"]
        return [1 + percent / 100 for percent in percents]

    def of_given_step(self, row, before, after):
        job = self.given.job(row)
        sides = [Words(side | {"gpu": GPU, "network": "PCIe"}) for side in (before, after)]
        names = [scheme_of(side, 1) for side in sides]
        for side in sides:
            side.check()
        if sides[0].get("bucket_mb") and sides[1].get("bucket_mb"):
            return self.bucket_size(row, job, *(side.get("bucket_mb") for side in sides))
        steps = [self.given_step(job, side, name) for side, name in zip(sides, names)]
        alone = 1e6 * number_of(self.given.alone_of(row)["before"])
        first = (alone, 0, 0) if turns_overlap_on(row) else steps[0]
        gains = [steps[1][0] * (1 + percent / 100) / first[0] for percent in (0, steps[1][1], steps[1][2])]
        return Case(row, *(100 * (1 - gain) for gain in gains), given=True)

    def given_step(self, job, words, name):
        """The step in us and its interval in per cent."""
        if name == "naive":
            late = words.get("overlap") is False or words.get("when") == "backward" or words.get("flat")
            options = [
                "--scheme",
                f"naive:when={'backward' if late else 'gradient'}" + (",flat=true" if words.get("flat") else ""),
            ]
        elif name == "zero_redundancy":
            options = ["--scheme", name]
        else:
            options = ddp_options(words, name)
        step = self.program("simulate", *job, *options, "--json")
        return step["iteration_us"], *step["interval_percent"]

    def bucket_size(self, row, job, before, after):
        """Predicts another bucket size. The rows do not say whether the wrapper closes a bucket after the gradient that
        fills it.

        The prediction does so, as PyTorch does. The interval also covers closing it before that gradient.
        """
        answer = self.program(
            "tune", *job, "--bucket-cap-mb", f"{before:g}", "--torch", "2.6", "--caps", f"{after:g}", "--json"
        )
        recommended, step = answer["recommended"], answer["today"]["iteration_us"]
        gain = recommended["most_robust_gain_us"] or recommended["gain_us"]
        value, low, high = (100 * gain[key] / step for key in ("value", "low", "high"))
        other = 100 * (1 - self.step_at_most(row, job, after) / self.step_at_most(row, job, before))
        return Case(row, value, min(low, other), max(high, other), given=True)

    def step_at_most(self, row, job, mib):
        limits, bucket = [], []
        for size in reversed(self.given.sizes(row)):
            if bucket and 4 * (sum(bucket) + size) > mib * 2**20:
                limits.append(4 * sum(bucket[:-1]) + 1)
                bucket = []
            bucket.append(size)
        limits.append(4 * sum(bucket[:-1]) + 1)
        caps = ",".join(f"{(limit + 0.5) / 2**20:.9f}" for limit in limits)
        step = self.program("simulate", *job, "--torch", "2.11", "--bucket-cap-mb-list", caps, "--json")
        assert step["bucket_count"] == len(limits), (mib, step["bucket_count"], len(limits))
        return step["iteration_us"]


def cases(settings):
    """The cases of all rows that can be predicted, and counts of the others by reason."""
    found, lacking = [], collections.Counter()
    for row in settings.rows:
        try:
            found.append(settings.case(row))
        except NotPredicted as reason:
            lacking[str(reason)] += 1
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

    large = [case for case in chosen if abs(case.measured) > MEASURABLE]
    cells = (
        name,
        f"{len(chosen)}, {len(large)}; {len(by_source)}",
        percents(lambda case: case.sign(case.predicted)),
        percents(lambda case: case.holds(case.low, case.high)),
        off(lambda case: case.predicted),
        percents(lambda case: case.sign(case.usual)),
        percents(lambda case: case.sign(0)),
        percents(lambda case: case.holds(-MEASURABLE, MEASURABLE)),
        off(lambda case: 0),
    )
    return [f"| {' | '.join(cells)} |"]


def tables(found, lacking):
    lines = [
        "| source | setting | batch | measured gain | predicted | interval | sign | held | assumed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in found:
        sign, held = case.sign(case.predicted), case.holds(case.low, case.high)
        cells = (
            case.source,
            case.row["lever"].split(" (")[0],
            (case.row.get("batch") or "")[:14],
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
        ("step and all-reduces measured; the optimizer taken for 100 ms", [case for case in found if case.given]),
        ("compute estimated", [case for case in found if not case.given]),
        ("all", found),
    )
    for name, chosen in groups:
        if chosen:
            lines += score(name, chosen)
    lines += [
        f"\naimed at: signs {SIGNS_AIM} %, intervals {INTERVALS_AIM} %",
        f"\nnot predicted: {sum(lacking.values())} rows",
    ]
    lines += [f"- {count}: {why}" for why, count in sorted(lacking.items(), key=lambda item: (-item[1], item[0]))]
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
        print("\n".join(tables(*cases(Settings(Program(arguments.ddpsim, folder, None), rows, folder)))))


if __name__ == "__main__":
    main()
