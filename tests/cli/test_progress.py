"""A terminal shows how long a command will take, and an interrupt ends a run with the finished part."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import unittest

import patience
from command import BINARY, ROOT

# A command that takes minutes.
LONG = ["simulate", "resnet50-v100-b32", "p3dn@128", "--iterations", "10000", "--jitter", "2%", "--json"]


def used_seconds(pid):
    """The processor time of a process in seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


class Waiting:
    """Runs a command whose standard error is a terminal."""

    def __init__(self, *arguments):
        self.terminal, other_end = pty.openpty()
        # A shell makes background processes ignore interrupts, and the tests may be one.
        self.process = subprocess.Popen(
            [BINARY, *arguments],
            stdout=subprocess.PIPE,
            stderr=other_end,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(other_end)
        self.said = b""

    def until(self, pattern):
        """Reads until the output matches."""
        while not re.search(pattern, self.said):
            ready, _, _ = select.select([self.terminal], [], [], patience.seconds(120))
            assert ready, self.said
            if not self.read():
                raise AssertionError(f"the program ended before it said that: {self.said}")

    def read(self):
        try:
            part = os.read(self.terminal, 4096)
        except OSError:  # the other end is closed
            part = b""
        self.said += part
        return part

    def finish(self):
        printed = self.process.communicate(timeout=patience.seconds(120))[0]
        while select.select([self.terminal], [], [], 0)[0] and self.read():
            pass
        os.close(self.terminal)
        return printed


class Progress(unittest.TestCase):
    def test_an_interrupt_ends_a_run_with_the_finished_part(self):
        run = Waiting(*LONG)
        run.until(rb"\d+ of 10000 iterations, \d+ s left \(Ctrl-C: stop here, keep these\)")
        run.process.send_signal(signal.SIGINT)
        document = json.loads(run.finish())
        self.assertEqual(run.process.returncode, 130)
        done = len(document["iterations"])
        self.assertGreater(done, 1)
        self.assertLess(done, 10000)
        self.assertEqual(document["warnings"][0], f"interrupted: {done} of 10000 iterations were simulated")
        self.assertTrue(run.said.endswith(b"\r\x1b[K"), run.said[-80:])  # the line is erased

    def test_an_interrupt_ends_a_single_step_at_once(self):
        run = Waiting(
            "simulate",
            "resnet50-v100-b32",
            "dgxa100@512",
            "--gpu",
            "A100",
            "--compute-scale",
            "2",
            "--network",
            "flow",
            "--algorithm",
            "ring",
            "--background",
            str(ROOT / "tests/golden/inputs/background.json"),
        )
        patience.until(lambda: used_seconds(run.process.pid) >= 0.5)  # the work takes a minute
        self.assertIsNone(run.process.poll(), run.said)
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.finish(), b"")
        self.assertEqual(run.process.returncode, -signal.SIGINT)

    def test_a_long_search_shows_its_time_and_ends_at_once(self):
        for command in (
            ["advise", "gpt2-xl@A100:b1:s1024:amp", "p4de@8"],
            ["compare", "gpt2-xl@A100:b1:s1024:amp", *(f"p4de@{nodes}" for nodes in range(2, 200))],
        ):
            run = Waiting(*command)
            run.until(rb"\d+ of \d+ (settings|candidates), \d+ s left")
            self.assertNotIn(b"Ctrl-C", run.said)  # nothing is stored
            run.process.send_signal(signal.SIGINT)
            self.assertEqual(run.finish(), b"")
            self.assertEqual(run.process.returncode, -signal.SIGINT)

    def test_short_commands_and_pipes_show_no_progress(self):
        run = Waiting("simulate", "resnet50-v100-b32", "dgx1v", "--iterations", "3")
        run.finish()
        self.assertNotIn(b"left", run.said)
        piped = subprocess.run([BINARY, *LONG[:4], "60", *LONG[5:]], capture_output=True, timeout=patience.seconds(120))
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
