"""Compares local SGD's all-reduces and memory with `simulate`, for the cases of local_sgd_trainings.py.

All-reduces must match in elements and ranks."""

import pathlib
import statistics
import unittest

from command import TORCH_SIZES, answer, ddpsim, workload, write_json
from torch_python import trained_together, under_newest_torch

TRAININGS = pathlib.Path(__file__).with_name("local_sgd_trainings.py")
CLUSTER = "node:2 gpu:2xV100 pcie:12GBps nic:1x10Gbps:tcp"
JOB = ("resnet50-v100-b32", "p3dn@4", "--torch", "2.8")
LOCAL = ("--comm-hook", "post_localSGD")


def simulated(folder, case, version):
    parameters = [
        {"name": f"p{i}", "shape": shape, "dtype": dtype} for i, (shape, dtype) in enumerate(case["parameters"])
    ]
    document = workload(parameters, case["order"])
    document["activations"] = {"bytes": 0, "from": "recording"}
    path = write_json(folder / "workload.json", document)
    flags = ["--gradient-as-bucket-view"] * case["view"] + ["--find-unused-parameters"] * (case["model"] == "unused")
    return answer(
        "simulate",
        path,
        CLUSTER,
        "--compute-scale",
        "1",
        "--torch",
        version,
        "--optimizer",
        "sgd",
        "--bucket-cap-mb",
        case["cap"],
        *LOCAL,
        "--local-sgd-period",
        case["period"],
        "--local-sgd-gradients",
        "node" if case["gradients"] else "none",
        *flags,
    )


class LocalSgd(unittest.TestCase):
    @under_newest_torch
    def test_trainings_issue_the_predicted_all_reduces(self, version, python, folder):
        cases = trained_together(python, TRAININGS, folder, 4)
        self.assertEqual(len(cases), 6 if int(version.split(".")[0]) >= 2 else 5)
        missed = []
        for case in cases:
            with self.subTest(**{key: case[key] for key in ("model", "period", "gradients", "view", "cap")}):
                result = simulated(folder, case, version)
                self.assertEqual(self.of_a_step(case, result), case["steps"])
                missed += self.missed_memory(case, result["memory"])
        if missed:
            # On a busy machine, a worker of gloo frees a bucket where the profiler does not see it. That case is off by
            # the bucket.
            self.assertEqual(len(missed), 6)
            self.assertLessEqual(statistics.median(missed), 0.002, missed)

    def of_a_step(self, case, result):
        """The all-reduces of `simulate` for each trained step. The first step averages, then every period-th."""
        dtypes = dict(enumerate(dtype for _, dtype in case["parameters"]))
        in_node = [
            [bucket["bytes"] // TORCH_SIZES[dtypes[bucket["parameter_indices"][0]]], 2]
            for bucket in result["buckets"]
            if case["gradients"]
        ]
        averaging = result["model_averaging"]
        self.assertEqual(averaging["period"], case["period"])
        flat = max((dtypes[index] for index in case["order"]), key=TORCH_SIZES.get)
        averaged = [[averaging["bytes"] // TORCH_SIZES[flat], 4]]
        return [in_node + (averaged if step % case["period"] == 0 else []) for step in range(len(case["steps"]))]

    def missed_memory(self, case, memory):
        """The error of the predicted memory, for a model that keeps hardly anything for backward."""
        if case["allocated"] is None:
            return []
        predicted = memory["allocated_bytes"] - memory["parts"]["rounding_bytes"]
        return [abs(predicted / case["allocated"] - 1)]

    def test_a_longer_period_averages_less_often(self):
        """Twice the period averages half as often, and nothing else of the step changes."""
        short, long = (answer("simulate", *JOB, *LOCAL, "--local-sgd-period", period) for period in (4, 8))
        self.assertAlmostEqual(short["model_averaging_us"], 2 * long["model_averaging_us"], places=3)
        self.assertAlmostEqual(short["iteration_us"] - long["iteration_us"], long["model_averaging_us"], places=3)
        self.assertEqual(short["model_averaging"]["whole_us"], long["model_averaging"]["whole_us"])
        self.assertEqual(short["buckets"], long["buckets"])
        parts = (
            "forward",
            "backward",
            "slowest_gpu",
            "unexplained",
            "exposed_communication",
            "finalize",
            "optimizer",
            "model_averaging",
            "stall",
        )
        self.assertAlmostEqual(sum(short[f"{part}_us"] for part in parts), short["iteration_us"], places=3)
        losses = {row["cause"]: row["us"] for row in short["loss"]}
        self.assertEqual(losses["model_averaging"], short["model_averaging_us"])
        self.assertAlmostEqual(short["alone_us"] + sum(losses.values()), short["iteration_us"], places=3)
        waits = ("exposed_communication_us", "buffer_broadcast_us", "model_averaging_us")
        self.assertAlmostEqual(short["blocking_communication_us"], sum(short[wait] for wait in waits), places=3)

    def test_buckets_travel_as_on_one_node(self):
        """Parameters have the same bytes as all gradients, and travel as one bucket over all ranks."""
        local, one = (
            answer("simulate", JOB[0], cluster, *JOB[2:], "--gpu-spread", "0%", *hook)
            for cluster, hook in (("p3dn@4", LOCAL), ("p3dn@1", ()))
        )
        for ours, theirs in zip(local["buckets"], one["buckets"]):
            self.assertEqual(
                [ours[key] for key in ("bytes", "algorithm", "protocol", "channels")],
                [theirs[key] for key in ("bytes", "algorithm", "protocol", "channels")],
            )
        whole = answer("simulate", *JOB, "--bucket-cap-mb", 1000)["buckets"]
        self.assertEqual(len(whole), 1)
        self.assertEqual(local["model_averaging"]["bytes"], whole[0]["bytes"])
        self.assertGreater(local["model_averaging"]["whole_us"], whole[0]["end_us"] - whole[0]["last_arrival_us"])

    def test_without_gradients_nothing_is_sent(self):
        step = answer("simulate", *JOB, *LOCAL, "--local-sgd-gradients", "none", "--no-broadcast-buffers")
        self.assertEqual(
            [step[key] for key in ("communication_us", "exposed_communication_us", "overlap")], [0, 0, None]
        )
        self.assertEqual({bucket["wire_bytes"] for bucket in step["buckets"]}, {0})
        self.assertEqual(step["blocking_communication_us"], step["model_averaging_us"])

    def test_local_sgd_is_advised_only_between_nodes(self):
        several, one = (answer("advise", JOB[0], cluster, *JOB[2:]) for cluster in ("p3dn@4", "p3dn@1"))
        named = {row["levers"][0]: row for row in several["rows"] if len(row["levers"]) == 1}
        for period in (4, 16):
            row = named[f"post_localSGD_hook of period {period}"]
            self.assertTrue(row["changes_numerics"] and row["changes_batch"])
            step = answer("simulate", *JOB, *LOCAL, "--local-sgd-period", period)
            self.assertEqual(row["iteration_us"], step["iteration_us"])
        self.assertFalse([row for row in one["rows"] if "localSGD" in row["levers"][0]])

    def test_jitter_is_bounded(self):
        step = answer("simulate", *JOB, *LOCAL, "--jitter", "2%", "--iterations", "3")
        self.assertTrue(any("which is an upper bound" in warning for warning in step["warnings"]), step["warnings"])

    def test_impossible_options_are_refused(self):
        for options, says in (
            (("--local-sgd-gradients", "none", "--straggler", "3:1.2"), "meet only at the averaging"),
        ):
            outcome = ddpsim("simulate", *JOB, *LOCAL, *options)
            self.assertEqual(outcome.code, 3, outcome.err)
            self.assertIn(says, outcome.err)


if __name__ == "__main__":
    unittest.main()
