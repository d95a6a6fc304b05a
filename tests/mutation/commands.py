"""The corpus of commands (tests/golden) over a mutant: those that reach it, until one prints something else.

Run as a program it is the one process that does so for one mutant:  commands.py PROGRAM SECONDS NAME..."""
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
import time

import limits
from unit_tests import Noticed

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "cli"


@dataclasses.dataclass(frozen=True)
class Command:
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


def all_of(program, pool):
    """Every command by the unmutated program: how long it takes, which mutants it reaches."""
    golden = corpus()
    if golden is None:
        return []

    def once(case):
        with tempfile.TemporaryDirectory() as folder:
            reach = pathlib.Path(folder, "reach")
            begin = time.monotonic()
            difference = golden.check(case, program, {"DDPSIM_MUTANT_REACH": str(reach)})
            seconds = time.monotonic() - begin
            reached = frozenset(map(int, reach.read_text().split())) if reach.exists() else frozenset()
        return Command(case.name, seconds, reached, difference is None)
    return list(pool.map(once, golden.cases()))


def notice(program, commands, environment):
    """Which of `commands` prints something else, or None."""
    commands = sorted(commands, key=lambda command: (command.seconds, command.name))
    if not commands:
        return None
    each = limits.allowed(max(command.seconds for command in commands))
    code, output = limits.run([sys.executable, "-B", __file__, program, each, *(command.name for command in commands)],
                              limits.allowed(sum(command.seconds for command in commands)) + each, environment)
    if code is None:
        return Noticed("time limit", "a command")
    if code != 0:
        raise RuntimeError(output)
    name = json.loads(output)
    return Noticed("command", name) if name else None


def first_that_differs(program, seconds, names):
    golden = corpus()
    cases = {case.name: case for case in golden.cases()}
    for name in names:
        if golden.check(cases[name], program, {}, float(seconds)) is not None:
            return name
    return None


if __name__ == "__main__":
    json.dump(first_that_differs(sys.argv[1], sys.argv[2], sys.argv[3:]), sys.stdout)
