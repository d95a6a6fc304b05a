"""Runs a script as Python does, and ends where the script does.

    without_teardown.py SCRIPT ARGUMENT…

How PyTorch takes its threads down when Python exits is not what is tested: 2.13 ends there in std::terminate ("terminate called
without an active exception") once in some hundred runs over gloo."""

import os
import pathlib
import runpy
import sys

sys.argv = sys.argv[1:]
sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
runpy.run_path(sys.argv[0], run_name="__main__")  # what it raises ends Python as usual
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
