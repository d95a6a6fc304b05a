"""Runs the 90 cases from PyTorch 1.13's own function through the command line."""

import json
import pathlib
import tempfile
import unittest

from cases import assigned
from command import SHARED, TORCH_SIZES

CASES = SHARED / "reference" / "bucket-assignment-cases.json"


@unittest.skipUnless(CASES.exists(), "the reference cases are not beside this checkout")
class ReferenceCases(unittest.TestCase):
    def test_every_case_gives_the_buckets_of_pytorch(self):
        document = json.loads(CASES.read_text())
        self.assertEqual(len(document["cases"]), 90)
        with tempfile.TemporaryDirectory() as folder:
            for case in document["cases"]:
                with self.subTest(case=case["id"]):
                    self.check(pathlib.Path(folder), case, document["param_lists"])

    def check(self, folder, case, lists):
        indices = case.get("tensor_indices")
        if "param_list" in case:
            source = lists[case["param_list"]]
            tensors = list(zip(source["numel"], source["dtype"]))
            if case["order"] == "gradient_ready":
                indices = source["gradient_ready_order"]
                tensors = [tensors[i] for i in indices]
        else:
            tensors = [(t["numel"], t["dtype"]) for t in case["tensors"]]
        buckets = assigned(folder, tensors, case["bucket_size_limits"], indices, case.get("expect_sparse_gradient", ()))
        got = [[b["parameter_indices"], b["bytes"]] for b in buckets]
        expected = [list(pair) for pair in zip(case["expected"]["bucket_indices"], case["expected"]["bucket_bytes"])]
        self.assertEqual(got, expected)
        self.assertLessEqual(set(dtype for _, dtype in tensors), set(TORCH_SIZES))


if __name__ == "__main__":
    unittest.main()
