"""`ddpsim buckets` gives the numbers known from PyTorch, from its issues, and from recordings."""

import json
import pathlib
import tempfile
import unittest

from cases import assigned
from command import answer, ddpsim


def sizes(*arguments):
    return [bucket["bytes"] for bucket in answer("buckets", *arguments)["buckets"]]


class KnownBuckets(unittest.TestCase):
    def test_message_sizes_of_pytorch_issue_48880(self):
        self.assertEqual(sizes("resnet18", "--torch", "1.7"), [2052000, 28852224, 15853824])
        self.assertEqual(sizes("resnet18", "--torch", "1.7", "--bucket-cap-mb", "35"), [2052000, 38297600, 6408448])

    def test_resnet50_with_the_default(self):
        self.assertEqual(sizes("resnet50"), [8196000, 31502336, 26255360, 26550272, 9724160])

    def test_resnet50_first_iteration_is_one_bucket(self):
        self.assertEqual(sizes("resnet50", "--order", "definition"), [102228128])
        first = answer("simulate", "resnet50-v100-b32", "2xv100-nvlink", "--iterations", "2")
        self.assertEqual(
            [[b["bytes"] for b in step["buckets"]] for step in first["iterations"]],
            [[102228128], [8196000, 31502336, 26255360, 26550272, 9724160]],
        )

    def test_asking_for_25_is_not_the_default_since_2_5(self):
        self.assertEqual(
            sizes("resnet50", "--torch", "2.8", "--bucket-cap-mb", "25"), [30257056, 26255360, 28366848, 17348864]
        )
        self.assertEqual(
            sizes("resnet50", "--torch", "2.4", "--bucket-cap-mb", "25"), sizes("resnet50", "--torch", "2.4")
        )

    def test_before_1_6_the_small_bucket_comes_last(self):
        tail = sizes("resnet50", "--torch", "1.5")
        self.assertEqual(len(tail), 5)
        self.assertEqual(tail[-1], 1623296)

    def test_buckets_hold_every_gradient_once(self):
        for arguments in (
            ["resnet18"],
            ["resnet50", "--bucket-cap-mb", "0"],
            ["resnet50", "--find-unused-parameters"],
            ["resnet50", "--static-graph"],
            ["resnet50", "--torch", "2.4", "--first-bucket-mb", "7.5", "--bucket-cap-mb", "13"],
        ):
            buckets = answer("buckets", *arguments)["buckets"]
            members = sorted(i for bucket in buckets for i in bucket["parameter_indices"])
            self.assertEqual(members, list(range(62 if arguments[0] == "resnet18" else 161)))
            self.assertEqual(
                sum(bucket["bytes"] for bucket in buckets), 46758048 if arguments[0] == "resnet18" else 102228128
            )

    def test_document_has_exactly_the_published_keys(self):
        document = answer("buckets", "resnet18")
        self.assertEqual(document["schema"], "ddpsim.buckets/1")
        for bucket in document["buckets"]:
            self.assertEqual(list(bucket), ["index", "bytes", "parameter_indices", "limit_bytes", "closed_by", "dtype"])
            self.assertIn(bucket["closed_by"], ["limit", "end", "sparse"])


class SmallCases(unittest.TestCase):
    """Cases worked out by hand from the rules, which need no reference file."""

    def check(self, expected, *arguments, **keywords):
        with tempfile.TemporaryDirectory() as folder:
            buckets = assigned(pathlib.Path(folder), *arguments, **keywords)
        self.assertEqual([bucket["parameter_indices"] for bucket in buckets], expected)

    def test_a_bucket_closes_when_it_reaches_the_limit(self):
        self.check([[0], [1], [2]], [(100, "float32")] * 3, [400])
        self.check([[0, 1], [2]], [(100, "float32")] * 3, [401])

    def test_the_last_limit_repeats(self):
        self.check([[0], [1, 2], [3, 4]], [(100, "float32")] * 5, [400, 800])

    def test_each_dtype_has_its_own_open_bucket(self):
        self.check([[0, 2], [1, 3]], [(100, "float32"), (100, "float16")] * 2, [800, 400])

    def test_a_sparse_gradient_is_alone(self):
        self.check([[0, 2], [1]], [(10, "float32")] * 3, [400], sparse=[False, True, False])

    def test_ready_order_is_kept(self):
        self.check([[2], [0, 1]], [(100, "float32")] * 3, [400, 800], tensor_indices=[2, 0, 1])

    def test_empty_tensors_keep_their_place(self):
        self.check([[0, 1]], [(0, "float32"), (1, "float32")], [4])

    def test_without_a_ready_order_the_command_warns(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plain.json"
            path.write_text(
                json.dumps(
                    {
                        "schema": "ddpsim.workload/1",
                        "parameters": [
                            {"name": "a", "shape": [10], "dtype": "float32"},
                            {"name": "b", "shape": [10], "dtype": "float32"},
                        ],
                    }
                )
            )
            outcome = ddpsim("buckets", path)
        self.assertEqual(outcome.code, 0)
        self.assertIn("warning: the order in which gradients become ready", outcome.err)


if __name__ == "__main__":
    unittest.main()
