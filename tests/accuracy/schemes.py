#!/usr/bin/env python3
"""Lays predicted steps of other schemes beside published ones: ratios within a group, scaling efficiencies, peak memory.

    schemes.py SHARED --ddpsim build/release/cli/ddpsim [--dry-run] [--rows FILE] [--cache FILE] [--check]

SHARED holds data/schemes/schemes.csv. scheme_rows.py turns a row into a job, by its inputs alone, or says why it cannot;
scheme_models.py has the models' dimensions, scheme_figures.py what a published figure counts.

  ratios        rows of one group, model and GPU that share what no option has (torch.compile, fp8), each against each
                other, in samples a second. Given: one row of them, one GPU alone if there is one, else DDP, else the
                first: compute is scaled so that its step comes out as published. Where no figure tells a step's time
                the estimate stands as it is.
  efficiencies  rows with a baseline. Given: the baseline's step.
  memory        peaks that rows with the flag `memory`, or notes, state. Nothing given.
  steps         whole steps where a figure tells one, nothing given: how good the estimates are.

Beside them: the same as DDP (ratio 1, efficiency 1), and the bytes a scheme sends over the narrowest link it crosses, all
in the open or all behind compute, given the same row. An error is max(p/m, m/p) - 1 of a ratio and |p/m - 1| elsewhere.
No constant belongs to a row or a source. Exit code 1 with --check where a bar that was once reached is not. Standard
library only.
"""

import argparse
import collections
import csv
import dataclasses
import functools
import hashlib
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import scheme_figures
import scheme_models
import scheme_rows
from quantile import quantile
from scheme_rows import NotPredicted

WORTH_A_SIGN = 0.05
MOST_STEPS = 8  # of the search for the compute scale
NEAR = 1e-3
SCALES = (0.05, 20)  # beyond these something else than compute explains the figure
EVERYTHING = "1000TB"  # of memory: whether a job fits is not asked here

# What was reached, held by --check: of all, or where no link is guessed. n and signs are least, the others most.
BARS = {
    ("ratios", "links known", "n"): 12, ("ratios", "links known", "signs"): 1,
    ("ratios", "links known", "median"): 0.03, ("ratios", "links known", "p90"): 0.05,
    ("efficiencies", "all", "n"): 51, ("efficiencies", "all", "median"): 0.02, ("efficiencies", "all", "p90"): 0.07,
    ("memory", "all", "n"): 10, ("memory", "all", "median"): 0.10, ("memory", "all", "worst"): 0.25,
    ("steps", "all", "n"): 125, ("steps", "all", "median"): 0.07, ("steps", "all", "p90"): 0.20,
}


class Program:
    """Runs ddpsim once for each different command, ever where the results are kept in a file."""

    def __init__(self, path, folder, cache):
        self.path = path
        self.folder = folder
        self.cache = cache
        self.known = {}
        self.runs = 0
        with open(path, "rb") as file:
            self.version = hashlib.sha256(file.read()).hexdigest()[:16]
        if cache and os.path.exists(cache):
            with open(cache, encoding="utf-8") as file:
                kept = json.load(file)
            self.known = kept["answers"] if kept["version"] == self.version else {}

    def save(self):
        if self.cache:
            with open(self.cache, "w", encoding="utf-8") as file:
                json.dump({"version": self.version, "answers": self.known}, file)

    def __call__(self, *arguments):
        """The document, of which what no table needs is left out; NotPredicted where the program refuses."""
        key = " ".join(arguments).replace(self.folder, "")
        if key not in self.known:
            run = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)
            self.runs += 1
            if run.returncode == 0:
                document = json.loads(run.stdout) if run.stdout.startswith("{") else {}
                for part in ("buckets", "loss", "sensitivities", "confidence", "warnings"):
                    document.pop(part, None)
                document["collectives"] = sum(one["kind"] != "broadcast" for one in document.get("collectives", []))
                self.known[key] = document
            else:
                said = run.stderr.strip().splitlines()
                self.known[key] = {"refused": re.sub(r"^ddpsim: ", "", said[0]) if said else f"exit code {run.returncode}"}
        answer = self.known[key]
        if "refused" in answer:
            raise NotPredicted("refused: " + shortened(answer["refused"].replace(self.folder + "/", "")))
        return answer


def shortened(text, most=110):
    return text if len(text) <= most else text[:most - 1] + "…"


class Predictor:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def workload(self, job, keeps_fp32=False):
        """WORKLOAD of a job: an estimate of its model on its GPU. Where parameters arrive in bfloat16 nothing is cast, as
        in the estimates' bf16-true; but there shards are bfloat16, too, and FSDP keeps them in fp32 (`keeps_fp32`)."""
        name = scheme_models.CATALOGUE.get(job.model)
        if name is None:
            name = os.path.join(self.folder, scheme_models.file_name(job.model))
            if not os.path.exists(name):
                with open(name, "w", encoding="utf-8") as file:
                    json.dump(scheme_models.CONFIGS[job.model], file)
        parts = [f"b{job.batch}"] + ([f"s{job.sequence}"] if scheme_models.has_tokens(job.model) else []) + [
            job.precision + ("-true" if job.arrives_in_bf16 and not keeps_fp32 else "")]
        if scheme_models.has_tokens(job.model):
            parts.append("attn=eager" if scheme_models.has_eager_attention(job.model) else "attn=sdpa")
        if job.checkpointing != "none":
            parts.append(f"ckpt={job.checkpointing}")
        spec = f"{name}@{job.gpu}:" + ":".join(parts)
        return self.half(spec) if job.arrives_in_fp16 else spec

    def half(self, spec):
        """The workload with parameters in fp16, as a file: estimates keep them in fp32 beside autocast to it."""
        path = os.path.join(self.folder, hashlib.sha256(spec.replace(self.folder, "").encode()).hexdigest()[:16] + ".half.json")
        if not os.path.exists(path):
            run = subprocess.run([self.program.path, "import", spec, "-o", path], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise NotPredicted("refused: " + shortened(run.stderr.strip()))
            with open(path, encoding="utf-8") as file:
                workload = json.load(file)
            for parameter in workload["parameters"]:
                parameter["dtype"] = "float16"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(workload, file)
        return path

    def command(self, job, scale=1.0, keeps_fp32=False):
        words = ["simulate", self.workload(job, keeps_fp32), job.cluster, "--memory", EVERYTHING, "--json"]
        if scale != 1:
            words += ["--compute-scale", f"{scale:.6f}"]
        words += job.options
        return words + (["--scheme", job.scheme_text()] if job.scheme != "none" else [])

    def simulate(self, job, scale=1.0, keeps_fp32=False):
        answer = self.program(*self.command(job, scale, keeps_fp32))
        if job.scheme not in ("none", "ddp") and job.gpus > 1 and not answer["collectives"]:
            raise NotPredicted(f"the program's {job.scheme} reduces nothing yet")
        return answer

    def step_s(self, job, scale=1.0):
        """Of a steady step; on one GPU without a scheme compute alone, once for each micro-batch."""
        if job.scheme == "none":
            return self.compute_s(job) / scale
        step = self.simulate(job, scale)
        if job.scheme == "ddp" and job.syncs_each:  # DDP has no option for it: each micro-batch is a step without optimizer
            return (job.micro_batches * (step["iteration_us"] - step["optimizer_us"]) + step["optimizer_us"]) / 1e6
        return step["iteration_us"] / 1e6

    @functools.lru_cache(None)
    def _alone(self, command):
        return self.program(*command)

    def compute_s(self, job):
        """Of one GPU alone, at the estimate's own speed."""
        step = self._alone(("simulate", self.workload(job), f"node:1 gpu:1x{job.gpu}", "--memory", EVERYTHING, "--json"))
        return (job.micro_batches * (step["forward_us"] + step["backward_compute_us"]) + step["optimizer_us"]) / 1e6

    def scale_for(self, job, seconds):
        """Of compute, so that the step takes so long; None where no plausible one does. A step shortens as the scale
        grows, by less than in proportion."""
        low, high = (math.log(scale) for scale in SCALES)
        tried = []
        x = min(max(math.log(self.step_s(job) / seconds), low), high)
        tried.append((0.0, math.log(self.step_s(job) / seconds)))
        for _ in range(MOST_STEPS):
            miss = math.log(self.step_s(job, math.exp(x)) / seconds)
            if abs(miss) < NEAR:
                return math.exp(x)
            (x0, miss0), slope = tried[-1], -1.0
            if x != x0 and miss != miss0:
                slope = min((miss - miss0) / (x - x0), -0.02)
            tried.append((x, miss))
            x = min(max(x - miss / slope, low), high)
        return None


def sent_bytes(job, row):
    """By each GPU in a step, as the formula sheet of the schemes has it; None where the row states no parameters."""
    if not row["params_M"] or job.gpus == 1:
        return 0.0
    elements = float(row["params_M"]) * 1e6
    size = {"bf16": 2, "fp16": 2, "fp32": 4}
    held = size[job.scheme_options.get("param_dtype", "fp32")]
    reduced = size[job.scheme_options.get("reduce_dtype", job.scheme_options.get("param_dtype", "fp32"))]
    if job.scheme.startswith("zero"):
        held = reduced = 4 if job.precision in ("fp32", "tf32") else 2
    gathers = {"fsdp1": 2, "fsdp2": 2, "zero3": 2}.get(job.scheme, 1)
    if job.scheme_options.get("strategy") == "shard_grad_op":
        gathers = 1
    times = job.micro_batches if job.syncs_each else 1
    if job.scheme in ("ddp", "naive"):
        return times * 2 * 4 * elements * (job.gpus - 1) / job.gpus
    return times * elements * (gathers * held + reduced) * (job.gpus - 1) / job.gpus


def link_rate(job):
    """Bytes a second of the narrowest link a ring over all GPUs crosses: a node's ports together, else a GPU's links."""
    nics = re.search(r"nic:(\d+)x([\d.]+)Gbps", job.cluster)
    if nics:
        return int(nics.group(1)) * float(nics.group(2)) * 1e9 / 8
    links = re.search(r"(?:nvswitch|pcie):([\d.]+)GBps", job.cluster)
    if links:
        return float(links.group(1)) * 1e9
    links = re.search(r"nvlink:(\d+)x([\d.]+)GBps", job.cluster)
    return int(links.group(1)) * float(links.group(2)) * 1e9 if links else math.inf


def rank_of_reference(job):
    return 0 if job.scheme == "none" else 1 if job.scheme == "ddp" else 2


@dataclasses.dataclass
class Case:
    """Something measured beside what was said of it. `blind` are the other predictors' answers by name."""
    table: str  # ratios, efficiencies, memory, steps
    kind: str
    scheme: str
    name: str
    measured: float
    predicted: float
    blind: dict
    guesses_links: bool

    def error(self, value=None):
        value = self.predicted if value is None else value
        if value is None or not value > 0:
            return math.inf
        both = value / self.measured, self.measured / value
        return max(both) - 1 if self.table == "ratios" else abs(both[0] - 1)

    def has_sign(self):
        return max(self.measured, 1 / self.measured) - 1 > WORTH_A_SIGN

    def sign_is_right(self, value=None):
        value = self.predicted if value is None else value
        return value is not None and value != 1 and (value > 1) == (self.measured > 1)


EXPOSED, HIDDEN, SAME = "bytes over bandwidth, all exposed", "bytes over bandwidth, all hidden", "same as DDP"


class Rows:
    """Rows and their jobs; the others by the reason why they have none."""

    def __init__(self, rows):
        self.jobs, self.others = [], collections.defaultdict(list)
        for row in rows:
            try:
                self.jobs.append((row, scheme_rows.job_of(row)))
            except NotPredicted as reason:
                self.others[str(reason)].append(row)


def simple_step(predictor, row, job, exposed, factor=1.0):
    compute, wire = predictor.compute_s(job) * factor, sent_bytes(job, row) / link_rate(job)
    return compute + wire if exposed else max(compute, wire)


def simple_factor(predictor, row, job, seconds, exposed):
    """Of compute, so that the simple step takes so long; 1 where the wire alone takes longer."""
    wire = sent_bytes(job, row) / link_rate(job) if exposed else 0
    return (seconds - wire) / predictor.compute_s(job) if seconds > wire else 1.0


def name_of(row, job):
    settings = shortened(row["scheme_settings"], 60)
    return (f"{row['model']} {job.precision} b{job.batch}" + (f" s{job.sequence}" if job.sequence else "")
            + f", {job.gpus} x {row['gpu'].split(' (')[0]}, {row['scheme']}" + (f" [{settings}]" if settings else ""))


def kind_of_pair(a, b):
    if a.scheme != b.scheme or a.scheme_options.get("strategy") != b.scheme_options.get("strategy"):
        return "scheme"
    if (a.scheme_options, a.options, a.checkpointing, a.precision) != (b.scheme_options, b.options, b.checkpointing,
                                                                      b.precision):
        return "setting"
    return "batch or size alone"


def ratios(predictor, rows, bare, refused):
    """Cases of every pair in a group; `refused` gains rows the program has no answer for."""
    series = collections.OrderedDict()
    for row, job in rows.jobs:
        group = scheme_rows.group_of(row)
        speed = scheme_figures.speed_of(row["metric"], row["value_ngpu"], job) if group else None
        if speed:
            series.setdefault((group, job.model, job.gpu, job.words, speed.unit), []).append((row, job, speed))
    cases = []
    for (group, *_), members in series.items():
        said = []
        timed = [member for member in members if member[2].step_s]
        reference = min(timed, key=lambda member: rank_of_reference(member[1])) if timed and not bare else None
        try:
            scale = predictor.scale_for(reference[1], reference[2].step_s) if reference else None
        except NotPredicted:
            scale = None
        for row, job, speed in members:
            try:
                step = predictor.step_s(job, scale or 1.0)
                others = {}
                for name, exposed in ((EXPOSED, True), (HIDDEN, False)):
                    factor = simple_factor(predictor, reference[0], reference[1], reference[2].step_s,
                                           exposed) if reference else 1.0
                    others[name] = job.samples / simple_step(predictor, row, job, exposed, factor)
                said.append((row, job, speed, job.samples / step, others))
            except NotPredicted as reason:
                refused[str(reason)].append(row)
        for (row_a, a, speed_a, pace_a, others_a), (row_b, b, speed_b, pace_b, others_b) in itertools.combinations(said, 2):
            cases.append(Case(
                "ratios", kind_of_pair(a, b), " / ".join(sorted({a.scheme, b.scheme})),
                f"{group}: {name_of(row_b, b)} over {name_of(row_a, a)}", speed_b.value / speed_a.value, pace_b / pace_a,
                {SAME: b.gpus / a.gpus} | {name: others_b[name] / others_a[name] for name in others_a},
                a.guesses_links or b.guesses_links))
    return cases


def efficiencies(predictor, rows, refused):
    cases = []
    for row, job in rows.jobs:
        if not row["scaling_efficiency"]:
            continue
        before = scheme_rows.job_of(row, baseline=True)
        speed = scheme_figures.speed_of(row["metric"], row["value_1gpu"], before)
        try:
            scale = predictor.scale_for(before, speed.step_s) if speed and speed.step_s else None
            steps = [predictor.step_s(each, scale or 1.0) for each in (before, job)]
            others = {SAME: 1.0}
            for name, exposed in ((EXPOSED, True), (HIDDEN, False)):
                factor = simple_factor(predictor, row, before, speed.step_s, exposed) if speed and speed.step_s else 1.0
                simple = [simple_step(predictor, row, each, exposed, factor) for each in (before, job)]
                others[name] = simple[0] / simple[1]
        except NotPredicted as reason:
            refused[str(reason)].append(row)
            continue
        cases.append(Case("efficiencies", "one node" if job.nodes == 1 else "several nodes", job.scheme,
                          f"{name_of(row, job)} from {before.gpus}", float(row["scaling_efficiency"]), steps[0] / steps[1],
                          others, job.guesses_links))
    return cases


def memory(predictor, rows, refused):
    cases = []
    for row, job in rows.jobs:
        figures = scheme_figures.memory_of(row)
        if not figures or job.words:  # a compiled or fp8 step keeps other tensors
            continue
        try:
            said = predictor.simulate(job, keeps_fp32=job.scheme.startswith("fsdp"))["memory"]
        except NotPredicted as reason:
            refused[str(reason)].append(row)
            continue
        for figure in figures:
            predicted = said["allocated_bytes" if figure.counter == "allocated" else "peak_bytes"]
            cases.append(Case("memory", "flag memory" if "memory" in row["flags"].split() else "by the way", job.scheme,
                              f"{name_of(row, job)}, {figure.counter}", figure.bytes, predicted, {}, False))
    return cases


def steps(predictor, rows, refused):
    cases = []
    for row, job in rows.jobs:
        speed = scheme_figures.speed_of(row["metric"], row["value_ngpu"], job)
        if not speed or not speed.step_s or job.words:
            continue
        try:
            predicted = predictor.step_s(job)
        except NotPredicted as reason:
            refused[str(reason)].append(row)
            continue
        cases.append(Case("steps", "one node" if job.nodes == 1 else "several nodes", job.scheme, name_of(row, job),
                          speed.step_s, predicted, {}, job.guesses_links))
    return cases


def percent(value):
    return "-" if math.isnan(value) else "> 999 %" if value > 9.99 else f"{100 * value:.1f} %"


def figures_of(cases, predictor=None):
    """(right signs, signs, median, p90, worst) of ddpsim, or of another predictor."""
    def value(case):
        return case.blind.get(predictor) if predictor else case.predicted

    errors = [case.error(value(case)) for case in cases]
    signed = [case for case in cases if case.has_sign()]
    right = sum(case.sign_is_right(value(case)) for case in signed)
    return right, len(signed), statistics.median(errors), quantile(errors, 0.9), max(errors)


def line(name, predictor, cases, with_sign):
    right, signed, median, p90, worst = figures_of(cases, None if predictor == "ddpsim" else predictor)
    sign = (f"{100 * right / signed:.0f} % of {signed} | " if signed else "- | ") if with_sign else ""
    return f"| {name} | {predictor} | {len(cases)} | {sign}{percent(median)} | {percent(p90)} | {percent(worst)} |"


def table(title, cases):
    """By kind, by scheme, and all; the other predictors beside all and each kind."""
    if not cases:
        return f"No {title} can be predicted.\n"
    with_sign = cases[0].table == "ratios"
    lines = [f"| {title} | predictor | n |" + (" sign right where > 5 % |" if with_sign else "")
             + " error: median | p90 | worst |", "|---|---|---|" + ("---|" if with_sign else "") + "---|---|---|"]
    sets = collections.OrderedDict(all=cases)
    known = [case for case in cases if not case.guesses_links]
    if known and len(known) < len(cases):
        sets["links known"] = known
    for kind in sorted({case.kind for case in cases}):
        sets[kind] = [case for case in cases if case.kind == kind]
    for name, members in sets.items():
        lines.append(line(name, "ddpsim", members, with_sign))
        for other in members[0].blind:
            lines.append(line(name, other, members, with_sign))
    for scheme in sorted({case.scheme for case in cases}):
        lines.append(line("scheme: " + scheme, "ddpsim", [case for case in cases if case.scheme == scheme], with_sign))
    return "\n".join(lines) + "\n"


def by_group(cases):
    """The median pair of each group, then the median over groups: a group of nine rows has 36 pairs."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.name.split(": ")[0]].append(case.error())
    medians = [statistics.median(errors) for errors in groups.values()]
    return (f"Each group once: {len(medians)} groups, median error {percent(statistics.median(medians))}, "
            f"p90 {percent(quantile(medians, 0.9))}.\n") if medians else ""


LIMITS = {"ratios": 0.25, "efficiencies": 0.10, "memory": 0.15, "steps": 0.30}


def misses(title, cases):
    found = [case for case in cases if case.error() > LIMITS[case.table]
             or (case.table == "ratios" and case.has_sign() and not case.sign_is_right())]
    scale = 1e9 if title == "memory" else 1
    lines = [f"{title}: {len(found)} misses of {len(cases)} (error over {100 * LIMITS[cases[0].table]:.0f} %"
             + (", or the wrong sign)" if title == "ratios" else ")") if cases else f"{title}: none"]
    for case in sorted(found, key=lambda case: -case.error()):
        lines.append(f"  {case.name}: measured {case.measured / scale:.3g}, predicted {case.predicted / scale:.3g}, "
                     f"{100 * (case.predicted / case.measured - 1):+.0f} %")
    return "\n".join(lines) + "\n"


def not_predicted(rows, refused):
    reasons = {reason: len(members) for reason, members in rows.others.items()}
    for reason, members in refused.items():
        reasons[reason] = len({row["row_id"] for row in members})
    unused = sum(reasons.values())
    lines = [f"{unused} rows are not predicted:"]
    lines += [f"  {count} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join(lines) + "\n"


def assumptions(rows):
    counted = collections.Counter(text for _, job in rows.jobs for text in set(job.assumed))
    return ("What no word of a row says, taken as usual: "
            + "; ".join(f"{text} ({count} rows)" for text, count in counted.most_common()) + ".\n")


def dry_run(predictor, rows):
    for row, job in rows.jobs:
        print(row["row_id"], " ".join(f'"{word}"' if " " in word else word for word in predictor.command(job)).replace(
            predictor.folder + "/", ""))
    for reason, members in rows.others.items():
        for row in members:
            print(row["row_id"], "not predicted:", reason)


def checked(cases_by_table):
    """Whether every bar of BARS holds; says which does not."""
    held = True
    for (name, subset, figure), bar in BARS.items():
        members = [case for case in cases_by_table[name] if subset == "all" or not case.guesses_links]
        right, signed, median, p90, worst = figures_of(members) if members else (0, 0, 0, 0, 0)
        value = {"signs": right / signed if signed else 0, "median": median, "p90": p90, "worst": worst,
                 "n": len(members)}[figure]
        if value < bar if figure in ("signs", "n") else value > bar:
            print(f"{name}, {subset}: {figure} is {value:.4g}, was once {bar:g}")
            held = False
    return held


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared")
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--dry-run", action="store_true", help="commands and reasons alone")
    parser.add_argument("--rows", help="write every case to this JSON file")
    parser.add_argument("--cache", help="keep the program's answers in this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a bar is not reached")
    options = parser.parse_args(words)
    path = os.path.join(options.shared, "data", "schemes", "schemes.csv")
    if not os.path.exists(path):
        print(f"skipped: {path} is not there")
        return 0
    with open(path, encoding="utf-8", newline="") as file:
        rows = Rows(list(csv.DictReader(file)))
    with tempfile.TemporaryDirectory() as folder:
        program = Program(options.ddpsim, folder, options.cache)
        predictor = Predictor(program, folder)
        if options.dry_run:
            dry_run(predictor, rows)
            return 0
        refused = collections.defaultdict(list)
        cases = {"ratios": ratios(predictor, rows, False, refused), "efficiencies": efficiencies(predictor, rows, refused),
                 "memory": memory(predictor, rows, refused), "steps": steps(predictor, rows, refused)}
        bare = ratios(predictor, rows, True, collections.defaultdict(list))
        program.save()
    for name, members in cases.items():
        print(table(name, members))
        if name == "ratios":
            print(by_group(members))
            if bare:
                print(line("ratios, nothing given", "ddpsim", bare, True) + "\n")
    for name, members in cases.items():
        print(misses(name, members))
    print(assumptions(rows))
    print(not_predicted(rows, refused))
    if options.rows:
        with open(options.rows, "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(case) | {"error": case.error()} for members in cases.values()
                       for case in members], file, indent=1)
    return 0 if not options.check or checked(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
