"""Runs code that a test holds as a string, where forked.py runs scripts.

    main(FOLDER, CODE, ARGUMENT…)

runs CODE in FOLDER as `python3 -c CODE ARGUMENT…` would."""

import os
import sys


def main(folder, code, *arguments):
    os.chdir(folder)
    sys.path.insert(0, "")
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<snippet>", "exec"), {"__name__": "__main__"})
