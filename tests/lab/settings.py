#!/usr/bin/env python3
"""Settings measured one by one and together, beside what `ddpsim advise` predicts of them.

    tests/lab/settings.py --program build/release/cli/ddpsim -o tests/lab/measured/settings.json    every set-up, 25 minutes
    tests/lab/settings.py --program build/release/cli/ddpsim --torch 2.13 --rounds 6 --setups waiting -o tests/lab/measured/waits.json
    tests/lab/settings.py --program build/release/cli/ddpsim --table tests/lab/measured/settings.json

Two ranks between shaped links train with real DistributedDataParallel over gloo, under every PyTorch found here; compute is a
timed wait (settings_job.py). Of each set-up (setting_setups.py) one rank by itself is recorded, and `ddpsim calibrate` takes the
job's own all-reduces; no measured step enters a prediction. Then one job runs today's setting, today's once more, every
row of the advice and some it does not name, in turns, forwards and backwards: what drifts meets all alike. A gain is the
Hodges-Lehmann median of the rounds' differences, its interval Wilcoxon's (scripts/ab.py).

--table predicts anew what a file holds measured; nothing runs but ddpsim. --check judges (setting_report.py): a table by the bars
over all set-ups, else each gain by sign alone, what is missed again (repeated.py). Exit 4: a bar was missed; 77: no namespaces,
no torch, or nothing quiet enough."""

import argparse
import ast
import functools
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import lab
import setting_report
import setting_setups
import loop
import repeated

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from torch_python import pythons_with_torch  # noqa: E402

RANKS = 2
JOB = pathlib.Path(__file__).resolve().with_name("settings_job.py")
CAPS = (0.25, 1, 5, 25)  # measured beside those advised, where their buckets are others
TODAY = "today"
NEW_NAME = ("forward_sync_buffers", "broadcast_buffers")  # 2.13's; both hold there, tables have the old one


def options_of(setting):
    """As ddpsim is told of a setting."""
    words = {"bucket_cap_mb": "--bucket-cap-mb", "bucket_cap_mb_list": "--bucket-cap-mb-list"}
    flags = {
        ("find_unused_parameters", True): "--find-unused-parameters",
        ("static_graph", True): "--static-graph",
        ("gradient_as_bucket_view", True): "--gradient-as-bucket-view",
        ("broadcast_buffers", False): "--no-broadcast-buffers",
    }
    options = []
    for key, value in setting.get("arguments", {}).items():
        if key in words:
            options += [words[key], ",".join(map(str, value)) if isinstance(value, list) else str(value)]
        elif (key, value) in flags:
            options.append(flags[key, value])
    if "first_bucket_bytes" in setting:
        options += ["--first-bucket-mb", str(setting["first_bucket_bytes"] / 2**20)]
    if "accumulate" in setting:
        options += ["--accumulate", str(setting["accumulate"])]
    if "hook" in setting:
        words = {"fp16_compress_hook": "fp16", "bf16_compress_hook": "bf16", "powerSGD_hook": "powersgd"}
        options += ["--comm-hook", words[setting["hook"]]]
        for key, value in setting.get("power_sgd", {}).items():
            options += ["--" + key.replace("_", "-"), str(value)]
    return options


def loader_of(record, setting):
    """Told where it is another than the recorded one."""
    loader = setting.get("loader")
    if loader == record["today"].get("loader"):
        return []
    words = [f"{key}={value}" for key, value in loader.items()]
    return ["--data-loader", ",".join([*words, f"batch={record['batch_ms']}ms"])]


def nominal_cluster(ranks, rate):
    """The lab's machine, of which nothing is known but the rate of its links: "200mbit", "1gbit"."""
    rate = rate.replace("gbit", "Gbps").replace("mbit", "Mbps")
    return f"node:{ranks} gpu:1xV100 pcie:12GBps nic:1x{rate}:tcp"


class Predictor:
    """What ddpsim says of one recorded job."""

    def __init__(self, program, record, folder):
        self.program, self.record, self.today, self.torch, self.known = (
            program,
            record,
            record["today"],
            record["torch"],
            {},
        )
        folder = pathlib.Path(folder)
        workload = folder / f"{record['setup']}-{self.torch}.json"
        workload.write_text(json.dumps(record["workload"]), encoding="utf-8")
        self.job = [
            str(workload),
            self.calibrated(record, folder),
            "--compute-scale",
            "1",
            "--backend",
            "gloo",
            "--gloo",
            "tensors:host",
            "--torch",
            self.torch,
            "--rank-slowdown",
            "0%",
        ]
        if record.get("slow"):
            self.job += ["--straggler", ":".join(map(str, record["slow"]))]

    def calibrated(self, record, folder):
        """A cluster of the links' nominal rate and the job's own all-reduces."""
        all_reduces = [
            {"size_bytes": int(size), "dtype": "float32", "time_us": {word: taken for word in ("median", "p10", "p90")}}
            for size, taken in record["all_reduces"].items()
        ]
        ranks = record.get("ranks", RANKS)
        log, cluster = folder / "measurement.json", folder / f"{record['setup']}-{self.torch}-cluster.json"
        log.write_text(
            json.dumps(
                {
                    "schema": "ddpsim.measurement/1",
                    "ranks": ranks,
                    "configurations": [],
                    "setup": {"communication": "ProcessGroupGloo", "backend": "torch"},
                    "all_reduces": all_reduces,
                }
            )
        )
        subprocess.run(
            [
                self.program,
                "calibrate",
                f"{log}@{ranks}x1",
                "--cluster",
                nominal_cluster(ranks, record["rate"]),
                "-o",
                str(cluster),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return f"{cluster}@{ranks}"

    def said(self, command, *options):
        run = subprocess.run([self.program, command, *self.job, *options], capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"settings: {' '.join(run.args)}: {run.stderr}")
        return run.stdout

    def answer(self, command, options):
        return json.loads(self.said(command, *options, "--json"))

    def first_line(self):
        return self.said("advise", *options_of(self.today)).splitlines()[0]

    def simulated(self, setting):
        """Microseconds per today's batch, bytes of its buckets."""
        options = (*options_of(setting), *loader_of(self.record, setting))
        if options not in self.known:
            result = self.answer("simulate", options)
            batches = setting.get("accumulate", 1) / self.today.get("accumulate", 1)
            self.known[options] = result["iteration_us"] / batches, [bucket["bytes"] for bucket in result["buckets"]]
        return self.known[options]

    def rows(self):
        """Of the advice: name -> prediction, but for combinations that change the batch, and for what was never measured
        here: local SGD, casts of large buckets alone."""
        found = {}
        for row in self.answer("advise", options_of(self.today))["rows"]:
            if "error" in row or (row["changes_batch"] and len(row["levers"]) > 1):
                continue
            if any(
                name.startswith(("accumulate 4", "post_localSGD")) or "_hook from " in name for name in row["levers"]
            ):
                continue
            found[" + ".join(row["levers"]).replace(*NEW_NAME)] = {
                "setting": setting_of(row, self.today),
                "gain": row["gain_us"],
                "worth": row["worth"],
                "changes_numerics": row["changes_numerics"],
                "changes_batch": row["changes_batch"],
            }
        return found


def setting_of(row, today):
    """The current setting with the changes of a row of `advise`, read from the line to paste."""
    setting = {**today, "arguments": dict(today.get("arguments", {}))}
    if any("bucket_cap_mb" in name or "first bucket" in name for name in row["levers"]):
        setting["arguments"].pop("bucket_cap_mb", None)
        setting.pop("first_bucket_bytes", None)
    for name in row["levers"]:
        if workers := re.match(r"DataLoader\(num_workers=([\d.]+)( times today's)?\)$", name):
            setting["loader"] = loader_with(
                float(workers[1]) * (today["loader"]["num_workers"] if workers[2] else 1), today["loader"]
            )
    for statement in row["line"].split("; "):
        if not statement or statement.startswith("# DataLoader("):
            continue
        if micro_batches := re.search(r"k % (\d+) == .* else model.no_sync\(\)", statement):
            setting["accumulate"] = int(micro_batches[1])
            continue
        node = ast.parse(statement).body[0]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):  # model = DistributedDataParallel(…)
            node = ast.Expr(node.value)
        if isinstance(node, ast.Assign):
            setting["first_bucket_bytes"] = ast.literal_eval(node.value)
        elif ast.unparse(node.value.func) == "DistributedDataParallel":
            setting["arguments"].update(
                {word.arg.replace(*NEW_NAME): ast.literal_eval(word.value) for word in node.value.keywords}
            )
        elif ast.unparse(node.value.func) == "model.register_comm_hook":
            state, hook = node.value.args
            setting["hook"] = hook.attr
            if hook.attr == "powerSGD_hook":
                setting["power_sgd"] = {word.arg: ast.literal_eval(word.value) for word in state.keywords}
        else:
            sys.exit(f"settings: what does this set? {statement}")
    return setting


def loader_with(workers, today):
    """As many workers, rounded up, with today's queues or PyTorch's own."""
    return {"num_workers": math.ceil(workers), "prefetch_factor": today.get("prefetch_factor", 2)}


def others(predictor, rows):
    """Settings the advice does not name: caps with buckets of their own, with views and with a hook; bfloat16 where gloo
    reduces it, though DDP refuses its hook of that name in PyTorch's builds for a CPU; more workers of a loader."""
    today = predictor.today
    seen = [predictor.simulated(today)[1], *(predictor.simulated(row["setting"])[1] for row in rows.values())]
    found = {}
    for cap in CAPS:
        setting = {**today, "arguments": {**today.get("arguments", {}), "bucket_cap_mb": cap}}
        setting.pop("first_bucket_bytes", None)
        buckets = predictor.simulated(setting)[1]
        if buckets not in seen:
            seen.append(buckets)
            found[f"bucket_cap_mb={cap}"] = setting
    if predictor.torch != "1.13":
        found["bf16_compress_hook"] = {**today, "hook": "bf16_compress_hook"}
    views = {**today, "arguments": {**today.get("arguments", {}), "gradient_as_bucket_view": True}}
    found["fp16_compress_hook + gradient_as_bucket_view=True"] = {**views, "hook": "fp16_compress_hook"}
    if today.get("loader"):
        for workers in (1, 2, 4, 8):
            if workers > today["loader"]["num_workers"]:
                found[f"DataLoader(num_workers={workers})"] = {**today, "loader": loader_with(workers, today["loader"])}
    if found.get("bucket_cap_mb=1"):
        found["fp16_compress_hook + bucket_cap_mb=1"] = {**found["bucket_cap_mb=1"], "hook": "fp16_compress_hook"}
    return {name: setting for name, setting in found.items() if name not in rows}


def few(rows):
    """Of the advice: what it puts first, and first of what leaves numerics as they are."""
    kept = {}
    for numerics in (True, False):
        for name, row in rows.items():
            if row["worth"] and not row["changes_batch"] and (numerics or not row["changes_numerics"]):
                kept[name] = row
                break
    return kept


def launched(python, folder, *arguments):
    return lab.launch(
        [python, "-W", "ignore", str(JOB), "--setup", str(folder / "setup.json"), *arguments],
        RANKS,
        folder,
        600,
        loop.scheduling(),
    )


def measured(arguments, setup, torch, python):
    """One set-up under one PyTorch: what --table needs."""
    lab.build_network(RANKS, setup["rate"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
            recorded = launched(python, folder)
            workload = json.loads(loop.imported(arguments.program, folder).read_text(encoding="utf-8"))
            record = {
                "setup": setup["name"],
                "rate": setup["rate"],
                "torch": torch,
                "today": setup["today"],
                **{key: setup[key] for key in ("costs_most", "batch_ms", "slow") if setup[key]},
                "workload": {key: value for key, value in workload.items() if key != "provenance"},
                "all_reduces": recorded["all_reduces"],
            }
            predictor = Predictor(arguments.program, record, folder)
            rows = predictor.rows()
            settings = {TODAY: setup["today"], "today again": setup["today"]}
            settings |= {name: row["setting"] for name, row in (few(rows) if arguments.few else rows).items()}
            settings |= {} if arguments.few else others(predictor, rows)
            (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
            found = launched(
                python,
                folder,
                "--settings",
                str(folder / "settings.json"),
                "--rounds",
                str(arguments.rounds),
                "--steps",
                str(arguments.steps),
            )
    finally:
        lab.remove_network(RANKS)
    record["measured"] = {
        name: {
            "setting": setting,
            "bucket_bytes": found["buckets"][name],
            "steps_us": [round(step * setup["today"].get("accumulate", 1), 1) for step in found["blocks"][name]],
        }
        for name, setting in settings.items()
    }
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim")
    parser.add_argument(
        "--setups", help="communication-bound,copies; default: all that do not wait; waiting: those that do"
    )
    parser.add_argument("--torch", help="1.13; default: every one found")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--table", help="measured once: predict it anew")
    parser.add_argument("--few", action="store_true", help="today's setting and the top of the advice alone")
    parser.add_argument(
        "--check", action="store_true", help="with --table the bars over all; else sign and order alone"
    )
    parser.add_argument("-o", "--output", help="JSON")
    arguments = parser.parse_args()
    if arguments.table:
        missed = reported(arguments, json.loads(pathlib.Path(arguments.table).read_text(encoding="utf-8")))
        if arguments.check and missed:
            print("missed: " + ", ".join(missed))
            sys.exit(4)
        return
    pythons = {torch: python for torch, python in pythons_with_torch().items() if arguments.torch in (None, torch)}
    if not pythons:
        lab.skip("no Python here has torch (Debian: python3-torch)")
    lab.own_namespaces()
    if not arguments.check:
        reported(arguments, list(every_record(arguments, pythons)))
        return
    failed, judged = repeated.failures(functools.partial(attempt, arguments, pythons))
    if failed:
        sys.exit(4)
    if not judged:
        lab.skip("this machine is too busy: no gain is larger than its noise")


def every_record(arguments, pythons):
    setups, records = setting_setups.all_setups(), []
    waiting = [name for name, setup in setups.items() if setup["costs_most"]]
    plain = [name for name in setups if name not in waiting]
    for name in {None: plain, "waiting": waiting}.get(arguments.setups) or arguments.setups.split(","):
        for torch, python in pythons.items():
            records.append(measured(arguments, setups[name], torch, python))
            print(f"settings: {name}, PyTorch {torch}", file=sys.stderr, flush=True)
            yield records[-1]
            if arguments.output:
                text = ",\n".join(json.dumps(record, separators=(",", ":")) for record in records)
                pathlib.Path(arguments.output).write_text(f"[{text}]\n", encoding="utf-8")


def reported(arguments, records):
    with tempfile.TemporaryDirectory() as folder:
        return setting_report.report([(record, Predictor(arguments.program, record, folder)) for record in records])


def attempt(arguments, pythons):
    """Each place's verdict (repeated.failures)."""
    verdicts = {}
    with tempfile.TemporaryDirectory() as folder:
        for record in every_record(arguments, pythons):
            found = setting_report.signs(record, Predictor(arguments.program, record, folder))
            print(
                "\n".join(
                    f"{place}: {'right' if met else 'too noisy to judge' if met is None else 'WRONG'}"
                    for place, met in found.items()
                ),
                flush=True,
            )
            verdicts |= found
    return verdicts


if __name__ == "__main__":
    main()
