"""Two type checkers accept the package in strict mode, and find the mistakes of a caller."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ddpsim

# The folder with the package and the settings of both type checkers.
PACKAGE = pathlib.Path(ddpsim.__file__).parents[1]
TOOLS = pathlib.Path(sys.executable).parent

CALLER = """\
import ddpsim
ddpsim.simulate("a", "b", network="flow", bucket_cap_mb=5, straggler=["3:1.2"]).buckets[0].ready_us + 1.5
ddpsim.list().clusters, ddpsim.list(commands=True).commands
ddpsim.simulate("a", "b", network="flaw")
ddpsim.simulate("a", "b", bucket_cap="5")
ddpsim.tune("a", "b").curve[0].iteration_ms
ddpsim.tune("a", "b", torch=2.1)
"""
# The expected kind of error, by line of CALLER.
MISTAKES = {4: "arg-type", 5: "call-arg", 6: "attr-defined", 7: "arg-type"}


def run(*command):
    done = subprocess.run(
        list(map(str, command)), cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout


class Types(unittest.TestCase):
    def test_mypy_finds_only_the_mistakes_of_the_caller(self):
        with tempfile.TemporaryDirectory() as folder:
            caller = pathlib.Path(folder, "caller.py")
            caller.write_text(CALLER)
            _, told = run(TOOLS / "mypy", "--cache-dir", "/dev/null", "ddpsim", caller)  # mypy.ini: strict
        found = re.findall(r"^(.*):(\d+): error: .*\[(.*)\]$", told, re.MULTILINE)
        self.assertEqual({int(line): kind for path, line, kind in found}, MISTAKES, told)
        self.assertEqual({path for path, *_ in found}, {str(caller)}, told)

    def test_basedpyright_finds_no_error(self):
        code, told = run(TOOLS / "basedpyright", "-p", PACKAGE, "--pythonpath", sys.executable)
        self.assertEqual(code, 0, told)
        self.assertIn("0 errors, 0 warnings", told)
