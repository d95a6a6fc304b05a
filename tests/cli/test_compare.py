"""ddpsim compare: the same figures as simulate and tune, side by side, or one clear error."""

import json
import pathlib
import tempfile
import unittest

from command import answer, ddpsim

WORKLOAD = "resnet50-v100-b32"
A100 = "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib"
H100 = "node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib"


class Figures(unittest.TestCase):
    def test_rows_are_what_simulate_and_tune_say(self):
        rows = answer("compare", WORKLOAD, "2xv100-nvlink", "dgx1v-1xedr@2")["rows"]
        for row in rows:
            step = answer("simulate", WORKLOAD, row["cluster"])
            self.assertEqual(step["iteration_us"], row["iteration_us"])
            self.assertEqual(step["confidence"], row["confidence"])
        # Searched where it may matter: of those that may be the fastest.
        self.assertEqual(answer("tune", WORKLOAD, "dgx1v-1xedr@2")["recommended"], rows[1]["best_cap"])
        self.assertIsNone(rows[0]["best_cap"])
        self.assertIsNone(answer("compare", WORKLOAD, "dgx1v", "--no-tune")["rows"][0]["best_cap"])

    def test_the_fastest_comes_first_and_is_behind_nobody(self):
        answered = answer("compare", WORKLOAD, "dgx1v@1", "dgx1v@4", "dgx1v@2..2")
        self.assertEqual([1, 2, 0], answered["by_speed"])
        self.assertEqual({"value": 0, "low": 0, "high": 0},
                         answered["rows"][1]["behind_percent"])
        self.assertTrue(answered["fastest_is_certain"])

    def test_the_same_bytes_on_any_number_of_threads(self):
        command = ["compare", WORKLOAD, "2xv100-nvlink", "dgx1v@2", "--json", "--threads"]
        self.assertEqual(ddpsim(*command, 1).out, ddpsim(*command, 5).out)

    def test_the_table_has_a_row_per_job(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "jobs.csv"
            self.assertEqual(0, ddpsim("compare", WORKLOAD, "dgx1v@1..2", "--csv", path).code)
            lines = path.read_text().splitlines()
        self.assertEqual(["label", "dgx1v@1", "dgx1v@2"],
                         [line.split(",")[0] for line in lines])
        self.assertEqual({len(lines[0].split(","))}, {len(line.split(",")) for line in lines})

    def test_near_equal_clusters_are_not_decided(self):
        line = "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:4x100Gbps:"
        told = ddpsim("compare", WORKLOAD, line + "ib", line + "roce").out.splitlines()[0]
        self.assertIn(" train equally fast, as far as is known: ", told)

    def test_names_decide_nothing(self):
        """Errors are shared by the thing they are of: the same two clusters lead by the same, whatever they are called."""
        line = "node:8 gpu:8xV100 nvlink:6x25GBps:cube nic:"
        slow, fast = line + "1x100Gbps:ib", line + "4x100Gbps:ib"
        leads = [[row["behind_percent"] for row in answer("compare", WORKLOAD, *two)["rows"]]
                 for two in ((slow, fast), ("a=" + slow, "b=" + fast), ("pod=" + line + "{1,4}x100Gbps:ib",))]
        self.assertEqual(leads[0], leads[1])
        self.assertEqual(leads[0], leads[2])

    def test_one_that_fails_is_a_row_with_its_reason(self):
        answered = answer("compare", WORKLOAD, "2xv100-nvlink", "dgx1b@2", A100, "pod=dgx1v@2")
        rows = {row["label"]: row for row in answered["rows"]}
        self.assertIn('Did you mean "dgx1v"?', rows["dgx1b@2"]["error"])
        self.assertIsNone(rows["dgx1b@2"]["ranks"])
        self.assertIn("recorded on V100", rows[A100]["error"])
        self.assertEqual(rows[A100]["ranks"], 16)
        self.assertEqual([answered["rows"][k]["label"] for k in answered["by_speed"]], ["pod", "2xv100-nvlink"])

    def test_a_global_batch_is_shared_by_all_gpus(self):
        rows = answer("compare", "resnet50-v100-b32", "dgx1v@{1,2}", "--global-batch", 512, "--no-tune")["rows"]
        for row, batch in zip(rows, (64, 32)):
            alone = answer("simulate", "resnet50-v100-b32", row["cluster"], "--batch", batch)
            self.assertEqual(alone["iteration_us"], row["iteration_us"])
            self.assertAlmostEqual(row["samples_per_second"], 512e6 / row["iteration_us"], 3)

    def test_what_it_costs_follows_from_prices_and_times(self):
        row, other = answer("compare", "resnet50-v100-b32", "dgx1v@2", "p3dn@2", "--price", "dgx1v@2=10/node_hour",
                            "--price", "p3dn@2=2/gpu_hour", "--samples", 1e6, "--no-tune")["rows"]
        for one, hourly in ((row, 20), (other, 32)):
            cost, step = one["cost"], one["iteration_us"] / 1e6
            self.assertEqual(cost["usd_per_hour"], hourly)
            self.assertAlmostEqual(cost["usd_per_1000_steps"]["value"], 1000 * step * hourly / 3600, 6)
            self.assertAlmostEqual(cost["seconds"]["value"], 1e6 / one["samples_per_second"], 3)
            self.assertAlmostEqual(cost["usd"]["value"], cost["seconds"]["value"] * hourly / 3600, 6)
            self.assertLess(cost["usd"]["low"], cost["usd"]["value"])

    def test_a_study_is_the_words_one_would_have_typed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "study.json"
            path.write_text(json.dumps({
                "schema": "ddpsim.study/1", "workload": str(WORKLOAD),
                "candidates": [{"label": "pod", "cluster": "dgx1v@{1,2}", "price": "3/gpu_hour"}, "2xv100-nvlink"],
                "options": {"torch": "2.4", "bucket-cap-mb": 10, "static-graph": True, "no-tune": True}}))
            typed = ddpsim("compare", WORKLOAD, "pod=dgx1v@{1,2}", "2xv100-nvlink", "--price", "pod=3/gpu_hour", "--torch",
                           "2.4", "--bucket-cap-mb", 10, "--static-graph", "--no-tune", "--json").out
            self.assertEqual(ddpsim("compare", "--study", path, "--json").out, typed)
            newer = ddpsim("compare", "--study", path, "--torch", "2.8", "--json").out
            self.assertIn('"torch": "2.8"', newer)

    def test_each_gpu_has_its_ratio(self):
        rows = answer("compare", WORKLOAD, "dgx1v@2", A100, H100, "--compute-scale",
                      "A100:2.1±0.2", "--compute-scale", "H100:3.5")["rows"]
        self.assertEqual([1, 2.1, 3.5], [row["compute_scale"] for row in rows])

    def test_one_ratio_holds_for_the_one_gpu_that_differs(self):
        rows = answer("compare", WORKLOAD, "dgx1v@2", A100, "--compute-scale", "2.1")["rows"]
        self.assertEqual([1, 2.1], [row["compute_scale"] for row in rows])


    def test_a_cluster_given_twice_takes_its_measured_step_in_both_rows(self):
        rows = answer("compare", WORKLOAD, "dgx1v@2", "dgx1v@2", "--measured-step", "dgx1v@2=120ms")["rows"]
        self.assertEqual([120000, 120000], [row["replay"]["measured_us"] for row in rows])
        self.assertEqual(*[row["replay"] for row in rows])


class Errors(unittest.TestCase):
    def check(self, code, words, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "jobs.csv"
            outcome = ddpsim("compare", WORKLOAD, *arguments, "--csv", path)
            self.assertFalse(path.exists())
        self.assertEqual(code, outcome.code, outcome.err)
        self.assertEqual("", outcome.out)
        self.assertEqual(1, outcome.err.count("\n"), outcome.err)
        self.assertIn(words, outcome.err)

    def test_where_none_can_be_compared_the_first_error_is_said(self):
        self.check(3, 'Did you mean "dgx1v"?', "dgx1b@2", "nosuch")

    def test_a_wrong_range(self):
        self.check(3, "dgxa100@1..16*2", "dgx1v@4..2")

    def test_another_gpu_without_a_ratio(self):
        self.check(3, "recorded on V100", A100)

    def test_one_ratio_for_two_gpus(self):
        self.check(2, "give each its own", "dgx1v@2", A100, H100, "--compute-scale", "2.1")

    def test_a_ratio_for_a_gpu_that_no_cluster_has(self):
        self.check(2, "no cluster has that GPU", "dgx1v", "--compute-scale", "H100:3")
        self.check(2, "no cluster has that GPU", "dgx1v", "--gpu", "H100")

    def test_a_ratio_that_no_cluster_needs(self):
        self.check(2, "--compute-scale: every cluster has the GPU recorded on", "dgx1v", "--compute-scale", "2")

    def test_a_ratio_given_twice(self):
        self.check(2, "given twice", A100, "--compute-scale", "A100:2", "--compute-scale",
                   "A100:3")

    def test_a_ratio_that_is_none(self):
        self.check(2, "is not a ratio", A100, "--compute-scale", "A100:fast")


if __name__ == "__main__":
    unittest.main()
