"""Runs commands that people are shown as they stand, in a folder that holds nothing but trace.json.gz, a small recording,
and n1.txt and n2.txt, all-reduces of one and two nodes."""

import contextlib
import gzip
import json
import os
import pathlib
import subprocess
import tempfile

from command import BINARY
from recording import profiler_trace


@contextlib.contextmanager
def folder():
    """`run` of a line of shell there, in which `ddpsim` is found."""
    with tempfile.TemporaryDirectory() as temporary:
        tools, here = pathlib.Path(temporary, "bin"), pathlib.Path(temporary, "here")
        tools.mkdir()
        here.mkdir()
        (tools / "ddpsim").symlink_to(BINARY)
        (here / "trace.json.gz").write_bytes(gzip.compress(json.dumps(profiler_trace()).encode()))

        def run(line):
            return subprocess.run(["sh", "-c", line], cwd=here, capture_output=True, text=True,
                                  env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})

        for nodes in (1, 2):  # what the law says, as all_reduce_perf would print it
            run(f"ddpsim allreduce abci-v100@{nodes} > n{nodes}.txt").check_returncode()
        yield run
