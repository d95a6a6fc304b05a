#!/usr/bin/env python3
"""Measures settings one by one and together, and compares them with the predictions of `ddpsim advise`.

    tests/lab/settings.py --program build/release/cli/ddpsim -o tests/lab/measured/settings.json
    tests/lab/settings.py --program build/release/cli/ddpsim --table tests/lab/measured/settings.json

The first measures every set-up in 25 minutes. tests/lab/measured/waits.json was measured with --torch 2.13 --rounds 6
--setups waiting.

Two ranks between shaped links train with real DistributedDataParallel over gloo, under every PyTorch found here.
Compute is a timed wait (settings_job.py). In each set-up (setting_setups.py) one rank alone is recorded, and `ddpsim
calibrate` uses the job's own all-reduces. No measured step enters a prediction. Then one job runs the current setting
twice, every row of the advice, and some settings that it does not name. They run in turns, forwards and backwards, so
that drift affects all equally. A gain is the Hodges-Lehmann median of the differences of rounds, with Wilcoxon's
interval (scripts/ab.py).

--table predicts the measurements in a file again; it runs only ddpsim. --check judges (setting_report.py): a table by
the limits over all set-ups, otherwise only the sign of each gain. A missed sign is measured again (repeated.py). Exit
code 4: a limit was missed. 77: no namespaces, no torch, or nothing was quiet enough."""

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
# Caps in MiB that are measured in addition to advised ones, if they make other buckets.
CAPS = (0.25, 1, 5, 25)
TODAY = "today"
# The name in PyTorch 2.13 and the old one. 2.13 accepts both, and tables have the old one.
NEW_NAME = ("forward_sync_buffers", "broadcast_buffers")


def options_of(setting):
    """The options of ddpsim for a setting."""
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
    """The options for the loader, if it is not the recorded one."""
    loader = setting.get("loader")
    if loader == record["today"].get("loader"):
        return []
    words = [f"{key}={value}" for key, value in loader.items()]
    return ["--data-loader", ",".join([*words, f"batch={record['batch_ms']}ms"])]


def nominal_cluster(ranks, rate):
    """A cluster line for the lab's machine with only the rate of its links known: "200mbit", "1gbit"."""
    rate = rate.replace("gbit", "Gbps").replace("mbit", "Mbps")
    return f"node:{ranks} gpu:1xV100 pcie:12GBps nic:1x{rate}:tcp"


class Predictor:
    """Asks ddpsim about one recorded job."""

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
        """A cluster file calibrated from the nominal rate of the links and the job's own all-reduces."""
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
        """The step in microseconds per batch of the current setting, and the bytes of buckets."""
        options = (*options_of(setting), *loader_of(self.record, setting))
        if options not in self.known:
            result = self.answer("simulate", options)
            batches = setting.get("accumulate", 1) / self.today.get("accumulate", 1)
            self.known[options] = result["iteration_us"] / batches, [bucket["bytes"] for bucket in result["buckets"]]
        return self.known[options]

    def rows(self):
        """The predictions of the advice by name.

        Combinations that change the batch are left out. So are settings that were never measured here: local SGD, and
        casts of large buckets only.
        """
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
    """The loader with this number of workers, rounded up, and with the current queues or PyTorch's default."""
    return {"num_workers": math.ceil(workers), "prefetch_factor": today.get("prefetch_factor", 2)}


def others(predictor, rows):
    """Settings that the advice does not name: other caps, also with views and with a hook, and more workers of a
    loader.

    Also bfloat16, if gloo can reduce it. PyTorch's builds for CPUs refuse DDP's hook of that name.
    """
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
    """The first row of the advice, and its first row that keeps numerics."""
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
    """Measures one set-up under one PyTorch. Returns the record that --table needs."""
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
    """The verdict of each place (repeated.failures)."""
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
