"""`simulate --measured` compares a measured step with the simulated one."""

import json
import pathlib
import re
import tempfile
import unittest

from command import SHARED, ddpsim, write_json
from perfetto_text import perfetto_text

JOB = ["simulate", "resnet50-v100-b32", "2xv100-nvlink"]


class Measured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_simulated_step_compared_with_itself_has_no_difference(self):
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
        self.assertTrue(b"measured rank 0" in both.read_bytes())  # ranks are equal, so one is drawn
        text = ddpsim(*JOB, "--measured", str(timeline)).out
        self.assertIn("(+0.0 %)", text)

    def test_slices_name_the_parameters_they_hold(self):
        timeline, both = self.folder / "step.json", self.folder / "both.pftrace"
        self.assertEqual(ddpsim(*JOB, "--timeline", timeline).code, 0)
        held = [
            span["parameters"]
            for span in json.loads(timeline.read_text())["ranks"][0]["spans"]
            if span["name"] == "all_reduce"
        ]
        self.assertEqual((held[0]["first"], sum(one["count"] for one in held)), ("fc.bias", 161))
        self.assertEqual(held[-1]["last"], "conv1.weight")
        recorded = SHARED / "data" / "traces" / "r50-ddp-2xA100-rank0.json.gz"
        if not recorded.exists():
            self.skipTest("the open traces are not here")
        run = ddpsim(
            "simulate", recorded, "node:1 gpu:2xA100 nvlink:12x25GBps", "--measured", recorded, "--timeline", both
        )
        self.assertEqual(run.code, 0, run.err)
        text = perfetto_text(both.read_bytes())
        measured = text[text.index("measured rank 0") :]
        track = re.search(r"uuid: (\d+), name: \"communication\"", measured).group(1)
        slices = [line for line in text.splitlines() if f'type: begin, track: {track}, name: "all_reduce"' in line]
        self.assertEqual(len(slices), 5)
        self.assertIn('{text: "fc.bias", name: "first_parameter"}', slices[0])
        self.assertIn('{text: "conv1.weight", name: "last_parameter"}', slices[-1])
        run = ddpsim("simulate", recorded, "node:1 gpu:2xA100 nvlink:12x25GBps", "--timeline", both)
        self.assertEqual(run.code, 0, run.err)  # compared with the recorded step
        text = perfetto_text(both.read_bytes())
        self.assertEqual(re.findall(r'pid: \d+, name: "([^"]+)"', text), ["simulated rank 0", "recorded rank 0"])

    def test_the_timeline_of_another_job_is_refused(self):
        timeline = self.folder / "step.json"
        self.assertEqual(ddpsim(*JOB, "--timeline", str(timeline)).code, 0)
        own = ddpsim(*JOB, "--measured", timeline, "--json").json()["warnings"]
        self.assertFalse([one for one in own if "another job" in one])
        said = json.loads(timeline.read_text())
        self.assertEqual(said["provenance"]["ranks"], "2")

        def laid(provenance, *options):
            timeline.write_text(json.dumps({**said, "provenance": {**said["provenance"], **provenance}}))
            return ddpsim(*JOB, *options, "--measured", timeline, "--timeline", self.folder / "t.json", "--json")

        sizes = said["provenance"]["bucket_bytes"]
        for provenance, options, where, remedy in (
            ({"ranks": "16"}, [], '/provenance/ranks: was measured on "16" ranks, but 2 are simulated', "@NODES"),
            ({"backend": "c10d-gloo"}, [], "/provenance/backend: was measured with", "--backend gloo"),
            ({}, ["--bucket-cap-mb", "1"], "/provenance/bucket_bytes: has buckets of", "--bucket-cap-mb"),
            ({"bucket_bytes": sizes + " 4"}, [], "/provenance/bucket_bytes: has buckets of", "--bucket-cap-mb"),
        ):
            with self.subTest(where=where):
                run = laid(provenance, *options)
                self.assertEqual((run.code, run.json()["code"]), (3, 3))
                self.assertIn(f"{timeline}:{where}", run.err)
                self.assertIn(remedy, run.err)
                self.assertFalse((self.folder / "t.json").exists())
        del said["provenance"]["bucket_bytes"]  # older files lack it, but have spans
        run = laid({}, "--bucket-cap-mb", "1")
        self.assertEqual(run.code, 3)
        self.assertIn("/ranks: has 5 buckets", run.err)
        self.assertTrue([one for one in laid({"workload": "bert"}).json()["warnings"] if "shows workload bert" in one])

    def test_the_column_names_what_it_subtracts(self):
        timeline = self.folder / "step.json"
        self.assertEqual(ddpsim(*JOB, "--timeline", str(timeline)).code, 0)
        text = ddpsim(*JOB, "--measured", timeline).out
        self.assertIn("predicted minus measured", text)
        self.assertNotIn("late by", text)

    def test_a_file_of_another_kind_is_refused_and_nothing_is_written(self):
        wrong = self.folder / "wrong.json"
        wrong.write_text('{"schema": "ddpsim.timeline/1", "ranks": [{"rank": 7, "spans": []}]}', encoding="utf-8")
        written = self.folder / "t.json"
        run = ddpsim(*JOB, "--measured", str(wrong), "--timeline", str(written))
        self.assertEqual(run.code, 3)
        self.assertIn("contains none of the simulated ranks. Rank 0 is always among them", run.err)
        self.assertFalse(written.exists())


class MeasuredStep(unittest.TestCase):
    """Assumptions about a file of --measured-step are warnings of every command."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "train.log"
        self.log.write_text("step_time_ms: 1,200\n" * 3, encoding="utf-8")
        self.warning = "1,200 is read as 1200, because no number has a decimal comma"

    def test_simulate_warns_and_names_the_values(self):
        run = ddpsim(*JOB, "--measured-step", self.log)
        self.assertIn("warning: ", "".join(line for line in run.out.splitlines() if self.warning in line))
        self.assertIn('(median of 3 values of "step_time_ms" in its lines', run.out.replace("\n  ", " "))

    def test_compare_and_sweep_warn_about_its_row(self):
        compared = ddpsim("compare", JOB[1], "own=" + JOB[2], "dgx1v", "--measured-step", f"own={self.log}")
        lines = compared.out.replace("\n  ", " ").splitlines()
        self.assertEqual([line.startswith("warning: own: ") for line in lines if self.warning in line], [True])
        study = write_json(
            self.folder / "study.json",
            {
                "schema": "ddpsim.study/1",
                "workload": JOB[1],
                "grid": {"bucket-cap-mb": [None, 5]},
                "measured_with": {"bucket-cap-mb": None},
                "candidates": [{"label": "own", "cluster": JOB[2], "measured_step": str(self.log)}, "dgx1v"],
            },
        )
        swept = ddpsim("sweep", study)
        self.assertEqual(swept.code, 0, swept.err)
        rows = [json.loads(line) for line in swept.out.splitlines()[1:]]
        self.assertEqual(
            [any(self.warning in warning for warning in row["warnings"]) for row in rows], [True, True, False, False]
        )


if __name__ == "__main__":
    unittest.main()
