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

    def test_the_timeline_of_another_job_is_said_to_be(self):
        timeline = self.folder / "step.json"
        self.assertEqual(ddpsim(*JOB, "--timeline", str(timeline)).code, 0)
        own = ddpsim(*JOB, "--measured", timeline, "--json").json()["warnings"]
        self.assertFalse([one for one in own if "another job" in one])
        document = json.loads(timeline.read_text())
        document["provenance"] = {"workload": "bert", "ranks": "16"}
        timeline.write_text(json.dumps(document))
        warnings = ddpsim(*JOB, "--measured", timeline, "--bucket-cap-mb", "1", "--json").json()["warnings"]
        for what in ("workload bert", "ranks 16, simulated: 2", "buckets "):
            self.assertTrue([one for one in warnings if "another job: " + what in one], (what, warnings))

    def test_the_column_says_what_it_subtracts(self):
        timeline = self.folder / "step.json"
        self.assertEqual(ddpsim(*JOB, "--timeline", str(timeline)).code, 0)
        text = ddpsim(*JOB, "--measured", timeline).out
        self.assertIn("predicted less measured", text)
        self.assertNotIn("late by", text)

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
