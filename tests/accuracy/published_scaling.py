#!/usr/bin/env python3
"""Compares predicted steps with published data-parallel scaling, row by row.

    published_scaling.py SHARED --ddpsim build/release/cli/ddpsim [--rows FILE]

SHARED has data/published-scaling/scaling-shared.csv. Only one number is taken from a row: its published value at the
smallest number of GPUs, mostly one. Compute is scaled so that this step comes out as published. Everything else is
predicted: the cluster that the row states, uncalibrated, and DDP's semantics for every framework (gradients in fp32,
PyTorch's buckets, NCCL). The only exceptions are facts from the source's own script or library (published_rows.py): its
bucket cap, its NCCL, and gradients in fp16. No constant belongs to a framework or a source.

The multi-GPU overhead (sim/values/include/ddpsim/sim/values/rank_slowdown.hpp) was learned from these rows.
--option=--rank-slowdown=0% shows its contribution. The second line of each group is the prediction for a source from
which nothing was learned.

For each group the output has the error of the latency, and the error of the loss (1 - efficiency) if it exceeds 3 %.
Simple predictors are an efficiency of 1 (no communication), of 0.95, and the constants that fit all rows and the group
best; these have seen the answers. Then come the coverage of intervals, the worst rows by name, and the reasons why
other rows are not scored. The last table has every row that inputs admit, including duplicates and assumed machines.
Standard library only.
"""

import argparse
import collections
import concurrent.futures
import csv
import functools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading

from behind_figures import with_scripts
from published_rows import (
    GROUPS,
    assumed_cluster_of,
    broadcasts_buffers,
    cap_of,
    cluster_of,
    gpu_of,
    group_of,
    has_half_gradients,
    nccl_of,
    percentile,
    precision_of,
    select,
    step_seconds,
    torch_of,
    workload_of,
)
from quantile import quantile

LOSS_WORTH_SCORING = 0.03
# Values are printed with two to four digits; the README of the data says 1 %.
BASELINE_NOISE = 0.01
# Resolution of printed percentiles in seconds per iteration.
PRINTED_TO = 0.001
# As in rank_slowdown.hpp. Too few rows have eight nodes or more to learn it without each source.
PER_DOUBLING = 0.01
P95 = statistics.NormalDist().inv_cdf(0.95)
USUAL_EFFICIENCY = 0.95


def expected_maximum(count):
    """The expected maximum of `count` independent standard normal draws, as in rank_slowdown.cpp."""
    step, normal = 0.005, statistics.NormalDist()
    points = [-8 + step * i for i in range(int(16 / step))]
    return sum(step * count * x * normal.pdf(x) * normal.cdf(x) ** (count - 1) for x in points)


EXPECTED_MAXIMUM = functools.lru_cache(expected_maximum)


def gpu_spread(row):
    """The same as usual_gpu_spread of rank_slowdown.cpp."""
    return 0.015 if row["gpu"].startswith("V100") else 0.011


def slowest_gpu(row, gpus):
    return gpu_spread(row) * EXPECTED_MAXIMUM(gpus) if gpus > 1 else 0


class Slowdown:
    """The extra compute of several ranks as a share of the step, as in rank_slowdown.hpp.

    Without terms it is 0, and even the slowest GPU does not count.
    """

    def __init__(self, several_gpus=None, several_nodes=0, per_doubling=0):
        self.several_gpus = several_gpus
        self.several_nodes = several_nodes
        self.per_doubling = per_doubling

    def share(self, row, gpus, nodes):
        if gpus == 1 or self.several_gpus is None:
            return 0
        on_nodes = self.several_nodes * (1 - 1 / nodes) + self.per_doubling * math.log2(nodes)
        return max(0, slowest_gpu(row, gpus) + self.several_gpus + on_nodes)


def baseline_nodes(row):
    return max(1, int(row["baseline_gpus"]) // int(row["gpus_per_node"]))


def learn_slowdown(bare):
    """Learns a slowdown from predictions without one, as that of rank_slowdown.hpp was learned.

    The first term is the median of the extra time of steps on one node, beyond the slowest GPU. The second is the
    median over stacks of the extra time on several nodes, beyond PER_DOUBLING. It uses rows whose network has a stated
    rate.
    """

    def longer(case):
        row = case["row"]
        return (
            (case["measured"] - case["predicted"]) / case["baseline"]
            - slowest_gpu(row, int(row["n_gpus"]))
            + slowest_gpu(row, int(row["baseline_gpus"]))
        )

    def alone(case):
        return case["row"]["baseline_gpus"] == "1"

    several = statistics.median(
        [longer(c) for c in bare if alone(c) and c["row"]["nodes"] == "1" and c["row"]["n_gpus"] != "1"]
    )
    added = collections.defaultdict(list)
    for c in bare:
        row = c["row"]
        apart = 1 / baseline_nodes(row) - 1 / int(row["nodes"])
        grown = PER_DOUBLING * math.log2(int(row["nodes"]) / baseline_nodes(row))
        if apart > 0 and "Azure" not in row["gpu"]:
            added[row["source"], row["framework"]].append((longer(c) - (several if alone(c) else 0) - grown) / apart)
    return Slowdown(several, statistics.median(statistics.median(of) for of in added.values()), PER_DOUBLING)


def without_their_source(rows, bare, predict):
    """The predicted step of each row, with a slowdown that has not seen the row's source."""
    learned = {
        source: learn_slowdown([c for c in bare if c["row"]["source"] != source])
        for source in sorted({row["source"] for row in rows})
    }
    cases = predict(rows, lambda row: learned[row["source"]])
    return {case["row"]["row_id"]: case["predicted"] for case in cases}, learned


def line_of(cluster, nodes, per_node):
    """A cluster of this size in one line."""
    cluster = re.sub(r"gpu:\d+x", f"gpu:{per_node}x", cluster)
    if nodes == 1:
        cluster = re.sub(r" nic:\S+", "", cluster)
    if per_node == 1:
        cluster = re.sub(r" pcie:\S+", "", cluster)
    return f"node:{nodes} {cluster}"


def rules_of(row):
    """The options that follow from facts of the row's source about its stack."""
    options = []
    if cap_of(row):
        options += ["--bucket-cap-mb", cap_of(row)]
    if torch_of(row):
        options += ["--torch", torch_of(row)]
    if nccl_of(row):
        options += ["--nccl", nccl_of(row)]
    if not broadcasts_buffers(row):
        options.append("--no-broadcast-buffers")
    return options


class Predictor:
    def __init__(self, ddpsim, extra, folder):
        self.ddpsim = ddpsim
        self.extra = extra
        self.folder = folder
        self.lock = threading.Lock()

    def half(self, spec):
        """The path of the workload with gradients in fp16. Estimates themselves keep them in fp32."""
        path = os.path.join(self.folder, spec.replace(":", "-") + ".json")
        with self.lock:
            if not os.path.exists(path):
                subprocess.run([self.ddpsim, "import", spec, "-o", path], check=True, capture_output=True)
                with open(path, encoding="utf-8") as file:
                    workload = json.load(file)
                for parameter in workload["parameters"]:
                    parameter["dtype"] = "float16"
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(workload, file)
        return path

    def workload(self, row):
        """WORKLOAD of a row: an estimate of its model on the stated GPU."""
        model = workload_of(row)
        name, _, rest = model.partition(":")
        spec = f"{name}@{gpu_of(row)}:b{row['per_gpu_batch']}:{precision_of(row)}" + (rest and ":" + rest)
        return self.half(spec) if has_half_gradients(row) else spec

    def words(self, row, gpus, nodes, scale, slowdown=None):
        """The words of any command for a step on that many GPUs."""
        words = [self.workload(row)]
        cluster = cluster_of(row) or assumed_cluster_of(row)
        per_node = gpus // nodes
        if ":" in cluster:
            words += [line_of(cluster, nodes, per_node)]
        else:
            words += [cluster, "--nodes", str(nodes), "--gpus-per-node", str(per_node)]
        words += ["--compute-scale", f"{scale:.9f}±{BASELINE_NOISE * scale:.9f}"]
        words += rules_of(row)
        words += [o for o in self.extra if not slowdown or not o.startswith("--rank-slowdown")]
        if slowdown:
            words.append(f"--rank-slowdown={100 * slowdown.share(row, gpus, nodes):.6f}%")
        return words

    def simulate(self, row, gpus, nodes, scale, slowdown=None):
        """The result document of a step on that many GPUs, with ddpsim's own slowdown or another one."""
        command = [self.ddpsim, "simulate", *self.words(row, gpus, nodes, scale, slowdown), "--json"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{run.stderr}")
        return json.loads(run.stdout)

    def scale_for(self, row, slowdown):
        """The compute scale with which the baseline comes out as published; None if no scale does.

        One GPU computes without DDP, as the baselines do. A baseline of several GPUs is replayed under DDP.
        """
        gpus = int(row["baseline_gpus"])
        published = step_seconds(row, float(row["value_1gpu"]), gpus) * 1e6
        scale = 1.0
        for _ in range(1 if gpus == 1 else 6):
            step = self.simulate(row, gpus, baseline_nodes(row), scale, slowdown)
            compute = step["forward_us"] + step["backward_compute_us"] + step["optimizer_us"]
            if gpus > 1:
                compute += step["slowest_gpu_us"] + step["unexplained_us"]
            rest = 0 if gpus == 1 else step["iteration_us"] - compute
            if published <= rest:
                return None
            scale *= compute / (published - rest)
        return scale

    def predict(self, row, slowdown=None):
        scale = self.scale_for(row, slowdown)
        if scale is None:
            return None
        gpus = int(row["n_gpus"])
        step = self.simulate(row, gpus, int(row["nodes"]), scale, slowdown)
        baseline = step_seconds(row, float(row["value_1gpu"]), int(row["baseline_gpus"])) * 1e6
        measured = step_seconds(row, float(row["value_ngpu"]), gpus) * 1e6
        predicted = step["iteration_us"]
        low, high = step["confidence"]["interval_percent"]
        return {
            "row": row,
            "group": group_of(row),
            "baseline": baseline,
            "measured": measured,
            "predicted": predicted,
            "scale": scale,
            "step": step,
            "low": predicted * (1 + low / 100),
            "high": predicted * (1 + high / 100),
        }


def errors(cases, predicted):
    """Errors of the latency, and of the loss if it is large enough to be scored. `predicted(case)` returns a step."""
    latency = [abs(predicted(c) / c["measured"] - 1) for c in cases]
    loss = []
    for c in cases:
        lost = 1 - c["baseline"] / c["measured"]
        if lost > LOSS_WORTH_SCORING:
            loss.append(abs((1 - c["baseline"] / predicted(c)) - lost) / lost)
    return latency, loss


def best_constant(cases):
    """The efficiency with the least median error of the latency. This predictor has seen the answers."""
    grid = [i / 1000 for i in range(300, 1011)]
    return min(grid, key=lambda e: statistics.median(errors(cases, lambda c, e=e: c["baseline"] / e)[0]))


def groups_of(cases):
    by_group = collections.OrderedDict((g, [c for c in cases if c["group"] == g]) for g in GROUPS)
    by_group["V100 multi-node, fp32"] = [c for c in by_group["V100 multi-node"] if c["row"]["precision"] == "FP32"]
    return by_group


def table(cases):
    lines = [
        "| group | predictor | rows | latency median | p90 | worst | loss median | p90 "
        "(rows that lose > 3 %) | interval holds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    by_group = groups_of(cases)
    by_group["the same, network's rate stated"] = [
        c for c in by_group["V100 multi-node, fp32"] if "Azure" not in c["row"]["gpu"]
    ]
    by_group["PyTorch, all groups"] = [c for c in cases if c["row"]["framework"].startswith("PyTorch")]
    by_group["all"] = cases
    everywhere = best_constant(cases)
    for group, members in by_group.items():
        if not members:
            continue
        constant = best_constant(members)
        held = sum(c["low"] <= c["measured"] <= c["high"] for c in members)
        for name, predicted, interval in (
            ("ddpsim", lambda c: c["predicted"], f"{100 * held / len(members):.0f} %"),
            ("ddpsim, slowdown learned without the source", lambda c: c["unseen"], ""),
            ("no communication", lambda c: c["baseline"], ""),
            (f"efficiency {USUAL_EFFICIENCY}", lambda c: c["baseline"] / USUAL_EFFICIENCY, ""),
            (f"efficiency {everywhere:.3f}, best for all", lambda c: c["baseline"] / everywhere, ""),
            (f"efficiency {constant:.3f}, best for the group", lambda c, e=constant: c["baseline"] / e, ""),
        ):
            if group == "all" and "the group" in name:
                continue
            latency, loss = errors(members, predicted)
            lines.append(
                f"| {group} | {name} | {len(members)} | {100 * statistics.median(latency):.1f} % | "
                f"{100 * quantile(latency, 0.9):.1f} % | {100 * max(latency):.0f} % | "
                + (
                    f"{100 * statistics.median(loss):.0f} % | {100 * quantile(loss, 0.9):.0f} % ({len(loss)})"
                    if loss
                    else "- | -"
                )
                + f" | {interval} |"
            )
    return "\n".join(lines)


def population_table(name, cases):
    """One line per group, with ddpsim and the constant efficiency that fits these rows best."""
    lines = [
        f"| {name} | rows | latency median | p90 | worst | interval holds | best constant for these |",
        "|---|---|---|---|---|---|---|",
    ]
    for group, members in groups_of(cases).items():
        if not members:
            continue
        latency, _ = errors(members, lambda c: c["predicted"])
        constant = best_constant(members)
        best, _ = errors(members, lambda c, e=constant: c["baseline"] / e)
        held = sum(c["low"] <= c["measured"] <= c["high"] for c in members)
        lines.append(
            f"| {group} | {len(members)} | {100 * statistics.median(latency):.1f} % | "
            f"{100 * quantile(latency, 0.9):.1f} % | {100 * max(latency):.0f} % | "
            f"{100 * held / len(members):.0f} % | {100 * statistics.median(best):.1f} %, p90 "
            f"{100 * quantile(best, 0.9):.1f} % ({constant:.3f}) |"
        )
    return "\n".join(lines)


# The mechanism that is switched off, and the options that do so.
ABLATIONS = (
    ("the slowest GPU", ["--gpu-spread=0%"]),
    ("what is unexplained", None),
    ("both (--rank-slowdown 0%)", ["--rank-slowdown=0%"]),
    ("compute slowed by NCCL", ["--interference=sm:0 memory:0"]),
    ("NCCL slowed by compute", ["--interference=nccl:1"]),
)


def ablation_table(cases, ablated):
    """Median and p90 of the latency's error in each group, with one mechanism switched off at a time."""
    groups = {"V100 single node": "V100 single node", "V100 multi-node": "V100 multi-node", "A100": "A100"}
    members = {name: {c["row"]["row_id"] for c in cases if c["group"] == group} for name, group in groups.items()}
    members["64 GPUs and more"] = {c["row"]["row_id"] for c in cases if int(c["row"]["n_gpus"]) >= 64}
    lines = [
        "| switched off | " + " | ".join(f"{name} ({len(ids)})" for name, ids in members.items()) + " |",
        "|---|" + "---|" * len(members),
    ]
    for what, of in [("nothing", cases)] + ablated:
        cells = []
        for ids in members.values():
            latency, _ = errors([c for c in of if c["row"]["row_id"] in ids], lambda c: c["predicted"])
            cells.append(f"{100 * statistics.median(latency):.1f} %, p90 {100 * quantile(latency, 0.9):.1f} %")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def jitter_table(rows):
    """Answers whether waiting for the slowest of n ranks explains the extra time of n GPUs over one.

    The spread of one GPU's steps under DDP is p95 - p50, or at least what rounding hides. A normal distribution with
    this spread gives the expected maximum.
    """
    runs = collections.defaultdict(dict)
    for row in rows:
        if row["metric"].startswith("s/iter"):
            runs[row["model"], cap_of(row), int(row["n_gpus"])][percentile(row)] = row
    lines = [
        "| steps that differ: model, cap | GPUs | p95 - p50 on one GPU | so the slowest of n "
        "is late by | measured over one GPU |",
        "|---|---|---|---|---|",
    ]
    for model, cap, gpus in sorted(runs, key=lambda run: (run[0], run[1] or "", run[2])):
        run = runs[model, cap, gpus]
        alone = runs.get((model, cap, 1), {})
        if gpus == 1 or 50 not in run or 50 not in alone or 95 not in alone:
            continue
        one, tail = (float(alone[p]["value_ngpu"]) for p in (50, 95))
        spread = max(tail - one, PRINTED_TO) / one
        expected = spread / P95 * EXPECTED_MAXIMUM(gpus)
        lines.append(
            f"| {model}, {cap} | {gpus} | <= {100 * spread:.1f} % | "
            f"<= {100 * expected:.1f} % | "
            f"{100 * (float(run[50]['value_ngpu']) / one - 1):.1f} % |"
        )
    return "\n".join(lines)


def name_of(case):
    row = case["row"]
    return (
        f"{row['model']} {row['precision']} batch {row['per_gpu_batch']}, {row['n_gpus']} x "
        f"{row['gpu'].split('-')[0].split(' ')[0]}, {row['framework']} ({row['row_id']})"
    )


def worst(cases, count):
    """The worst rows, at most one for each stack and kind of cluster."""
    lines = ["| worst rows, one per stack and group | measured | predicted | error |", "|---|---|---|---|"]
    by_error = sorted(cases, key=lambda c: -abs(c["predicted"] / c["measured"] - 1))
    shown = {}
    for c in by_error:
        shown.setdefault((c["group"], c["row"]["source"], c["row"]["framework"]), c)
    for c in list(shown.values())[:count]:
        lines.append(
            f"| {name_of(c)} | {c['measured'] / 1e3:.1f} ms | {c['predicted'] / 1e3:.1f} "
            f"ms | {100 * (c['predicted'] / c['measured'] - 1):+.0f} % |"
        )
    return "\n".join(lines)


def beyond_the_wire(cases):
    """Stacks whose predicted steps would be over 10 % too short even if all communication were exposed.

    Their loss is caused neither by the network nor by the buckets.
    """
    short = collections.Counter()
    for c in cases:
        step = c["step"]
        all_exposed = c["predicted"] + step["communication_us"] - step["exposed_communication_us"]
        if all_exposed < 0.9 * c["measured"]:
            row = c["row"]
            short[f"{row['framework']}, {row['model']} {row['precision']}, {c['group']}"] += 1
    return (
        "Over 10 % short even with nothing hidden behind compute: "
        + "; ".join(f"{count} {stack}" for stack, count in short.most_common())
        + "."
    )


def write_rows(path, cases):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                "row_id",
                "group",
                "source",
                "framework",
                "model",
                "precision",
                "batch",
                "gpus",
                "baseline_ms",
                "measured_ms",
                "predicted_ms",
                "low_ms",
                "high_ms",
                "error_percent",
                "exposed_ms",
                "wire_ms",
                "finalize_ms",
                "scale",
            ]
        )
        for c in cases:
            row, step = c["row"], c["step"]
            out.writerow(
                [
                    row["row_id"],
                    c["group"],
                    row["source"],
                    row["framework"],
                    row["model"],
                    row["precision"],
                    row["per_gpu_batch"],
                    row["n_gpus"],
                ]
                + [f"{c[key] / 1e3:.3f}" for key in ("baseline", "measured", "predicted", "low", "high")]
                + [
                    f"{100 * (c['predicted'] / c['measured'] - 1):.2f}",
                    f"{step['exposed_communication_us'] / 1e3:.3f}",
                    f"{step['communication_us'] / 1e3:.3f}",
                    f"{step['finalize_us'] / 1e3:.3f}",
                    f"{c['scale']:.4f}",
                ]
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shared")
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--worst", type=int, default=12)
    parser.add_argument("--rows", help="write every scored row to this CSV file")
    parser.add_argument("--option", action="append", default=[], help="passed on to ddpsim simulate")
    arguments = parser.parse_args()
    path = os.path.join(arguments.shared, "data", "published-scaling", "scaling-shared.csv")
    if not os.path.exists(path):
        print(f"skipped: {path} is not there")
        return
    with open(path, encoding="utf-8", newline="") as file:
        rows = with_scripts(list(csv.DictReader(file)))
    scored, lossy, wide, others = select(rows)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        predictor = Predictor(arguments.ddpsim, arguments.option, folder)

        def predict(rows, slowdown_of=lambda row: None):
            cases = pool.map(lambda row: predictor.predict(row, slowdown_of(row)), rows)
            return [case for case in cases if case]

        cases, doubtful, much_lost = predict(scored), predict(wide), predict(lossy)
        bare = predict(scored, lambda row: Slowdown())
        unseen, learned = without_their_source(scored, bare, predict)
        ablated = []
        for what, options in ABLATIONS:
            if options is None:
                ablated.append((what, predict(scored, lambda row: Slowdown(0, 0))))
                continue
            other = Predictor(arguments.ddpsim, arguments.option + options, folder)
            ablated.append((what, [c for c in pool.map(other.predict, scored) if c]))
    others["less than what DDP costs alone"] += len(scored) - len(cases)
    for case in cases:
        case["unseen"] = unseen[case["row"]["row_id"]]
    print(table(cases) + "\n")
    everywhere = learn_slowdown(bare)
    print(
        f"Unexplained, learned from all rows: {100 * everywhere.several_gpus:.1f} %, "
        f"{100 * everywhere.several_nodes:.1f} % more on many nodes; without "
        + "; ".join(
            f"{source}: {100 * slowdown.several_gpus:.1f}, {100 * slowdown.several_nodes:.1f} %"
            for source, slowdown in learned.items()
        )
        + ".\n"
    )
    print(worst(cases, arguments.worst) + "\n")
    print(beyond_the_wire(cases) + "\n")
    print(jitter_table(rows) + "\n")
    print(ablation_table(cases, ablated) + "\n")
    print(
        population_table("every row inputs alone admit, whatever its stack loses within one node", cases + much_lost)
        + "\n"
    )
    print(
        f"{len(cases)} rows scored. Not scored: "
        + "; ".join(f"{count} {reason}" for reason, count in others.most_common() if count)
        + ".\n"
    )
    print(population_table("every row the words admit", cases + doubtful))
    if arguments.rows:
        write_rows(arguments.rows, cases + doubtful)


if __name__ == "__main__":
    main()
