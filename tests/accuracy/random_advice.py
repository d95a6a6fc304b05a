#!/usr/bin/env python3
"""Checks on random jobs that the settings advised by `tune` and `advise` are never slower than the current one.

    random_advice.py --ddpsim build/release/cli/ddpsim [--cases 2000] [--seed 1] [--file build/random_advice.jsonl]
                     [--most-parameters 150]

Appends one JSON line per case to the file and skips the cases in it, so an interrupted run resumes. Prints a summary of
the lines of this seed. The exit code is 1 if a case failed. Use one file for each --most-parameters, because the cases
differ.

A case is a model (an estimate or a bundled recording), a cluster (bundled, or one line), a PyTorch version or none, and
some current options. Each answer is checked with `simulate` only. An advised setting must not be slower than the
current one, and must gain what the answer says. This must hold under each version that the answer is for. That is the
job's own version, or the oldest, the newest and one in between for every range of `recommended_by_version`, with its
NCCL. The same is checked for each row of `advise` that is worth it and keeps numerics.

The summary also compares three policies in the program's own scenarios. The first always keeps the current setting. The
second is the rule of sim/tune/rule.hpp, which changes nothing if it depends on the version. The third always takes the
cap with the fastest predicted step. These numbers compare the model with itself, not with machines. Standard library
only.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import statistics
import subprocess
import sys

ADVISED_SHARE = 0.2  # of the cases, which also run `advise`
MOST_DRAWS = 50
NEWEST_TORCH = "2.13"
TORCHES = [f"1.{minor}" for minor in range(5, 14)] + [f"2.{minor}" for minor in range(14)]
BUCKET_OPTIONS = ("--bucket-cap-mb", "--first-bucket-mb", "--bucket-cap-mb-list")
ROUNDING_US = 1e-5  # two values printed to the picosecond
INTERCONNECTS = {
    "servers": ("nvswitch:150GBps", "nvswitch:300GBps", "nvlink:6x25GBps", "pcie:25GBps"),
    "PCIe cards": ("pcie:12GBps", "pcie:25GBps", "pcie:25GBps:no-p2p"),
    "GeForce and workstations": ("pcie:12GBps:no-p2p", "pcie:25GBps:no-p2p", "pcie:25GBps"),
    "AMD": ("xgmi:7x64GBps",),
}
NICS = (
    "1x10Gbps:tcp",
    "1x25Gbps:tcp",
    "1x100Gbps:ib",
    "2x100Gbps:roce",
    "4x100Gbps:ib",
    "8x200Gbps:ib",
    "8x400Gbps:ib",
)
SETTING_OPTIONS = {
    "broadcast_buffers=False": {"--no-broadcast-buffers": True},
    "forward_sync_buffers=False": {"--no-broadcast-buffers": True},
    "gradient_as_bucket_view=True": {"--gradient-as-bucket-view": True},
    "static_graph=True": {"--static-graph": True},
    "find_unused_parameters=False": {"--find-unused-parameters": None},
    "_apply_optimizer_in_backward": {"--apply-optimizer-in-backward": True},
}
NCCL_OPTIONS = {
    "NCCL_ALGO": "--algorithm",
    "NCCL_MAX_NCHANNELS": "--max-channels",
    "NCCL_MIN_NCHANNELS": "--min-channels",
}
UNSET_OPTIONS = {
    **NCCL_OPTIONS,
    "NCCL_PROTO": "--protocol",
    "NCCL_BUFFSIZE": "--buffer-size",
    "NCCL_NVLS_ENABLE": "--no-nvls",
}


class Refused(Exception):
    """The program ended with exit code 2 or 3: options conflict, or it cannot answer."""


class Program:
    def __init__(self, ddpsim, most_parameters=None):
        """Reads the names of `list`. `most_parameters` leaves out larger models."""
        self.ddpsim = ddpsim
        listed = json.loads(self.run("list", "--json"))
        parameters = {one["name"]: int(one["summary"].split()[0]) for one in listed["models"]}
        self.models = [name for name, count in parameters.items() if count <= (most_parameters or count)]
        self.recordings = [one["name"] for one in listed["workloads"] if one["name"].split("-")[0] in self.models]
        self.clusters = [one["name"] for one in listed["clusters"]]
        self.gpus = [(one["name"], one["summary"].split(":")[0]) for one in listed["gpus"]]
        self.gpu_of = {name: json.loads(self.run("topo", name, "--json"))["cluster"]["gpu"] for name in self.clusters}

    def run(self, *arguments):
        process = subprocess.run(
            [self.ddpsim, *arguments], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
        )
        if process.returncode in (2, 3):
            raise Refused(process.stderr.strip())
        if process.returncode != 0:
            raise RuntimeError(f"exit code {process.returncode}: {' '.join(arguments)}: {process.stderr.strip()}")
        return process.stdout

    def answer(self, command, job, options, *more):
        threads = () if command == "simulate" else ("--threads", "1")  # cases run in parallel
        return json.loads(self.run(command, *job, *arguments_of(options), *more, *threads, "--json"))

    def step(self, job, options):
        return self.answer("simulate", job, options)["iteration_us"]


def arguments_of(options):
    """The command line words of options such as {"--torch": "2.4", "--static-graph": True, "--nccl": None}."""
    arguments = []
    for name, value in options.items():
        if value is not None:
            arguments += [name] if value is True else [name, str(value)]
    return arguments


def draw_cluster(rng, program):
    """The words of a random cluster, and its GPU."""
    nodes = rng.choice((1, 1, 2, 2, 3, 4, 8, 16))
    if rng.random() < 0.6:
        name = rng.choice(program.clusters)
        return [name, "--nodes", str(nodes)], program.gpu_of[name]
    gpu, kind = rng.choice(program.gpus)
    gpus = rng.choice((2, 4, 8) if nodes == 1 else (1, 2, 4, 8))
    line = f"node:{nodes} gpu:{gpus}x{gpu} {rng.choice(INTERCONNECTS.get(kind, ('pcie:25GBps',)))}"
    return [line + (f" nic:{rng.choice(NICS)}" if nodes > 1 else "")], gpu


def draw_options(rng):
    options = {}
    if rng.random() < 0.5:
        options["--torch"] = rng.choice(TORCHES)
    for chance, name, values in (
        (0.15, "--bucket-cap-mb", (1, 4, 10, 25, 50, 100, 400)),
        (0.05, "--first-bucket-mb", (0.1, 1, 8, 32)),
        (0.1, "--find-unused-parameters", (True,)),
        (0.05, "--static-graph", (True,)),
        (0.2, "--gradient-as-bucket-view", (True,)),
        (0.15, "--no-broadcast-buffers", (True,)),
        (0.1, "--comm-hook", ("fp16", "bf16")),
        (0.15, "--accumulate", (2, 4, 8)),
        (0.05, "--sync-batchnorm", (True,)),
        (0.05, "--apply-optimizer-in-backward", (True,)),
        (0.05, "--algorithm", ("ring", "tree")),
        (0.05, "--max-channels", (1, 2, 8)),
        (0.1, "--rank-slowdown", ("0%", "5%")),
        (0.05, "--cuda-graph", (True,)),
        (0.08, "--backend", ("gloo",)),
    ):
        if rng.random() < chance:
            options[name] = rng.choice(values)
    return options


def draw(rng, program):
    """A random job, as the words of workload and cluster, and its options."""
    cluster, gpu = draw_cluster(rng, program)
    options = draw_options(rng)
    if rng.random() < 0.25:
        if gpu != "V100":
            options["--gpu"] = gpu
        return [rng.choice(program.recordings), *cluster], options
    batch = rng.choice((1, 2, 4, 8, 16, 32, 64, 128))
    precision = rng.choice(("", "", ":fp32", ":amp", ":amp", ":bf16"))
    return [f"{rng.choice(program.models)}@{gpu}:b{batch}{precision}", *cluster], options


def ends(answer, options):
    """The options for each version that an answer is for, with the range of versions or None."""
    ranges = answer["recommended_by_version"]
    if not ranges:
        return [(None, options)]
    found = []
    for of in ranges:
        first, last = of["torch_from"], of["torch_to"] or NEWEST_TORCH
        versions = {first: of["nccl"][0], last: of["nccl"][1]}
        if answer["backend"] != "nccl":
            versions = dict.fromkeys(versions)
        if "--nccl" not in options and first in TORCHES and last in TORCHES:
            between = TORCHES[(TORCHES.index(first) + TORCHES.index(last)) // 2]
            versions.setdefault(between, None)  # with the NCCL it ships
        found += [
            (of, {**options, "--torch": torch, "--nccl": nccl or options.get("--nccl")})
            for torch, nccl in versions.items()
        ]
    return found


def with_caps(options, cap, first):
    return {
        **{name: value for name, value in options.items() if name not in BUCKET_OPTIONS},
        "--bucket-cap-mb": cap,
        "--first-bucket-mb": first,
    }


def with_settings(options, row):
    """The current options with the settings of a row of `advise`."""
    changed = dict(options)
    for setting in row["levers"]:
        variable, _, value = setting.partition("=")
        if setting in SETTING_OPTIONS:
            changed.update(SETTING_OPTIONS[setting])
        elif setting.endswith(" unset"):
            changed.pop(UNSET_OPTIONS[setting.removesuffix(" unset")])
        elif variable in NCCL_OPTIONS:
            changed[NCCL_OPTIONS[variable]] = value.lower()
        elif "bucket" in setting:
            changed = with_caps(changed, None, None)
            line = row["line"]
            if found := re.search(r"bucket_cap_mb=([\d.e-]+)", line):
                changed["--bucket-cap-mb"] = found[1]
            if found := re.search(r"bucket_cap_mb_list=\[([^]]*)\]", line):
                changed["--bucket-cap-mb-list"] = found[1].replace(" ", "")
            if found := re.search(r"_DEFAULT_FIRST_BUCKET_BYTES = (\d+)", line):
                changed["--first-bucket-mb"] = repr(int(found[1]) / 2**20)
        else:
            raise RuntimeError(f"no option is known for the setting {setting}")
    return changed


class Steps:
    """Computes gains from `simulate` only."""

    def __init__(self, program, job):
        self.program, self.job, self.known = program, job, {}

    def step(self, options):
        key = tuple(arguments_of(options))
        if key not in self.known:
            self.known[key] = self.program.step(self.job, options)
        return self.known[key]

    def has(self, options):
        try:
            self.step(options)
        except Refused:
            return False
        return True

    def gain(self, today, changed):
        return self.step(today) - self.step(changed)


def check_caps(steps, answer, options, failures):
    """Checks the settings that `tune` advises. Returns the least gain in per cent, or None if nothing is advised."""
    gains, recommended = [], answer["recommended"]
    if recommended["action"] == "set":
        own = steps.gain(options, with_caps(options, recommended["bucket_cap_mb"], recommended["first_bucket_mb"]))
        if abs(own - recommended["gain_us"]["value"]) > 2 * ROUNDING_US:
            failures.append(f"recommended gains {own:.6f} us, not {recommended['gain_us']['value']}")
    for of, today in ends(answer, options):
        said = of or recommended
        if said["action"] != "set":
            continue
        changed = with_caps(today, said["bucket_cap_mb"], said["first_bucket_mb"])
        if not steps.has(today):  # its NCCL lacks a current option
            continue
        try:
            gain = steps.gain(today, changed)
        except Refused as refused:
            failures.append(f"{' '.join(arguments_of(changed))}: refused: {refused}")
            continue
        gains.append(100 * gain / steps.step(today))
        if gain < -ROUNDING_US:
            failures.append(
                f"{' '.join(arguments_of(changed))}: {-gain:.6f} us slower than {' '.join(arguments_of(today))}"
            )
    return min(gains, default=None)


def check_advice(steps, program, answer, options, failures):
    """Checks each row of `advise` like check_caps. Returns the number of rows and versions that were checked."""
    checked = 0
    for row in program.answer("advise", steps.job, options)["rows"]:
        if not row.get("worth") or row["changes_numerics"]:
            continue
        for of, today in ends(answer, options):
            changed = with_settings(today, row)
            try:
                gain = steps.gain(today, changed)
            except Refused as refused:
                if not of:  # other versions may lack this setting
                    failures.append(f"advise: {' and '.join(row['levers'])}: refused: {refused}")
                continue
            checked += 1
            if gain < -ROUNDING_US:
                failures.append(
                    f"advise: {' and '.join(row['levers'])}: {' '.join(arguments_of(changed))}: "
                    f"{-gain:.6f} us slower than {' '.join(arguments_of(today))}"
                )
    return checked


def policies(program, job, options, answer):
    """Expected gain and its low end, for the rule and for the fastest predicted cap, in per cent of the current
    step."""
    today = (answer["today"] or answer["default"])["iteration_us"]

    def share(recommended, gain):
        return [100 * recommended["expected_gain_us"] / today, 100 * gain["low"] / today]

    recommended = answer["recommended"]
    rule = share(recommended, recommended["gain_us"]) if recommended["action"] == "set" else [0, 0]
    first = answer["default"]["first_bucket_mb"]
    points = [
        point
        for point in answer["curve"]
        if point["reachable"]
        and point["bucket_cap_mb"] is not None
        and point["first_bucket_mb"] in (point["bucket_cap_mb"], first)
    ]
    fastest = min(points, key=lambda point: point["iteration_us"], default=None)
    if fastest is None or fastest["iteration_us"] >= today:
        return {"rule": rule, "fastest": [0, 0]}
    known = {**options, "--torch": answer["torch"], "--nccl": options.get("--nccl") or answer["nccl"]}
    if answer["backend"] != "nccl":
        del known["--nccl"]
    of_cap = program.answer("tune", job, known, "--caps", repr(fastest["bucket_cap_mb"]))["recommended"]
    return {"rule": rule, "fastest": share(of_cap, of_cap["most_robust_gain_us"] or of_cap["gain_us"])}


def run_case(program, seed, index, with_policies=True):
    rng = random.Random(f"{seed}:{index}")
    for refused in range(MOST_DRAWS):
        job, options = draw(rng, program)
        try:
            answer = program.answer("tune", job, options)
            break
        except Refused:
            continue
    else:
        raise RuntimeError(f"case {index}: nothing drawn can be simulated")
    steps, failures = Steps(program, job), []
    line = {
        "seed": seed,
        "case": index,
        "command": ["tune", *job, *arguments_of(options)],
        "drawn_again": refused,
        "torch_known": answer["torch_known"],
        "set": answer["recommended"]["action"] == "set",
        "gain_percent": check_caps(steps, answer, options, failures),
        "advised": 0,
        "failures": failures,
    }
    if rng.random() < ADVISED_SHARE:
        try:
            line["advised"] = check_advice(steps, program, answer, options, failures)
        except (Refused, RuntimeError) as error:
            failures.append(str(error))
    if with_policies:
        line.update(policies(program, job, options, answer))
    return line


def run_cases(program, seed, indices, with_policies=True):
    """Yields the line of each case as soon as it is ready."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(run_case, program, seed, index, with_policies) for index in indices]
        for done in concurrent.futures.as_completed(running):
            yield done.result()


def summary(lines):
    gains = [line["gain_percent"] for line in lines if line["gain_percent"] is not None]
    some = [line for line in lines if line["gain_percent"] is not None and not line["set"]]
    rows = [
        f"{len(lines)} cases ({sum(line['drawn_again'] for line in lines)} draws that cannot be simulated left out): set "
        f"{sum(line['set'] for line in lines)}, kept {len(lines) - len(gains)}, set under some versions only {len(some)}"
    ]
    if gains:
        rows.append(
            f"gain of what is set, the least of its versions: median {statistics.median(gains):.2f} %, "
            f"worst {min(gains):.4f} %"
        )
    rows.append(f"rows of advise times versions held against simulate: {sum(line['advised'] for line in lines)}")
    weighed = [line for line in lines if "rule" in line]
    if weighed:
        rows += [
            "",
            "| policy, in the program's own scenarios | mean expected gain | worst low end "
            "| cases whose low end is a loss over 1 % |",
            "|---|---|---|---|",
        ]
        for name, key in (
            ("today's setting always", None),
            ("the rule", "rule"),
            ("the fastest predicted cap always", "fastest"),
        ):
            pairs = [line[key] if key else [0, 0] for line in weighed]
            expected, low = ([pair[k] for pair in pairs] for k in (0, 1))
            rows.append(
                f"| {name} | {statistics.fmean(expected):.3f} % | {min(low):.2f} % | "
                f"{sum(one < -1 for one in low)} of {len(low)} |"
            )
    failed = [line for line in lines if line["failures"]]
    rows += ["", f"slower than today, or not as said: {len(failed)} cases"]
    rows += [
        f"  case {line['case']}: ddpsim {' '.join(map(repr, line['command']))}\n    " + "\n    ".join(line["failures"])
        for line in failed
    ]
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-parameters", type=int, help="only models of no more: many cases soon")
    parser.add_argument("--file", default="build/random_advice.jsonl")
    arguments = parser.parse_args()
    lines = []
    if os.path.exists(arguments.file):
        with open(arguments.file, encoding="utf-8") as file:
            lines = [line for line in map(json.loads, file) if line["seed"] == arguments.seed]
    present = collections.Counter(line["case"] for line in lines)
    program = Program(arguments.ddpsim, arguments.most_parameters)
    with open(arguments.file, "a", encoding="utf-8") as file:
        for line in run_cases(program, arguments.seed, [i for i in range(arguments.cases) if i not in present]):
            lines.append(line)
            print(json.dumps(line), file=file, flush=True)
    lines = sorted((line for line in lines if line["case"] < arguments.cases), key=lambda line: line["case"])
    print(summary(lines))
    sys.exit(any(line["failures"] for line in lines))


if __name__ == "__main__":
    main()
