"""Checks that the first line names the largest loss, for 25 jobs whose loss an expert named before they were run."""

import json
import pathlib
import unittest

from command import SHARED, ddpsim
from spoken_class import WORDS, spoken_of

HERE = pathlib.Path(__file__).parent
TRACES = SHARED / "data" / "traces"
JOBS = json.loads((HERE / "first_lines.json").read_text(encoding="utf-8"))

LEAST_RIGHT = 23  # of 25
LEAST_ADVICE = 0.9


def advice_of(text, command):
    """The text with the first advice: the first four lines, and the next command without the words of the question."""
    lines = text.splitlines()
    told = " ".join(lines[:4] + [line for line in lines[4:] if line.startswith("Next:")])
    for word in command[1:]:
        told = told.replace(word, "")
    return " ".join(told.split()).lower()


class Job:
    def __init__(self, row):
        self.row = row
        words = [
            word.replace("TRACES/", f"{TRACES}/").replace("FIRST_LINES/", f"{HERE / 'first_lines'}/")
            for word in row["command"]
        ]
        told = ddpsim(*words)
        self.code, self.text = told.code, told.out or told.err
        self.first_line = (self.text.splitlines() or [""])[0]
        self.json_code = ddpsim(*words, "--json").code
        self.said = spoken_of(self.first_line, self.code != 0)
        self.right = self.said in [row["class"], *row.get("alternatives", [])]
        advice = advice_of(self.text, words)
        self.advised = row["first_advice"] is None or any(word.lower() in advice for word in row["first_advice"])


@unittest.skipUnless(TRACES.is_dir(), f"no real traces: {TRACES} is not there")
class FirstLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jobs = [Job(row) for row in JOBS]
        print(f"\n{'':5} {'advice':6} {'expert':13} {'said':13} job")
        for job in cls.jobs:
            advice = "" if job.row["first_advice"] is None else "yes" if job.advised else "no"
            print(
                f"{'right' if job.right else 'WRONG':5} {advice:6} {job.row['class']:13} {job.said or '-':13} {job.row['command'][0]}: "
                f"{job.row['name']}\n{'':27}{job.first_line}"
            )

    def test_every_job_has_an_expectation(self):
        self.assertEqual(len(JOBS), 25)
        self.assertEqual({row["class"] for row in JOBS}, {"compute", *WORDS})

    def test_the_first_line_names_the_largest_loss(self):
        right = sum(job.right for job in self.jobs)
        print(f"\n{right} of {len(self.jobs)} first lines name the class an expert names")
        self.assertGreaterEqual(right, LEAST_RIGHT)

    def test_the_first_advice_is_the_expert_s(self):
        asked = [job for job in self.jobs if job.row["first_advice"] is not None]
        right = sum(job.advised for job in asked)
        print(f"\n{right} of {len(asked)} say first what an expert would change")
        self.assertGreaterEqual(right, LEAST_ADVICE * len(asked))

    def test_json_and_text_have_the_same_exit_code(self):
        for job in self.jobs:
            with self.subTest(job.row["name"]):
                self.assertEqual(job.json_code, job.code)
                self.assertIn(job.code, (0, 3) if job.row["class"] == "memory" else (0,), job.text)


class Words(unittest.TestCase):
    """The word list finds the class of lines that were written for this test."""

    def test_each_line_has_its_class(self):
        for line, expected in (
            (
                "job on cluster, 8 GPUs: 98 ms a step, 0.23 % of it blocked by communication; largest loss: DDP's copies, 1.7 ms.",
                "compute",
            ),
            (
                "job on cluster, 8 GPUs: 98 ms a step, 61 % of it blocked by communication; largest loss: exposed all-reduces, 60 ms.",
                "communication",
            ),
            ("slow-rank on cluster, 4 GPUs: 90 ms a step; the GPU waits 30 ms of it for the host.", "host"),
            ("Set num_workers=9: the GPU waits 120 ms of 220 ms for input.", "input"),
            ("Keep the default: the GPU waits 120 ms of 220 ms for input.", "input"),
            ("Keep the default: no bucket cap gains more than can be measured.", "compute"),
            ("Set bf16_compress_hook: saves 30 ms of 90 ms.", "communication"),
            (
                "Nothing worth changing: no setting saves 1 ms of 90 ms, the least that can be measured. powerSGD_hook of rank 1 saves 4 ms.",
                "compute",
            ),
        ):
            with self.subTest(line):
                self.assertEqual(spoken_of(line), expected)
        self.assertEqual(spoken_of("error: a rank needs 112 GiB, an A100 has 80 GiB", failed=True), "memory")
        self.assertIsNone(spoken_of("error: unknown cluster", failed=True))


if __name__ == "__main__":
    unittest.main()
