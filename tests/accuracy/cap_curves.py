#!/usr/bin/env python3
"""Judges the advice of `tune` by measured step times over bucket caps.

    tests/accuracy/cap_curves.py --ddpsim build/release/cli/ddpsim SHARED [--curves] [--answers ANSWERS.json]
                                 [--before BEFORE.json]

A curve has the step times of one job with several caps on one machine. `tune` runs for that job without restrictions,
and the advised cap is placed on the curve. If a measured cap makes the same buckets, the advised cap gets its step.
Between two measured caps, its step is interpolated, linearly in the logarithm of the cap. Beyond the curve, it gets the
step at the end. The output tells how often each of these was done.

Regret is the cost of the advised cap over the fastest measured one, in per cent of that step. An advised cap that was
not measured has an interpolated step. So `tune` also runs with the measured caps as the only candidates. Even then some
answers are interpolated, because the default was not measured; the output tells how many. Two simpler policies are
shown for comparison: always the default, and always the measured cap that is predicted fastest, however uncertain.

Signs: for two caps of a curve that were measured more than 2 % apart, whether the prediction orders them the same way.
Also, for two caps that are predicted that far apart, whether the measurement agrees.

Coverage: how often the 80 % interval of a cap's gain over the default holds the measured gain. If the default was not
measured, the nearest measured cap takes its place. Coverage is counted exactly, and within the noise of the
measurement: 0.5 % of the step, or 1 % for published values, which have few digits.

"Calibrated" curves know their machine. Its links are fitted to all-reduces of the same run (the lab, one GPU, two
GPUs), or to two points of each curve (the DDP paper). The same curves "by specification" use data sheet rates of the
links, as one would type them; two ranks on one GPU have no such line. PyTorch's DDP as two processes on one GPU
(ddp.json) is left out, because the processes take turns on it, which is not simulated. No rule names a source, machine
or row. Standard library only.
"""

import argparse
import collections
import concurrent.futures
import csv
import importlib.util
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile

import ddp_paper
import gpu_tables
import settings
import published_scaling
from behind_figures import with_scripts
from published_rows import cap_of, left_out_because, percentile, step_seconds
from quantile import quantile
from todays_gpus import DEFAULT_MIB, KEEP, MEASURE, SET, gain_of, kind

LAB = pathlib.Path(__file__).resolve().parents[1] / "lab"
sys.path.insert(0, str(LAB))
import autotune  # noqa: E402
import compare_reducers  # noqa: E402
import lab_workloads  # noqa: E402
import predict  # noqa: E402

# This folder has a settings.py, too, so the lab's is loaded by its path.
SPEC = importlib.util.spec_from_file_location("settings_of_lab", LAB / "settings.py")
settings_of_lab = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(settings_of_lab)

ABOVE = 0.02  # smallest difference whose sign counts, per step
NOISE = 0.5  # difference of repeated runs, % of a step
CALIBRATED, BY_SPECIFICATION = "calibrated", "by specification"
# Stands for a cap if none is passed, or for the one that the job passes now.
DEFAULT = None


class Curve:
    """The step times of one job with several caps.

    `measured`: seconds per step by cap in MiB, or by DEFAULT.
    `job`: the words of a command, with the current options.
    `today`: those of the current options that set buckets. They are left out when another cap is simulated.
    `beyond`: a function from a result to the seconds that its prediction lacks.
    `noise`: the difference between two measurements of the same step, in per cent.
    """

    def __init__(self, group, name, machine, measured, job, today=(), beyond=lambda result: 0, noise=NOISE):
        self.group, self.name, self.machine, self.measured = group, name, machine, measured
        self.job, self.today, self.beyond, self.noise = list(job), list(today), beyond, noise


class Judge:
    def __init__(self, ddpsim, curve):
        self.ddpsim, self.curve = ddpsim, curve

    def simulated(self, cap, first=None):
        """The step in seconds and the bytes of its buckets."""
        options = self.curve.today if cap is DEFAULT and first is None else buckets_options(cap, first)
        result = self.ddpsim(*self.curve.job, *options)
        return result["iteration_us"] / 1e6 + self.curve.beyond(result), [
            bucket["bytes"] for bucket in result["buckets"]
        ]

    def tuned(self, *options):
        return self.ddpsim(*self.curve.job, *options, "--threads", "1", command="tune")

    def place(self, cap, first=None):
        """The step in seconds, and how the cap was placed on the curve."""
        measured = self.curve.measured
        if cap in measured and first is None:
            return measured[cap], "measured"
        buckets = self.simulated(cap, first)[1]
        same = [other for other in measured if self.simulated(other)[1] == buckets]
        size = DEFAULT_MIB if cap is DEFAULT else cap
        if same:
            return measured[min(same, key=lambda other: abs(logarithm(other) - logarithm(size)))], "same buckets"
        known = sorted((logarithm(other), seconds) for other, seconds in measured.items())
        at = logarithm(size)
        if not known[0][0] < at < known[-1][0]:
            return (known[0] if at <= known[0][0] else known[-1])[1], "beyond"
        (x, before), (y, after) = next((a, b) for a, b in zip(known, known[1:]) if a[0] <= at <= b[0])
        return before + (after - before) * ((at - x) / (y - x) if y > x else 0), "between"

    def place_advised(self, recommended):
        """The step in seconds, and how the cap was placed on the curve."""
        if kind(recommended) != SET:
            return self.place(DEFAULT)
        cap, first = recommended["bucket_cap_mb"], recommended["first_bucket_mb"]
        if cap is DEFAULT and first is None and self.curve.today:  # "remove the argument"
            cap = DEFAULT_MIB
        return self.place(cap, first)

    def gains(self):
        """The gain of each other cap as a share of the step without it: measured, predicted, low and high."""
        measured, today = self.curve.measured, self.curve.today
        base = DEFAULT
        if base not in measured:
            base = min(measured, key=lambda cap: abs(logarithm(cap) - logarithm(DEFAULT_MIB)))
            today = buckets_options(base)
        found = []
        for cap, seconds in measured.items():
            if cap in (base, DEFAULT) or self.simulated(cap)[1] == self.simulated(base)[1]:
                continue
            answer = self.tuned(*today, "--caps", repr(float(cap)))
            gain = gain_of(answer["recommended"]) or answer["recommended"]["gain_us"]
            step = (answer["today"] or answer["default"])["iteration_us"]
            found.append((1 - seconds / measured[base], *(gain[key] / step for key in ("value", "low", "high"))))
        return found

    def record(self):
        curve = self.curve
        answer = self.tuned(*curve.today)
        recommended = answer["recommended"]
        default, default_by = self.place(DEFAULT)
        advised, advised_by = self.place_advised(recommended)
        caps = [repr(float(cap)) for cap in curve.measured if cap is not DEFAULT]
        of_measured, of_measured_by = default, default_by
        if caps:
            of_measured, of_measured_by = self.place_advised(
                self.tuned(*curve.today, "--caps", ",".join(caps))["recommended"]
            )
        predicted = {cap: self.simulated(cap)[0] for cap in curve.measured}
        best = min(curve.measured.values())
        return {
            "group": curve.group,
            "name": curve.name,
            "machine": curve.machine,
            "kind": kind(recommended),
            "cap_mb": recommended["bucket_cap_mb"],
            "placed": advised_by,
            "default_placed": default_by,
            "points": len(curve.measured),
            "noise_percent": curve.noise,
            "best_cap_mb": min(curve.measured, key=curve.measured.get),
            "command": [*curve.job, *curve.today],
            "regret_percent": 100 * (advised / best - 1),
            "over_default_percent": 100 * (advised / default - 1),
            "of_measured_placed": of_measured_by,
            "of_measured_regret_percent": 100 * (of_measured / best - 1),
            "default_regret_percent": 100 * (default / best - 1),
            "fastest_regret_percent": 100 * (curve.measured[min(predicted, key=predicted.get)] / best - 1),
            "signs_measured": signs(curve.measured, predicted),
            "signs_predicted": signs(predicted, curve.measured),
            "gains": self.gains(),
        }


def buckets_options(cap, first=None):
    return [
        *(("--bucket-cap-mb", repr(float(cap))) if cap is not None else ()),
        *(("--first-bucket-mb", repr(first)) if first is not None else ()),
    ]


def logarithm(cap):
    """The logarithm of a cap in MiB. A cap of 0 counts as 1 KiB, which is below the smallest gradient of these jobs."""
    return math.log(max(DEFAULT_MIB if cap is DEFAULT else cap, 1 / 1024))


def signs(truth, said):
    """For each pair of caps that are more than 2 % apart in `truth`, whether `said` orders them the same way."""
    caps = list(truth)
    points = ddp_paper.Curve("", "", "", 0, [(0, cap, truth[cap]) for cap in caps])
    return [right for *_, right in ddp_paper.pairs_of(points, [said[cap] for cap in caps])]


def paper(ddpsim, shared):
    """Curves of the DDP paper, Figures 7 and 8: six or seven caps on 16 and 32 V100 (environment A of ddp_paper.py)."""
    path = shared / "data/published-scaling/ddp-paper-vldb2020.json"
    if not path.exists():
        return
    curves, _ = ddp_paper.curves_of(json.loads(path.read_text(encoding="utf-8")))
    predictor = ddp_paper.Predictor(ddpsim, "A", ddp_paper.WORKLOADS)
    for backend in ("nccl", "gloo"):
        own = [curve for curve in curves if curve.backend == backend]
        start = ddp_paper.PARAMETERS["A", backend]
        for machine, parameters in ((CALIBRATED, ddp_paper.fit(predictor, own, start)), (BY_SPECIFICATION, start)):
            for curve in own:
                if curve.over_caps:
                    points = {DEFAULT if cap == DEFAULT_MIB else cap: seconds for _, cap, seconds in curve.points}
                    yield Curve(
                        f"DDP paper, {backend}",
                        curve.name,
                        machine,
                        points,
                        predictor.options(curve, curve.points[0][0], parameters),
                    )


def published(ddpsim, shared, folder):
    """Curves from published rows that differ only in their cap, at the lowest percentile with several caps."""
    path = shared / "data/published-scaling/scaling-shared.csv"
    if not path.exists():
        return
    with open(path, encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in with_scripts(csv.DictReader(file))
            if cap_of(row) and int(row["n_gpus"]) > 1 and not left_out_because(row)
        ]
    runs = collections.defaultdict(dict)
    for row in rows:
        same = tuple(
            row[key]
            for key in (
                "source",
                "source_ref",
                "model",
                "framework",
                "gpu",
                "n_gpus",
                "nodes",
                "network",
                "precision",
                "per_gpu_batch",
            )
        )
        runs[same].setdefault(percentile(row), {})[float(cap_of(row))] = row
    predictor = published_scaling.Predictor(ddpsim.path, [], folder)
    for same, by_percentile in runs.items():
        several = {share: caps for share, caps in by_percentile.items() if len(caps) > 1}
        if not several:
            continue
        caps = several[min(several)]
        row = next(iter(caps.values()))
        scale = predictor.scale_for(row, None)
        if scale is None:
            continue
        words = predictor.words(row, int(row["n_gpus"]), int(row["nodes"]), scale)
        at = words.index("--bucket-cap-mb")
        points = {
            DEFAULT if cap == DEFAULT_MIB else cap: step_seconds(row, float(row["value_ngpu"]), int(row["n_gpus"]))
            for cap, row in caps.items()
        }
        yield Curve(
            "published rows",
            f"{row['model']}, {row['n_gpus']} {row['gpu']}, {row['framework'][:11]}, p{min(several):g}",
            BY_SPECIFICATION,
            points,
            words[:at] + words[at + 2 :],
            noise=100 * published_scaling.BASELINE_NOISE,
        )


def two_gpus(ddpsim, shared, folder):
    """Curves from trainings with several bucket sizes, whose all-reduces and step without overlap are known."""
    path = shared / "data/levers/levers.csv"
    if not path.exists():
        return
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    points = collections.defaultdict(dict)
    for row in rows:
        if row["source"].startswith(settings.LANGUAGE_MODEL) and row["lever"].startswith("bucket size"):
            before, after = (
                float(words.split()[0]) for words in row["lever"].removeprefix("bucket size ").split(" -> ")
            )
            points[row["batch"]] |= {before: float(row["before"]), after: float(row["after"])}
    for number, (batch, measured) in enumerate(points.items()):
        own = os.path.join(folder, f"two-gpus-{number}")
        os.mkdir(own)
        job = settings.LanguageModel(settings.Program(ddpsim.path), rows, own).job(batch) + ["--torch", "2.6"]
        for machine, cluster in ((CALIBRATED, job[1]), (BY_SPECIFICATION, "node:1 gpu:2xA100 pcie:25GBps:p2p")):
            yield Curve(
                "two A100, levers.csv", f"language model, {batch}", machine, measured, [job[0], cluster, *job[2:]]
            )


def lab_tables(ddpsim, folder):
    """Curves from the lab's sweeps of our reducer. Compute is a timed wait, and gloo's links are shaped."""
    for table in sorted((LAB / "measured").glob("*.csv")):
        rows = compare_reducers.read(table)
        if not {"kind", "rate", "bucket_bytes"} <= set(rows[0]):
            continue
        hook = rows[0].get("comm_hook") or "none"
        curves = collections.defaultdict(dict)
        for backend in {"c10d-gloo", "torch"} & {row["backend"] for row in rows}:
            for (model, ranks, name), (medians, _) in compare_reducers.points(rows, backend).items():
                cap = name.removeprefix("cap").removesuffix("-views")
                curves[backend, model, ranks, name.endswith("-views")][DEFAULT if cap == "default" else float(cap)] = (
                    statistics.median(medians) / 1e6
                )
        for (backend, model, ranks, views), measured in curves.items():
            value = lab_workloads.all_workloads()[model]
            if hook != "none":
                value["recorded_with"]["wire_dtype"] = {"fp16": "float16", "bf16": "bfloat16"}[hook]
            path = pathlib.Path(folder) / f"{table.stem}-{model}.json"
            path.write_text(json.dumps(value), encoding="utf-8")
            options = [
                "--rank-slowdown",
                "0%",
                *(["--gradient-as-bucket-view"] if views else []),
                *(["--comm-hook", hook] if hook != "none" else []),
            ]

            def casts(result, rows=rows, model=model, ranks=ranks, backend=backend):
                return predict.casts_us(rows, model, ranks, backend, result["buckets"][-1]["bytes"]) / 1e6

            rate = next(row["rate"] for row in rows if (row["model"], int(row["ranks"])) == (model, ranks))
            name = f"{model}, {ranks} ranks, {rate}, {backend}{', views' if views else ''}{f', {hook}' if hook != 'none' else ''} ({table.stem})"
            if all_reduces := predict.all_reduces(rows, model, ranks, backend):
                gloo, _ = predict.links(all_reduces, ranks)
                yield Curve(
                    "lab, reducers", name, CALIBRATED, measured, predict.job(path, ranks, gloo) + options, beyond=casts
                )
            job = predict.job(path, ranks, "tensors:host")
            yield Curve(
                "lab, reducers",
                name,
                BY_SPECIFICATION,
                measured,
                [job[0], settings_of_lab.nominal_cluster(ranks, rate), *job[2:], *options],
                beyond=casts,
            )


def lab_settings(ddpsim, folder):
    """Curves from the lab's jobs of single settings: the current setting, and those that differ only in their cap."""
    for record in json.loads((LAB / "measured/settings.json").read_text(encoding="utf-8")):
        today = record["today"]
        plain = {key: value for key, value in today.get("arguments", {}).items() if key != "bucket_cap_mb"}
        points = {}
        for name, one in record["measured"].items():
            arguments = dict(one["setting"].get("arguments", {}))
            cap = arguments.pop("bucket_cap_mb", None)
            others = {key: value for key, value in one["setting"].items() if key != "arguments"}
            if (
                arguments == plain
                and others == {key: value for key, value in today.items() if key != "arguments"}
                and name != "today again"
            ):
                points[DEFAULT if name == "today" else cap] = statistics.median(one["steps_us"]) / 1e6
        if len(points) < 2:
            continue
        job = settings_of_lab.Predictor(ddpsim.path, record, folder).job
        words = settings_of_lab.options_of({**today, "arguments": plain})
        now = buckets_options(today.get("arguments", {}).get("bucket_cap_mb"))
        for machine, cluster in (
            (CALIBRATED, job[1]),
            (
                BY_SPECIFICATION,
                settings_of_lab.nominal_cluster(record.get("ranks", settings_of_lab.RANKS), record["rate"]),
            ),
        ):
            yield Curve(
                "lab, real DDP",
                f"{record['setup']}, {record['rate']}, PyTorch {record['torch']}",
                machine,
                points,
                [job[0], cluster, *job[2:], *words],
                now,
            )


def lab_autotuned(folder):
    """Curves from the lab's jobs for autotune: real DDP with a grid of caps. Their all-reduces were not stored."""
    setups = autotune.all_setups()
    for record in json.loads((LAB / "measured/autotune.json").read_text(encoding="utf-8")):
        one, ranks = setups[record["setup"]]
        path = pathlib.Path(folder) / f"{one['name'].replace(' ', '-')}.json"
        path.write_text(json.dumps(one["workload"]), encoding="utf-8")
        points = {
            DEFAULT if name == "default" else float(name.split("=")[1]): statistics.median(steps) / 1e6
            for name, steps in record["curve"].items()
        }
        yield Curve(
            "lab, real DDP",
            f"{record['setup']}, PyTorch {record['torch']} (autotune)",
            BY_SPECIFICATION,
            points,
            [
                str(path),
                settings_of_lab.nominal_cluster(ranks, record["rate"]),
                "--compute-scale",
                "1",
                "--backend",
                "gloo",
                "--gloo",
                "tensors:host",
                "--torch",
                record["torch"],
                "--rank-slowdown",
                "0%",
            ],
        )


def one_gpu(program, folder):
    """Curves of our reducer with two ranks on one GPU. The current cap is an explicit 25, which was measured."""
    for path in sorted((LAB / "measured/gpu").glob("*/reducer.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        gpu = next(known for known in gpu_tables.PEAK_TFLOPS if known in document["card"].split())
        own = pathlib.Path(folder) / path.parent.name
        own.mkdir()
        ddpsim = gpu_tables.Ddpsim(program, own)
        for row in document["rows"]:
            measurement = row.get("measurement")
            if not measurement or row["as"] != "threads" or not measurement["all_reduces"]:
                continue
            times, nccl = (
                gpu_tables.times_of_collectives(measurement["all_reduces"]),
                measurement["setup"]["communication"].removeprefix("NCCL "),
            )
            if len(times) < gpu_tables.FEWEST_SIZES:
                print(
                    f"left out: {row['item']} on {document['card']}: {len(times)} sizes of its all-reduces are left, and a fit needs "
                    f"{gpu_tables.FEWEST_SIZES}"
                )
                continue
            cluster = ddpsim.calibrated(row["item"], gpu, times, nccl, True)
            for views in (False, True):
                points = {
                    configuration["bucket_cap_mb"]: gpu_tables.median(configuration, "iteration_us") / 1e6
                    for configuration in measurement["configurations"]
                    if configuration["gradient_as_bucket_view"] == views
                }
                if DEFAULT_MIB not in points:
                    continue
                points[DEFAULT] = points.pop(DEFAULT_MIB)
                yield Curve(
                    "one GPU",
                    f"{row['item']} on {gpu}{', views' if views else ''}",
                    CALIBRATED,
                    points,
                    [
                        row["workload"],
                        cluster,
                        *gpu_tables.REPLAYED,
                        "--torch",
                        measurement["setup"]["torch_rules"],
                        "--nccl",
                        nccl,
                        *(["--gradient-as-bucket-view"] if views else []),
                    ],
                    buckets_options(DEFAULT_MIB),
                )


def share(rights):
    return f"{sum(rights)} of {len(rights)}" + (f" ({100 * sum(rights) / len(rights):.0f} %)" if rights else "")


def regret(records, key):
    worst = max(records, key=lambda one: one[key])
    values = [one[key] for one in records]
    return f"{statistics.median(values):.2f}, {quantile(values, 0.9):.2f}, {worst[key]:.2f} % ({worst['name']})"


def held(record, gain):
    measured, _, low, high = gain
    noise = record["noise_percent"] / 100
    return low - noise <= measured <= high + noise


def figures(records):
    """The lines of the summary of these curves, each a label and a value."""
    gains = [gain for one in records for gain in one["gains"]]
    kinds = collections.Counter(one["kind"] for one in records)
    slower = max(records, key=lambda one: one["over_default_percent"])
    placed = collections.Counter(one["placed"] for one in records if one["kind"] == SET)
    return [
        ("curves; points", f"{len(records)}; {sum(one['points'] for one in records)}"),
        ("set, keep, measure first", ", ".join(str(kinds[name]) for name in (SET, KEEP, MEASURE))),
        (
            "caps that are set were placed at",
            ", ".join(f"{how} {count}" for how, count in sorted(placed.items())) or "none",
        ),
        ("regret of tune: median, p90, worst", regret(records, "regret_percent")),
        ("regret of tune asked for the measured caps", regret(records, "of_measured_regret_percent")),
        (
            "of these interpolated",
            f"{sum(one['of_measured_placed'] in ('between', 'beyond') for one in records)} of {len(records)}",
        ),
        ("regret of always the default", regret(records, "default_regret_percent")),
        ("regret of the predicted fastest cap", regret(records, "fastest_regret_percent")),
        (
            "tune over the default: mean, worst",
            f"{statistics.mean(one['over_default_percent'] for one in records):+.2f}, "
            f"{slower['over_default_percent']:+.2f} % ({slower['name']})",
        ),
        (
            f"tune slower than the default by more than {NOISE} %",
            f"{sum(one['over_default_percent'] > NOISE for one in records)} of {len(records)}",
        ),
        ("signs right, caps measured 2 % apart", share([right for one in records for right in one["signs_measured"]])),
        (
            "signs right, caps predicted 2 % apart",
            share([right for one in records for right in one["signs_predicted"]]),
        ),
        ("80 % intervals of gains hold", share([low <= measured <= high for measured, _, low, high in gains])),
        (
            "the same, within the noise of the measurement",
            share([held(one, gain) for one in records for gain in one["gains"]]),
        ),
        (
            "gains of more than the noise: intervals hold within it",
            share(
                [
                    held(one, gain)
                    for one in records
                    for gain in one["gains"]
                    if 100 * abs(gain[0]) > one["noise_percent"]
                ]
            ),
        ),
        (
            "their width, median",
            f"{100 * statistics.median(high - low for *_, low, high in gains):.2f} % of the step" if gains else "none",
        ),
    ]


def groups_of(records):
    """The records by name of their group: first each kind of machine as a whole, then each group."""
    found = {}
    for machine in (CALIBRATED, BY_SPECIFICATION):
        of = [one for one in records if one["machine"] == machine]
        if of:
            found[f"all, {machine}"] = of
            for group in dict.fromkeys(one["group"] for one in of):
                found[f"{group}, {machine}"] = [one for one in of if one["group"] == group]
    return found


def tables(records, before, curves):
    earlier = groups_of(before) if before else {}
    for name, of in groups_of(records).items():
        was = dict(figures(earlier[name])) if name in earlier else {}
        yield (
            f"\n### {name}\n\n| what | "
            + ("before | now |" if before else "value |")
            + "\n|---|---|"
            + ("---|" if before else "")
        )
        for what, value in figures(of):
            yield f"| {what} | " + (f"{was.get(what, '')} | " if before else "") + f"{value} |"
    if curves:
        yield "\n| curve | machine | tune | placed | best measured | regret % | over the default % | default's regret % | signs | held |"
        yield "|---|---|---|---|---|---|---|---|---|---|"
        for one in records:
            said = one["kind"] + (f" {one['cap_mb']:g}" if one["kind"] == SET and one["cap_mb"] is not None else "")
            best = "default" if one["best_cap_mb"] is None else f"{one['best_cap_mb']:g}"
            yield (
                f"| {one['group']}: {one['name']} | {one['machine']} | {said} | {one['placed']} | {best} | {one['regret_percent']:.2f} | "
                f"{one['over_default_percent']:+.2f} | {one['default_regret_percent']:.2f} | "
                f"{sum(one['signs_measured'])} of {len(one['signs_measured'])} | "
                f"{sum(held(one, gain) for gain in one['gains'])} of {len(one['gains'])} |"
            )


def judged(ddpsim, shared):
    with tempfile.TemporaryDirectory() as folder:
        found = [
            *paper(ddpsim, shared),
            *published(ddpsim, shared, folder),
            *two_gpus(ddpsim, shared, folder),
            *lab_tables(ddpsim, folder),
            *lab_settings(ddpsim, folder),
            *lab_autotuned(folder),
            *one_gpu(ddpsim.path, folder),
        ]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda curve: Judge(ddpsim, curve).record(), found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--ddpsim", help="absent: the answers are read, not asked for")
    parser.add_argument("--curves", action="store_true", help="a line for each curve")
    parser.add_argument("--answers", type=pathlib.Path, help="where what was found is written, as JSON")
    parser.add_argument(
        "--before", type=pathlib.Path, help="what an earlier program's --answers wrote, to stand beside"
    )
    given = parser.parse_args()
    if given.ddpsim:
        records = judged(ddp_paper.Ddpsim(os.path.abspath(given.ddpsim)), given.shared)
        if given.answers:
            given.answers.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    else:
        records = json.loads(given.answers.read_text(encoding="utf-8"))
    before = json.loads(given.before.read_text(encoding="utf-8")) if given.before else None
    print("\n".join(tables(records, before, given.curves)))


if __name__ == "__main__":
    main()
