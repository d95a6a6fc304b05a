#!/usr/bin/env python3
"""Compares `compare` with pairs of clusters that ran the same published job: which trains faster, and by how much?

    published_pairs.py SHARED --ddpsim build/release/cli/ddpsim [--rows FILE]

There are two kinds of pairs. They use the rows that published_rows.py scores, and those of stacks that lose much:

  sizes     One stack on two numbers of nodes. Its published value at the smallest number of GPUs, mostly one, is given.

  machines  One source's model, batch, precision and framework on two kinds of clusters. Only the first cluster's value
  on
            one GPU is given. It is converted to the other GPU, whose own step is unknown.

For each kind the output tells how many pairs are decided (the interval does not hold both orders), and how many of
these are ordered as published. It also has the coverage of intervals for the published ratio, and the error of the
ratio.

Simple predictors take every GPU to be worth the same (sizes), or its peak rate (machines). Pairs that differ by more
than 1.5 times are also shown alone, because their order is obvious anyway. Standard library only.
"""

import argparse
import collections
import concurrent.futures
import csv
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

from behind_figures import with_scripts
from published_rows import (
    assumed_cluster_of,
    cap_of,
    cluster_of,
    gpu_of,
    precision_of,
    select,
    sequence_of,
    series,
    step_seconds,
)
from published_scaling import BASELINE_NOISE, Predictor, line_of, rules_of
from quantile import quantile

CLOSE = 1.5
PEAK = {
    ("P100", "fp32"): 9.5,
    ("V100", "fp32"): 15.7,
    ("V100", "amp"): 125,
    ("A100", "fp32"): 19.5,
    ("A100", "tf32"): 156,
    ("A100", "amp"): 312,
}  # TFLOP/s


def speed(row):
    gpus = int(row["n_gpus"])
    return int(row["per_gpu_batch"]) * gpus / step_seconds(row, float(row["value_ngpu"]), gpus)


def per_node(row):
    return int(row["n_gpus"]) // int(row["nodes"])


def machine(row):
    return cluster_of(row) or assumed_cluster_of(row)


def job_of(row):
    """The key of a job. Rows of one job differ only in the cluster, as far as the table says."""
    return (
        row["source"],
        row["model"],
        row["per_gpu_batch"],
        precision_of(row),
        sequence_of(row),
        cap_of(row),
        re.sub(r" \(.*", "", row["framework"]),
        row["metric"],
    )


def pairs_of(rows):
    """Pairs of rows with their kind. The first row's step on its smallest number of GPUs is given."""
    found = []
    by_series = collections.defaultdict(list)
    for row in rows:
        by_series[series(row)].append(row)
    for members in by_series.values():
        members.sort(key=lambda row: int(row["n_gpus"]))
        for a, b in itertools.combinations(members, 2):
            if per_node(a) == per_node(b) and a["nodes"] != b["nodes"]:
                found.append(("sizes", a, b))
    by_job = collections.defaultdict(list)
    for row in rows:
        by_job[job_of(row)].append(row)
    for members in by_job.values():
        for a, b in itertools.permutations(members, 2):
            if machine(a) != machine(b) and a["baseline_gpus"] == "1" and a["nodes"] == b["nodes"]:
                found.append(("machines", a, b))
    return found


def words_of(row):
    cluster = machine(row)
    if ":" in cluster:
        return line_of(cluster, int(row["nodes"]), per_node(row))
    return f"{cluster}@{row['nodes']}"


class Comparer(Predictor):
    def compare(self, kind, a, b):
        """The predicted speed of `b` over that of `a`, with low and high; None if the given step leaves no room for
        compute."""
        scale = self.scale_for(a, None)
        if scale is None:
            return None
        command = [
            self.ddpsim,
            "compare",
            self.workload(a),
            "a=" + words_of(a),
            "b=" + words_of(b),
            "--no-tune",
            "--json",
            "--compute-scale",
            f"{gpu_of(a)}:{scale:.9f}±{BASELINE_NOISE * scale:.9f}",
        ]
        if kind == "sizes" and ":" not in machine(a):
            command += ["--gpus-per-node", str(per_node(a))]
        if gpu_of(a) != gpu_of(b):
            command += ["--gpu", gpu_of(b)]
        run = subprocess.run(command + rules_of(a) + self.extra, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{run.stderr}")
        answer = json.loads(run.stdout)
        rows = {row["label"]: row for row in answer["rows"]}
        if "error" in rows["a"] or "error" in rows["b"]:
            return None
        behind = rows["b" if answer["rows"][answer["by_speed"][0]]["label"] == "a" else "a"]
        ratio, low, high = (1 + behind["behind_percent"][k] / 100 for k in ("value", "low", "high"))
        if behind["label"] == "b":
            return 1 / ratio, 1 / high, 1 / low if low > 0 else math.inf
        return ratio, low, high


def blind(kind, a, b):
    ratio = int(b["n_gpus"]) / int(a["n_gpus"])
    if kind == "machines":
        ratio *= PEAK[gpu_of(b), precision_of(b)] / PEAK[gpu_of(a), precision_of(a)]
    return ratio


def line(name, cases):
    if not cases:
        return f"| {name} | 0 | | | | | | | |"
    decided = [c for c in cases if c["low"] > 1 or c["high"] < 1]
    right = [c for c in decided if (c["low"] > 1) == (c["measured"] > 1)]
    held = [c for c in cases if c["low"] <= c["measured"] <= c["high"]]

    def errors(of):
        return [abs(math.log(of(c) / c["measured"])) for c in cases]

    own, other = errors(lambda c: c["predicted"]), errors(lambda c: c["blind"])
    guessed = sum((c["blind"] > 1) == (c["measured"] > 1) for c in cases)
    return (
        f"| {name} | {len(cases)} | {100 * len(decided) / len(cases):.0f} % | "
        + (f"{100 * len(right) / len(decided):.0f} %" if decided else "-")
        + f" | {100 * len(held) / len(cases):.0f} % | {100 * statistics.median(own):.1f} % | "
        f"{100 * quantile(own, 0.9):.1f} % | {100 * statistics.median(other):.1f} %, p90 "
        f"{100 * quantile(other, 0.9):.1f} % | {100 * guessed / len(cases):.0f} % |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared")
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--rows")
    parser.add_argument("--option", action="append", default=[])
    options = parser.parse_args()
    path = os.path.join(options.shared, "data", "published-scaling", "scaling-shared.csv")
    if not os.path.exists(path):
        print(f"skipped: {path} is not there")
        return 0
    with open(path, encoding="utf-8") as file:
        scored, lossy, _, _ = select(with_scripts(list(csv.DictReader(file))))
    pairs = pairs_of(scored + lossy)
    with tempfile.TemporaryDirectory() as folder:
        comparer = Comparer(options.ddpsim, options.option, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = list(pool.map(lambda pair: comparer.compare(*pair), pairs))
    cases = [
        {
            "kind": kind,
            "a": a,
            "b": b,
            "measured": speed(b) / speed(a),
            "predicted": answer[0],
            "low": answer[1],
            "high": answer[2],
            "blind": blind(kind, a, b),
        }
        for (kind, a, b), answer in zip(pairs, answers)
        if answer
    ]
    print(
        "| pairs | number | decided | of these ordered as published | interval holds | ratio off by, median | p90 | "
        "blind, median | blind orders |\n|---|---|---|---|---|---|---|---|---|"
    )
    for kind in ("sizes", "machines"):
        mine = [c for c in cases if c["kind"] == kind]
        print(line(kind, mine))
        print(line(f"{kind}, within {CLOSE} times", [c for c in mine if 1 / CLOSE < c["measured"] < CLOSE]))
    wrong = [c for c in cases if (c["low"] > 1 or c["high"] < 1) and (c["low"] > 1) != (c["measured"] > 1)]
    print(f"\n{len(wrong)} decided pairs are ordered otherwise than published")
    for c in sorted(cases, key=lambda c: -abs(math.log(c["predicted"] / c["measured"])))[:8] + wrong:
        print(
            f"  {c['kind']} {c['a']['model']} {c['a']['precision']} b{c['a']['per_gpu_batch']} {c['a']['framework']}: "
            f"{words_of(c['a'])} -> {words_of(c['b'])}: measured x{c['measured']:.3f}, predicted x{c['predicted']:.3f} "
            f"({c['low']:.3f} to {c['high']:.3f})"
        )
    if options.rows:
        with open(options.rows, "w", encoding="utf-8") as file:
            json.dump(cases, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
