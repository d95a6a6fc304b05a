"""Compares powerSGD_hook's all-reduces with `simulate`, to the element.

The models, ranks, rates, caps and dtypes are those of power_sgd_trainings.py."""

import pathlib
import unittest

from command import TORCH_SIZES, answer, workload, write_json
from torch_python import trained_together, under_newest_torch

TRAININGS = pathlib.Path(__file__).with_name("power_sgd_trainings.py")
CLUSTER = "node:1 gpu:2xV100 pcie:12GBps"


def simulated(folder, case, version):
    parameters = [{"name": f"p{i}", "shape": shape, "dtype": case["dtype"]} for i, shape in enumerate(case["shapes"])]
    document = workload(parameters, case["order"])
    document["activations"] = {"bytes": 0, "from": "recording"}
    path = write_json(folder / "workload.json", document)
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
        "--comm-hook",
        "powersgd",
        "--matrix-approximation-rank",
        case["rank"],
        "--min-compression-rate",
        case["rate"],
    )


class PowerSgd(unittest.TestCase):
    @under_newest_torch
    def test_trainings_issue_the_predicted_all_reduces(self, version, python, folder):
        cases = trained_together(python, TRAININGS, folder, 2)
        self.assertEqual(len(cases), 12)
        buckets, missed = [], []
        for case in cases:
            with self.subTest(**{key: case[key] for key in ("model", "rank", "rate", "cap", "dtype")}):
                size = TORCH_SIZES[case["dtype"]]
                result = simulated(folder, case, version)
                self.assertEqual(
                    [[count // size for count in bucket["all_reduce_bytes"]] for bucket in result["buckets"]],
                    case["all_reduces"],
                )
                buckets += case["all_reduces"]
                missed += self.missed_memory(case, result["memory"])
        self.assertGreater(sum(p > 0 for _, p, _ in buckets), 20)
        self.assertTrue(any(whole == 0 for whole, _, _ in buckets))  # biases are not compressed
        if int(version.split(".")[0]) >= 2:
            self.assertGreaterEqual(len(missed), 4)
            self.assertLessEqual(max(missed), 0.002, missed)

    @staticmethod
    def missed_memory(case, memory):
        """The error of the predicted memory, for a model that keeps hardly anything for backward, without an optimizer
        step."""
        if case["allocated"] is None or case["model"] != "layers" or memory["at"] != "backward":
            return []
        predicted = memory["allocated_bytes"] - memory["parts"]["rounding_bytes"]
        return [abs(predicted / case["allocated"] - 1)]


if __name__ == "__main__":
    unittest.main()
