"""Runs commands that people are shown as they stand, in a folder that holds nothing but trace.json.gz, a small recording,
study.json, a study of two points, and n1.txt and n2.txt, all-reduces of one and two nodes."""

import contextlib
import gzip
import json
import pathlib
import tempfile

import pages
from recording import profiler_trace


@contextlib.contextmanager
def folder():
    """`run` of a line of shell there."""
    with tempfile.TemporaryDirectory() as temporary:
        here = pathlib.Path(temporary, "here")
        here.mkdir()
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

        for nodes in (1, 2):  # what the cost model says, as all_reduce_perf would print it
            run(f"ddpsim allreduce abci-v100@{nodes} > n{nodes}.txt").check_returncode()
        yield run
