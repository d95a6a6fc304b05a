"""Every ddpsim command the README shows is run as it stands, in a folder that holds nothing but
trace.json.gz, a small recording, and n1.txt and n2.txt, all-reduces of one and two nodes."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from command import BINARY, ROOT
from recording import profiler_trace

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
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder) / "bin"
            here = pathlib.Path(folder) / "here"
            tools.mkdir()
            here.mkdir()
            (tools / "ddpsim").symlink_to(BINARY)
            recording = json.dumps(profiler_trace()).encode()
            (here / "trace.json.gz").write_bytes(gzip.compress(recording))
            for nodes in (1, 2):  # what the law says, as all_reduce_perf would print it
                log = subprocess.run([BINARY, "allreduce", f"abci-v100@{nodes}"], check=True,
                                     capture_output=True).stdout
                (here / f"n{nodes}.txt").write_bytes(log)
            for line in shown:
                with self.subTest(command=line):
                    run = subprocess.run(["sh", "-c", line], cwd=here, capture_output=True, text=True,
                                         env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
                    self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
