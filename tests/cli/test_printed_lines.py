"""Runs everything that commands print for pasting: lines of Python, lines of shell, and commands.

Lines of Python run under each PyTorch found here. If a line needs a GPU, only its imports run, and its names and
arguments are looked up. The test prints these lines."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import stat
import subprocess
import tempfile
import unittest

from command import BINARY, answer, ddpsim
from torch_python import ENVIRONMENT, run_ranks, under_every_torch

NODES = "node:2 gpu:2xV100 nvlink:6x25GBps:mesh nic:1x10Gbps:tcp"
NODE = "node:1 gpu:2xV100 pcie:12GBps"
BUFFERS = "resnet18@V100:b32"
JOBS = [
    (BUFFERS, NODES),
    (BUFFERS, NODES, "--bucket-cap-mb", "25"),
    (BUFFERS, NODES, "--bucket-cap-mb", "100", "--gradient-as-bucket-view"),
    (BUFFERS, NODES, "--find-unused-parameters"),
    (BUFFERS, NODES, "--accumulate", "2", "--no-broadcast-buffers"),
    (BUFFERS, NODE),
    ("alexnet@V100:b32", NODES, "--static-graph"),
    (BUFFERS, NODES, "--backend", "gloo"),
]
BLOCKS = "mpt-125m@V100:b1"
SCHEMES = [
    "fsdp1",
    "fsdp1:wrap=none",
    "fsdp2",
    "fsdp2:wrap=none",
    "fsdp2:wrap=leaves",
    "fsdp2:wrap=size,min_num_params=1000000",
    "fsdp2:wrap=*.blocks.*",
    "zero2",
    "zero3",
    "megatron",
]
# Schemes are tested under this version only. With 1.13, Debian's Python cannot import torch.distributed.fsdp, and other
# schemes do not differ.
NEWEST = "2.13"
# A stand-in with the options of nccl-tests' common.cu. The listed ones have a value.
ALL_REDUCE_PERF = """#!/usr/bin/env python3
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-b", required=True), parser.add_argument("-e", required=True)
for option in "f", "g", "t", "n", "w":
    parser.add_argument("-" + option, type=int)
parser.parse_args()
"""
MPIRUN = """#!/bin/sh
[ "$1 $3" = "-np -N" ] && [ "$2" -ge "$4" ] || exit 1
shift 4
exec "$@"
"""


def few_norms(folder):
    """A workload with only two norms, because SyncBatchNorm's all-reduces, one per norm, take long to simulate."""
    path = folder / "workload.json"
    assert ddpsim("import", BUFFERS, "-o", path).code == 0
    workload = json.loads(path.read_text(encoding="utf-8"))
    kept = [
        i for i, one in enumerate(workload["parameters"]) if one["name"].startswith(("conv1", "bn1", "layer1.0", "fc"))
    ]
    workload["parameters"] = [workload["parameters"][i] for i in kept]
    workload["backward"]["ready"] = [
        {**one, "parameter": kept.index(one["parameter"])}
        for one in workload["backward"]["ready"]
        if one["parameter"] in kept
    ]
    for key in ("host", "activations", "provenance"):
        del workload[key]
    path.write_text(json.dumps(workload), encoding="utf-8")
    return str(path)


def advised(version, folder):
    """The lines of advise and tune for every job, each with its origin."""
    lines = {}

    def add(line, where):
        if line:
            lines.setdefault(line, where)

    jobs = [*JOBS, (few_norms(folder), NODES, "--sync-batchnorm")]
    if version == NEWEST:
        jobs += [(BLOCKS, NODES, "--scheme", scheme) for scheme in SCHEMES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        advice = pool.map(lambda job: answer("advise", *job, "--torch", version), jobs)
        tuned = pool.map(lambda job: answer("tune", *job, "--torch", version), JOBS)
        for job, said in zip(jobs, advice):
            for row in said["rows"]:
                add(row["line"], f"advise {shlex.join(job)}: {' + '.join(row['levers'])}")
        for job, said in zip(JOBS, tuned):
            add(said["recommended"]["python"], f"tune {shlex.join(job)}")
            if said["better_lever"]:
                add(said["better_lever"]["line"], f"tune {shlex.join(job)}")
    return lines


def is_shell(line):
    return line.startswith("export ")


def is_python(line):
    return not is_shell(line) and not line.startswith(("{", "--"))


class PrintedLines(unittest.TestCase):
    @under_every_torch
    def test_every_line_to_paste_runs(self, version, python, folder):
        lines = advised(version, folder)
        pythons = [line for line in lines if is_python(line)]
        self.assertGreater(len(pythons), 20)
        (folder / "lines.json").write_text(json.dumps(pythons), encoding="utf-8")
        script = pathlib.Path(__file__).with_name("printed_lines.py")
        alone = subprocess.run(
            [python, "-W", "ignore", script, folder / "lines.json"],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
        found = [
            lacking or how
            for lacking, how in zip(json.loads(alone.stdout), json.loads(run_ranks(python, script, folder, 2)[0]))
        ]
        wrong = [
            f"{lines[line]}\n    {line}\n    {how}"
            for line, how in zip(pythons, found)
            if how not in ("trained", "ran", "resolved")
        ]
        resolved = [line for line, how in zip(pythons, found) if how == "resolved"]
        print(
            f"PyTorch {version}: {found.count('trained')} lines trained, {found.count('ran')} ran, {len(resolved)} need a GPU, whose names "
            "were looked up:\n    " + "\n    ".join(resolved)
        )
        self.assertEqual(wrong, [], "\n".join(wrong))
        for line in lines:
            with self.subTest(line):
                for statement in line.split("; ") if not is_python(line) else ():
                    self.check_other(statement)

    def check_other(self, statement):
        """Checks a line that is not Python: shell, a part of DeepSpeed's configuration, or options of Megatron-LM."""
        if is_shell(statement):
            name, _, value = statement.removeprefix("export ").partition("=")
            shell = subprocess.run(
                ["sh", "-ec", f"{statement}; printenv {name}"], capture_output=True, text=True, check=True
            )
            self.assertEqual(shell.stdout.strip(), value)
            self.assertRegex(name, "^NCCL_[A-Z_]+$")
        elif statement.startswith("{"):
            self.assertIn("stage", json.loads(statement)["zero_optimization"])
        else:
            self.assertRegex(statement, r"^--[a-z-]+( --[a-z-]+)*( \d+)?$")

    def test_proposed_measurements_run(self):
        """Runs the proposed measurements with stand-ins for all_reduce_perf and mpirun, which need GPUs.

        The stand-ins accept the same options and print a log from the cost model.
        """
        for workload, cluster, hosts, gpus in (
            ("vgg16@A100:b16", "node:4 gpu:1xA100 nic:1x25Gbps:tcp", 4, 1),
            ("vgg16@RTX4090:b16", "node:1 gpu:4xRTX4090 pcie:12GBps", 1, 4),
        ):
            devices = [
                f"#  Rank {rank:2} Group  0 Pid {100 + rank:6} on host{rank // gpus} device {rank % gpus} [0x{rank:02x}] NVIDIA"
                for rank in range(hosts * gpus)
            ]
            with self.subTest(cluster), tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                for name, text in (("all_reduce_perf", ALL_REDUCE_PERF), ("mpirun", MPIRUN)):
                    (folder / name).write_text(text)
                    (folder / name).chmod(stat.S_IRWXU)
                (folder / "ddpsim").symlink_to(BINARY)
                environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

                def run(line, environment=environment, folder=folder):
                    done = subprocess.run(
                        ["sh", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True
                    )
                    self.assertEqual(done.returncode, 0, f"{line}: {done.stderr}")

                following = answer("simulate", workload, cluster, "--rank-slowdown", "0%")["confidence"]["measure_next"]
                self.assertIn("all_reduce_perf", following["command"])
                run(following["command"])
                (folder / "LOG").write_text("# Using devices\n" + "\n".join(devices) + "\n#\n")
                run(f"ddpsim allreduce {shlex.quote(cluster)} >> LOG")
                then = (
                    following["then"]
                    .replace("CLUSTER", shlex.quote(cluster))
                    .replace(" -o CALIBRATED", " -o calibrated.json")
                )
                run(then)

    def test_the_next_command_of_each_answer_runs(self):
        asked = [[command, BUFFERS, NODES] for command in ("simulate", "tune", "advise", "compare")]
        asked += [
            ["buckets", BUFFERS],
            ["topo", NODES],
            ["allreduce", NODES],
            ["import", BUFFERS, "-o", "workload.json"],
        ]
        followed, temporary = set(), tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        for words in asked:
            said = ddpsim(*words, cwd=temporary.name)
            self.assertEqual(said.code, 0, said.err)
            for line in re.findall(r"^Next: ddpsim (.*)$", said.out, re.MULTILINE):
                if line not in followed:
                    with self.subTest(line):
                        outcome = ddpsim(*shlex.split(line), cwd=temporary.name)
                        self.assertEqual(outcome.code, 0, outcome.err)
                        followed.add(line)
        self.assertGreater(len(followed), 1)


if __name__ == "__main__":
    unittest.main()
