"""Pythons here that have PyTorch, which need not be the one that runs the tests."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = """
import importlib.util, sys
if not all(map(importlib.util.find_spec, sys.argv[1:])):
    sys.exit(1)
import torch
print("torch", torch.__version__)
"""
# How tests run one: on one core, talking to this machine alone.
ENVIRONMENT = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@functools.lru_cache(maxsize=None)
def pythons_with_torch(*packages):
    """{"1.13": python, …}: one for each release found, beginning with the nearest; scripts/setup.sh --torch adds some."""
    installed = sorted(map(str, (ROOT / "build" / "torch").glob("*/bin/python")))
    found = {}
    for python in dict.fromkeys([sys.executable, shutil.which("python3"), "/usr/bin/python3", *installed]):
        if python is None or not pathlib.Path(python).exists():
            continue
        probe = subprocess.run([python, "-c", PROBE, "torch", *packages], capture_output=True, text=True)
        if probe.returncode == 0:
            version = probe.stdout.split()[-1].split(".")
            found.setdefault(".".join(version[:2]), python)
    return found


def python_with_torch(*packages):
    return next(iter(pythons_with_torch(*packages).values()), None)


def under_every_torch(test):
    """The test, given a version, its Python and an empty folder."""
    @functools.wraps(test)
    def each(self):
        if not pythons_with_torch():
            self.skipTest("no python3 here has PyTorch (scripts/setup.sh --torch)")
        for version, python in pythons_with_torch().items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                test(self, version, python, pathlib.Path(folder))
    return each


def run_of(python):
    """In front of a script that trains, and its arguments."""
    return [python, "-W", "ignore", "-X", "faulthandler", str(pathlib.Path(__file__).with_name("without_teardown.py"))]


def run_ranks(python, script, folder, ranks, *more, expected=None, **environment):
    """What `script FOLDER RANK MORE…`, run once a rank beside each other, printed on each. Where one ends otherwise than `expected`
    (exit codes by rank, 0 each), or time is over, all end, and the error has what each said and where it was."""
    expected = expected or [0] * ranks
    running = []
    for left in [*folder.glob("meeting*"), *folder.glob("store*")]:  # of the job before: who ends so takes no store down
        left.unlink()
    for rank in range(ranks):
        with open(folder / f"said-{rank}", "w") as said, open(folder / f"told-{rank}", "w") as told:
            running.append(subprocess.Popen([*run_of(python), str(script), str(folder), str(rank), *map(str, more)],
                                            env={**ENVIRONMENT, **environment}, stdout=told, stderr=said))
    with contextlib.suppress(AssertionError):
        patience.until(lambda: all(process.poll() is not None for process in running) or
                       any(process.poll() not in (None, code) for process, code in zip(running, expected)), limit=600, pause=0.05)
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGABRT)  # upon which faulthandler says where it is
    codes = [process.wait() for process in running]
    told = [(folder / f"told-{rank}").read_text() for rank in range(ranks)]
    assert codes == list(expected), f"exit codes {codes}:\n" + "\n".join(
        f"rank {rank}, behind {told[rank][-200:].strip()!r}: {(folder / f'said-{rank}').read_text()[-2000:]}" for rank in range(ranks))
    return told


def trained_together(python, script, folder, ranks, *more):
    """The JSON lines of rank 0 of `script FOLDER RANK MORE…`, run once a rank beside each other."""
    return list(map(json.loads, run_ranks(python, script, folder, ranks, *more)[0].splitlines()))
