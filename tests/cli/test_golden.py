"""Every command of tests/golden/commands.txt prints, writes and ends with what is kept beside it.
DDPSIM_UPDATE_GOLDEN=1 keeps what they do now; scripts/golden.sh does so and shows the difference for review."""

import concurrent.futures
import os
import re
import unittest

from command import BINARY, ddpsim
from golden import GOLDEN, MADE_ON, alike, cases, check, outcome, this_machine

CORPUS = cases()
UPDATE = os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1"
SUBCOMMAND = re.compile(r"^  ([a-z]+)  ", re.MULTILINE)
OPTION = re.compile(r"^  ((?:-[a-zA-Z],)?--[a-z-]+|-[a-zA-Z])\b", re.MULTILINE)


def each(function):
    """`function` of every case, as many at once as there are cores; in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        return zip(CORPUS, threads.map(function, CORPUS))


def subcommands():
    return SUBCOMMAND.findall(ddpsim("--help").out.partition("Subcommands:")[2])


def options(command):
    """Of `ddpsim COMMAND`, each as the set of its spellings."""
    return [frozenset(found.split(",")) for found in OPTION.findall(ddpsim(command, "--help").out)]


class Golden(unittest.TestCase):
    maxDiff = None

    @unittest.skipUnless(UPDATE, "DDPSIM_UPDATE_GOLDEN=1 renews the corpus")
    def test_0_renew(self):
        for path in kept_files() - {case.kept for case in CORPUS}:
            path.unlink()
        for case, text in each(lambda case: outcome(case, BINARY)):
            case.kept.parent.mkdir(exist_ok=True)
            case.kept.write_text(text, encoding="utf-8")
        MADE_ON.write_text(this_machine() + "\n")

    def test_every_command_does_what_is_kept(self):
        for case, difference in each(lambda case: check(case, BINARY)):
            with self.subTest(case.name):
                if difference:
                    self.fail(f"{case.protects}\n{difference}\nIf this is meant: scripts/golden.sh")

    def test_every_kept_file_has_a_command(self):
        self.assertEqual(kept_files() - {case.kept for case in CORPUS}, set())

    def test_no_two_commands_have_one_name_and_none_is_there_twice(self):
        self.assertEqual(len({case.name for case in CORPUS}), len(CORPUS))
        self.assertEqual(len({(case.arguments, case.columns) for case in CORPUS}), len(CORPUS))

    def test_every_option_of_every_command_is_used(self):
        self.assertIn("simulate", subcommands())
        for command in subcommands():
            used = {word.partition("=")[0] for case in CORPUS if case.command[:1] == [command]
                    for word in case.command}
            self.assertTrue(used, f"no command of the corpus uses ddpsim {command}")
            known = options(command)
            known.remove({"-h", "--help"})  # its text is laid out by CLI11, each version otherwise
            for spellings in known:
                self.assertTrue(spellings & used, f"no command of the corpus uses ddpsim {command} {max(spellings, key=len)}")

    def test_elsewhere_a_number_may_differ_by_one_in_its_last_digit(self):
        kept = "step 104.20 ms, 5 buckets\n"
        for now in ("step 104.21 ms, 5 buckets\n", "step 104.19 ms, 5 buckets\n", "step 104.2 ms, 5 buckets\n"):
            self.assertTrue(alike(kept, now), now)
        for now in ("step 104.22 ms, 5 buckets\n", "step 104.3 ms, 5 buckets\n", "step 104.20 us, 5 buckets\n",
                    "step -104.20 ms, 5 buckets\n", "step 104.20 ms, 5 buckets, 1 more\n"):
            self.assertFalse(alike(kept, now), now)


def kept_files():
    return set(GOLDEN.glob("*/*.txt")) - set((GOLDEN / "inputs").rglob("*"))


if __name__ == "__main__":
    unittest.main()
