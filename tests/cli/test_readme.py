"""Every ddpsim command of the README and of the pages for users is run as it stands (shown_commands). What the pages show of
an output is printed."""

import unittest

import pages
from command import ROOT
from shown_commands import folder

# docs/reference/formats.md brings its own files: test_formats
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "formats.md"),
]


def commands(text):
    return [line for block in pages.blocks(text) for line in block.commands()]


class Readme(unittest.TestCase):
    def test_commands_are_found_in_a_text(self):
        text = "```console\n$ ddpsim list\nworkloads\n```\n```sh\nddpsim tune a \\\n  b\nls\n```\n"
        self.assertEqual(commands(text), ["ddpsim list", "ddpsim tune a    b"])
        self.assertEqual(pages.blocks(text)[0].shown_after(), {"ddpsim list": ["workloads"]})

    def test_every_command_succeeds_and_prints_what_is_shown(self):
        text = "\n".join(page.read_text() for page in PAGES)
        shown = {}
        for block in pages.blocks(text):
            shown.update(block.shown_after())
        lines = dict.fromkeys(commands(text))  # each once, in order
        self.assertTrue(lines, "the pages show no ddpsim command")
        with folder() as run:
            for line in lines:
                with self.subTest(command=line):
                    done = run(line)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    printed = done.stdout.splitlines()
                    self.assertEqual([part for part in shown.get(line, []) if part not in printed], [])


if __name__ == "__main__":
    unittest.main()
