"""Every ddpsim command the README shows is run as it stands (shown_commands)."""

import re
import unittest

from command import ROOT
from shown_commands import folder

README = ROOT / "README.md"
BLOCK = re.compile(r"^```(?:console|sh|shell|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(text):
    """Lines of fenced blocks that start with `ddpsim` or `$ ddpsim`, continuations joined."""
    found = []
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.removeprefix("$ ").strip()
            if line.split(" ")[0] == "ddpsim":
                found.append(line)
    return found


class Readme(unittest.TestCase):
    def test_commands_are_found_in_a_text(self):
        text = "```console\n$ ddpsim list\nworkloads\n```\n```sh\nddpsim tune a \\\n  b\nls\n```\n"
        self.assertEqual(commands(text), ["ddpsim list", "ddpsim tune a    b"])

    @unittest.skipUnless(README.exists(), "there is no README.md")
    def test_every_command_succeeds(self):
        shown = commands(README.read_text())
        self.assertTrue(shown, "README.md shows no ddpsim command")
        with folder() as run:
            for line in shown:
                with self.subTest(command=line):
                    done = run(line)
                    self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
