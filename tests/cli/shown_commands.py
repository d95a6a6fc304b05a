"""Runs commands that people are shown as they stand, in a folder of their own. It holds only what the pages assume:

- trace.json.gz, a small recording; log, a folder with traces of three ranks;
- study.json, a study of two points;
- n1.txt and n2.txt, logs of all-reduces on one and two nodes;
- before and after, folders with recordings of two ranks; in the second one rank 1 is slow."""

import contextlib
import gzip
import json
import pathlib
import shutil
import tempfile

import pages
from command import ROOT
from recording import profiler_trace


@contextlib.contextmanager
def folder():
    """A function that runs a line of shell there; its attribute `here` is the folder."""
    with tempfile.TemporaryDirectory() as temporary:
        here = pathlib.Path(temporary, "here")
        here.mkdir()
        inputs = ROOT / "tests" / "golden" / "inputs"
        (here / "log").mkdir()
        for trace in inputs.glob("rank*.json"):
            shutil.copy(trace, here / "log")
        shutil.copytree(inputs / "lab" / "base", here / "before")
        shutil.copytree(inputs / "lab" / "slow-rank", here / "after")
        (here / "trace.json.gz").write_bytes(gzip.compress(json.dumps(profiler_trace()).encode()))

        (here / "study.json").write_text(
            json.dumps(
                {
                    "schema": "ddpsim.study/1",
                    "workload": "resnet50-v100-b32",
                    "candidates": ["dgx1v"],
                    "grid": {"bucket-cap-mb": [5, 25]},
                }
            )
        )

        def run(line):
            return pages.run(line, here)

        run.here = here
        # The cost model's times, in the form of an all_reduce_perf log.
        for nodes in (1, 2):
            run(f"ddpsim allreduce abci-v100@{nodes} > n{nodes}.txt").check_returncode()
        yield run
