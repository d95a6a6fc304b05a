"""Facts in a real trace about its own job are used: buckets, all-reduces, the variation of steps, and versions."""

import json
import pathlib
import tempfile
import unittest

from command import SHARED, ddpsim

TRACES = SHARED / "data" / "traces"
DLRM = "dlrm-ddp-2xV100-rank1"
R50 = "r50-ddp-2xA100-rank0"
TWO_V100 = "node:1 gpu:2xV100 nvlink:6x25GBps"
TWO_A100 = "node:1 gpu:2xA100 nvlink:12x25GBps"
ONE_RANK = [(DLRM, TWO_V100), (R50, TWO_A100)] + [(f"dlrm-ddp-8xV100-rank{rank}", "dgx1v") for rank in range(8)]


@unittest.skipUnless(TRACES.is_dir(), f"no real traces: {TRACES} is not there")
class TodaysEvidence(unittest.TestCase):
    def simulate(self, name, cluster, *options):
        ran = ddpsim("simulate", str(TRACES / f"{name}.json.gz"), cluster, *options, "--json")
        self.assertEqual(ran.code, 0, ran.err)
        return json.loads(ran.out)

    def interval_ms(self, result):
        low, high = result["confidence"]["interval_percent"]
        step = result["iteration_us"] / 1000
        return step * (1 + low / 100), step * (1 + high / 100)

    def test_recorded_buckets_are_replayed(self):
        result = self.simulate(DLRM, TWO_V100)
        self.assertEqual([bucket["bytes"] for bucket in result["buckets"]], [181240752, 1068160, 17728292])
        self.assertEqual(result["bucket_setting"], "as recorded")
        asked = self.simulate(DLRM, TWO_V100, "--bucket-cap-mb", "25")
        self.assertNotEqual(asked["bucket_setting"], "as recorded")

    def test_the_interval_holds_the_recorded_steps(self):
        low, high = self.interval_ms(self.simulate(DLRM, TWO_V100))
        self.assertLess(low, 81.8)  # the steps took 81.8 to 166.7 ms
        self.assertGreater(high, 166.7)

    def test_a_host_bound_recording_may_be_much_faster_without_the_profiler(self):
        as_recorded = self.simulate(R50, TWO_A100)
        compacted = self.simulate(R50, TWO_A100, "--timing", "compacted")
        low, high = self.interval_ms(as_recorded)
        self.assertGreater(high, 219)
        self.assertLess(low, 1.4 * compacted["iteration_us"] / 1000)
        self.assertEqual(as_recorded["sensitivities"][0]["source"], "host_delays")

    def test_slowness_caused_only_by_the_profiler_is_no_gain(self):
        ran = ddpsim("advise", str(TRACES / f"{R50}.json.gz"), TWO_A100, "--json")
        self.assertEqual(ran.code, 0, ran.err)
        gain = next(
            row["gain_us"] for row in json.loads(ran.out)["rows"] if row["levers"] == ["gradient_as_bucket_view=True"]
        )
        self.assertLess(gain["value"], 1000)  # 17 ms with every recorded wait
        self.assertGreater(gain["high"], 10_000)

    def test_gains_as_recorded_and_compacted_overlap(self):
        """The intervals overlap within 1/2000 of the step. A slow loader is not an effect of the profiler and counts in
        both."""
        for name, cluster in (
            (R50, TWO_A100),
            (DLRM, TWO_V100),
            ("r50-1xV100-nw0", "dgx1v"),
            ("r50-ddp-1xV100-rank0", "dgx1v"),
            ("resnet18-1x2080Ti", "dgx1v"),
            ("vgg13-1xH100", "dgxh100"),
        ):
            gains = []
            for timing in ("recorded", "compacted"):
                ran = ddpsim(
                    "advise",
                    str(TRACES / f"{name}.json.gz"),
                    cluster,
                    "--compute-scale",
                    "1",
                    "--timing",
                    timing,
                    "--json",
                )
                self.assertEqual(ran.code, 0, ran.err)
                answer = json.loads(ran.out)
                gains.append({tuple(row["levers"]): row["gain_us"] for row in answer["rows"] if "error" not in row})
            close = answer["iteration_us"] / 2000
            for names in gains[0].keys() & gains[1].keys():
                with self.subTest(name, settings=names):
                    a, b = gains[0][names], gains[1][names]
                    self.assertLessEqual(max(a["low"], b["low"]), min(a["high"], b["high"]) + close)

    def test_a_step_measured_without_the_profiler_decides_how_much_of_the_waits_was_its_own(self):
        result = self.simulate(R50, TWO_A100, "--measured-step", "60ms")
        self.assertAlmostEqual(result["iteration_us"], 60_000, delta=10)
        self.assertAlmostEqual(
            result["replay"]["missed_percent"] if "missed_percent" in result["replay"] else 0, 0, delta=0.1
        )
        self.assertGreater(result["budget"]["host_us"], 10_000)
        self.assertTrue(any("are shortened until" in warning for warning in result["warnings"]), result["warnings"])
        self.assertNotIn(
            "another job", ddpsim("tune", str(TRACES / f"{R50}.json.gz"), TWO_A100, "--measured-step", "60ms").out
        )

    def test_a_trace_that_contradicts_the_cluster_is_doubted_in_the_second_line(self):
        ran = ddpsim("simulate", str(TRACES / f"{R50}.json.gz"), TWO_A100)
        second = ran.out.splitlines()[1]
        self.assertTrue(second.startswith("Current step: 221 ms recorded on 2 GPUs"), second)
        self.assertIn("so either it is a different machine or the recorded ranks waited", " ".join(ran.out.split()))
        recorded = self.simulate(R50, TWO_A100)["recorded"]
        self.assertEqual([recorded["channels"], recorded["predicted_channels"]], [8, 24])

    def test_one_rank_is_never_predicted_slower_than_its_shortest_all_reduces(self):
        inside, distances = [], []
        for name, cluster in ONE_RANK:
            for bucket in self.simulate(name, cluster)["recorded"]["buckets"]:
                inside.append(bucket["predicted_us"] <= 1.05 * bucket["duration_us"]["min"])
                distances.append(bucket["predicted_us"] / bucket["duration_us"]["min"])
        distances.sort()
        print(
            f"predicted over shortest recorded: {sum(inside)} of {len(inside)} no longer; median "
            f"{distances[len(distances) // 2]:.2f}, most {distances[-1]:.2f}"
        )
        self.assertGreaterEqual(sum(inside), 0.9 * len(inside))

    def test_joined_ranks_calibrate_the_node_they_ran_on(self):
        with tempfile.TemporaryDirectory() as folder:
            job = str(pathlib.Path(folder) / "job.json")
            ranks = [str(TRACES / f"dlrm-ddp-8xV100-rank{rank}.json.gz") for rank in range(8)]
            self.assertEqual(ddpsim("import", *ranks, "-o", job).code, 0)

            def buckets(*options):
                ran = ddpsim("simulate", job, "dgx1v", *options, "--json")
                result = json.loads(ran.out)
                return result["confidence"]["grade"], result["recorded"]["buckets"]

            grade, calibrated = buckets()
            self.assertEqual(grade, "B")
            for bucket in calibrated:
                self.assertTrue(bucket["inside"], bucket)
                self.assertAlmostEqual(bucket["predicted_us"] / bucket["transfer_us"], 1, delta=0.05)
            grade, plain = buckets("--no-trace-calibration")
            self.assertEqual(grade, "C")
            self.assertGreater(plain[0]["predicted_us"], 1.2 * plain[0]["transfer_us"])
            output = str(pathlib.Path(folder) / "mine.json")
            ran = ddpsim("calibrate", job, "--cluster", "dgx1v", "-o", output)
            self.assertEqual(ran.code, 0, ran.err)
            again = json.loads(ddpsim("simulate", job, output, "--json").out)
            self.assertEqual(again["confidence"]["grade"], "B")
            # They agree because the cluster was fitted to them, so the line must not sound like a proof.
            for fitted in (["dgx1v"], [output]):
                self.assertIn(
                    "by a cost model fitted to the recorded times",
                    " ".join(ddpsim("simulate", job, *fitted).out.split()),
                )
            self.assertNotIn("fitted to the recorded", ddpsim("simulate", job, "dgx1v", "--no-trace-calibration").out)

    def test_two_recorded_ranks_of_eight_may_not_include_the_last_to_arrive(self):
        with tempfile.TemporaryDirectory() as folder:
            job = str(pathlib.Path(folder) / "two.json")
            ranks = [str(TRACES / f"dlrm-ddp-8xV100-rank{rank}.json.gz") for rank in (0, 1)]
            self.assertEqual(ddpsim("import", *ranks, "-o", job).code, 0)
            result = json.loads(ddpsim("simulate", job, "dgx1v", "--json").out)
            self.assertEqual(result["confidence"]["grade"], "C")
            self.assertTrue(all(bucket["transfer_us"] is None for bucket in result["recorded"]["buckets"]))

    def test_times_faster_than_the_links_do_not_calibrate(self):
        result = self.simulate(R50, "node:1 gpu:2xA100 pcie:2GBps")
        self.assertIn("not calibrated", result["confidence"]["because"][0])

    def test_compare_names_the_recording_and_the_calibrated_candidates_once(self):
        clusters = ("node:1 gpu:2xV100 nvlink:6x25GBps", "node:1 gpu:2xV100 nvlink:1x25GBps", "dgx1v@1")
        command = ("compare", str(TRACES / f"{DLRM}.json.gz"), *clusters)
        ran = ddpsim(*command)
        self.assertEqual(ran.out.count("Current step: "), 1, ran.out)
        words = " ".join(ran.out.split())
        self.assertIn("nvlink:6x25GBps is predicted to need", words)  # by what tells the two lines apart
        self.assertIn("nvlink:1x25GBps is predicted to need", words)  # it, too, may be the recorded one
        answered = json.loads(ddpsim(*command, "--json").out)
        alone = self.simulate(DLRM, clusters[0])["recorded"]
        self.assertEqual(answered["recorded"], alone)
        self.assertEqual(answered["recorded_row"], 0)
        other_first = json.loads(ddpsim(*command[:2], clusters[2], clusters[0], "--json").out)
        self.assertEqual([other_first["recorded"], other_first["recorded_row"]], [alone, 1])

    def test_compare_names_the_candidates_that_the_recording_calibrates(self):
        with tempfile.TemporaryDirectory() as folder:
            job = str(pathlib.Path(folder) / "job.json")
            ranks = [str(TRACES / f"dlrm-ddp-8xV100-rank{rank}.json.gz") for rank in range(8)]
            self.assertEqual(ddpsim("import", *ranks, "-o", job).code, 0)
            command = ("compare", job, "dgx1v@2", "dgx1v@1")
            self.assertIn("Calibrated by the recording itself: dgx1v@1 (no other candidate).", ddpsim(*command).out)

            def calibrated(*options):
                rows = json.loads(ddpsim(*command, *options, "--json").out)["rows"]
                return [row["calibrated_by_recording"] for row in rows]

            self.assertEqual(calibrated(), [False, True])
            self.assertEqual(calibrated("--no-trace-calibration"), [False, False])

    def test_a_converted_recording_does_not_count_as_recorded_on_that_gpu(self):
        result = self.simulate(R50, TWO_V100, "--gpu", "V100")
        self.assertFalse(result["recorded"]["comparable"])
        self.assertIsNone(result["recorded"]["iteration_us"])

    def test_a_gpu_is_compared_by_its_model(self):
        with tempfile.TemporaryDirectory() as folder:
            job = pathlib.Path(folder) / "job.json"
            self.assertEqual(ddpsim("import", str(TRACES / f"{R50}.json.gz"), "-o", str(job)).code, 0)
            workload = json.loads(job.read_text())
            workload["gpu"] = "NVIDIA A100-SXM4-80GB"
            job.write_text(json.dumps(workload))
            result = json.loads(ddpsim("simulate", str(job), TWO_A100, "--json").out)
            self.assertTrue(result["recorded"]["comparable"])

    def test_the_first_steps_of_a_training_have_buckets_of_their_own(self):
        ran = ddpsim("simulate", str(TRACES / f"{DLRM}.json.gz"), TWO_V100, "--iterations", "3")
        words = " ".join(ran.out.split())
        self.assertIn("are not replayed: the first steps of a training run have different ones", words)

    def test_no_part_of_overlapping_steps_is_negative(self):
        result = self.simulate(DLRM, TWO_V100)
        for part in ("forward_us", "backward_us", "exposed_communication_us", "optimizer_us", "stall_us"):
            self.assertGreaterEqual(result[part], 0, part)


if __name__ == "__main__":
    unittest.main()
