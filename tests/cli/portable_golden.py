#!/usr/bin/env python3
"""Checks that a portable program does the same as the native one: commands of the corpus must match byte for byte.

    tests/cli/portable_golden.py [--of-each N] PROGRAM...

PROGRAM may be several words, such as an emulator and its program. --of-each takes N commands of each group; without it
all commands run. The exit code is 1 if one differs."""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import shlex
import sys
import tempfile

import patience
from golden import cases, check


def spread(group, most):
    """At most `most` commands of a group, evenly spread over the table."""
    if len(group) <= most:
        return group
    return [group[place * (len(group) - 1) // max(1, most - 1)] for place in range(most)]


def chosen(of_each):
    if of_each is None:
        return cases()
    groups = collections.defaultdict(list)
    for case in cases():
        groups[case.name.partition("/")[0]].append(case)
    return [case for group in groups.values() for case in spread(group, of_each)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    parser.add_argument("--of-each", type=int, metavar="N")
    arguments = parser.parse_args()
    # Each command runs in another folder, so paths must be absolute.
    words = [os.path.abspath(word) if os.path.isfile(word) else word for word in arguments.program]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "ddpsim")
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        program.chmod(0o755)
        corpus = chosen(arguments.of_each)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            differences = list(
                filter(None, threads.map(lambda case: check(case, program, seconds=patience.seconds(1200)), corpus))
            )
    print("\n".join(differences), end="")
    print(f"{len(corpus) - len(differences)} of {len(corpus)} commands do what is kept")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
