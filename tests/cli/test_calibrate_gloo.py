"""`ddpsim calibrate` on logs of gloo: the lab's all-reduces and a real step, and the certainty of their predictions."""

import csv
import json
import pathlib
import statistics
import sys
import tempfile
import unittest

from command import ROOT, answer, ddpsim

sys.path.insert(0, str(ROOT / "tests" / "lab"))
import lab_workloads  # noqa: E402

# Each rank has a namespace and a shaped link of 1 Gbit/s.
LAB = "node:4 gpu:1xV100 nic:1x1Gbps:tcp"
MEASURED = ROOT / "tests" / "lab" / "measured"


def rows(table):
    with open(MEASURED / f"{table}.csv", encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def median_by(table, kind, keys):
    """The median over launches by the keys of a row."""
    found = {}
    for row in rows(table):
        if row["kind"] == kind:
            found.setdefault(tuple(row[key] for key in keys), []).append(float(row["median_us"]))
    return {key: statistics.median(times) for key, times in found.items()}


class CalibrateGloo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "hosts.json"

    def all_reduces(self, table, ranks, keep=lambda size: True):
        times = median_by(table, "all_reduce", ("ranks", "backend", "size_bytes"))
        path = self.folder / f"{table}-{ranks}.csv"
        lines = [
            f"{ranks},1,{size},{time}"
            for (count, backend, size), time in sorted(times.items(), key=lambda one: int(one[0][2]))
            if int(count) == ranks and backend == "cpu-gloo" and keep(int(size))
        ]
        path.write_text("\n".join(["nodes,gpus_per_node,size_bytes,time_us", *lines]) + "\n")
        return path

    def calibrate(self, *logs, options=("--backend", "gloo"), cluster=LAB):
        return ddpsim("calibrate", *logs, "--cluster", cluster, "-o", self.output, *options)

    def workload(self, model):
        path = self.folder / f"{model}.json"
        path.write_text(json.dumps(lab_workloads.all_workloads()[model]))
        return path

    def step(self, model, ranks, cap, *more):
        return answer(
            "simulate",
            self.workload(model),
            f"{self.output}@{ranks}",
            "--gpu",
            "V100",
            "--torch",
            "1.13",
            "--rank-slowdown",
            "0%",
            "--backend",
            "gloo",
            "--bucket-cap-mb",
            cap,
            *more,
        )

    def test_the_labs_all_reduces_calibrate_and_each_size_left_out_is_predicted(self):
        done = self.calibrate(
            self.all_reduces("one_gigabit", 2),
            self.all_reduces("one_gigabit", 4),
            options=("--backend", "gloo", "--json"),
        )
        self.assertEqual(done.code, 0, done.err)
        document = done.json()
        self.assertEqual(document["backend"], "gloo")
        told = {one["name"] for one in document["constants"] if one["told_by_logs"]}
        self.assertEqual(told, {"step_us"})  # the shaped link hides everything else
        self.assertLess(document["sizes_left_out"]["median_abs_error_percent"], 5)
        self.assertEqual([one["nodes"] for one in document["shapes_left_out"]], [2, 4])
        for one in document["shapes_left_out"]:
            self.assertLess(one["predicted_from_others"]["median_abs_error_percent"], 6)
        self.assertEqual(set(json.loads(self.output.read_text())["gloo"]["constants"]), told)

    def test_facts_that_the_logs_lack_are_named(self):
        words = " ".join(self.calibrate(self.all_reduces("one_gigabit", 2)).out.split())
        self.assertIn("Not determined by these logs, so assumed as before: process 1.5 GB/s", words)
        self.assertIn("All logs are of one job shape", words)

    def test_intervals_hold_steps_that_no_calibration_saw(self):
        self.calibrate(self.all_reduces("one_gigabit", 2), self.all_reduces("one_gigabit", 4))
        steps = median_by("one_gigabit", "step", ("model", "ranks", "backend", "name", "gradient_as_bucket_view"))
        held, narrower = [], []
        for (model, ranks, backend, name, views), measured in steps.items():
            if backend != "c10d-gloo" or views == "1":
                continue
            cap = name.removeprefix("cap")
            result = self.step(model, ranks, cap, "--gloo", "tensors:host")
            low, high = result["confidence"]["interval_percent"]
            held.append(low <= 100 * (measured / result["iteration_us"] - 1) <= high)
            self.assertIn("gloo is calibrated with 2 logs of this cluster", " ".join(result["confidence"]["because"]))
            self.assertEqual(result["confidence"]["grade"], "B")
            plain = answer(
                "simulate",
                self.workload(model),
                LAB,
                "--nodes",
                ranks,
                "--gpu",
                "V100",
                "--torch",
                "1.13",
                "--rank-slowdown",
                "0%",
                "--backend",
                "gloo",
                "--gloo",
                "tensors:host",
                "--bucket-cap-mb",
                cap,
            )
            wide = plain["confidence"]["interval_percent"]
            narrower.append(high - low < wide[1] - wide[0])
        self.assertEqual(len(held), 12)
        self.assertGreaterEqual(sum(held) / len(held), 0.75, held)
        self.assertTrue(all(narrower))

    def test_intervals_hold_80_percent_of_left_out_sizes(self):
        document = self.calibrate(
            *(self.all_reduces(table, ranks) for table in ("one_gigabit", "transfers") for ranks in (2, 4)),
            options=("--backend", "gloo", "--json"),
        ).json()
        deviation = json.loads(self.output.read_text())["gloo"]["deviation"]
        inside = []
        for row in document["residuals"]:
            size = row["size_bytes"]
            wide = 1.28 * deviation["small" if size < 1 << 16 else "middle" if size < 1 << 20 else "large"]
            inside.append(2.718281828**-wide <= row["measured_us"] / row["left_out_us"] <= 2.718281828**wide)
        self.assertEqual(len(inside), 24)
        self.assertGreaterEqual(sum(inside) / len(inside), 0.7, inside)

    def test_an_explicit_gloo_word_wins_and_the_answer_says_so(self):
        self.calibrate(self.all_reduces("one_gigabit", 2), self.all_reduces("one_gigabit", 4))
        fitted = self.step("resnet-like", 2, 5)
        stated = self.step("resnet-like", 2, 5, "--gloo", "step:20ms")
        self.assertGreater(stated["iteration_us"], fitted["iteration_us"])
        self.assertIn("--gloo step:20ms replaces", " ".join(stated["warnings"]))
        self.assertEqual([stated["confidence"]["grade"], fitted["confidence"]["grade"]], ["C", "B"])
        beside = self.step("resnet-like", 2, 5, "--gloo", "threads:1")
        self.assertNotIn("replaces", " ".join(beside["warnings"]))
        self.assertEqual(beside["confidence"]["grade"], "B")

    def test_ranks_and_buckets_that_no_log_covers_stay_as_uncertain(self):
        self.calibrate(self.all_reduces("one_gigabit", 2, lambda size: size <= 1 << 18))
        for ranks, words in ((4, "none covers 4 nodes of 1"), (2, "none covers buckets beyond 256 KiB")):
            confidence = self.step("resnet-like", ranks, 5)["confidence"]
            self.assertIn(words, " ".join(confidence["because"]))
            self.assertEqual(confidence["grade"], "C")

    def test_a_measured_step_over_gloo_calibrates_gloo(self):
        spans = lambda late: [
            {
                "track": "communication",
                "name": "all_reduce",
                "bucket": bucket,
                "start_us": 9000 * bucket + late * 5 * bucket,
                "end_us": 9000 * bucket + 200 + 700 * 2**bucket + 15 * bucket,
            }
            for bucket in range(4)
        ]
        timeline = {
            "schema": "ddpsim.timeline/1",
            "clock": "measured",
            "ranks": [{"rank": rank, "spans": spans(rank)} for rank in range(4)],
            "provenance": {"ranks": "4", "backend": "c10d-gloo", "bucket_bytes": "1048576 2097152 4194304 8388608"},
        }
        path = self.folder / "step.json"
        path.write_text(json.dumps(timeline))
        done = self.calibrate(f"{path}@1x4", options=(), cluster="dgx1v")
        self.assertEqual(done.code, 0, done.err)
        self.assertNotIn("nothing about NCCL", done.out)
        written = json.loads(self.output.read_text())["gloo"]
        self.assertIn("process_gbps", written["constants"])
        self.assertEqual(written["logs"][0]["timed_by"], "joined ranks of a training")

    def trace(self, folder, rank, late=0, sizes=(1 << 18, 1 << 20, 1 << 21), shapes=True):
        """A trace as PyTorch 2.13 writes it, with two workers of gloo. This rank waits `late` µs longer in each
        all-reduce."""
        events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5.5, "dur": 3}]
        for k, size in enumerate(sizes * 2):
            arguments = {"Input type": ["float"], "Input Dims": [[size // 4]]} if shapes else {}
            events.append(
                {
                    "ph": "X",
                    "cat": "user_annotation",
                    "name": "gloo:all_reduce",
                    "pid": 1,
                    "tid": 2 + k % 2,
                    "ts": 1e4 * k - late,
                    "dur": 150 + size / 2000 + late,
                    "args": arguments,
                }
            )
        (folder / f"trace-rank{rank}.json").write_text(
            json.dumps(
                {
                    "schemaVersion": 1,
                    "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2},
                    "traceEvents": events,
                }
            )
        )

    def test_traces_of_a_gloo_job_calibrate_if_all_ranks_are_present(self):
        job = self.folder / "job"
        job.mkdir()
        self.trace(job, 0)
        alone = self.calibrate(job, options=(), cluster="dgx1v")
        self.assertEqual(alone.code, 3)
        self.assertIn("the wait for other ranks", alone.err)
        self.trace(job, 1, late=700)
        done = self.calibrate(job, options=(), cluster="dgx1v")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("6 all-reduces in PyTorch traces of 2 of 2 ranks", " ".join(done.out.split()))
        written = json.loads(self.output.read_text())["gloo"]
        self.assertAlmostEqual(written["constants"]["process_gbps"], 2, delta=0.3)  # size / 2000 µs plus its steps
        self.output.unlink()
        for change, words in (
            (
                lambda: self.trace(job, 1, sizes=(1 << 18, 1 << 20)),
                "the all-reduces of rank 1 differ from those of rank 0",
            ),
            (lambda: self.trace(job, 1, shapes=False), "Record with record_shapes=True"),
        ):
            change()
            done = self.calibrate(job, options=(), cluster="dgx1v")
            self.assertEqual(done.code, 3)
            self.assertIn(words, done.err)
            self.assertFalse(self.output.exists())

    def test_impossible_combinations_are_refused(self):
        gloo = self.folder / "measurement.json"
        gloo.write_text(
            json.dumps(
                {
                    "schema": "ddpsim.measurement/1",
                    "ranks": 2,
                    "setup": {"backend": "cpu-gloo", "hosts": "a a", "device": "CPU"},
                    "configurations": [],
                    "all_reduces": [
                        {"size_bytes": size, "time_us": {"median": 100 + size / 1000}} for size in (1024, 1 << 20)
                    ],
                }
            )
        )
        nccl = self.folder / "nccl.csv"
        nccl.write_text(
            "nodes,gpus_per_node,size_bytes,time_us\n" + "".join(f"1,4,{1 << n},{20 + n}\n" for n in range(12, 20))
        )
        lines = "".join(
            f"{1 << n} {1 << n - 2} float sum -1 {20 + n} {(1 << n) / (20 + n) / 1e3:.3f} "
            f"{(1 << n) / (20 + n) / 1e3:.3f} 0\n"
            for n in range(12, 20)
        )
        nccl_log, on_gpus = self.folder / "nccl.txt", self.folder / "gpus.txt"
        nccl_log.write_text("NCCL version 2.18.3+cuda12.1\n" + lines)
        on_gpus.write_text(
            "# nThread 1 nGpus 2 minBytes 8\n# Using devices\n"
            + "".join(
                f"#  Rank  {rank} Group  0 Pid 7 on host device  {rank} [0x07] Tesla V100-SXM2-16GB\n"
                for rank in (0, 1)
            )
            + lines
        )
        for logs, options, code, words in (
            ((gloo, nccl), (), 3, "nccl.csv: is not of gloo, but measurement.json is"),
            ((nccl_log,), ("--backend", "gloo"), 3, "nccl.txt: prints NCCL 2.18.3 and is not a log of gloo"),
            ((on_gpus,), ("--backend", "gloo"), 3, "gpus.txt: was taken on"),
            ((gloo,), ("--nccl", "2.18.3"), 2, "--nccl: this option is for NCCL logs"),
            ((gloo,), ("--keep-unhealthy",), 2, "--keep-unhealthy: this option is for NCCL logs"),
            (
                (self.all_reduces("one_gigabit", 2, lambda size: size == 4096),),
                ("--backend", "gloo"),
                3,
                "has only one size",
            ),
        ):
            with self.subTest(words):
                done = self.calibrate(*logs, options=options, cluster=LAB if options[:1] == ("--backend",) else "dgx1v")
                self.assertEqual(done.code, code, done.err)
                self.assertIn(words, done.err)
                self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
