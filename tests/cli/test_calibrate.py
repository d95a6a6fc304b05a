"""`ddpsim calibrate` turns logs into a calibrated cluster file, and ends with 3 if it cannot."""

import json
import pathlib
import tempfile
import unittest

from command import answer, ddpsim

LAB = "node:1 gpu:4xA100 nvlink:12x25GBps:mesh nic:2x200Gbps:ib"


class Calibrate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def log(self, nodes, factor=1.0, cluster=LAB, name=None):
        """The log of a machine that takes `factor` times the time of the uncalibrated cost model."""
        line = cluster.replace("node:1", f"node:{nodes}")
        rows = answer("allreduce", line, "-b", "1K", "-e", "256M", "--nccl", "2.18.3")["rows"]
        path = self.folder / (name or f"n{nodes}.txt")
        ranks = 4 * nodes
        lines = ["# nThread 1 nGpus 1 minBytes 1024 maxBytes 268435456", "# Using devices"]
        lines += [
            f"#  Rank {rank:2} Group  0 Pid {rank} on node{rank // 4} device {rank % 4} [0x07] NVIDIA A100-SXM4-40GB"
            for rank in range(ranks)
        ]
        lines += [
            "#       size         count      type   redop    root     time   algbw   busbw "
            "#wrong     time   algbw   busbw #wrong"
        ]
        for row in rows:
            size, time = row["size_bytes"], row["time_us"] * factor
            algbw = size / time / 1e3
            half = f"{time:.2f} {algbw:.2f} {algbw * 2 * (ranks - 1) / ranks:.2f} 0"
            lines.append(f"{size} {size // 4} float sum -1 {half} {half}")
        path.write_text("\n".join(lines) + "\n# Out of bounds values : 0 OK\n")
        return path

    def calibrate(self, *logs, cluster=LAB, options=()):
        output = self.folder / "c2.json"
        return ddpsim("calibrate", *logs, "--cluster", cluster, "-o", output, "--nccl", "2.18.3", *options), output

    def test_predictions_follow_the_logs(self):
        done, output = self.calibrate(self.log(1, 1.2), self.log(2, 1.2))
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("calibrated with 2 logs. Each job shape left out", " ".join(done.out.split()))
        self.assertIn("GB/s", done.out)  # constants have units
        left_out = self.calibrate(self.log(1, 1.2), self.log(2, 1.2), options=["--json"])[0].json()["shapes_left_out"]
        self.assertEqual([(one["nodes"], one["gpus_per_node"]) for one in left_out], [(1, 4), (2, 4)])
        for one in left_out:
            self.assertGreater(one["predicted_from_others"]["sizes"], 0)
        for nodes in (1, 2, 4):
            before = answer(
                "allreduce", LAB.replace("node:1", f"node:{nodes}"), "-b", "1M", "-e", "64M", "--nccl", "2.18.3"
            )["rows"]
            document = answer("allreduce", f"{output}@{nodes}", "-b", "1M", "-e", "64M", "--nccl", "2.18.3")
            self.assertEqual(document["confidence"]["grade"], "B")
            for old, new in zip(before, document["rows"]):
                self.assertAlmostEqual(new["time_us"] / old["time_us"], 1.2, delta=0.08)
        self.assertIn("4 nodes lie beyond the calibrated range (1..2 nodes)", " ".join(document["warnings"]))

    def test_one_job_shape_alone_proves_nothing(self):
        alone = self.calibrate(self.log(2))[0].out
        self.assertIn("calibrated with 1 log of one job shape", " ".join(alone.split()))
        self.assertIn("of one job shape, which the fit reproduces by construction", " ".join(alone.split()))

    def test_a_calibrated_cluster_is_used_everywhere(self):
        _, output = self.calibrate(self.log(1), self.log(2))
        shown = ddpsim("topo", output)
        self.assertEqual(shown.code, 0)
        self.assertIn("calibrated with", shown.out)
        result = answer("simulate", "resnet50@A100", f"{output}@2")
        self.assertEqual(result["confidence"]["grade"], "B")
        again = answer("simulate", "resnet50@A100", f"{output}@2", "--measured-step", f"{result['iteration_us']}us")
        self.assertEqual(again["confidence"]["grade"], "A")
        self.assertNotIn("specification", " ".join(result["confidence"]["because"]))

    def test_the_nccl_version_of_the_log_is_kept(self):
        _, output = self.calibrate(self.log(1), self.log(2))
        self.assertEqual(answer("allreduce", f"{output}@2")["nccl"], "2.18.3")
        asked = answer("allreduce", f"{output}@2", "--nccl", "2.27.3")
        self.assertEqual(asked["nccl"], "2.27.3")
        self.assertIn("calibrated with NCCL 2.18.3, predicted for 2.27.3", " ".join(asked["warnings"]))

    def test_two_runs_give_the_same_documents_and_files(self):
        logs = self.log(1), self.log(2)
        one, output = self.calibrate(*logs, options=["--json"])
        first = output.read_bytes()
        other, _ = self.calibrate(*logs, options=["--json"])
        self.assertEqual(one.out, other.out)
        self.assertEqual(first, output.read_bytes())
        document = json.loads(one.out)
        self.assertEqual(document["schema"], "ddpsim.calibration/1")
        self.assertEqual([log["nodes"] for log in document["logs"]], [1, 2])
        self.assertEqual(document["logs"][0]["source"], "n1.txt")  # the name without folder
        self.assertNotIn(str(self.folder), first.decode())
        self.assertLess(document["calibrated"]["median_abs_error_percent"], 1)

    def noted(self, name, text, *options):
        path = self.folder / name
        path.write_text(json.dumps(text))
        return self.calibrate(str(path) + "".join(options), cluster="dgx1v@2")

    def flight_recording(self, ranks):
        entry = {
            "profiling_name": "nccl:all_reduce",
            "process_group": ["0", "default_pg"],
            "state": "completed",
            "input_dtypes": ["Float"],
        }
        return {
            "entries": [
                entry | {"input_sizes": [[1 << size]], "duration_ms": 0.015 + 2**size * 4 / 60e6}
                for size in range(16, 24)
            ],
            "pg_config": {"0": {"name": "0", "ranks": str(list(range(ranks)))}},
            "nccl_version": "2.18.3",
        }

    def test_a_jobs_own_record_need_not_say_its_nodes(self):
        done, output = self.noted("flight.json", self.flight_recording(4))
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("assumed to have run on 1 node of 4 GPUs", " ".join(done.out.split()))
        logs = json.loads(output.read_text())["calibration"]["logs"]
        self.assertEqual([(log["nodes"], log["gpus_per_node"]) for log in logs], [(1, 4)])
        done, output = self.noted("flight.json", self.flight_recording(4), "@1x4")
        self.assertEqual(done.code, 0, done.err)
        self.assertNotIn("assumed to have run", done.out)
        done, _ = self.noted("twelve.json", self.flight_recording(12))
        self.assertEqual(done.code, 3)
        self.assertIn("twelve.json@NODESxGPUS", done.err)

    def timeline(self, backend, clock="measured"):
        spans = lambda late: [
            {
                "track": "communication",
                "name": "all_reduce",
                "bucket": bucket,
                "start_us": 2000 * bucket + late * 5 * bucket,
                "end_us": 2000 * bucket + 20 + 30 * 2**bucket + 15 * bucket,
            }
            for bucket in range(4)
        ]
        return {
            "schema": "ddpsim.timeline/1",
            "clock": clock,
            "ranks": [{"rank": rank, "spans": spans(rank)} for rank in range(4)],
            "provenance": {"ranks": "4", "backend": backend, "bucket_bytes": "1048576 2097152 4194304 8388608"},
        }

    def test_a_measured_step_calibrates_as_traces_do(self):
        done, output = self.noted("cap25.timeline.json", self.timeline("cuda-nccl"))
        self.assertEqual(done.code, 0, done.err)
        log = json.loads(output.read_text())["calibration"]["logs"][0]
        self.assertEqual(
            [log["timed_by"], log["gpus_per_node"], log["smallest_bytes"]], ["joined ranks of a training", 4, 1 << 20]
        )
        time = answer("allreduce", f"{output}@1", "--gpus-per-node", "4", "-b", "8M", "-e", "8M")["rows"][0]["time_us"]
        self.assertAlmostEqual(time / 260, 1, delta=0.1)  # the last of four arrived 45 µs late

    def test_a_step_over_another_library_or_a_simulated_one_calibrates_nothing(self):
        for timeline, words in (
            (self.timeline("mpi"), "was taken over mpi, so it tells nothing about NCCL"),
            (self.timeline("nccl", "simulated; zero"), "is of a simulated step"),
        ):
            done, output = self.noted("step.json", timeline)
            self.assertEqual(done.code, 3)
            self.assertIn(words, done.err)
            self.assertFalse(output.exists())

    def test_calibrating_again_replaces(self):
        _, output = self.calibrate(self.log(1, 1.3), self.log(2, 1.3))
        same, _ = self.calibrate(self.log(1), self.log(2), cluster=f"{output}@2")
        self.assertEqual(same.code, 2)  # or the old calibration would be lost
        self.assertIn("c2.json: this is the input", same.err)
        first = output.rename(self.folder / "c1.json")
        again, second = self.calibrate(self.log(1), self.log(2), cluster=f"{first}@2")
        self.assertEqual(again.code, 0, again.err)
        self.assertEqual(json.loads(second.read_text())["nodes"], 2)
        self.assertEqual(len(json.loads(second.read_text())["calibration"]["logs"]), 2)

    def test_sizes_beyond_the_log_are_named(self):
        _, output = self.calibrate(self.log(1), self.log(2))
        within = answer("allreduce", f"{output}@2", "-b", "1M", "-e", "64M")
        self.assertEqual(within["warnings"], [])
        self.assertIsNone(within["confidence"]["measure_next"])  # it was just measured
        beyond = answer("allreduce", f"{output}@2", "-b", "256", "-e", "1G")
        warnings = " ".join(beyond["warnings"])
        for words in ("sizes down to 256 B", "sizes up to 1 GiB", "(n2.txt, 2x4: 1 KiB to 256 MiB)"):
            self.assertIn(words, warnings)
        self.assertNotIn("all_reduce_perf", warnings)
        self.assertIn("calibrate LOG n1.txt@1x4 n2.txt@2x4", beyond["confidence"]["measure_next"]["then"])
        step = answer("simulate", "vgg16@A100", f"{output}@2")  # a bucket of 411 MB
        self.assertIn("lie outside", " ".join(step["warnings"]))

    def test_buckets_far_outside_the_logs_are_grade_c(self):
        log = self.log(2)
        log.write_text(
            "\n".join(
                line for line in log.read_text().splitlines() if not line[0].isdigit() or int(line.split()[0]) <= 16384
            )
        )
        done, output = self.calibrate(log)
        self.assertEqual(done.code, 0, done.err)
        step = answer("simulate", "resnet50@A100", f"{output}@2")["confidence"]
        self.assertEqual(step["grade"], "C")
        self.assertRegex(" ".join(step["because"]), "no log covers buckets of .* MiB; run mpirun .*all_reduce_perf -b ")
        table = answer("allreduce", f"{output}@2", "-b", "1M", "-e", "64M")["confidence"]
        self.assertEqual(table["grade"], "C")
        self.assertIn("no log covers all-reduces of 1 MiB to 64 MiB", " ".join(table["because"]))
        near = answer("allreduce", f"{output}@2", "-b", "1K", "-e", "64K")["confidence"]
        self.assertEqual(near["grade"], "B")

    def test_a_job_shape_that_the_log_does_not_have_is_refused(self):
        done, output = self.calibrate(f"{self.log(2)}@4x2")
        self.assertEqual(done.code, 3)
        self.assertIn(
            "names 8 ranks on 2 hosts, up to 4 devices on one. But 4x2 was stated: 4 nodes of 2 GPUs", done.err
        )
        self.assertFalse(output.exists())

    def test_an_all_reduce_of_one_rank_has_no_confidence(self):
        alone = ddpsim("allreduce", LAB, "--gpus-per-node", "1")
        self.assertEqual(alone.code, 0)
        self.assertNotIn("Confidence", alone.out)
        self.assertIn("one GPU has nothing to reduce", alone.out)
        pair = ddpsim("allreduce", LAB, "--gpus-per-node", "2")
        self.assertNotIn("nothing to reduce", pair.out)

    def test_replaced_assumed_and_wrong_values_are_named(self):
        one, two = self.log(1), self.log(2)
        lines = two.read_text().splitlines()
        two.write_text("\n".join(line[:-1] + "3" if line.startswith("1048576 ") else line for line in lines))
        done, output = self.calibrate(one, two)
        self.assertIn("wrong results", " ".join(done.out.split()))
        done = ddpsim("calibrate", one, "--cluster", output, "-o", self.folder / "c3.json")
        said = " ".join(done.out.split())
        self.assertIn("is already calibrated", said)
        self.assertIn("(n1.txt, n2.txt)", said)
        self.assertIn("n1.txt does not print its NCCL version", said)
        twice, output = self.calibrate(one, one)
        self.assertEqual(twice.code, 3)
        self.assertIn("has the same times as n1.txt", twice.err)

    def test_a_log_of_larger_nodes_is_named(self):
        done, output = self.calibrate(self.log(2), cluster=LAB.replace("4xA100", "2xA100"))
        self.assertEqual(done.code, 3, done.out)
        self.assertIn("n2.txt: has 4 GPUs per node, but", done.err)
        self.assertIn("has 2", done.err)
        self.assertFalse(output.exists())

    def test_the_next_command_takes_a_measured_size(self):
        for nodes, next_size in (((1,), 1), ((1, 2), 2), ((8, 4), 4)):
            done, output = self.calibrate(*(self.log(n) for n in nodes))
            self.assertIn(f"Next: ddpsim allreduce {output}@{next_size}\n", done.out.replace("\n  ", " "))

    def test_bad_logs_leave_no_file(self):
        short = self.log(2, name="short.txt")
        short.write_text("\n".join(line for line in short.read_text().splitlines() if line.startswith(("#", "1024 "))))
        other = self.log(2, name="v100.txt")
        other.write_text(other.read_text().replace("A100-SXM4-40GB", "V100-SXM2"))
        contradiction = [self.log(2, name="a.txt"), self.log(2, 2.5, name="b.txt")]
        wild = [contradiction[0], self.log(2, 10, name="c.txt")]
        for logs, words in (
            ([short], "has only one size"),
            ([other], "was taken on V100, but the cluster has A100"),
            (contradiction, "times what a.txt takes"),
            (wild, "times what a.txt takes"),
            ([self.log(2, 1000.0, name="ns.txt")], "look like nanoseconds"),
            ([self.log(1), self.log(2, 0.001, name="ms.txt")], "look like milliseconds"),
        ):
            done, output = self.calibrate(*logs)
            self.assertEqual(done.code, 3, done.out)
            self.assertIn(words, done.err)
            self.assertFalse(output.exists())


if __name__ == "__main__":
    unittest.main()
