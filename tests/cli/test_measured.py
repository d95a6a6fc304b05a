"""simulate --measured: a measured step laid beside the simulated one."""

import json
import pathlib
import tempfile
import unittest

from command import ddpsim

JOB = ["simulate", "resnet50-v100-b32", "2xv100-nvlink"]


class Measured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_simulated_step_beside_itself_differs_nowhere(self):
        timeline = self.folder / "step.json"
        self.assertEqual(ddpsim(*JOB, "--timeline", str(timeline)).code, 0)
        both = self.folder / "both.pftrace"
        run = ddpsim(*JOB, "--measured", str(timeline), "--timeline", str(both), "--json")
        self.assertEqual(run.code, 0, run.err)
        measured = json.loads(run.out)["measured"]
        self.assertEqual(measured["predicted_us"], measured["measured_us"])
        self.assertTrue(measured["spans"])
        for span in measured["spans"]:
            self.assertEqual(span["predicted_start_us"], span["measured_start_us"], span)
            self.assertEqual(span["predicted_end_us"], span["measured_end_us"], span)
        self.assertTrue(b"measured rank 0" in both.read_bytes())  # alike, one rank is drawn for both
        text = ddpsim(*JOB, "--measured", str(timeline)).out
        self.assertIn("(+0.0 %)", text)

    def test_a_file_that_is_none_is_refused_and_nothing_written(self):
        wrong = self.folder / "wrong.json"
        wrong.write_text('{"schema": "ddpsim.timeline/1", "ranks": [{"rank": 7, "spans": []}]}', encoding="utf-8")
        written = self.folder / "t.json"
        run = ddpsim(*JOB, "--measured", str(wrong), "--timeline", str(written))
        self.assertEqual(run.code, 3)
        self.assertIn("holds none of the ranks", run.err)
        self.assertFalse(written.exists())


if __name__ == "__main__":
    unittest.main()
