"""Every ddpsim command on the README and on the pages of docs is run as it stands, each page in an empty folder of its own
(shown_commands). Blocks that name a file are written there. What a page shows of an output must be printed.

With DDPSIM_UPDATE_GOLDEN=1, a shown line that is no longer printed is replaced by the printed line most like it: look at the
difference before you commit it."""

import difflib
import os
import unittest

import pages
from command import ROOT
from shown_commands import folder

# Every page but docs/reference/formats.md, whose blocks test_formats reads.
PAGES = [
    ROOT / "README.md",
    ROOT / "traces" / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "formats.md"),
]
UPDATE = os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1"
LIKE_ENOUGH = 0.5


def not_printed(shown, printed):
    """The shown lines that are not printed in this order, each with the printed line most like it."""
    missing, place = [], 0
    for line in shown:
        if line in printed[place:]:
            place += printed[place:].index(line) + 1
        else:
            missing.append((line, *difflib.get_close_matches(line, printed, n=1, cutoff=LIKE_ENOUGH)))
    return missing


class Readme(unittest.TestCase):
    maxDiff = None

    def test_commands_are_found_in_a_text(self):
        text = "```console\n$ ddpsim list\nworkloads\n```\n```sh\nddpsim tune a \\\n  b\nls\n```\n"
        found = [line for block in pages.blocks(text) for line in block.commands()]
        self.assertEqual(found, ["ddpsim list", "ddpsim tune a    b"])
        self.assertEqual(pages.blocks(text)[0].shown_after(), {"ddpsim list": ["workloads"]})

    def test_a_line_that_is_not_printed_is_found_with_the_one_most_like_it(self):
        printed = ["step 98 ms", "80 % interval", "next"]
        self.assertEqual(not_printed(["step 98 ms", "next"], printed), [])
        self.assertEqual(not_printed(["step 99 ms"], printed), [("step 99 ms", "step 98 ms")])
        self.assertEqual(not_printed(["next", "step 98 ms"], printed), [("step 98 ms", "step 98 ms")])

    def test_every_command_succeeds_and_prints_what_is_shown(self):
        for page in PAGES:
            with folder() as run:
                self.run_page(page, run)

    def run_page(self, page, run):
        text = page.read_text(encoding="utf-8")
        for block in pages.blocks(text):
            if block.name:
                (run.here / block.name).write_text(block.text, encoding="utf-8")
            shown = block.shown_after()
            for line in block.commands():
                done = run(line)
                missing = not_printed(shown.get(line, []), (done.stdout + done.stderr).splitlines())
                for before, *after in missing if UPDATE else []:
                    if after:
                        text = text.replace(f"\n{before}\n", f"\n{after[0]}\n", 1)
                with self.subTest(page=page.relative_to(ROOT), command=line):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(missing, [])
        if UPDATE:
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
