"""The unit tests over a mutant: only the test cases that reach it, the quickest first, until one notices."""

import dataclasses
import re
import tempfile

import limits

TOGETHER = 0.5  # seconds of test cases run by one process
LONGEST = 100_000  # bytes of the argument that names them: Linux takes 128 KiB


@dataclasses.dataclass(frozen=True)
class TestCase:
    name: str
    seconds: float
    reached: frozenset
    passed: bool


@dataclasses.dataclass(frozen=True)
class Noticed:
    how: str  # "unit test", "command", "cli test", "crash" or "time limit"
    by: str  # the test case, the command or the file of tests


def all_of(program, seconds=3600):
    """Every test case of the unmutated program: how long it takes, which mutants it reaches."""
    with tempfile.NamedTemporaryFile() as log:
        code, output = limits.run([program, "--minimal"], seconds, {"DDPSIM_MUTANT_TESTS": log.name})
        cases = read(log.name)[0]
    if code is None or code < 0:
        raise RuntimeError(f"the tests end with {code} without any mutant:\n{output[-2000:]}")
    return cases


def read(path):
    """(the test cases that ended, the name of the last that began)"""
    cases, begun = [], None
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if line.startswith(">"):
                begun = line[1:].rstrip("\n")
                continue
            words = line.rstrip("\n").split("\t")
            if len(words) == 4:
                cases.append(
                    TestCase(words[2], float(words[1]), frozenset(map(int, words[3].split())), words[0] == "passed")
                )
    return cases, begun


def batches(cases):
    """The quickest first; many quick ones share a process."""
    batch, seconds, length = [], 0, 0
    for case in sorted(cases, key=lambda case: (case.seconds, case.name)):
        size = len(case.name.encode()) + 1
        if batch and (seconds + case.seconds > TOGETHER or length + size > LONGEST):
            yield batch
            batch, seconds, length = [], 0, 0
        batch.append(case)
        seconds += case.seconds
        length += size
    if batch:
        yield batch


def pattern(name):
    """doctest's wildcard for any one character stands for all that mean something to its filters."""
    return re.sub(r"[^A-Za-z0-9 :._+-]", "?", name)


def notice(program, cases, environment):
    """Who among `cases` notices, or None."""
    for batch in batches(cases):
        seconds = limits.allowed(sum(case.seconds for case in batch))
        with tempfile.NamedTemporaryFile() as log:
            command = [program, "--minimal", "--abort-after=1", "-tc=" + ",".join(pattern(case.name) for case in batch)]
            code, _ = limits.run(command, seconds, {**environment, "DDPSIM_MUTANT_TESTS": log.name})
            ended, begun = read(log.name)
        if code == 0:
            if not ended:
                raise RuntimeError(f"doctest found none of {[case.name for case in batch]}")
            continue
        if code is None:
            return Noticed("time limit", begun)
        if code < 0:
            return Noticed("crash", begun or "at the start")
        return Noticed("unit test", next((case.name for case in ended if not case.passed), begun))
    return None
