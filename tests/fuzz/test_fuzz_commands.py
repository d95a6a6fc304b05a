"""Each check of fuzz_commands.py fails for a broken program, and none fails for a program that refuses everything."""

import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import fuzz_commands

FUZZER = pathlib.Path(__file__).with_name("fuzz_commands.py")
# A shell script instead of ddpsim, the expected failure, and the kind of case that shows it.
BROKEN = [
    ("kill -SEGV $$", "it exited with -11", "options"),
    ("exit 134", "it exited with 134", "options"),
    ("echo 'ddpsim: std::bad_alloc' >&2; exit 1", "exit code 1 without a message about an output", "structure"),
    (r"printf '\033[31m'; exit 2", "stdout has a character that must not reach a terminal", "text"),
    (r"printf '\302\233' >&2; exit 2", "stderr has a character that must not reach a terminal", "text"),
    (r"printf '\377' >&2; exit 2", "stderr has a character that must not reach a terminal", "words"),
    ("echo '{'; exit 0", "the output of --json is not JSON", "bytes"),
    ("echo x > .bashrc; exit 0", "a file that is not an output was changed", "study"),
    ("echo x > ../outside/precious.txt; exit 2", "a file that is not an output was changed", "study"),
    ("echo x > out.123.partial; exit 2", "a file that is not an output was left behind", "options"),
    # Writes every output without a check of its path.
    (
        'for word; do case $before in --csv|--report|--plot|-o) echo x > "$word";; esac; case $word in --*=*) echo x > "${word#*=}";; esac; before=$word; done; exit 2',
        "an input was changed",
        "outputs",
    ),
    ("exit 0", "two outputs are one file, and the command accepted both", "outputs"),
]


def fuzzed(script, kind, *more):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "ddpsim")
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        run = subprocess.run(
            [sys.executable, FUZZER, program, "--only", kind, *more], capture_output=True, text=True, check=False
        )
        case = re.search(r"--case (\S+)", run.stdout)
        again = (
            subprocess.run(
                [sys.executable, FUZZER, program, "--case", case[1]], capture_output=True, text=True, check=False
            )
            if case
            else None
        )
        if again:
            place = re.match("cd (.*)/case/job\n", again.stdout)[1]
            subprocess.run(["rm", "-r", place], check=True)
        return run, again


class Checks(unittest.TestCase):
    def test_each_check_fails_for_a_program_that_breaks_it(self):
        for script, said, kind in BROKEN:
            with self.subTest(said, script=script):
                run, again = fuzzed(script, kind, "--first", "--seconds", "30")
                self.assertIn(said, run.stdout, run.stderr)
                self.assertEqual((run.returncode, again.returncode), (1, 1))
                self.assertIn(said, again.stdout)  # the printed command repeats it

    def test_no_check_fails_for_a_program_that_refuses_everything(self):
        run, _ = fuzzed(
            "echo 'ddpsim: no' >&2; exit 2", "options,words,study,text,bytes,structure,outputs", "--seconds", "3"
        )
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("0 kinds of failure", run.stdout)

    def test_every_kind_can_change_a_command_of_one_word(self):
        corpus = fuzz_commands.commands()
        for kind, change in fuzz_commands.KINDS.items():
            for number in range(30 if kind != "study" else 0):  # study cases need a study
                with tempfile.TemporaryDirectory() as folder, self.subTest(kind, number=number):
                    case = fuzz_commands.Case(pathlib.Path(folder), ["list"], random.Random(f"1:{kind}:{number}"))
                    fuzz_commands.lay_out(case.folder, case.words)
                    change(case, corpus)


if __name__ == "__main__":
    unittest.main()
