"""Runs a test module of this folder with the Python in build/python-tools.

scripts/setup.sh --python installs it with the tools. If it is missing, the exit code is 77, as of a skipped test."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "build" / "python-tools" / "bin" / "python"

if (
    not PYTHON.exists()
    or subprocess.run(
        [PYTHON, "-c", "import mypy, basedpyright, pandas, matplotlib, nbclient, ipykernel"], stderr=subprocess.DEVNULL
    ).returncode
):
    print(
        "skipped: no mypy, basedpyright, pandas, matplotlib, nbclient or ipykernel in build/python-tools (scripts/setup.sh --python)"
    )
    sys.exit(77)
os.chdir(HERE)
os.execv(PYTHON, [str(PYTHON), "-m", "unittest", "-v", *sys.argv[1:]])
