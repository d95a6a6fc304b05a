"""Starts the unmodified ddpsim-real on the simulated GPU (README.md) and reads its output."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402
from held_port import held_port  # noqa: E402

PROGRAM = os.environ["DDPSIM_REAL_BIN"]
LIBRARIES = os.environ["SIMULATED_GPU_LIBRARIES"]
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES")

WORKLOAD = {
    "schema": "ddpsim.workload/1",
    "name": "tiny",
    "parameters": [{"name": f"p{i}", "shape": [10 * (i + 1) + i % 2], "dtype": "float32"} for i in range(4)],
    "buffers": [{"dtype": "float32", "bytes": 80, "tensors": 2}],
    "forward": {"duration_us": 100},
    "backward": {"duration_us": 200, "ready": [{"parameter": i, "at_us": 50 * (4 - i)} for i in (3, 2, 1, 0)]},
}


def leaving_out(*parameters):
    """The options for a job in which each rank has no gradient of these parameters."""
    ranks = []
    for rank, unused in enumerate(parameters):
        ready = [event for event in WORKLOAD["backward"]["ready"] if event["parameter"] not in unused]
        ranks.append(
            {
                "rank": rank,
                "forward": WORKLOAD["forward"],
                "backward": {"duration_us": 200, "ready": ready},
                "recorded_with": {"world_size": len(parameters)},
            }
        )
    return {**WORKLOAD, **{key: ranks[0][key] for key in ("backward", "recorded_with")}, "ranks": ranks}


# One unused on all ranks, one on rank 1.
UNUSED = leaving_out((2,), (2, 0))
SHORT = ("--iterations", "1", "--warmup", "2")
SMALL_CAP = "0.0001"  # one bucket for each parameter


FRAMES = 3  # callers of a place, as in machine.hpp


def callers(program, offsets, most=None):
    """The functions at these return addresses, innermost first, including inlined ones."""
    places = [
        f"{int(offset, 16) - 1:x}" for offset in offsets if int(offset, 16) > 0
    ]  # the thread's beginning may be two calls above
    lines = subprocess.run(
        ["addr2line", "-f", "-i", "-C", "-e", program, *places], capture_output=True, text=True, check=True
    ).stdout.splitlines()[::2]
    return " < ".join(
        re.sub(r"\(.*|ddpsim::|fsdp::", "", line.replace("(anonymous namespace)::", "")) for line in lines[:most]
    )


class OnSimulatedGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tiny.json").write_text(json.dumps(WORKLOAD), encoding="utf-8")
        (self.folder / "unused.json").write_text(json.dumps(UNUSED), encoding="utf-8")

    def environment(self, **variables):
        clean = {
            key: value
            for key, value in os.environ.items()
            if key not in LAUNCHERS and not key.startswith("SIMULATED_GPU_")
        }
        return {**clean, "LD_LIBRARY_PATH": LIBRARIES, **{key: str(value) for key, value in variables.items()}}

    def start(self, *arguments, workload="tiny.json", timeout=patience.seconds(240), **variables):
        return subprocess.run(
            [PROGRAM, workload, "--backend", "cuda-nccl", *arguments],
            cwd=self.folder,
            timeout=timeout,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            check=False,
        )

    def run_well(self, *arguments, **variables):
        run = self.start(*arguments, **variables)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return run

    def run_threads(self, *arguments, **variables):
        """Runs both ranks in one process. Nothing is forked, so this is the cheapest way to run seeds."""
        return self.run_well(
            "--ranks-per-process",
            "2",
            *arguments,
            RANK=0,
            WORLD_SIZE=1,
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=held_port(self.addCleanup),
            LD_BIND_NOW=1,
            **variables,
        )

    def started_apart(self, out, *arguments, port, local_ranks=(0, 1), **variables):
        """Output and exit code of each of two ranks, started as by a launcher. With `local_ranks` None, it sets no
        local ranks."""
        common = dict(
            variables,
            SIMULATED_GPU_MACHINE=self.folder / f"machine-{out}",
            SIMULATED_GPU_PROCESSES=2,
            WORLD_SIZE=2,
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port,
        )
        steps = () if "--iterations" in arguments else SHORT
        ranks = []
        for rank in (0, 1):
            local_rank = {} if local_ranks is None else {"LOCAL_RANK": local_ranks[rank]}
            ranks.append(
                subprocess.Popen(
                    [PROGRAM, "tiny.json", "--backend", "cuda-nccl", *steps, *arguments, "-o", out],
                    cwd=self.folder,
                    env=self.environment(RANK=rank, **local_rank, **common),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return [(rank.communicate(timeout=patience.seconds(60))[1], rank.returncode) for rank in ranks]

    def written(self, folder):
        """The bytes that a job wrote, without the folder's name."""
        return {
            file.name: file.read_bytes().replace(folder.encode(), b"OUT")
            for file in sorted((self.folder / folder).iterdir())
        }

    def timelines(self, folder):
        for file in sorted((self.folder / folder).glob("*.timeline.json")):
            yield file.name, json.loads(file.read_text(encoding="utf-8"))

    def breaches(self, folder):
        """Impossible orders: an all-reduce before its launch, or one that ends before all ranks began it."""
        found = []
        for name, timeline in self.timelines(folder):
            spans = {}
            for rank in timeline["ranks"]:
                for span in rank["spans"]:
                    if span["name"] in ("launch", "all_reduce"):
                        spans.setdefault((span["name"], span["bucket"]), []).append(span)
            for (kind, bucket), reduces in spans.items():
                if kind != "all_reduce":
                    continue
                if min(span["end_us"] for span in reduces) < max(span["start_us"] for span in reduces):
                    found.append(f"{name}: bucket {bucket} ends before all ranks have begun it")
                for launch, reduce in zip(spans[("launch", bucket)], reduces):
                    if reduce["start_us"] < launch["start_us"]:
                        found.append(f"{name}: bucket {bucket} begins before its launch")
        return found
