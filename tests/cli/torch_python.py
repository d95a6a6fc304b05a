"""A Python here that has PyTorch, which need not be the one that runs the tests."""

import functools
import pathlib
import shutil
import subprocess
import sys

PROBE = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"


@functools.lru_cache(maxsize=None)
def python_with_torch(*packages):
    for python in dict.fromkeys([sys.executable, shutil.which("python3"), "/usr/bin/python3"]):
        if python is None or not pathlib.Path(python).exists():
            continue
        if subprocess.run([python, "-c", PROBE, "torch", *packages], capture_output=True).returncode == 0:
            return python
    return None
