"""Every command of tests/golden/commands.txt prints, writes and ends with its stored result.

DDPSIM_UPDATE_GOLDEN=1 stores the current results; scripts/golden.sh does so and shows the difference for review."""

import concurrent.futures
import os
import unittest

from command import BINARY, SANITIZED
from golden import GOLDEN, cases, check, outcome
from help_text import HELP, HELP_ALL, options, subcommands
from thorough import cases as few_or_all

CORPUS = cases()
# With sanitizers a command takes ten times as long, and the other build compares its text. So a third of all commands
# runs.
RUN = CORPUS[:: few_or_all(1, 3)] if SANITIZED else CORPUS

# What commands print or write as JSON; the other schemas are of files that people write.
PRINTED_SCHEMAS = [
    f"ddpsim.{kind}/1"
    for kind in (
        *("result", "timeline", "tune", "advice", "compare", "sweep", "diff", "buckets", "allreduce", "topo"),
        *("workload", "cluster", "calibration", "validation", "list", "error"),
    )
]


def setUpModule():
    if os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1":
        renew()


def renew():
    for path in kept_files() - {case.kept for case in CORPUS}:
        path.unlink()
    for case, now in each(lambda case: outcome(case, BINARY)):
        case.kept.parent.mkdir(exist_ok=True)
        case.kept.write_text("\n".join(now.lines()) + "\n", encoding="utf-8")


def each(function):
    """The results of `function` for all cases that run, in order. One case per core runs at a time."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        return zip(RUN, threads.map(function, RUN))


def kept_files():
    return set(GOLDEN.glob("*/*.txt")) - set((GOLDEN / "inputs").iterdir())


class Golden(unittest.TestCase):
    maxDiff = None

    def test_every_command_gives_its_stored_result(self):
        for case, difference in each(lambda case: check(case, BINARY)):
            with self.subTest(case.name):
                if difference:
                    self.fail(f"{case.protects}\n{difference}\nIf this is meant: scripts/golden.sh")

    def test_every_stored_result_has_a_command(self):
        self.assertEqual(kept_files() - {case.kept for case in CORPUS}, set())

    def test_each_schema_is_shown_with_its_keys_by_one_command(self):
        shown = [case.kept.read_text(encoding="utf-8") for case in CORPUS if case.shows_keys]
        for name in PRINTED_SCHEMAS:
            with self.subTest(name):
                self.assertEqual(1, sum(f'"schema": "{name}"' in text for text in shown))
        for case in CORPUS:
            if not case.shows_keys and '"schema": "ddpsim.' in case.kept.read_text(encoding="utf-8"):
                self.fail(f"{case.name} keeps the keys of a document")

    def test_no_name_and_no_command_is_there_twice(self):
        self.assertEqual(len({case.name for case in CORPUS}), len(CORPUS))
        self.assertEqual(len({(case.arguments, case.columns) for case in CORPUS}), len(CORPUS))

    def test_every_option_of_every_command_is_used(self):
        self.assertIn("simulate", subcommands())
        for command in subcommands():
            used = {word.partition("=")[0] for case in CORPUS if case.command[:1] == [command] for word in case.command}
            self.assertTrue(used, f"no command of the corpus uses ddpsim {command}")
            self.assertIn(HELP, options(command))
            self.assertIn(HELP_ALL, options(command))
            for spellings in options(command):
                with self.subTest(command=command, option=max(spellings, key=len)):
                    self.assertTrue(spellings & (used | HELP | HELP_ALL), "no command of the corpus uses it")


if __name__ == "__main__":
    unittest.main()
