"""`ddpsim validate` compares predictions that ddpsim writes with measurements."""

import json
import pathlib
import tempfile
import unittest

from command import SHARED, answer, ddpsim
from test_ranks import trace

JOB = ["resnet50-v100-b32", "2xv100-nvlink"]
NODES = "node:2 gpu:4xV100 nvlink:6x25GBps:mesh nic:2x100Gbps:ib"
ROW = "{size} {count} float sum -1 {us:.2f} {algbw:.2f} {busbw:.2f} 0\n"


def log_of(rows, ranks, slower=1.0):
    """The output of all_reduce_perf on a machine that is `slower` times as slow as predicted."""
    text = ""
    for row in rows:
        size, us = row["size_bytes"], row["time_us"] * slower
        algbw = size / us / 1e3
        text += ROW.format(size=size, count=size // 4, us=us, algbw=algbw, busbw=algbw * 2 * (ranks - 1) / ranks)
    return text


class Validate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def predicted(self, *command):
        outcome = ddpsim(*command, "--json")
        self.assertEqual(outcome.code, 0, outcome.err)
        return self.file(f"{command[0]}.json", outcome.out)

    def test_an_all_reduce_table_against_a_log(self):
        table = self.predicted("allreduce", NODES, "-b", "1M", "-e", "64M")
        rows = json.loads(table.read_text())["rows"]
        log = self.file("log.txt", log_of(rows, 8, slower=1.25))
        document = answer("validate", table, log)
        self.assertEqual(document["schema"], "ddpsim.validation/1")
        self.assertEqual(len(document["rows"]), 7)
        for row in document["rows"]:
            self.assertEqual(row["unit"], "us")
            self.assertAlmostEqual(row["error_percent"], -20, delta=0.1)
        self.assertAlmostEqual(document["median_abs_error_percent"], 20, delta=0.1)
        self.assertEqual(document["intervals"]["given"], 7)
        self.assertEqual(document["warnings"], [])

    def test_the_log_that_calibrated_the_cluster_is_not_a_proof(self):
        rows = json.loads(self.predicted("allreduce", NODES, "-b", "1M", "-e", "64M").read_text())["rows"]
        own, copy, other = (
            self.file(name, log_of(rows, 8, slower))
            for name, slower in (("own.txt", 1.25), ("copy.txt", 1.25), ("other.txt", 1.3))
        )
        lab = self.folder / "lab.json"
        self.assertEqual(ddpsim("calibrate", f"{own}@2x4", "--cluster", NODES, "--nccl", "2.18.3", "-o", lab).code, 0)
        table = self.predicted("allreduce", lab, "-b", "1M", "-e", "64M", "--nccl", "2.18.3")
        self.assertEqual([log["source"] for log in json.loads(table.read_text())["calibrated_by"]], ["own.txt"])
        for log, judges_itself in ((own, True), (copy, True), (other, False)):
            document = answer("validate", table, f"{log}@2x4")
            self.assertEqual(document["own_calibration"], judges_itself)
            self.assertEqual(any("proves nothing" in warning for warning in document["warnings"]), judges_itself)
            text = " ".join(ddpsim("validate", table, f"{log}@2x4").out.split())
            self.assertEqual(
                "This same measurement calibrated the cluster, so this error proves nothing" in text, judges_itself
            )
        uncalibrated = self.predicted("allreduce", NODES, "-b", "1M", "-e", "64M")
        self.assertNotIn("calibrated_by", json.loads(uncalibrated.read_text()))
        self.assertFalse(answer("validate", uncalibrated, own)["own_calibration"])

    def test_a_log_of_another_cluster(self):
        table = self.predicted("allreduce", NODES, "-b", "1M", "-e", "64M")
        document = json.loads(table.read_text())
        self.assertEqual((document["nodes"], document["gpus_per_node"], document["gpu"]), (2, 4, "V100"))
        devices = "#  Rank  0 Group  0 Pid  1 on  host0 device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
        log = self.file("log.txt", log_of(document["rows"], 8))
        outcome = ddpsim("validate", table, f"{log}@1x8")
        self.assertEqual(outcome.code, 3)
        self.assertIn("has 1 x 8 GPUs", outcome.err)
        self.assertIn("allreduce.json has 2 x 4 GPUs", outcome.err)
        self.assertEqual(ddpsim("validate", table, f"{log}@2x4").code, 0)
        other = self.file("a100.json", table.read_text().replace('"V100"', '"A100"'))
        named = self.file("named.txt", devices + log_of(document["rows"], 8))
        text = ddpsim("validate", table, f"{named}@2x4").out
        self.assertIn("predicted for V100, measured on A100", text)
        self.assertNotIn("measured on", ddpsim("validate", other, f"{named}@2x4").out)

    def test_exit_4_above_the_error_allowed(self):
        result = self.predicted("simulate", *JOB)
        step = json.loads(result.read_text())["iteration_us"]
        measured = f"{step * 1.25 / 1e3}ms"
        self.assertEqual(ddpsim("validate", result, measured).code, 0)
        self.assertEqual(ddpsim("validate", result, measured, "--max-error", "20.1").code, 0)
        for percent in ("20.1%", "20.1 %"):  # as outputs write it
            self.assertEqual(ddpsim("validate", result, measured, "--max-error", percent).code, 0)
        self.assertEqual(ddpsim("validate", result, measured, "--max-error", "19.9%").code, 4)
        self.assertEqual(ddpsim("validate", result, measured, "--max-error", "%").code, 2)
        outcome = ddpsim("validate", result, measured, "--max-error", "19.9", "--json")
        self.assertEqual(outcome.code, 4)
        self.assertIn("above --max-error 19.9", outcome.err)
        self.assertTrue(outcome.json()["limit"]["exceeded"])
        self.assertEqual(ddpsim("validate", result, measured, "--max-error", "1", "--statistic", "median").code, 4)

    def test_the_statistic_decides(self):
        table = self.predicted("allreduce", NODES, "-b", "1M", "-e", "64M")
        rows = json.loads(table.read_text())["rows"]
        rows[3]["time_us"] *= 2
        log = self.file("log.txt", log_of(rows, 8))
        limit = ["validate", table, log, "--max-error", "10"]
        self.assertEqual(ddpsim(*limit).code, 4)
        self.assertEqual(ddpsim(*limit, "--statistic", "median").code, 0)
        self.assertEqual(ddpsim(*limit, "--only", "all_reduce 1048576 B").code, 0)

    def test_a_tuning_curve_against_measured_caps(self):
        curve = self.predicted("tune", *JOB, "--caps", "1,25,100")
        caps = self.file("caps.csv", "bucket_cap_mb,iteration_ms\ndefault,96\n1,104\n25,96.2\n100,95\n")
        document = answer("validate", curve, caps)
        self.assertEqual(
            [row["name"] for row in document["rows"]],
            ["bucket_cap_mb default", "bucket_cap_mb=1", "bucket_cap_mb=25", "bucket_cap_mb=100"],
        )
        self.assertEqual(document["caps"]["measured_best"], "bucket_cap_mb=100")
        self.assertIsNotNone(document["caps"]["regret_percent"])
        self.assertIn("Chosen cap: ", ddpsim("validate", curve, caps).out)

    def test_a_step_against_its_own_timeline(self):
        # The timeline shows the slowest GPU, but forward and backward of the result are those of a usual GPU.
        alike = [*JOB, "--rank-slowdown", "0%"]
        result = self.predicted("simulate", *alike)
        timeline = self.folder / "step.json"
        self.assertEqual(ddpsim("simulate", *alike, "--timeline", timeline).code, 0)
        document = answer("validate", result, timeline)
        self.assertLess(document["worst_abs_error_percent"], 0.1)
        self.assertIn("bucket 0 all_reduce", [row["name"] for row in document["rows"]])
        self.assertIn("iteration is not compared", document["notes"][0])
        self.assertIn(timeline.name, document["notes"][0])

    def test_a_folder_of_traces_is_read_as_import_reads_it(self):
        job = self.folder / "log"
        job.mkdir()
        for rank, late in enumerate((0, 20, 45)):
            (job / f"job-rank{rank}.json").write_text(json.dumps(trace(rank, late)))
        recorded = ddpsim("import", job)
        self.assertEqual(recorded.code, 0, recorded.err)
        document = answer("validate", self.file("job.json", recorded.out), job)
        self.assertIn("bucket 0 all_reduce", [row["name"] for row in document["rows"]])
        self.assertEqual((document["worst_abs_error_percent"], document["warnings"]), (0, []))
        (job / "job-rank2.json").unlink()
        self.assertIn("its all-reduces include waits", answer("validate", self.folder / "job.json", job)["warnings"][0])

    def test_a_forward_that_begins_before_its_step_is_whole(self):
        result = self.file(
            "step.json", json.dumps({"schema": "ddpsim.result/1", "forward_us": 49.0, "forward_ahead_us": 51.0})
        )
        recorded = self.file(
            "recorded.json",
            json.dumps(
                {
                    "schema": "ddpsim.workload/1",
                    "parameters": [{"name": "w", "shape": [4], "dtype": "float32"}],
                    "forward": {"duration_us": 100},
                }
            ),
        )
        self.assertEqual(answer("validate", result, recorded)["rows"][0]["error_percent"], 0)

    def test_step_times_are_read_as_in_other_commands(self):
        result = self.predicted("simulate", *JOB)
        step = json.loads(result.read_text())["iteration_us"]
        steps = [f"{step * share / 1e6:.9f}" for share in (1.3, 1.25, 1.2)]
        log = self.file("train.log", "".join(f"epoch 0 took: {one} loss 2.3\n" for one in steps))
        for measured in (
            self.file("steps.csv", "loss,step_time_s\n" + "".join(f"2.3,{one}\n" for one in steps)),
            self.file("state.json", "\n".join(json.dumps({"step_time_s": float(one)}) for one in steps)),
            self.file(
                "of_nccl.log",
                "host:1:2 [0] NCCL INFO NCCL version 2.21.5\n" + "".join(f"step_time={one} s\n" for one in steps),
            ),
            f"{log}:took=s",
            f"{1e6 / (1.25 * step)}it/s",
        ):
            with self.subTest(measured=measured):
                (row,) = answer("validate", result, measured)["rows"]
                self.assertEqual(row["name"], "iteration")
                self.assertAlmostEqual(row["error_percent"], -20, delta=0.001)
        self.assertIn(
            'the median of 3 values of "took"', " ".join(ddpsim("validate", result, f"{log}:took=s").out.split())
        )
        rate = self.file("rate.log", f"images/sec: {32e6 / (1.25 * step)}\n")
        measured = f"{rate}:images/sec=samples/s/gpu"
        self.assertIn("Add --batch N", ddpsim("validate", result, measured).err)
        self.assertAlmostEqual(
            answer("validate", result, measured, "--batch", "32")["rows"][0]["error_percent"], -20, delta=0.001
        )
        for measured, fragment in (
            (log, "no row of an all_reduce_perf table was found, and no step time"),
            (f"{log}:took", '"took" has no unit'),
            (f"{log}:took=h", "not a unit of step times"),
            (f"{log}@1x2", "no row of an all_reduce_perf table"),
        ):
            outcome = ddpsim("validate", result, measured)
            self.assertEqual(outcome.code, 3, outcome.err)
            self.assertIn(fragment, outcome.err)

    def test_csv_and_text_agree(self):
        result = self.predicted("simulate", *JOB)
        path = self.folder / "errors.csv"
        text = ddpsim("validate", result, "90ms", "--csv", path).out
        self.assertTrue(text.startswith("Error over 1 value: "), text)
        header, row = path.read_text().splitlines()
        self.assertEqual(header, "name,unit,measured,predicted,error_percent")
        self.assertTrue(row.startswith("iteration,us,90000,"), row)

    def test_two_runs_are_byte_identical(self):
        result = self.predicted("simulate", *JOB)
        once, twice = (ddpsim("validate", result, "90ms", "--json").out for _ in range(2))
        self.assertEqual(once, twice)

    def test_a_real_log(self):
        log = SHARED / "data" / "nccl-tests" / "abci-v100-n2g4.txt"
        if not log.exists():
            self.skipTest("the measured logs are not here")
        table = self.predicted("allreduce", NODES, "-b", "4", "-e", "32M", "--nccl", "2.8.4")
        document = answer("validate", table, log)
        self.assertEqual(len(document["rows"]), 24)
        self.assertEqual(ddpsim("validate", table, f"{log}@2x4").code, 0)
        self.assertEqual(ddpsim("validate", table, f"{log}@4x4").code, 3)

    def test_wrong_input(self):
        result = self.predicted("simulate", *JOB)
        table = self.predicted("allreduce", NODES, "-b", "1M", "-e", "2M")
        caps = self.file("caps.csv", "bucket_cap_mb,iteration_us\n25,96000\n")
        for arguments, fragments in [
            ([result, "nosuch.txt"], ["nosuch.txt", "no such file"]),
            ([result, self.folder], ["is a folder without a profiler trace"]),
            ([result, "104"], ["104", "ms"]),
            ([self.file("prose.txt", "a page of text\n"), "104ms"], ["prose.txt", "simulate, tune", "--json"]),
            ([result, "0ms"], ["a step takes no time. Expected a time above 0"]),
            ([result, "104s"], ["milliseconds or seconds"]),
            ([result, caps], ["caps.csv", "no value in common", "bucket_cap_mb=25"]),
            ([result, "104ms", "--only", "forward"], ["--only"]),
            (
                [table, self.file("l.txt", "1048576 262144 float sum -1 40.00 26.21 39.32 0\n")],
                ["has 4 ranks", "has 8", "--nodes"],
            ),
            ([table, self.file("n.txt", "1048576 262144 float sum -1 nan 26.21 39.32 0\n")], ["n.txt:line 1", "nan"]),
            ([table, self.file("e.txt", "")], ["no row of an all_reduce_perf table"]),
            ([self.file("v.json", '{"schema": "ddpsim.validation/1"}'), "104ms"], ["/schema", "ddpsim.validation/1"]),
            ([self.file("r.json", '{"schema": "ddpsim.reslt/1"}'), "104ms"], ["Did you mean", "ddpsim.result/1"]),
            ([self.file("t.json", '{"schema": "ddpsim.tune/1"}'), caps], ["missing", "default"]),
            (
                [self.file("i.json", '{"schema": "ddpsim.result/1", "iteration_us": "fast"}'), "104ms"],
                ["/iteration_us", "number"],
            ),
            ([result, self.file("c.csv", "bucket_cap_mb,seconds\n25,1\n")], ["c.csv:line 1", "iteration_us"]),
            ([result, self.file("d.csv", "bucket_cap_mb,iteration_us\n25MiB,1\n")], ["d.csv:line 2", "25MiB"]),
            ([result, self.file("f.csv", "bucket_cap_mb,iteration_us\n25,0\n")], ["f.csv:line 2", "no time"]),
            ([result, self.file("g.csv", "bucket_cap_mb,iteration_us,torch\n25,1,new\n")], ["g.csv:line 2", "2.8"]),
        ]:
            with self.subTest(arguments=arguments):
                outcome = ddpsim("validate", *arguments, "--csv", self.folder / "never.csv")
                self.assertEqual(outcome.code, 3, outcome.err)
                self.assertEqual(outcome.out, "")
                self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err)
                for fragment in fragments:
                    self.assertIn(fragment, outcome.err)
                self.assertFalse((self.folder / "never.csv").exists())
        for arguments in [
            [],
            [result],
            [result, "1ms", "--max-error", "-1"],
            [result, "1ms", "--statistic", "median"],
            [result, "1ms", "--max-error", "1", "--statistic", "mean"],
        ]:
            self.assertEqual(ddpsim("validate", *arguments).code, 2, arguments)


if __name__ == "__main__":
    unittest.main()
