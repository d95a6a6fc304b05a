#!/usr/bin/env python3
"""Compares the times of the checks and tests of scripts/test.sh with those kept in tests/times.json.

    scripts/times.py build/times          prints the table
    scripts/times.py build/times --keep   and replaces tests/times.json with the new times
    scripts/times.py build/times --expected NAME   prints the seconds that this check will probably take here

The folder has the file `checks`, with lines "NAME<tab>WALL USER SYSTEM", and the results of ctest as JUnit. Machines
differ, so kept times are first scaled by the median ratio of CPU times, now to then. The table thus shows how a check
changed relative to the others.
"""

import argparse
import json
import pathlib
import statistics
import xml.etree.ElementTree

KEPT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "times.json"
SLOWEST = 10
WORTH_KEEPING_S = 5  # shorter tests are left out


def checks_in(folder):
    """The wall time and CPU time of each check in seconds, in the order in which they ended."""
    found = {}
    for line in (folder / "checks").read_text(encoding="utf-8").splitlines():
        name, spent = line.split("\t")
        wall, user, system = map(float, spent.split())
        found[name] = [round(wall, 1), round(user + system, 1)]
    return found


def tests_in(folder):
    """The wall time of each test in seconds, by "preset: name", the longest first."""
    found = {}
    for path in sorted(folder.glob("tests-*.xml")):
        preset = path.stem.split("-", 1)[1].rsplit("-", 1)[0]
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            # ctest also reports "notrun" if only a part of a file was skipped, so take the time instead.
            if float(case.get("time")) > 0:
                found[f"{preset}: {case.get('name')}"] = round(float(case.get("time")), 1)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def change(now, kept, speed):
    return f"{now - kept * speed:+7.0f} s" if kept is not None else "      new"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--expected", metavar="NAME")
    arguments = parser.parse_args()

    checks, tests = checks_in(arguments.folder), tests_in(arguments.folder)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"checks": {}, "tests": {}}
    both = [name for name in checks if name in kept["checks"]]
    speed = statistics.median(
        [checks[name][1] / kept["checks"][name][1] for name in both if kept["checks"][name][1]] or [1]
    )
    if arguments.expected is not None:
        print(round(kept["checks"].get(arguments.expected, [0, 0])[0] * speed))
        return

    print(f"\n{'check':<52} {'wall':>9} {'CPU':>9} {'change':>9}")
    for name, (wall, cpu) in checks.items():
        print(f"{name:<52} {wall:7.0f} s {cpu:7.0f} s {change(cpu, kept['checks'].get(name, [0, None])[1], speed)}")
    # Some checks ran at the same time, so wall times do not add up.
    print(f"{'all':<62} {sum(cpu for _, cpu in checks.values()):7.0f} s")
    print(f"\n{'the slowest tests':<62} {'wall':>9} {'change':>9}")
    for name, wall in list(tests.items())[:SLOWEST]:
        print(f"{name:<62} {wall:7.0f} s {change(wall, kept['tests'].get(name), speed)}")
    if both:
        print(
            f"\nChanges are relative to tests/times.json times {speed:.2f}, the median ratio of CPU times, now to then."
        )
    if arguments.keep:
        longest = {name: wall for name, wall in tests.items() if wall >= WORTH_KEEPING_S}
        KEPT.write_text(json.dumps({"checks": checks, "tests": longest}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
