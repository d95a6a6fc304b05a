"""Every ddpsim command the README shows is run as it stands, in a folder that holds nothing but
trace.json.gz, a small recording, and n1.txt and n2.txt, all-reduces of one and two nodes."""

import gzip
import json
import pathlib
import tempfile
import unittest

import pages
from command import ROOT
from recording import profiler_trace


def commands(text):
    return [line for block in pages.blocks(text) for line in block.commands()]


class Readme(unittest.TestCase):
    def test_commands_are_found_in_a_text(self):
        text = "```console\n$ ddpsim list\nworkloads\n```\n```sh\nddpsim tune a \\\n  b\nls\n```\n"
        self.assertEqual(commands(text), ["ddpsim list", "ddpsim tune a    b"])

    def test_every_command_succeeds(self):
        shown = commands((ROOT / "README.md").read_text())
        self.assertTrue(shown, "README.md shows no ddpsim command")
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder) / "here"
            here.mkdir()
            (here / "trace.json.gz").write_bytes(gzip.compress(json.dumps(profiler_trace()).encode()))
            for nodes in (1, 2):  # what the law says, as all_reduce_perf would print it
                log = pages.run(f"ddpsim allreduce abci-v100@{nodes}", here).stdout
                (here / f"n{nodes}.txt").write_text(log)
            for line in shown:
                with self.subTest(command=line):
                    ran = pages.run(line, here)
                    self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main()
