"""Runs the tests of this folder with the Python in build/page.

scripts/setup.sh --page installs it with playwright. If it or a browser is missing, the exit code is 77, as of a skipped
test."""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "build" / "page" / "bin" / "python"

if not shutil.which("chromium"):
    print("skipped: chromium is missing (scripts/setup.sh --page)")
    sys.exit(77)
if (
    not PYTHON.exists()
    or subprocess.run([PYTHON, "-c", "import playwright, axe_playwright_python"], capture_output=True).returncode
):
    print("skipped: playwright is missing in build/page (scripts/setup.sh --page)")
    sys.exit(77)
os.chdir(HERE)
os.execv(PYTHON, [str(PYTHON), "-m", "unittest", "-v", *(sys.argv[1:] or ["test_page", "test_workbench"])])
