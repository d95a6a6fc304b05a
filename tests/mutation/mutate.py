"""Puts small faults into ddpsim, one at a time, and says which of them the tests notice. Called by scripts/mutate.sh.

    propose    ddpsim.rules over the syntax trees of the sources              propose.py, skeleton.py
    choose     a sample spread over the parts, by a seed                      choose.py, parts.py
    compile    all of the sample together, each behind a switch               behind_switch.py, place.py, complaints.py
    reach      which test case, which command comes by which mutant           reach_listener.cpp, switch.hpp
    try        each mutant: only who reaches it, the quickest first           unit_tests.py, commands.py
    singly     what cannot stand behind a switch, compiled alone              singly.py
    report     score by part, survivors with their lines                      report.py

Exit code 1: a fault of faults.json was not noticed, too many mutants are called equivalent, or the tests fail without
any mutant."""

import argparse
import os
import subprocess
import sys
import time

import choose
import includes
import listed
import parts
import propose
import report
import trial
import tree


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/mutate.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--count", type=int, default=200, help="mutants that compile (default 200)")
    parser.add_argument("--part", choices=parts.NAMES, action="append", help="only of this part; may be repeated")
    parser.add_argument(
        "--changed",
        nargs="?",
        const="",
        metavar="BASE",
        help="only on lines that differ from BASE (default: where this branch left main; on main, the commit before)",
    )
    parser.add_argument(
        "--wide",
        action="store_true",
        help=f"also in headers that more than {includes.MANY} sources include: most of the tree is compiled anew",
    )
    parser.add_argument(
        "--faults", action="store_true", help="the faults of tests/mutation/faults.json: all must be noticed"
    )
    parser.add_argument("--list", action="store_true", help="print the sample, compile nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (default: one a core)")
    return parser.parse_args()


class Clock:
    """How long each phase took."""

    def __init__(self):
        self.begin = self.last = time.monotonic()
        self.phases = {}

    def phase(self, name):
        now = time.monotonic()
        self.phases[name] = self.phases.get(name, 0) + now - self.last
        self.last = now
        print(f"mutate: {name}: {self.phases[name]:.0f} s", file=sys.stderr, flush=True)

    def text(self):
        return ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.phases.items())


def git(*words):
    return subprocess.run(["git", *words], cwd=tree.CHECKOUT, capture_output=True, text=True, check=True).stdout


def base_of_change():
    """Where this branch left main, or the commit before."""
    on_main = git("rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    known = subprocess.run(["git", "rev-parse", "--verify", "-q", "main"], cwd=tree.CHECKOUT, capture_output=True)
    return "HEAD~1" if on_main or known.returncode else git("merge-base", "HEAD", "main").strip()


def changed_lines(base):
    """{file: numbers of lines} that differ from `base` in the working tree."""
    found, file = {}, None
    for line in git("diff", "-U0", "--no-color", base).splitlines():
        if line.startswith("+++ "):
            file = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@") and file:
            first, _, count = line.split("+")[1].split(" ")[0].partition(",")
            found.setdefault(file, set()).update(range(int(first), int(first) + int(count or 1)))
    for file in git("ls-files", "-o", "--exclude-standard").splitlines():
        found[file] = None  # all of it
    return found


def touches(mutant, lines):
    return lines is None or not lines.isdisjoint(range(mutant.line, mutant.line + 1 + mutant.original.count("\n")))


def all_sources(wanted):
    return {
        name: (tree.CHECKOUT / name).read_bytes() for name in tree.checkout_files() if parts.part_of(name) in wanted
    }


def sample(options):
    """(sources, {part: (how many count, mutants in order)})"""
    if options.faults:
        entries = listed.entries("faults.json")
        sources = {entry["file"]: (tree.CHECKOUT / entry["file"]).read_bytes() for entry in entries}
        found = choose.by_part(listed.located(entry, sources[entry["file"]]) for entry in entries)
        return sources, {name: (len(those), those) for name, those in found.items()}
    sources = all_sources(options.part or parts.NAMES)
    mutants = propose.proposals_of(sources, lambda file: parts.part_of(file) == "reports")
    if options.changed is not None:
        lines = changed_lines(options.changed or base_of_change())
        mutants = [one for one in mutants if touches(one, lines.get(one.file, set()))]
    elif not options.wide:
        mutants = [one for one in mutants if not includes.is_wide(one.file)]
    return sources, choose.queues(options.seed, options.count, mutants)


def main():
    options = arguments()
    clock = Clock()
    sources, queues = sample(options)
    clock.phase("propose and choose")
    if options.list:
        for part, (count, mutants) in queues.items():
            for one in mutants[:count]:
                print(f"{part}: {one.file}:{one.line}: {one.rule}\n{report.change(vars(one))}")
        return 0
    if not queues:
        print("There is nothing to mutate.")
        return 0
    results, equivalent, discarded, untried = trial.run(
        sources, queues, options.jobs, clock, {} if options.faults else listed.reasons()
    )
    name = (
        "faults"
        if options.faults
        else "changed"
        if options.changed is not None
        else "-".join([str(options.seed), *(options.part or [])])
    )
    path = tree.WORK / f"report-{name}.json"
    seconds = {phase: round(seconds) for phase, seconds in clock.phases.items()}
    report.write(
        path,
        seed=options.seed,
        results=results,
        equivalent=equivalent,
        no_mutant=discarded,
        not_tried=untried,
        seconds=seconds,
    )
    return told(options, clock, results, equivalent, discarded, untried, path)


def told(options, clock, results, equivalent, discarded, untried, path):
    print(report.table(results))
    print(
        f"\n{len(equivalent)} equivalent (left out), {len(discarded)} that did not compile (no mutants), "
        f"{len(untried)} not tried (they cannot stand behind a switch, and too much would be compiled for each)."
    )
    left = report.survivors(results)
    if left:
        print(f"\nSurvivors:\n\n{left}")
    if options.faults:
        for result in results:
            print(f"{result['file']}:{result['line']}: {result['how']}: {result['by']}\n{report.change(result)}")
    print(f"{clock.text()}\n{path.relative_to(tree.CHECKOUT)}")
    if report.too_many_equivalent(results, equivalent):
        print("More than 5 % are called equivalent.")
        return 1
    return 1 if options.faults and (left or discarded or untried) else 0


if __name__ == "__main__":
    sys.exit(main())
