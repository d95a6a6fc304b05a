"""Checks the manual and the completions that scripts/command_pages.py makes.

The manual is displayed without complaints and names every option. Each installed shell completes typed words."""

import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

import patience
from command import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]


def setUpModule():
    global PAGES
    temporary = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(temporary.cleanup)
    PAGES = pathlib.Path(temporary.name)
    subprocess.run([sys.executable, ROOT / "scripts" / "command_pages.py", "-o", PAGES, BINARY], check=True)


def offered():
    listed = subprocess.run([BINARY, "list", "--commands", "--json"], check=True, capture_output=True)
    return json.loads(listed.stdout)["commands"]


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not here")


class Manual(unittest.TestCase):
    def shown(self, name):
        page = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-k", "-P-cbou", "-rLL=2000n", PAGES / "share/man/man1" / name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        self.assertEqual(page.stderr, "", name)
        return page.stdout

    @needs("groff")
    def test_the_program_s_page_names_every_command(self):
        page = self.shown("ddpsim.1")
        for command in offered():
            self.assertIn(f"ddpsim-{command['name']}(1)", page)

    @needs("groff")
    def test_a_command_s_page_says_what_its_help_says(self):
        for command in offered():
            page = self.shown(f"ddpsim-{command['name']}.1")
            self.assertIn(command["example"], page)
            for entry in command["options"] + command["positionals"]:
                with self.subTest(command=command["name"], entry=entry["name"]):
                    self.assertIn(entry["name"], page)
                    self.assertIn(entry["summary"], page)


class Completion(unittest.TestCase):
    """Completions in a folder with step.json and resnet.json.gz."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        for name in ("step.json", "resnet.json.gz"):
            pathlib.Path(self.folder, name).touch()

    def environment(self):
        return {**os.environ, "HOME": self.folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}


@needs("bash")
class Bash(Completion):
    def completed(self, *words):
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ddpsim; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        run = subprocess.run(
            ["bash", "--norc", "-c", script, "bash", PAGES / "share/bash-completion/completions/ddpsim", *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
            env=self.environment(),
        )
        self.assertEqual(run.stderr, "")
        return run.stdout.split()

    def test_commands_and_options(self):
        self.assertEqual(self.completed("ddpsim", "si"), ["simulate"])
        self.assertEqual(self.completed("ddpsim", "tune", "--tor"), ["--torch"])
        self.assertEqual(self.completed("ddpsim", "list", "--bucket"), [])

    def test_arguments_by_their_place(self):
        self.assertEqual(self.completed("ddpsim", "simulate", "resnet50-v100-b32-"), ["resnet50-v100-b32-plain"])
        self.assertEqual(self.completed("ddpsim", "simulate", "res")[-1], "resnet.json.gz")
        self.assertEqual(
            self.completed("ddpsim", "simulate", "--quiet", "--torch", "2.4", "x.json", "dgx1v-"), ["dgx1v-1xedr"]
        )
        self.assertEqual(self.completed("ddpsim", "compare", "x.json", "dgx1v", "dgx1v-"), ["dgx1v-1xedr"])
        self.assertEqual(self.completed("ddpsim", "validate", "predicted.json", "st"), ["step.json"])

    def test_values(self):
        self.assertEqual(self.completed("ddpsim", "simulate", "--backend", ""), ["nccl", "gloo"])
        self.assertEqual(self.completed("ddpsim", "simulate", "--backend", "=", "g"), ["gloo"])
        self.assertEqual(self.completed("ddpsim", "simulate", "--measured-step", "st"), ["step.json"])
        self.assertEqual(self.completed("ddpsim", "calibrate", "step.json", "--cluster", "abci-v"), ["abci-v100"])
        self.assertEqual(self.completed("ddpsim", "simulate", "--nodes", "s"), [])


@needs("fish")
class Fish(Completion):
    def completed(self, line):
        run = subprocess.run(
            [
                "fish",
                "--no-config",
                "-c",
                "source $argv[1]; complete -C $argv[2]",
                PAGES / "share/fish/vendor_completions.d/ddpsim.fish",
                line,
            ],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
            env=self.environment(),
        )
        self.assertEqual(run.stderr, "")
        return [candidate.partition("\t")[0] for candidate in run.stdout.splitlines()]

    def test_commands_options_arguments_and_values(self):
        self.assertEqual(self.completed("ddpsim si"), ["simulate"])
        self.assertEqual(self.completed("ddpsim tune --tor"), ["--torch"])
        self.assertIn("resnet50-v100-b32-plain", self.completed("ddpsim simulate resnet50-v100-b32-"))
        self.assertIn("resnet.json.gz", self.completed("ddpsim simulate res"))
        self.assertEqual(self.completed("ddpsim simulate --backend g"), ["gloo"])
        self.assertEqual(self.completed("ddpsim calibrate --cluster abci-v"), ["abci-v100"])
        self.assertEqual(self.completed("ddpsim simulate --csv st"), ["step.json"])


@needs("zsh")
class Zsh(Completion):
    def typed(self, line):
        """The arguments of the program after `line` and its tabs were typed."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], self.environment())
        begin = (
            f"fpath=({PAGES}/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; "
            "bindkey '^I' complete-word; unsetopt automenu autolist beep; "
            "ddpsim() { print -r -- \"called: $*\" }; print rea''dy\n"
        )
        try:
            os.write(terminal, begin.encode())
            read_to(terminal, b"ready\r\n")
            os.write(terminal, line.encode() + b"\n")
            shown = read_to(terminal, b"called: ", b"\r\n")
        finally:
            os.close(terminal)
            os.waitpid(process, 0)
        return shown.rpartition(b"called: ")[2].partition(b"\r\n")[0].decode()

    def test_commands_options_arguments_and_values(self):
        self.assertEqual(
            self.typed("ddpsim si\t resnet50-v100-b32-p\t dgx1v-1\t --backe\t g\t"),
            "simulate resnet50-v100-b32-plain dgx1v-1xedr --backend gloo",
        )
        self.assertEqual(self.typed("ddpsim calib\t --clus\t abci-v\t st\t"), "calibrate --cluster abci-v100 step.json")


def read_to(terminal, *ends):
    """The terminal's output until it has shown each of `ends`, in order."""
    shown, place = b"", 0
    for wanted in ends:
        while (found := shown.find(wanted, place)) < 0:
            if not select.select([terminal], [], [], patience.seconds(60))[0]:
                raise AssertionError(f"{wanted!r} was not shown, but {shown!r}")
            shown += os.read(terminal, 1 << 16)
        place = found + len(wanted)
    return shown


if __name__ == "__main__":
    unittest.main()
