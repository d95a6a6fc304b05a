"""ddpsim compare: the same figures as simulate and tune, side by side, or one clear error."""

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
            tuned = answer("tune", WORKLOAD, row["cluster"])
            self.assertEqual(tuned["recommended"], row["best_cap"])

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
        self.assertEqual(["cluster", "dgx1v@1", "dgx1v@2"],
                         [line.split(",")[0] for line in lines])
        self.assertEqual({len(lines[0].split(","))}, {len(line.split(",")) for line in lines})

    def test_near_equal_clusters_are_not_decided(self):
        told = ddpsim("compare", WORKLOAD, "dgx1v@2", "dgx1v-1xedr@2").out.splitlines()[0]
        self.assertTrue(told.startswith("Not decided: "), told)

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

    def test_one_bad_cluster_is_one_error_and_nothing_else(self):
        self.check(3, 'Did you mean "dgx1v"?', "2xv100-nvlink", "dgx1b@2")

    def test_a_wrong_range(self):
        self.check(3, "dgxa100@1..16*2", "dgx1v@4..2")

    def test_another_gpu_without_a_ratio(self):
        self.check(3, "recorded on V100", "dgx1v", A100)

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
