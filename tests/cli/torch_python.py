"""Pythons here that have PyTorch, which need not be the one that runs the tests."""

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
# Reads the version without importing PyTorch, which takes a second.
PROBE = """
import importlib.util, pathlib, runpy, sys
found = [importlib.util.find_spec(name) for name in sys.argv[1:]]
if not all(found):
    sys.exit(1)
print(runpy.run_path(pathlib.Path(found[0].origin).with_name("version.py"))["__version__"])
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
            found.setdefault(".".join(probe.stdout.split(".")[:2]), python)
    return found


def python_with_torch(*packages):
    return next(iter(pythons_with_torch(*packages).values()), None)


def newest_torch():
    """The newest of pythons_with_torch(): most trainings need no other. A thorough run gets all of them."""
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
    """The test, given a version, its Python and an empty folder."""
    return _under(pythons_with_torch, test)


def under_newest_torch(test):
    """The same for a test in which releases hardly differ: only a thorough run takes releases before the newest."""
    return _under(newest_torch, test)


@functools.lru_cache(maxsize=None)
def _forking(python):
    """forked.py under this Python. It ends with the process that runs the tests."""
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
    """What main() of `script` printed, run with each of these lists of arguments in a process of its own, all beside each other. Where
    one ends otherwise than `expected` (exit codes, 0 each), or time is over, all end, and the error has what each said and where it
    was."""
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
    """What main(FOLDER, RANK, MORE…) of `script` printed on each rank."""
    for left in [
        *folder.glob("meeting*"),
        *folder.glob("store*"),
    ]:  # of the job before: who ends so takes no store down
        left.unlink()
    return run_each(python, script, folder, [[folder, rank, *more] for rank in range(ranks)], **options)


def trained_together(python, script, folder, ranks, *more):
    """The JSON lines of rank 0 of a job."""
    return list(map(json.loads, run_ranks(python, script, folder, ranks, *more)[0].splitlines()))


def run_code(python, code, folder, *arguments):
    """What `python3 -c CODE ARGUMENT…`, run in this folder, printed, and what it said on standard error. Both have a folder of their
    own, for those who look at what the code leaves."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        [told] = run_each(python, pathlib.Path(__file__).with_name("snippet.py"), place, [[folder, code, *arguments]])
        return told, (place / "said-0").read_text(errors="surrogateescape")


def told_by(python, script, *arguments):
    """The JSON lines that main() of `script` prints, given these arguments."""
    with tempfile.TemporaryDirectory() as folder:
        [told] = run_each(python, script, pathlib.Path(folder), [arguments])
    return list(map(json.loads, told.splitlines()))
