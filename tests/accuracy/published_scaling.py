#!/usr/bin/env python3
"""Lays predicted steps beside published data-parallel scaling, row by row.

    published_scaling.py SHARED --ddpsim build/release/cli/ddpsim [--markdown] [--rows FILE]

SHARED holds data/published-scaling/scaling-shared.csv. The one number taken from a row is its
published figure at the smallest GPU count, mostly one GPU: compute is scaled so that the step there
comes out as published. Everything else is predicted: the cluster the row states, uncalibrated, and
DDP's semantics whatever the framework (gradients in fp32, PyTorch's buckets, NCCL), but for what the
source's own script says otherwise: its bucket cap, its NCCL, gradients that are fp16. No constant
belongs to a framework or a source; --option=--rank-slowdown=0% shows what the pace of several ranks
(sim/include/ddpsim/sim/rank_pace.hpp) contributes.

Printed per group: the error of the latency, the error of the loss (1 - efficiency) where it exceeds
3 %, both beside an efficiency of 1 (no communication) and beside the constant efficiencies that fit
all rows and the group best (predictors that have seen the answers); how many intervals held the
truth; the worst rows by name; why the other rows are not scored. Standard library only.
"""

import argparse
import collections
import concurrent.futures
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading

# Names of the data on the left, of `ddpsim list` on the right. Sequence lengths are those of the
# repositories' own scripts; a row's note overrides them.
MODELS = {
    "resnet50": "resnet50", "ResNet50": "resnet50", "ResNet-50": "resnet50",
    "RN50v1.5": "resnet50", "resnet50v1.5": "resnet50", "ResNet50 v1.5": "resnet50",
    "ResNet50 v1b": "resnet50", "resnet152": "resnet152", "ResNet-101": "resnet101",
    "resnext101-32x4d": "resnext101_32x4d", "resnext101_32x8d": "resnext101_32x8d",
    "VGG-16": "vgg16", "Inception V3": "inception_v3",
    "BERT-base pretrain (seq 128)": "bert-base:s128", "biobert": "bert-base:s128",
    "BERT-large": "bert-large:s128", "BERT-large pretrain": "bert-large:s128",
    "BERT-large SQuAD finetune": "bert-large:s384",
    "GPT-2 small LM fine-tune (run_clm)": "gpt2",
}
PRECISIONS = {"FP32": "fp32", "TF32": "tf32", "AMP/FP16": "amp", "mixed": "amp", "FP16": "amp",
              "BF16": "bf16"}
NOT_SCORED_FLAGS = ("grad-accumulation", "input-pipeline", "batch-changes", "do-not-score")
MOST_SINGLE_NODE_LOSS = 0.15
LOSS_WORTH_SCORING = 0.03
BASELINE_NOISE = 0.01  # figures printed with two to four digits; the data's README says 1 %
ONE_PACK_MB = "100000"
PRINTED_TO = 0.001  # seconds per iteration, where percentiles are printed
P95 = statistics.NormalDist().inv_cdf(0.95)
GROUPS = ("V100 single node", "V100 multi-node", "A100", "P100")


def cluster_of(row):
    """The cluster a row states, in the words of the command line, without its size; or None."""
    gpu, network, per_node = row["gpu"], row["network"], row["gpus_per_node"]
    if row["source"] in ("Oneflow-Inc/DLPerf", "PaddleFleetX benchmark"):
        return "dgx1v-1xedr"
    if gpu.startswith(("V100-SXM2", "V100 (DGX)")):
        return "p3.16xlarge" if "p3.16xlarge" in gpu else "dgx1v"
    if gpu.startswith("V100-SXM3"):
        return "dgx2"
    if gpu.startswith("A100-SXM4"):
        return "dgxa100"
    if "Azure" in gpu:  # NC24rs: four PCIe cards a VM; of its network 24 Gb/s for all flows together
        name = "V100" if gpu.startswith("V100") else "P100"
        return f"gpu:{per_node}x{name} pcie:12GBps nic:1x24Gbps:tcp-vm"
    return None


def precision_of(row):
    return PRECISIONS.get(row["precision"].split(" (")[0].split(" with")[0])


def series(row):
    """Rows of one series differ in the number of GPUs alone."""
    return tuple(row[key] for key in ("source", "model", "framework", "gpu", "precision",
                                      "per_gpu_batch", "value_1gpu", "baseline_gpus")) + (
                                          row["network"], sequence_of(row), cap_of(row))


def run_of(row):
    """Rows of one run differ in the percentile alone, where a source prints several."""
    if not row["metric"].startswith("s/iter"):
        return row["row_id"]
    return tuple(row[key] for key in ("source", "model", "framework", "gpu", "n_gpus")) + (
        cap_of(row),)


def sequence_of(row):
    stated = re.search(r"[Ss]equence [Ll]ength=(\d+)", row["notes"])
    return stated.group(1) if stated else None


def cap_of(row):
    stated = re.search(r"bucket_cap_mb=(\d+)", row["notes"])
    if stated:
        return stated.group(1)
    if is_apex_bert(row):
        return str(250_000_000 * (2 if has_half_gradients(row) else 4) / 2**20)
    return ONE_PACK_MB if has_one_pack(row) else None


def is_apex_bert(row):
    """NVIDIA's BERT pre-training (DeepLearningExamples, run_pretraining.py; DLPerf runs it from NGC's
    image): apex DDP with message_size=250000000, on a model that amp's O2 makes fp16."""
    return (row["framework"].startswith("PyTorch") and "apex" in row["framework"]
            and "pretrain" in row["model"])


def has_one_pack(row):
    """TensorFlow's distribution strategies pack all gradients into one all-reduce unless told a size
    (NcclAllReduce's num_packs=1, group_by_size with bytes_per_pack=0)."""
    return row["framework"].startswith("TensorFlow 2") and "Horovod" not in row["framework"]


def has_half_gradients(row):
    return is_apex_bert(row) and precision_of(row) == "amp"


def torch_of(row):
    stated = re.match(r"PyTorch (\d+\.\d+)", row["framework"])
    return stated.group(1) if stated else None


def nccl_of(row):
    """As in the Dockerfiles of that source's repositories; elsewhere what the PyTorch stated, or
    today's, ships."""
    return "2.2.12" if row["source"] == "msalvaris BatchAI Horovod benchmarks" else None


def step_seconds(row, value, gpus):
    """Of a published value, whichever metric it counts in; None where the metric says no time."""
    batch = int(row["per_gpu_batch"])
    if row["metric"].startswith("s/iter"):
        return value
    if "total" in row["metric"]:
        return batch * gpus / value
    if "per GPU" in row["metric"]:
        return batch / value
    return None


def percentile(row):
    stated = re.search(r"p(\d+)$", row["metric"])
    return int(stated.group(1)) if stated else 50


def not_scored_because(row, single_node_losses, lowest_percentile):
    flags = row["flags"].split()
    for flag in NOT_SCORED_FLAGS:
        if flag in flags:
            return f"flag {flag}"
    if row["model"] not in MODELS:
        return "model not in `ddpsim list`"
    if not row["per_gpu_batch"].isdigit():
        return "batch not stated"
    if not row["value_1gpu"] or not row["value_ngpu"]:
        return "no published figure to start from"
    if step_seconds(row, 1.0, 1) is None:
        return "metric is no step time"
    if precision_of(row) is None:
        return "precision not stated"
    if "no NCCL" in row["framework"] or "allreduce on CPU" in row["framework"]:
        return "all-reduce not by NCCL"
    if "(PS)" in row["framework"]:
        return "parameter server"
    if cluster_of(row) is None:
        return "GPU or wiring not stated"
    if percentile(row) != lowest_percentile[run_of(row)]:
        return "another percentile of a scored run"
    if any(gpus <= int(row["n_gpus"]) and loss > MOST_SINGLE_NODE_LOSS
           for gpus, loss in single_node_losses[series(row)]):
        return "its stack loses more than 15 % within one node"
    return None


def group_of(row):
    if row["gpu"].startswith("A100"):
        return "A100"
    if not row["gpu"].startswith("V100"):
        return "P100"
    return "V100 multi-node" if int(row["nodes"]) > 1 else "V100 single node"


def select(rows):
    """(scored rows, count of others by reason)."""
    losses, lowest = collections.defaultdict(list), {}
    for row in rows:
        lowest[run_of(row)] = min(lowest.get(run_of(row), 100), percentile(row))
        if int(row["nodes"]) == 1 and row["scaling_efficiency"]:
            losses[series(row)].append((int(row["n_gpus"]), 1 - float(row["scaling_efficiency"])))
    scored, others = [], collections.Counter()
    for row in rows:
        reason = not_scored_because(row, losses, lowest)
        if reason is None:
            scored.append(row)
        else:
            others[reason] += 1
    return scored, others


class Predictor:
    def __init__(self, ddpsim, extra, folder):
        self.ddpsim = ddpsim
        self.extra = extra
        self.folder = folder
        self.lock = threading.Lock()

    def half(self, spec):
        """The workload with gradients in fp16, as a file: estimates keep them in fp32."""
        path = os.path.join(self.folder, spec.replace(":", "-") + ".json")
        with self.lock:
            if not os.path.exists(path):
                subprocess.run([self.ddpsim, "import", spec, "-o", path], check=True,
                               capture_output=True)
                with open(path, encoding="utf-8") as file:
                    workload = json.load(file)
                for parameter in workload["parameters"]:
                    parameter["dtype"] = "float16"
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(workload, file)
        return path

    def simulate(self, row, gpus, nodes, scale):
        """The result document of a step at that many GPUs."""
        model = MODELS[row["model"]]
        if sequence_of(row):
            model = model.split(":")[0] + ":s" + sequence_of(row)
        name, _, rest = model.partition(":")
        gpu = {"A": "A100", "V": "V100", "P": "P100"}[row["gpu"][0]]
        spec = f"{name}@{gpu}:b{row['per_gpu_batch']}:{precision_of(row)}" + (rest and ":" + rest)
        command = [self.ddpsim, "simulate", self.half(spec) if has_half_gradients(row) else spec]
        cluster = cluster_of(row)
        per_node = gpus // nodes
        if ":" in cluster:
            cluster = re.sub(r"gpu:\d+x", f"gpu:{per_node}x", cluster)
            if nodes == 1:
                cluster = re.sub(r" nic:\S+", "", cluster)
            if per_node == 1:
                cluster = re.sub(r" pcie:\S+", "", cluster)
            command += [f"node:{nodes} {cluster}"]
        else:
            command += [cluster, "--nodes", str(nodes), "--gpus-per-node", str(per_node)]
        command += ["--compute-scale", f"{scale:.9f}±{BASELINE_NOISE * scale:.9f}", "--json"]
        if cap_of(row):
            command += ["--bucket-cap-mb", cap_of(row)]
        if torch_of(row):
            command += ["--torch", torch_of(row)]
        if nccl_of(row):
            command += ["--nccl", nccl_of(row)]
        run = subprocess.run(command + self.extra, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{run.stderr}")
        return json.loads(run.stdout)

    def scale_for(self, row):
        """So that the baseline comes out as published. One GPU computes without DDP, as the
        baselines do; a baseline of several GPUs is replayed under DDP."""
        gpus = int(row["baseline_gpus"])
        published = step_seconds(row, float(row["value_1gpu"]), gpus) * 1e6
        scale = 1.0
        for _ in range(1 if gpus == 1 else 6):
            nodes = max(1, gpus // int(row["gpus_per_node"]))
            step = self.simulate(row, gpus, nodes, scale)
            compute = step["forward_us"] + step["backward_compute_us"] + step["optimizer_us"]
            rest = 0 if gpus == 1 else step["iteration_us"] - compute
            if published <= rest:
                return None
            scale *= compute / (published - rest)
        return scale

    def predict(self, row):
        scale = self.scale_for(row)
        if scale is None:
            return None
        gpus = int(row["n_gpus"])
        step = self.simulate(row, gpus, int(row["nodes"]), scale)
        baseline = step_seconds(row, float(row["value_1gpu"]), int(row["baseline_gpus"])) * 1e6
        measured = step_seconds(row, float(row["value_ngpu"]), gpus) * 1e6
        predicted = step["iteration_us"]
        low, high = step["confidence"]["interval_percent"]
        return {"row": row, "group": group_of(row), "baseline": baseline, "measured": measured,
                "predicted": predicted, "scale": scale, "step": step,
                "low": predicted * (1 + low / 100), "high": predicted * (1 + high / 100)}


def quantile(values, share):
    values = sorted(values)
    if not values:
        return float("nan")
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (at - below)


def errors(cases, predicted):
    """Of the latency, and of the loss where it is worth scoring; `predicted(case)` is a step."""
    latency = [abs(predicted(c) / c["measured"] - 1) for c in cases]
    loss = []
    for c in cases:
        lost = 1 - c["baseline"] / c["measured"]
        if lost > LOSS_WORTH_SCORING:
            loss.append(abs((1 - c["baseline"] / predicted(c)) - lost) / lost)
    return latency, loss


def best_constant(cases):
    """The efficiency with the least median error of the latency: it has seen the answers."""
    grid = [i / 1000 for i in range(300, 1011)]
    return min(grid, key=lambda e: statistics.median(
        errors(cases, lambda c, e=e: c["baseline"] / e)[0]))


def table(cases):
    lines = ["| group | predictor | rows | latency median | p90 | worst | loss median | p90 "
             "(rows that lose > 3 %) | interval holds |", "|---|---|---|---|---|---|---|---|---|"]
    by_group = collections.OrderedDict((g, [c for c in cases if c["group"] == g]) for g in GROUPS)
    by_group["V100 multi-node, fp32"] = [c for c in by_group["V100 multi-node"]
                                         if c["row"]["precision"] == "FP32"]
    by_group["the same, network's rate stated"] = [
        c for c in by_group["V100 multi-node, fp32"] if "Azure" not in c["row"]["gpu"]]
    by_group["PyTorch, all groups"] = [c for c in cases
                                       if c["row"]["framework"].startswith("PyTorch")]
    by_group["all"] = cases
    everywhere = best_constant(cases)
    for group, members in by_group.items():
        if not members:
            continue
        constant = best_constant(members)
        held = sum(c["low"] <= c["measured"] <= c["high"] for c in members)
        for name, predicted, interval in (
                ("ddpsim", lambda c: c["predicted"], f"{100 * held / len(members):.0f} %"),
                ("no communication", lambda c: c["baseline"], ""),
                (f"efficiency {everywhere:.3f}, best for all",
                 lambda c: c["baseline"] / everywhere, ""),
                (f"efficiency {constant:.3f}, best for the group",
                 lambda c, e=constant: c["baseline"] / e, "")):
            if group == "all" and "the group" in name:
                continue
            latency, loss = errors(members, predicted)
            lines.append(
                f"| {group} | {name} | {len(members)} | {100 * statistics.median(latency):.1f} % | "
                f"{100 * quantile(latency, 0.9):.1f} % | {100 * max(latency):.0f} % | "
                + (f"{100 * statistics.median(loss):.0f} % | {100 * quantile(loss, 0.9):.0f} % "
                   f"({len(loss)})" if loss else "- | -") + f" | {interval} |")
    return "\n".join(lines)


def jitter_table(rows):
    """Would waiting for the slowest of n ranks explain what n GPUs cost over one? Steps of one GPU
    under DDP spread by p95 - p50, or by what rounding hides: that of a normal distribution gives the
    expected maximum."""
    runs = collections.defaultdict(dict)
    for row in rows:
        if row["metric"].startswith("s/iter"):
            runs[row["model"], cap_of(row), int(row["n_gpus"])][percentile(row)] = row
    lines = ["| steps that differ: model, cap | GPUs | p95 - p50 on one GPU | so the slowest of n "
             "is late by | measured over one GPU |", "|---|---|---|---|---|"]
    for model, cap, gpus in sorted(runs, key=lambda run: (run[0], run[1] or "", run[2])):
        run = runs[model, cap, gpus]
        alone = runs.get((model, cap, 1), {})
        if gpus == 1 or 50 not in run or 50 not in alone or 95 not in alone:
            continue
        one, tail = (float(alone[p]["value_ngpu"]) for p in (50, 95))
        spread = max(tail - one, PRINTED_TO) / one
        expected = spread / P95 * expected_maximum(gpus)
        lines.append(f"| {model}, {cap} | {gpus} | <= {100 * spread:.1f} % | "
                     f"<= {100 * expected:.1f} % | "
                     f"{100 * (float(run[50]['value_ngpu']) / one - 1):.1f} % |")
    return "\n".join(lines)


def expected_maximum(count):
    """Of that many independent standard normal draws, by Blom's approximation."""
    return statistics.NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def name_of(case):
    row = case["row"]
    return (f"{row['model']} {row['precision']} batch {row['per_gpu_batch']}, {row['n_gpus']} x "
            f"{row['gpu'].split('-')[0].split(' ')[0]}, {row['framework']} ({row['row_id']})")


def worst(cases, count):
    """Of each stack, on each kind of cluster, the worst row alone."""
    lines = ["| worst rows, one per stack and group | measured | predicted | error |",
             "|---|---|---|---|"]
    by_error = sorted(cases, key=lambda c: -abs(c["predicted"] / c["measured"] - 1))
    shown = {}
    for c in by_error:
        shown.setdefault((c["group"], c["row"]["source"], c["row"]["framework"]), c)
    for c in list(shown.values())[:count]:
        lines.append(f"| {name_of(c)} | {c['measured'] / 1e3:.1f} ms | {c['predicted'] / 1e3:.1f} "
                     f"ms | {100 * (c['predicted'] / c['measured'] - 1):+.0f} % |")
    return "\n".join(lines)


def beyond_the_wire(cases):
    """Stacks whose rows would be short by over 10 % even if no communication hid behind compute: what
    they lose is none of the network's, nor of the buckets'."""
    short = collections.Counter()
    for c in cases:
        step = c["step"]
        all_exposed = c["predicted"] + step["communication_us"] - step["exposed_communication_us"]
        if all_exposed < 0.9 * c["measured"]:
            row = c["row"]
            short[f"{row['framework']}, {row['model']} {row['precision']}, {c['group']}"] += 1
    return "Over 10 % short even with nothing hidden behind compute: " + "; ".join(
        f"{count} {stack}" for stack, count in short.most_common()) + "."


def write_rows(path, cases):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["row_id", "group", "source", "framework", "model", "precision", "batch",
                      "gpus", "baseline_ms", "measured_ms", "predicted_ms", "low_ms", "high_ms",
                      "error_percent", "exposed_ms", "wire_ms", "finalize_ms", "scale"])
        for c in cases:
            row, step = c["row"], c["step"]
            out.writerow([row["row_id"], c["group"], row["source"], row["framework"], row["model"],
                          row["precision"], row["per_gpu_batch"], row["n_gpus"]]
                         + [f"{c[key] / 1e3:.3f}" for key in ("baseline", "measured", "predicted",
                                                              "low", "high")]
                         + [f"{100 * (c['predicted'] / c['measured'] - 1):.2f}",
                            f"{step['exposed_communication_us'] / 1e3:.3f}",
                            f"{step['communication_us'] / 1e3:.3f}",
                            f"{step['finalize_us'] / 1e3:.3f}", f"{c['scale']:.4f}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shared")
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--worst", type=int, default=12)
    parser.add_argument("--rows", help="write every scored row to this CSV file")
    parser.add_argument("--option", action="append", default=[],
                        help="passed on to ddpsim simulate")
    arguments = parser.parse_args()
    path = os.path.join(arguments.shared, "data", "published-scaling", "scaling-shared.csv")
    if not os.path.exists(path):
        print(f"skipped: {path} is not there")
        return
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    scored, others = select(rows)
    with tempfile.TemporaryDirectory() as folder:
        predictor = Predictor(arguments.ddpsim, arguments.option, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            predictions = list(pool.map(predictor.predict, scored))
    cases = [p for p in predictions if p]
    others["less than what DDP costs alone"] += len(predictions) - len(cases)
    print(table(cases) + "\n")
    print(worst(cases, arguments.worst) + "\n")
    print(beyond_the_wire(cases) + "\n")
    print(jitter_table(rows) + "\n")
    print(f"{len(cases)} rows scored. Not scored: " + "; ".join(
        f"{count} {reason}" for reason, count in others.most_common() if count) + ".")
    if arguments.rows:
        write_rows(arguments.rows, cases)


if __name__ == "__main__":
    main()
