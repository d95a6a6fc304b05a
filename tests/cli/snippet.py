"""Runs code that a test has as a string, because forked.py runs only scripts.

    main(FOLDER, CODE, ARGUMENT…)

Runs CODE in FOLDER like `python3 -c CODE ARGUMENT…`."""

import os
import sys


def main(folder, code, *arguments):
    os.chdir(folder)
    sys.path.insert(0, "")
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<snippet>", "exec"), {"__name__": "__main__"})
