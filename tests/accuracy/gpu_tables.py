#!/usr/bin/env python3
"""Compares measurements on one GPU with ddpsim's predictions, as Markdown.

    tests/accuracy/gpu_tables.py --ddpsim build/release/cli/ddpsim

The measurements are the documents in tests/lab/measured/gpu (docs/reference/formats.md), made by scripts/on_gpu.sh. They were
used for what a step launches and what launches cost (launch_constants.hpp, ddp_costs.hpp). Four of the models were used for three
constants of the cost model (layer_cost_constants.hpp). Simple predictors without a simulation are shown for comparison. Errors are
(predicted - measured) / measured. Standard library only."""

import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from errors import errors_of, percent

MEASURED = pathlib.Path(__file__).resolve().parents[1] / "lab/measured/gpu"
NODE = "node:1 gpu:{count}x{gpu} nvswitch:450GBps"
# From data sheets: rates of dense matrix products in TFLOP/s by precision, and the number of SMs.
PEAK_TFLOPS = {
    "H100": {"fp32": 67, "tf32": 494.5, "amp_bf16": 989},
    "H200": {"fp32": 67, "tf32": 494.5, "amp_bf16": 989},
}
MEMORY_GBPS = {"H100": 3350, "H200": 4800}
FEWEST_SIZES = 4  # needed by `ddpsim calibrate`
SMS = {"H100": 132, "H200": 132}
# The next three are assumptions of sim (ddp_costs.hpp). Copies reach this share of the memory's rate.
COPY_SHARE = 0.85
# Between two copies no kernel is busy for this time.
COPY_GAP_US = 1
# A launch from C++ takes the host this time.
HOST_COPY_US = 6
# Multiplications and additions of the forward pass of one image (torchvision's pages). Only the trivial predictor uses
# them.
IMAGE_GFLOP = {"resnet50": 2 * 4.09, "resnet152": 2 * 11.51}
# If the GPU was busy for less than this share of the step, the step is bound by launches.
GPU_BOUND = 0.9
# The smallest gain that tune takes for measurable, in % of the step.
WORTH_SETTING = 1
BYTES_MOVED = {"copy_in": 2, "divide": 2, "copy_out": 2, "compress": 1.5, "decompress": 1.5}  # per byte of the gradient
# Options for our reducer. It replays compute as one thread block that waits, which does not slow NCCL and launches no
# kernels of a model.
REPLAYED = (
    "--compute-scale",
    "1",
    "--rank-slowdown",
    "0%",
    "--launch-cost",
    "0us",
    "--interference",
    "sm:0 memory:0 nccl:1",
)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


class Ddpsim:
    def __init__(self, program, folder):
        self.program, self.folder, self.answers = program, pathlib.Path(folder), {}

    def simulate(self, *words):
        if words not in self.answers:
            self.answers[words] = json.loads(run(self.program, "simulate", *words, "--json"))
        return self.answers[words]

    def calibrated(self, name, gpu, all_reduces, nccl, shared):
        """A node of two GPUs, fitted to the all-reduces of the run. `shared`: both ranks copy through the same
        memory."""
        log, cluster = (self.folder / f"{name}.{kind}" for kind in ("txt", "json"))
        lines = [
            "# Using devices",
            f"#  Rank  0 Group  0 Pid      1 on         vm device  0 [0x00] {gpu}",
            f"#  Rank  1 Group  0 Pid      2 on         vm device  1 [0x00] {gpu}",
            "#",
            "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong",
        ]
        for size, time in all_reduces.items():
            rate = size / time / 1000
            half = f"{time:.2f} {rate:.2f} {rate:.2f} N/A"
            lines.append(f"{size} {size // 4} float sum -1 {half} {half}")
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
        run(self.program, "calibrate", log, "--cluster", NODE.format(count=2, gpu=gpu), "--nccl", nccl, "-o", cluster)
        if shared:
            stated = json.loads(cluster.read_text(encoding="utf-8"))
            stated["gpu_costs"] = {"copy_gbps": COPY_SHARE * MEMORY_GBPS[gpu] / 2}
            cluster.write_text(json.dumps(stated), encoding="utf-8")
        return str(cluster)


def median(row, name):
    value = row.get(name)
    return value["median"] if isinstance(value, dict) else value


def ms(microseconds, digits=2):
    return f"{microseconds / 1000:.{digits}f}"


def table(header, rows):
    print("\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def gradients_of(result):
    return [index for bucket in result["buckets"] for index in bucket["parameter_indices"]]


def times_of_collectives(all_reduces):
    """The all-reduces without sizes that took longer than a larger size.

    The first calls on a non-blocking communicator also pay for its start, so 64 KiB may take longer than 1 MiB. Such a
    time is not that of the collective.
    """
    times = {entry["size_bytes"]: entry["time_us"]["median"] for entry in all_reduces}
    return {size: time for size, time in times.items() if time <= min(times[other] for other in times if other >= size)}


def replayed(row):
    """The workload that our reducer replayed. Estimates have changed since, so those of that day are kept as files."""
    model = row["workload"].split("@")[0]
    return str(MEASURED.parent / "gpu_replayed" / f"{model}.json") if "@" in row["workload"] else row["workload"]


def reducer(ddpsim, gpu, rows):
    print("### Our reducer: two ranks on one GPU, threads of one process\n")
    print(
        "The cluster is two GPUs of a node, calibrated from the same run's own all-reduces alone; sizes that a larger one undercuts are left "
        "out. Both ranks share one memory, so copies get half of its rate each. No communication: the same prediction without "
        "all-reduces and broadcasts. All exposed: that and every byte at the rate of the largest all-reduce."
    )
    lines, found, curves = [], collections.defaultdict(list), collections.defaultdict(list)
    wrong_buckets, whole_rate = 0, []
    parts, per_gradient = collections.defaultdict(list), collections.defaultdict(list)
    for row in rows:
        measurement = row.get("measurement")
        if not measurement or row["as"] != "threads" or not measurement["all_reduces"]:
            continue
        nccl = measurement["setup"]["communication"].removeprefix("NCCL ")
        times = times_of_collectives(measurement["all_reduces"])
        left_out = [
            entry["size_bytes"] >> 10 for entry in measurement["all_reduces"] if entry["size_bytes"] not in times
        ]
        print(f"\n{row['item']}: left out: {', '.join(f'{size} KiB' for size in left_out) or 'nothing'}.")
        if len(times) < FEWEST_SIZES:
            print(f"{row['item']}: not predicted: {len(times)} sizes are left, and a fit needs {FEWEST_SIZES}.")
            continue
        largest = max(times)
        clusters = {
            shared: ddpsim.calibrated(f"{row['item']}-{shared}", gpu, times, nccl, shared) for shared in (True, False)
        }
        for configuration in measurement["configurations"]:
            views = configuration["gradient_as_bucket_view"]
            words = (
                *REPLAYED,
                "--torch",
                measurement["setup"]["torch_rules"],
                "--nccl",
                nccl,
                "--bucket-cap-mb",
                str(configuration["bucket_cap_mb"]),
                *(("--gradient-as-bucket-view",) if views else ()),
            )
            result = ddpsim.simulate(replayed(row), clusters[True], *words)
            two_gpus = ddpsim.simulate(replayed(row), clusters[False], *words)
            measured, predicted = median(configuration, "iteration_us"), result["iteration_us"]
            sizes = [bucket["bytes"] for bucket in result["buckets"]]
            wrong_buckets += sizes != configuration["buckets"]["bytes"]
            none = predicted - result["blocking_communication_us"]
            exposed = none + result["buffer_broadcast_us"] + sum(sizes) * times[largest] / largest
            whole_rate.append(percent(two_gpus["iteration_us"], measured))
            for name, value in (("ddpsim", predicted), ("none", none), ("exposed", exposed)):
                found[name].append(percent(value, measured))
            for name in ("forward_us", "backward_us", "finalize_us", "exposed_communication_us", "communication_us"):
                parts[name].append(100 * (result[name] - median(configuration, name)) / measured)
            curves[row["item"], views].append((measured, predicted, configuration["name"]))
            lines.append(
                (
                    row["item"],
                    configuration["name"],
                    len(sizes),
                    ms(measured),
                    ms(predicted),
                    f"{percent(predicted, measured):+.1f}",
                    f"{percent(none, measured):+.1f}",
                    f"{percent(exposed, measured):+.1f}",
                    *(
                        f"{median(configuration, name):.0f} / {result[name]:.0f}"
                        for name in ("backward_us", "communication_us", "exposed_communication_us", "finalize_us")
                    ),
                )
            )
            if not views:
                per_gradient[row["item"]].append(
                    (median(configuration, "backward_us") - result["backward_us"]) / len(gradients_of(result))
                )
    table(
        (
            "workload",
            "cap",
            "buckets",
            "measured ms",
            "predicted ms",
            "error %",
            "no communication %",
            "all exposed %",
            "backward µs, measured / predicted",
            "all-reduces µs",
            "exposed µs",
            "copies out µs",
        ),
        lines,
    )
    regrets, kept = [], []
    for (item, views), curve in curves.items():
        best, chosen = min(curve), min(curve, key=lambda point: point[1])
        default = next((point for point in curve if point[2].startswith("cap25")), best)
        regrets.append((percent(chosen[0], best[0]), percent(default[0], best[0]), percent(max(curve)[0], best[0])))
        kept.append(percent((chosen if percent(default[1], chosen[1]) >= WORTH_SETTING else default)[0], best[0]))
        print(
            f"- {item}{', views' if views else ''}: predicted best {chosen[2]}, measured best {best[2]}: regret {regrets[-1][0]:.2f} %; "
            f"cap 25 {regrets[-1][1]:.2f} %; the worst cap {regrets[-1][2]:.2f} %"
        )
    print()
    for name, words in (("ddpsim", "ddpsim"), ("none", "no communication"), ("exposed", "all exposed")):
        print(f"reducer, {words}: {len(found[name])} steps, {errors_of(found[name])}  ")
    print(f"reducer, ddpsim with two memories instead of one: {errors_of(whole_rate)}  ")
    print(
        f"regret: predicted cap mean {statistics.mean(r[0] for r in regrets):.2f} %, worst {max(r[0] for r in regrets):.2f} %; cap 25 mean "
        f"{statistics.mean(r[1] for r in regrets):.2f} %; the worst cap up to {max(r[2] for r in regrets):.2f} %  "
    )
    print(
        f"regret of the rule that keeps cap 25 unless {WORTH_SETTING} % are predicted to be saved: mean {statistics.mean(kept):.2f} %, worst "
        f"{max(kept):.2f} %  "
    )
    print(f"bucket bytes differ in {wrong_buckets} of {len(lines)} configurations  ")
    print(
        "where the error lies, mean in % of the step: "
        + ", ".join(
            f"{name.removesuffix('_us').replace('_', ' ')} {statistics.mean(values):+.1f}"
            for name, values in parts.items()
        )
    )
    print(
        "backward beyond the prediction, without views, µs a gradient: "
        + ", ".join(f"{item} {statistics.median(values):.1f}" for item, values in per_gradient.items())
    )
    one = next((row for row in rows if row.get("as") == "one rank" and "measurement" in row), None)
    if one:
        lines = []
        for configuration in one["measurement"]["configurations"]:
            views = ("--gradient-as-bucket-view",) if configuration["gradient_as_bucket_view"] else ()
            result = ddpsim.simulate(
                one["workload"],
                NODE.format(count=1, gpu=gpu),
                *REPLAYED,
                "--bucket-cap-mb",
                str(configuration["bucket_cap_mb"]),
                *views,
            )
            lines.append(
                (
                    configuration["name"],
                    ms(median(configuration, "iteration_us")),
                    ms(result["iteration_us"]),
                    f"{percent(result['iteration_us'], median(configuration, 'iteration_us')):+.1f}",
                    *(
                        f"{median(configuration, name):.0f} / {result[name]:.0f}"
                        for name in ("forward_us", "backward_us", "finalize_us")
                    ),
                )
            )
        print(f"\nOne rank alone, {one['workload']}: hooks and copies, nothing to communicate.")
        table(
            (
                "cap",
                "measured ms",
                "predicted ms",
                "error %",
                "forward µs, measured / predicted",
                "backward µs",
                "copies out µs",
            ),
            lines,
        )
    hook = next((row for row in rows if "hook" in row["item"] and "measurement" in row), None)
    plain = next(
        (row for row in rows if hook and row["item"] == hook["item"].split()[0] and "measurement" in row), None
    )
    if hook and plain:
        without = {c["name"]: median(c, "iteration_us") for c in plain["measurement"]["configurations"]}
        print(
            f"The fp16 hook ({hook['item']}), measured: "
            + "; ".join(
                f"{c['name']} {ms(median(c, 'iteration_us'))} ms"
                + (f" (without {ms(without[c['name']])})" if c["name"] in without else "")
                for c in hook["measurement"]["configurations"]
            )
            + "."
        )


def ddp(rows, ours):
    print("\n### PyTorch's DDP in the same place: two processes on one GPU\n")
    as_processes = {
        row["workload"]: row["measurement"] for row in ours if row.get("as") == "processes" and "measurement" in row
    }
    print(
        "Processes take turns on a GPU, while threads of one process run side by side: the two cannot be held against each other."
        + (
            ""
            if as_processes
            else " Our reducer as processes was not reached, so PyTorch's stands alone; ours as threads is shown for the order "
            "of magnitude."
        )
    )
    as_threads = {
        row["workload"]: row["measurement"]
        for row in ours
        if row.get("as") == "threads" and row.get("measurement", {}).get("all_reduces")
    }
    lines = []
    for row in rows:
        for configuration in row["measurement"]["configurations"]:
            beside = []
            for other in (as_processes, as_threads):
                same = [
                    c
                    for c in other.get(row["workload"], {"configurations": []})["configurations"]
                    if c["name"] == configuration["name"]
                ]
                beside.append(ms(median(same[0], "iteration_us")) if same else "not measured")
            lines.append(
                (
                    row["workload"],
                    row["collectives"],
                    configuration["name"],
                    len(configuration["buckets"]["bytes"]),
                    ms(median(configuration, "iteration_us")),
                    ms(median(configuration, "exposed_communication_us")),
                    ms(median(configuration, "exposed_communication_us") / len(configuration["buckets"]["bytes"])),
                    *beside,
                )
            )
    table(
        (
            "workload",
            "collectives",
            "cap",
            "buckets",
            "PyTorch ms",
            "of it exposed ms",
            "a bucket ms",
            "ours as processes ms",
            "ours as threads ms",
        ),
        lines,
    )


def gflop_of(row):
    """GFLOP of a training step by the rule of thumb: three times forward, with two operations per parameter and
    token."""
    if row["model"] in IMAGE_GFLOP:
        return 3 * row["batch"] * IMAGE_GFLOP[row["model"]]
    tokens = row["batch"] * int(re.search(r":s(\d+)", row["estimate"])[1])
    return 6 * row["parameters"] * tokens / 1e9


def constant_share(gpu, rows, truth):
    """Errors of a predictor with one share of the peak rate per precision, chosen to fit these rows best."""
    out = {}
    for precision in {row["precision"] for row in rows}:
        own = [row for row in rows if row["precision"] == precision]
        ideal = [gflop_of(row) / PEAK_TFLOPS[gpu][precision] * 1000 for row in own]  # microseconds
        candidates = [time / truth(row) for row, time in zip(own, ideal)]
        best = min(
            candidates,
            key=lambda share: statistics.mean(abs(percent(time / share, truth(row))) for row, time in zip(own, ideal)),
        )
        out.update({row["item"]: percent(time / best, truth(row)) for row, time in zip(own, ideal)})
    return [out[row["item"]] for row in rows]


def estimates(ddpsim, gpu, rows):
    print("\n### Estimates against truth: whole steps on one GPU, without a profiler\n")
    cluster = NODE.format(count=1, gpu=gpu)
    known = [row for row in rows if "estimate" in row and "gpu_busy_us" in row]
    alone = [row for row in known if row["wrapper"] == "none"]

    def predicted(row, *words):
        return ddpsim.simulate(
            row["estimate"].format(gpu=gpu) + (":channels_last" if row["channels_last"] else ""),
            cluster,
            "--optimizer",
            "momentum" if row["optimizer"] == "sgd" else "adamw",
            "--rank-slowdown",
            "0%",
            *words,
        )

    def gpu_time(row):
        return predicted(row, "--launch-cost", "0us")["alone_us"]

    def memory(row):
        """The predicted memory of tensors. Without DDP there are no buckets."""
        found = predicted(row)["memory"]
        return found["allocated_bytes"] - (found["parts"]["buckets_bytes"] if row["wrapper"] == "none" else 0)

    def measured_memory(row):
        """Without what earlier models left."""
        return row["peak_memory_bytes"] - row["allocated_before_bytes"]

    def same_model(row):
        """Whether the estimate has the same parameters as the trained model."""
        return predicted(row)["memory"]["parts"]["parameters_bytes"] == 4 * row["parameters"]

    def busy_share(row):
        return row["gpu_busy_us"] / median(row, "iteration_us")

    print(
        f"Busy: the sum of the kernels' times, from one profiled step. A step counts as bound by the GPU where that is {GPU_BOUND:.0%} of it and "
        "more; otherwise the host's launches set the pace. Memory without a wrapper: predicted without DDP's buckets. Models with * were "
        "trained with a head that the estimate does not have (BertForMaskedLM predicts words, the estimate's BERT ends in its pooler): "
        "they have lines of their own."
    )
    lines = []
    for row in alone:
        step = median(row, "iteration_us")
        stated = predicted(row)
        lines.append(
            (
                row["model"] + ("" if same_model(row) else "*"),
                row["form"] + (", channels_last" if row["channels_last"] else ""),
                row["precision"],
                row["batch"],
                ms(step),
                ms(stated["alone_us"]),
                f"{percent(stated['alone_us'], step):+.0f}",
                f"{ms(row['gpu_busy_us'])} / {ms(gpu_time(row))}",
                f"{percent(gpu_time(row), row['gpu_busy_us']):+.0f}",
                f"{measured_memory(row) / 1e9:.2f} / {memory(row) / 1e9:.2f}",
                f"{median(row, 'host_us') / row['launches']:.0f}",
            )
        )
    table(
        (
            "model",
            "form",
            "precision",
            "batch",
            "step ms",
            "predicted ms",
            "error %",
            "busy ms, measured / predicted",
            "error %",
            "memory GB, measured / predicted",
            "host µs a launch",
        ),
        lines,
    )

    def line(words, own, values, beside=None):
        if own:
            print(
                f"{words}: {len(own)} rows, {errors_of(values)}"
                + (f"; one share of the peak rate, the best: {errors_of(beside)}" if beside else "")
                + "  "
            )

    other = [row for row in alone if not same_model(row)]
    waiting_all = [row for row in alone if busy_share(row) < GPU_BOUND]
    alone = [row for row in alone if same_model(row)]
    bound = [row for row in alone if busy_share(row) >= GPU_BOUND]
    waiting = [row for row in alone if busy_share(row) < GPU_BOUND]
    full = [row for row in alone if row["form"] != "launch_bound"]
    line(
        "step, bound by the GPU",
        bound,
        [percent(predicted(row)["alone_us"], median(row, "iteration_us")) for row in bound],
        constant_share(gpu, bound, lambda row: median(row, "iteration_us")),
    )
    for name in ("forward_us", "backward_us"):
        line(
            f"{name.removesuffix('_us')}, bound by the GPU",
            bound,
            [
                percent(
                    predicted(row)[name.replace("backward", "backward_compute")]
                    - (predicted(row)["buffer_broadcast_us"] if name == "forward_us" else 0),
                    median(row, name),
                )
                for row in bound
            ],
        )
    line(
        "step, bound by launches",
        waiting,
        [percent(predicted(row)["alone_us"], median(row, "iteration_us")) for row in waiting],
        constant_share(gpu, waiting, lambda row: median(row, "iteration_us")),
    )
    for form in ("precise", "amp", "launch_bound", "channels_last_or_compiled"):
        own = [row for row in alone if row["form"] == form]
        line(
            f"busy, {form}",
            own,
            [percent(gpu_time(row), row["gpu_busy_us"]) for row in own],
            constant_share(gpu, own, lambda row: row["gpu_busy_us"]) if len(own) > 1 else None,
        )
    for words, own in (
        ("images, precise", [row for row in full if row["model"] in IMAGE_GFLOP and row["form"] == "precise"]),
        (
            "images, amp, not channels_last",
            [row for row in full if row["model"] in IMAGE_GFLOP and row["form"] == "amp"],
        ),
        ("decoders, full batches", [row for row in full if row["model"] not in IMAGE_GFLOP]),
    ):
        line(f"busy, {words}", own, [percent(gpu_time(row), row["gpu_busy_us"]) for row in own])
    line(
        "busy, all full batches",
        full,
        [percent(gpu_time(row), row["gpu_busy_us"]) for row in full],
        constant_share(gpu, full, lambda row: row["gpu_busy_us"]),
    )
    line("memory, full batches", full, [percent(memory(row), measured_memory(row)) for row in full])
    line("busy, other head", other, [percent(gpu_time(row), row["gpu_busy_us"]) for row in other])
    line(
        "memory, other head",
        [row for row in other if row["form"] != "launch_bound"],
        [percent(memory(row), measured_memory(row)) for row in other if row["form"] != "launch_bound"],
    )
    print(
        "Memory of launch-bound batches is not compared: they ran behind the wrappers, whose models were not all freed.  "
    )
    per_launch = [median(row, "host_us") / row["launches"] for row in waiting_all]
    print(
        f"host: {statistics.median(per_launch):.0f} µs a launch in the median of the {len(waiting_all)} rows that launches bound "
        f"({min(per_launch):.0f} to {max(per_launch):.0f}); ddpsim assumes 25 for an operator with one"
    )
    bare = {row["model"]: row for row in rows if row["form"] == "amp" and row["wrapper"] == "none"}
    lines, copies = [], []
    for row in rows:
        if row["wrapper"] == "none" or row["model"] not in bare:
            continue
        base = bare[row["model"]]
        said = "not predicted"
        if row["wrapper"] == "ddp":
            result = predicted(row, "--launch-cost", "0us")
            expected = result["copies_in_us"] + result["finalize_us"] - 2 * COPY_GAP_US * len(gradients_of(result))
            said = f"{expected:.0f}"
            copies.append((row["gpu_busy_us"] - base["gpu_busy_us"], expected))
        lines.append(
            (
                row["model"],
                row["wrapper"],
                ms(median(base, "iteration_us")),
                f"{percent(median(row, 'iteration_us'), median(base, 'iteration_us')):+.0f}",
                f"{row['gpu_busy_us'] - base['gpu_busy_us']:+.0f}",
                said,
                f"{row['launches'] - base['launches']:+d}",
                f"{(row['peak_memory_bytes'] - base['peak_memory_bytes']) / 1e9:+.2f}",
            )
        )
    if lines:
        print(
            "\nWhat wrappers add with one rank, autocast bf16. Most of these steps are bound by the host, whose time varies; busy times "
            "do not. Memory holds what earlier wrappers left behind."
        )
        table(
            (
                "model",
                "wrapper",
                "step without ms",
                "step %",
                "busy µs",
                "DDP's copies predicted µs, without gaps",
                "launches",
                "memory GB",
            ),
            lines,
        )
    if copies:
        print(
            f"DDP's copies with one rank: {len(copies)} models, predicted over measured "
            + ", ".join(f"{expected / measured:.2f}" for measured, expected in copies)
            + f"; mean {statistics.mean(expected / measured for measured, expected in copies):.2f}"
        )


def recorder(rows):
    print("\n### The recorder beside torch.profiler watching the same step\n")
    lines, costs = [], []
    for row in rows:
        without, with_it = (
            float(figure) for figure in re.findall(r"[\d.]+(?= with)", row["recorded"]["provenance"]["step_us"])
        )
        costs.append(percent(with_it, without))
        lines.append(
            (
                row["model"],
                row["batch"],
                row["gradients"],
                row["median_percent"],
                row["worst_percent"],
                ms(without),
                f"{costs[-1]:+.1f}",
            )
        )
    table(
        (
            "model",
            "batch",
            "gradients",
            "ready times apart, median % of backward",
            "worst %",
            "step ms",
            "recorder's cost %",
        ),
        lines,
    )
    print(
        f"recorder: {len(rows)} models, ready times apart by at most {max(row['worst_percent'] for row in rows):.2f} % of the backward (aim: 2); "
        f"its cost {min(costs):.1f} to {max(costs):.1f} % of the step (aim: 2)"
    )


def copies(gpu, rows):
    print("\n### Copies, casts and launches\n")
    print(
        "Rate: from the two largest sizes of one tensor, which exceed the cache. A launch: the host's time per tensor with 100 tensors "
        "of at most 16 MiB in all. Launches by Python's operators; ddpsim's cost is that of C++."
    )
    lines, shares, launches = [], [], []
    for kernel, moved in BYTES_MOVED.items():
        ones = sorted(
            (row["bytes"], median(row, "device_us")) for row in rows if row["kernel"] == kernel and row["tensors"] == 1
        )
        (below, t_below), (large, t_large) = ones[-2:]
        rate = moved * (large - below) / (t_large - t_below) / 1000
        launch = statistics.median(
            median(row, "host_us") / row["tensors"]
            for row in rows
            if row["kernel"] == kernel and row["tensors"] == 100 and row["bytes"] <= 16 << 20
        )
        shares.append(rate / MEMORY_GBPS[gpu])
        launches.append(launch)
        lines.append((kernel, f"{rate:.0f}", f"{shares[-1]:.2f}", COPY_SHARE, f"{launch:.1f}", HOST_COPY_US))
    table(("kernel", "GB/s moved", "share of the memory's rate", "assumed", "host µs a launch", "assumed"), lines)
    print(
        f"copies: {min(shares):.2f} to {max(shares):.2f} of the memory's rate, assumed {COPY_SHARE}; a launch takes the host {min(launches):.1f} to "
        f"{max(launches):.1f} µs, assumed {HOST_COPY_US}"
    )


def interference(gpu, rows):
    print("\n### Compute beside thread blocks that move memory\n")
    print(
        "Measured: median time of the kernel beside the blocks over its median time alone. Predicted: compute runs at 1 − blocks / SMs − "
        "traffic / the memory's rate (simulation_options.hpp), of which half is read and half written."
    )
    groups, lines = collections.defaultdict(list), []
    for row in rows:
        share = row["blocks"] / SMS[gpu] + 2 * row["kept_gbps"] / MEMORY_GBPS[gpu]
        groups[row["kernel"]].append((row, row["slowdown"], 1 / (1 - share)))
    every = []
    for kernel, group in groups.items():
        errors = [percent(said, measured) for _, measured, said in group]
        none = [percent(1, measured) for _, measured, _ in group]
        every += zip(errors, none)
        picked = []
        for blocks in (2, 8, 16, 32):
            for rate in (0, 50 if blocks == 2 else 200):
                picked += [
                    f"{measured:.2f} / {said:.2f}"
                    for row, measured, said in group
                    if (row["blocks"], row["rate_gbps"]) == (blocks, rate)
                ]
        lines.append((kernel, f"{group[0][0]['alone_us']:.0f}", *picked, errors_of(errors), errors_of(none)))
    table(
        (
            "kernel",
            "alone µs",
            "2 blocks, still",
            "50 GB/s",
            "8 blocks, still",
            "200 GB/s",
            "16 blocks, still",
            "200 GB/s",
            "32 blocks, still",
            "200 GB/s",
            "ddpsim's errors",
            "no slowdown's errors",
        ),
        lines,
    )
    print(f"interference, ddpsim: {len(every)} rows, {errors_of([a for a, _ in every])}  ")
    print(f"interference, no slowdown: {len(every)} rows, {errors_of([b for _, b in every])}  ")
    kept = [row["kept_gbps"] / row["rate_gbps"] for row in rows if row["rate_gbps"]]
    print(f"blocks kept {min(kept):.2f} to {max(kept):.2f} of the rate they were set")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--measured", type=pathlib.Path, default=MEASURED, help="the folder of a card, or one of cards")
    given = parser.parse_args()
    cards = sorted({path.parent for path in given.measured.rglob("*.json") if path.parent.name != "recorded"})
    if not cards:
        print("Nothing has been measured on a GPU yet: scripts/on_gpu.sh measures, its --keep keeps.")
    for card in cards:
        documents = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in card.glob("*.json")}
        rows = {
            part: documents[part]["rows"] if part in documents else []
            for part in ("reducer", "ddp", "estimates", "recorder", "copies")
        }
        name = next(iter(documents.values()))["card"]
        gpu = next((known for known in PEAK_TFLOPS if known in name.split()), None)
        if gpu is None:
            sys.exit(f"{card}: no data sheet of {name} is known here; add it to PEAK_TFLOPS, MEMORY_GBPS and SMS")
        print(
            f"Measured on one {name}: "
            + "; ".join(
                f"driver {run['driver']}"
                + "".join(
                    f", {key} {value}"
                    for key, value in run["versions"].items()
                    if key in ("torch", "cuda", "transformers")
                )
                for run in (documents.get("estimates") or next(iter(documents.values())))["runs"]
            )
            + ".\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            ddpsim = Ddpsim(given.ddpsim, folder)
            for part, make in (
                ("reducer", lambda: reducer(ddpsim, gpu, rows["reducer"])),
                ("ddp", lambda: ddp(rows["ddp"], rows["reducer"])),
                ("estimates", lambda: estimates(ddpsim, gpu, rows["estimates"])),
                ("recorder", lambda: recorder(rows["recorder"])),
                ("copies", lambda: copies(gpu, [row for row in rows["copies"] if "tensors" in row])),
                ("copies", lambda: interference(gpu, [row for row in rows["copies"] if "blocks" in row])),
            ):
                if rows[part]:
                    make()
                else:
                    print(f"\nPart {part}: not measured on this card.")
        for part, document in documents.items():
            for note in document["notes"]:
                print(f"\nNote on {part}: {note}")


if __name__ == "__main__":
    main()
