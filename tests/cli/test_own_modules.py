"""Compares traces of modules of torchvision, timm and transformers with real DistributedDataParallel over gloo.

own_modules.json lists a hundred modules. They were drawn by a seed before any of them was traced. A thorough run takes
all of them, a short run only a few. Parameters, buffers and the bytes of all buckets must be equal, to the byte.
"""

import json
import pathlib
import tempfile
import unittest

from command import ddpsim
from thorough import THOROUGH
from torch_python import pythons_with_torch, run_ranks

HERE = pathlib.Path(__file__).parent
TRAININGS = HERE / "own_module_trainings.py"
# Modules of one job of two ranks.
AT_ONCE = 5
# The PyTorch that the list was drawn with.
NEWEST = "2.13"
# They read a value of a tensor in forward, which a trace does not have.
UNTRACEABLE = {"transformers:xlm:MaskedLM", "transformers:ibert:MaskedLM"}


def chosen():
    listed = json.loads((HERE / "own_modules.json").read_text())
    names = [name for library in ("torchvision", "timm", "transformers") for name in listed[library]]
    assert len(names) == 100
    # A short run takes a few small ones.
    return names if THOROUGH else ["torchvision:mnasnet0_5", *listed["transformers"][:3]]


def buckets(path, order, unused):
    words = ["buckets", f"{path}@H100:fp32", "--order", order, "--torch", NEWEST]
    if unused:
        words.append("--find-unused-parameters")
    outcome = ddpsim(*words, "--json")
    assert outcome.code == 0, outcome.err
    return [bucket["bytes"] for bucket in outcome.json()["buckets"]]


class OwnModules(unittest.TestCase):
    def setUp(self):
        found = pythons_with_torch("torchvision", "timm", "transformers")
        if NEWEST not in found:
            self.skipTest(f"no python3 here has PyTorch {NEWEST}, torchvision, timm and transformers")
        self.python = found[NEWEST]

    def test_bucket_bytes_and_parameters_are_those_of_ddp(self):
        names = chosen()
        for begin in range(0, len(names), AT_ONCE):
            with tempfile.TemporaryDirectory() as folder:
                told, _ = run_ranks(
                    self.python, TRAININGS, pathlib.Path(folder), 2, *names[begin : begin + AT_ONCE], seconds=3600
                )
                for line in told.splitlines():
                    truth = json.loads(line)
                    with self.subTest(truth["name"]):
                        self.compare(truth, folder)

    def compare(self, truth, folder):
        if truth["name"] in UNTRACEABLE:
            self.assertIn("asks for the values of a tensor", truth["error"])
            return
        self.assertNotIn("error", truth)
        path = pathlib.Path(folder, truth["file"])
        document = json.loads(path.read_text())
        ours = [[parameter["name"], parameter["shape"]] for parameter in document["parameters"]]
        self.assertEqual(ours, truth["parameters"])
        dtypes = [dtype for dtype, _ in truth["buffers"]]
        self.assertEqual(
            {group["dtype"]: [group["tensors"], group["bytes"]] for group in document["buffers"]},
            {
                one: [dtypes.count(one), sum(size for dtype, size in truth["buffers"] if dtype == one)]
                for one in set(dtypes)
            },
        )
        self.assertEqual(buckets(path, "definition", truth["unused"]), truth["built"])
        if truth["rebuilt"]:
            self.assertEqual(buckets(path, "ready", truth["unused"]), truth["rebuilt"])


if __name__ == "__main__":
    unittest.main()
