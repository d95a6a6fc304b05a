"""The command line over a mutant: the corpus of commands (tests/golden), then the Python tests that run commands
(tests/cli). Both only where the program they run reaches the mutant, the quickest first, until one notices.

Run as a program it compares commands of the corpus, for one mutant:  commands.py PROGRAM SECONDS NAME..."""

import dataclasses
import json
import pathlib
import re
import sys
import tempfile
import time

import limits
import tree
from unit_tests import Noticed

FOLDER = tree.TREE / "tests" / "cli"
# Those that take a few seconds; the others train, record, or run what README and reports say.
TESTS = [
    "allreduce",
    "bad_input",
    "buckets",
    "calibrate",
    "compare",
    "ddp_log",
    "estimates",
    "flow",
    "formats",
    "help",
    "import",
    "measured",
    "option_limits",
    "ranks",
    "topo",
    "validate",
]


@dataclasses.dataclass(frozen=True)
class Check:
    """A command of the corpus or a file of tests, as the unmutated program does with it."""

    name: str
    seconds: float
    reached: frozenset
    passed: bool


def corpus():
    """The module with the corpus, or None where there is none yet."""
    if not (FOLDER / "golden.py").exists():
        return None
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(FOLDER))
    import golden

    return golden


def observed(name, run):
    """The Check of what `run`, given further environment, says of the program."""
    with tempfile.TemporaryDirectory() as folder:
        reach = pathlib.Path(folder, "reach")
        begin = time.monotonic()
        passed = run({"DDPSIM_MUTANT_REACH": str(reach)})
        seconds = time.monotonic() - begin
        reached = frozenset(map(int, reach.read_text().split())) if reach.exists() else frozenset()
    return Check(name, seconds, reached, passed)


def all_commands(program, pool):
    golden = corpus()
    cases = golden.cases() if golden else []
    return list(
        pool.map(lambda case: observed(case.name, lambda more: golden.check(case, program, more) is None), cases)
    )


def all_tests(program, pool):
    names = [name for name in TESTS if (FOLDER / f"test_{name}.py").exists()]
    return list(pool.map(lambda name: observed(name, lambda more: tested(program, name, 600, more)[0] == 0), names))


def tested(program, name, seconds, environment):
    return limits.run(
        [sys.executable, "-B", "-m", "unittest", "-f", f"test_{name}"],
        seconds,
        {**environment, "DDPSIM_BIN": str(program)},
        FOLDER,
    )


def quickest_first(checks):
    return sorted(checks, key=lambda check: (check.seconds, check.name))


def command_that_notices(program, checks, environment):
    """Noticed by the first of `checks` that prints something else, or None."""
    if not checks:
        return None
    each = limits.allowed(max(check.seconds for check in checks))
    names = [check.name for check in quickest_first(checks)]
    code, output = limits.run(
        [sys.executable, "-B", __file__, program, each, *names],
        limits.allowed(sum(check.seconds for check in checks)) + each,
        environment,
    )
    if code is None:
        return Noticed("time limit", "a command")
    if code != 0:
        raise RuntimeError(output)
    name = json.loads(output)
    return Noticed("command", name) if name else None


def first_that_differs(program, seconds, names):
    golden = corpus()
    cases = {case.name: case for case in golden.cases()}
    return next((name for name in names if golden.check(cases[name], program, {}, seconds) is not None), None)


def test_that_notices(program, checks, environment):
    """Noticed by the first of `checks` that fails, or None."""
    for check in quickest_first(checks):
        code, output = tested(program, check.name, limits.allowed(check.seconds), environment)
        if code is None:
            return Noticed("time limit", check.name)
        if code != 0:
            failed = re.search(r"^(?:FAIL|ERROR): (\w+) \((\S+?)\)", output, re.MULTILINE)
            return Noticed("cli test", f"test_{check.name}: {failed[1]}" if failed else f"test_{check.name}")
    return None


if __name__ == "__main__":
    json.dump(first_that_differs(sys.argv[1], float(sys.argv[2]), sys.argv[3:]), sys.stdout)
