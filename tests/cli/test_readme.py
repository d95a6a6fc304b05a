"""Every ddpsim command of the README and of the pages for users is run as it stands, in a folder that holds nothing but
trace.json.gz, a small recording, and n1.txt and n2.txt, all-reduces of one and two nodes. What the pages show of an output
is printed."""

import gzip
import json
import pathlib
import tempfile
import unittest

import pages
from command import ROOT
from recording import profiler_trace

PAGES = [ROOT / "README.md", ROOT / "docs" / "calibration.md"]  # docs/formats.md brings its own files: test_formats


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
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder) / "here"
            here.mkdir()
            (here / "trace.json.gz").write_bytes(gzip.compress(json.dumps(profiler_trace()).encode()))
            for nodes in (1, 2):  # what the law says, as all_reduce_perf would print it
                log = pages.run(f"ddpsim allreduce abci-v100@{nodes}", here).stdout
                (here / f"n{nodes}.txt").write_text(log)
            for line in lines:
                with self.subTest(command=line):
                    ran = pages.run(line, here)
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    printed = ran.stdout.splitlines()
                    self.assertEqual([part for part in shown.get(line, []) if part not in printed], [])


if __name__ == "__main__":
    unittest.main()
