#!/usr/bin/env python3
"""Measures the CPU time that the Python package adds to ddpsim: medians of alternating runs.

PYTHONPATH=build/release/python tests/bench/python_calls.py build/release/cli/ddpsim
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

import ddpsim

ROUNDS = 21
QUESTIONS = {"simulate": ("resnet50-v100-b32", "dgx1v"), "tune": ("resnet50-v100-b32", "p3dn@2")}


def spent():
    """CPU time in ms of this process and of the children it has waited for, without other load of the machine."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) * 1e3


def took(function):
    before = spent()
    function()
    return spent() - before


def python(code):
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def medians(**functions):
    """The median CPU time of each function in ms. They run in turn, so that other load affects all equally."""
    for function in functions.values():
        function()  # fills caches
    runs = [{name: took(function) for name, function in functions.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(run[name] for run in runs) for name in functions}


def main(program):
    os.environ["DDPSIM_PROGRAM"] = program
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        start = medians(python=python("pass"), package=python("import ddpsim"))
        print(f"import ddpsim: {start['package'] - start['python']:.1f} ms more than Python's {start['python']:.0f} ms")
        for command, question in QUESTIONS.items():
            call = getattr(ddpsim, command)
            line = f"import ddpsim; ddpsim.{command}(*{question!r})"
            found = medians(
                bare=lambda: subprocess.run(
                    [program, command, *question, "--json"], stdout=subprocess.DEVNULL, check=True
                ),
                call=lambda: call(*question),
                script=python(line),
                python=python("pass"),
            )
            print(
                f"{command}: ddpsim {found['bare']:.1f} ms, call adds {found['call'] - found['bare']:+.1f} ms, first call of a new "
                f"interpreter adds {found['script'] - found['python'] - found['bare']:+.1f} ms"
            )


if __name__ == "__main__":
    main(sys.argv[1])
