"""Runs a module of this folder's tests under the Python that has the tools: scripts/setup.sh --python puts them in
build/python-tools. Exits with 77, as of a skipped test, where it is missing."""

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
