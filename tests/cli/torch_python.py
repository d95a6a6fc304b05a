"""Finds the Pythons here that have PyTorch, which need not be the one that runs the tests."""

import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import patience
from thorough import THOROUGH

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Reads the version without importing PyTorch, because an import takes a second.
PROBE = """
import importlib.util, pathlib, runpy, sys
found = [importlib.util.find_spec(name) for name in sys.argv[1:]]
if not all(found):
    sys.exit(1)
print(runpy.run_path(pathlib.Path(found[0].origin).with_name("version.py"))["__version__"])
"""
# The environment of trainings in tests: one core, and only connections inside this machine.
ENVIRONMENT = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@functools.lru_cache(maxsize=None)
def pythons_with_torch(*packages):
    """One Python for each release of PyTorch found, by version, nearest first. scripts/setup.sh --torch adds some."""
    installed = sorted(map(str, (ROOT / "build" / "torch").glob("*/bin/python")))
    found = {}
    for python in dict.fromkeys([sys.executable, shutil.which("python3"), "/usr/bin/python3", *installed]):
        if python is None or not pathlib.Path(python).exists():
            continue
        probe = subprocess.run([python, "-c", PROBE, "torch", *packages], capture_output=True, text=True)
        if probe.returncode == 0:
            found.setdefault(".".join(probe.stdout.split(".")[:2]), python)
    return found


def python_with_torch(*packages):
    return next(iter(pythons_with_torch(*packages).values()), None)


def newest_torch():
    """The newest of pythons_with_torch(), which suffices for most trainings. A thorough run gets all of them."""
    found = sorted(pythons_with_torch().items(), key=lambda each: tuple(map(int, each[0].split("."))))
    return dict(found if THOROUGH else found[-1:])


def _under(pythons, test):
    @functools.wraps(test)
    def each(self):
        if not pythons():
            self.skipTest("no python3 here has PyTorch (scripts/setup.sh --torch)")
        for version, python in pythons().items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                test(self, version, python, pathlib.Path(folder))

    return each


def under_every_torch(test):
    """Runs the test for each PyTorch, with its version, its Python and an empty folder."""
    return _under(pythons_with_torch, test)


def under_newest_torch(test):
    """Runs a test in which releases hardly differ. Only a thorough run also uses older releases."""
    return _under(newest_torch, test)


@functools.lru_cache(maxsize=None)
def _forking(python):
    """Starts forked.py under this Python. It ends together with the process of the tests."""
    process = subprocess.Popen(
        [python, "-W", "ignore", "-X", "faulthandler", str(pathlib.Path(__file__).with_name("forked.py"))],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def run_each(python, script, folder, arguments, expected=None, seconds=600, **environment):
    """Runs main() of `script` once for each list of arguments, in simultaneous processes. Returns what each printed.

    If one ends otherwise than `expected` (exit codes, by default 0), or the time is over, all are ended. The error then
    has the output and the stack of each.
    """
    expected = list(expected or [0] * len(arguments))
    arguments = [list(map(str, each)) for each in arguments]
    process = _forking(python)
    process.stdin.write(
        json.dumps(
            {
                "script": str(script),
                "arguments": arguments,
                "expected": expected,
                "folder": str(folder),
                "seconds": patience.seconds(seconds),
                "environment": environment,
            }
        )
        + "\n"
    )
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, f"forked.py ended with {process.wait()} instead of running {script}"
    codes = json.loads(answer)
    told, said = (
        [(folder / f"{name}-{number}").read_text(errors="surrogateescape") for number in range(len(arguments))]
        for name in ("told", "said")
    )
    assert codes == expected, f"exit codes {codes}:\n" + "\n".join(
        f"process {number}, behind {told[number][-200:].strip()!r}: {said[number][-2000:]}"
        for number in range(len(arguments))
    )
    return told


def run_ranks(python, script, folder, ranks, *more, **options):
    """Runs main(FOLDER, RANK, MORE…) of `script` on each rank. Returns what each printed."""
    for left in [
        *folder.glob("meeting*"),
        *folder.glob("store*"),
    ]:  # left by an earlier job that was killed
        left.unlink()
    return run_each(python, script, folder, [[folder, rank, *more] for rank in range(ranks)], **options)


def trained_together(python, script, folder, ranks, *more):
    """Runs a job and returns the JSON lines of rank 0."""
    return list(map(json.loads, run_ranks(python, script, folder, ranks, *more)[0].splitlines()))


def run_code(python, code, folder, *arguments):
    """Runs `python3 -c CODE ARGUMENT…` in this folder. Returns its output and its standard error.

    Both are stored in another folder, so that tests can check which files the code leaves.
    """
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        [told] = run_each(python, pathlib.Path(__file__).with_name("snippet.py"), place, [[folder, code, *arguments]])
        return told, (place / "said-0").read_text(errors="surrogateescape")


def told_by(python, script, *arguments):
    """Runs main() of `script` with these arguments and returns its JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        [told] = run_each(python, script, pathlib.Path(folder), [arguments])
    return list(map(json.loads, told.splitlines()))
