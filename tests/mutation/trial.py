"""A sample of mutants, compiled and tried: who noticed which."""

import concurrent.futures
import dataclasses
import itertools
import queue
import sys

import behind_switch
import commands
import complaints
import listed
import singly
import tree
import unit_tests

MOST = 1 << 15  # kMost of switch.hpp
ROUNDS = 8  # of compiling together, each without what kept the last one from compiling
RESERVE = 1.15  # of the wanted mutants are compiled together: some turn out to be none


def say(*words):
    print("mutate:", *words, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Trial:
    sources: dict
    mutants: list  # every mutant of every part, by number
    queues: dict  # part -> (how many count, numbers in order)
    jobs: int
    reasons: dict  # of equivalent mutants
    together: set = dataclasses.field(default_factory=set)  # numbers behind a switch
    apart: dict = dataclasses.field(default_factory=dict)  # number -> why singly
    broken: dict = dataclasses.field(default_factory=dict)  # number -> why no mutant
    untried: dict = dataclasses.field(default_factory=dict)  # number -> why
    maybe_compiled: set = dataclasses.field(default_factory=set)
    verdicts: dict = dataclasses.field(default_factory=dict)  # number -> (how, by, whether singly)


def run(sources, queues, jobs, clock, reasons):
    """(results, equivalent, no mutants, not tried), each a list of dictionaries."""
    queues = {part: (count, those[: 3 * count + 50]) for part, (count, those) in queues.items()}
    mutants = [one for _, those in queues.values() for one in those]
    if len(mutants) > MOST:
        raise RuntimeError(f"{len(mutants)} mutants to choose from: at most {MOST} fit one program")
    numbers = itertools.count()
    trial = Trial(
        sources,
        mutants,
        {part: (count, [next(numbers) for _ in those]) for part, (count, those) in queues.items()},
        jobs,
        reasons,
    )
    compile_together(trial)
    clock.phase("compile together")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        noticers = who_reaches(trial, pool)
        clock.phase("reach")
        while pending := [number for number in counted(trial) if number not in trial.verdicts]:
            alone = [number for number in pending if number not in trial.together]
            list(
                pool.map(
                    lambda number: try_behind_switch(trial, number, noticers),
                    [number for number in pending if number in trial.together],
                )
            )
            clock.phase("try")
            alone += [
                number
                for number in pending
                if number in trial.maybe_compiled and trial.verdicts.get(number, ("",))[0] == "not reached"
            ]
            try_singly(trial, alone, noticers, pool)
            clock.phase("singly")
    return outcome(trial)


def is_equivalent(trial, number):
    return listed.key(trial.mutants[number].entry()) in trial.reasons


def counted(trial, reserve=1.0):
    """The numbers that count: of each part the first that are mutants at all."""
    chosen = []
    for count, numbers in trial.queues.values():
        good = (
            number
            for number in numbers
            if number not in trial.broken and number not in trial.untried and not is_equivalent(trial, number)
        )
        chosen += itertools.islice(good, count if reserve == 1 else int(count * reserve) + 1)
    return chosen


def compile_together(trial):
    trial.together = set(counted(trial, RESERVE))
    for round_ in range(ROUNDS):
        rewritten = rewrite(trial)
        tree.copy({file: one.source for file, one in rewritten.items()})
        say(f"compiling {len(trial.together)} mutants in {len(rewritten)} files together, round {round_ + 1}")
        good, output = tree.build(trial.jobs)
        (tree.WORK / "compiler.log").write_text(output)
        if good:
            return
        broken, apart, unnamed = complaints.guilty(
            output, {file: one.owners for file, one in rewritten.items()}, tree.TREE, tree.BUILD
        )
        if not broken and not apart:  # all of the files complained of, else of the headers, which others complain of
            suspects = [number for number in trial.together if trial.mutants[number].file in unnamed]
            suspects = suspects or [number for number in trial.together if trial.mutants[number].file.endswith(".hpp")]
            apart = {number: "in a file that does not compile behind switches" for number in suspects}
        if not broken and not apart:
            raise RuntimeError(f"the build fails, and not for a mutant: {tree.WORK / 'compiler.log'}\n{output[-3000:]}")
        trial.broken |= broken
        trial.apart |= apart
        trial.together -= {*broken, *apart}
    raise RuntimeError(f"no tree that compiles after {ROUNDS} rounds: see {tree.WORK / 'compiler.log'}")


def rewrite(trial):
    """{file: Rewritten} of all that stand together; what cannot is put apart."""
    by_file = {}
    for number in sorted(trial.together):
        by_file.setdefault(trial.mutants[number].file, {})[number] = trial.mutants[number]
    found = {}
    for file, mutants in by_file.items():
        found[file] = behind_switch.rewritten(
            trial.sources[file], mutants, file.endswith(".hpp"), tree.TREE / "tests/mutation/switch.hpp"
        )
        trial.apart |= found[file].singly
        trial.together -= set(found[file].singly)
        trial.maybe_compiled |= found[file].maybe_compiled
    return found


@dataclasses.dataclass
class Noticers:
    """Who may notice, and who reaches what."""

    cases: list  # test cases of the unit tests
    commands: list  # of the corpus
    tests: list  # files of Python tests

    def of(self, number):
        return Noticers(
            *([one for one in those if number in one.reached] for those in (self.cases, self.commands, self.tests))
        )

    def notice(self, tests, program, environment):
        return (
            unit_tests.notice(tests, self.cases, environment)
            or commands.command_that_notices(program, self.commands, environment)
            or commands.test_that_notices(program, self.tests, environment)
        )


def who_reaches(trial, pool):
    cases = unit_tests.all_of(tree.TESTS)
    failing = [case.name for case in cases if not case.passed]
    if failing:
        raise RuntimeError("these tests fail without any mutant:\n  " + "\n  ".join(failing))
    checks = [commands.all_commands(tree.PROGRAM, pool), commands.all_tests(tree.PROGRAM, pool)]
    for check in itertools.chain(*checks):
        if not check.passed:
            say(f"left out, for it fails without any mutant: {check.name}")
    say(
        f"{len(cases)} test cases in {sum(case.seconds for case in cases):.0f} s, {len(checks[0])} commands, "
        f"{len(checks[1])} files of tests of the command line"
    )
    return Noticers(cases, *([check for check in those if check.passed] for those in checks))


def try_behind_switch(trial, number, noticers):
    near = noticers.of(number)
    if not near.cases and not near.commands and not near.tests:
        trial.verdicts[number] = ("not reached", "", False)
        return
    noticed = near.notice(tree.TESTS, tree.PROGRAM, {"DDPSIM_MUTANT": str(number)})
    trial.verdicts[number] = (noticed.how, noticed.by, False) if noticed else ("survived", "", False)


def try_singly(trial, numbers, noticers, pool):
    workers = queue.SimpleQueue()
    for worker in range(trial.jobs):
        workers.put(worker)

    def one(number):
        worker = workers.get()
        try:
            try_one_singly(trial, number, noticers, worker)
        finally:
            workers.put(worker)

    list(pool.map(one, numbers))


def try_one_singly(trial, number, noticers, worker):
    mutant = trial.mutants[number]
    if singly.to_compile(mutant.file) is None:
        if number not in trial.verdicts:
            trial.untried[number] = "too many sources to compile"
        return
    programs, problem = singly.build(mutant, trial.sources[mutant.file], worker)
    if programs is None:
        trial.broken[number] = problem
        return
    beside = {other for other in trial.together if trial.mutants[other].file == mutant.file}
    ahead = [case for case in noticers.cases if beside & case.reached]
    behind = [case for case in noticers.cases if not beside & case.reached]
    noticed = unit_tests.notice(programs.tests, ahead, {}) or Noticers(
        behind, noticers.commands, noticers.tests
    ).notice(programs.tests, programs.program, {})
    trial.verdicts[number] = (noticed.how, noticed.by, True) if noticed else ("survived", "", True)


def outcome(trial):
    results = []
    for number in counted(trial):
        how, by, alone = trial.verdicts[number]
        results.append(described(trial, number, how=how, by=by, singly=alone))
    last = {number for count, numbers in trial.queues.values() for number in numbers[:count]}
    equivalent = [
        described(trial, number, reason=trial.reasons[listed.key(trial.mutants[number].entry())])
        for number in sorted(last)
        if is_equivalent(trial, number)
    ]
    broken = [described(trial, number, why=why) for number, why in sorted(trial.broken.items())]
    untried = [described(trial, number, why=why) for number, why in sorted(trial.untried.items())]
    return results, equivalent, broken, untried


def described(trial, number, **more):
    mutant = trial.mutants[number]
    return {**mutant.entry(), "line": mutant.line, "rule": mutant.rule, **more}
