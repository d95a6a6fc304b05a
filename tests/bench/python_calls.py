#!/usr/bin/env python3
"""What the Python package adds to the program: processor time, median of runs taken in turns.

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
    """Milliseconds of this process and of those it has waited for: not what others on the machine take."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) * 1e3


def took(function):
    before = spent()
    function()
    return spent() - before


def python(code):
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def medians(**functions):
    """Milliseconds of each, in turns: what else the machine does strikes all alike."""
    for function in functions.values():
        function()  # once for what is compiled and cached
    runs = [{name: took(function) for name, function in functions.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(run[name] for run in runs) for name in functions}


def main(program):
    os.environ["DDPSIM_PROGRAM"] = program
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        start = medians(python=python("pass"), package=python("import ddpsim"))
        print(
            f"import ddpsim: {start['package'] - start['python']:.1f} ms more than python's own {start['python']:.0f} ms"
        )
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
                f"{command}: program {found['bare']:.1f} ms, call {found['call'] - found['bare']:+.1f} ms; a new interpreter's first "
                f"call {found['script'] - found['python'] - found['bare']:+.1f} ms"
            )


if __name__ == "__main__":
    main(sys.argv[1])
