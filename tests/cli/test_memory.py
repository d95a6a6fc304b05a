"""Compares memory that the profiler saw on a CPU with `simulate`, and estimates of backward with the recorder.

The first part has models, optimizers, views and micro-batches of memory_trainings.py, under each PyTorch whose profiler
reports memory (2.0 and later). The second part compares what estimates say about backward by layers with the recorder
in models of memory_by_layers.py. Only sizes are compared, no times."""

import itertools
import math
import pathlib
import statistics
import tempfile
import unittest

from command import answer, ddpsim
from torch_python import newest_torch, pythons_with_torch, told_by

TRAININGS = pathlib.Path(__file__).with_name("memory_trainings.py")
BY_LAYERS = TRAININGS.with_name("memory_by_layers.py")
IMAGES = ["resnet18:2", "resnet50:1", "alexnet:4", "densenet121:1"]
TEXT = ["bert-base:1:128", "gpt2:1:64"]
CLUSTER = "node:1 gpu:2xV100 pcie:12GBps"


def simulated(folder, case):
    options = ["--optimizer", case["optimizer"], "--compute-scale", "1", "--backend", "gloo", "--gloo", "tensors:host"]
    if case["views"]:
        options.append("--gradient-as-bucket-view")
    if case["parts"] > 1:
        options += ["--accumulate", str(case["parts"])]
    return answer("simulate", folder / case["file"], CLUSTER, *options)


def estimate(model):
    """The estimate of a model: resnet50@V100:b4:fp32 for "resnet50:4", bert-base@V100:b2:s128:fp32 for
    "bert-base:2:128"."""
    name, batch, *tokens = model.split(":")
    return ":".join([f"{name}@V100:b{batch}", *(f"s{count}" for count in tokens), "fp32"])


def most_in_backward(workload):
    """The most memory in backward, by held_bytes, and by a simple rule that frees equal shares with each gradient."""
    ready = workload["backward"]["ready"]
    sizes = [4 * math.prod(workload["parameters"][entry["parameter"]]["shape"]) for entry in ready]
    written = list(itertools.accumulate(sizes, initial=0))
    kept = workload["activations"]["bytes"]
    shares = (kept * (1 - k / len(sizes)) + size for k, size in enumerate([*sizes, 0]))
    return max(map(sum, zip(workload["activations"]["held_bytes"], written))), max(map(sum, zip(shares, written)))


def report(what, errors, instead, trivial):
    """Prints the errors and returns the median of their absolute values."""
    sizes = sorted(map(abs, errors.values()))
    worst = max(errors, key=lambda name: abs(errors[name]))
    print(
        f"\n{len(errors)} {what}: median {statistics.median(sizes):.2f} %, p90 {sizes[int(0.9 * len(sizes))]:.2f} %, "
        f"worst {errors[worst]:+.2f} % ({worst}); {instead}: median {statistics.median(trivial):.0f} %"
    )
    for name, error in errors.items():
        print(f"  {error:+7.2f} %  {name}")
    return statistics.median(sizes)


class Memory(unittest.TestCase):
    def test_trainings_take_the_predicted_memory(self):
        pythons = {
            version: python for version, python in pythons_with_torch().items() if int(version.split(".")[0]) >= 2
        }
        if not pythons:
            self.skipTest("no python3 here has PyTorch 2 (scripts/setup.sh --torch)")
        for version, python in pythons.items():
            with self.subTest(version), tempfile.TemporaryDirectory() as scratch:
                self.compare(pathlib.Path(scratch), python)

    def compare(self, folder, python):
        errors, trivial = {}, []
        for case in told_by(python, TRAININGS, folder):
            self.assertIsNone(case["problem"])
            result = simulated(folder, case)
            memory = result["memory"]
            parts = memory["parts"]
            logged = sum(int(size) for size in case["buckets"].replace(",", " ").split())
            self.assertEqual(parts["buckets_bytes"], logged)
            self.assertEqual(parts["parameters_bytes"], logged)  # all are under DDP, one dtype
            states = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}[case["optimizer"]]
            self.assertEqual(parts["optimizer_bytes"], states * logged)
            self.assertEqual(parts["rounding_bytes"] + parts["segments_bytes"] + parts["nccl_bytes"], 0)  # only on GPUs
            name = "{model}, {optimizer}{0}{1}".format(
                ", views" * case["views"], ", accumulated" * (case["parts"] > 1), **case
            )
            errors[name] = 100 * (memory["allocated_bytes"] / case["allocated"] - 1)
            trivial.append(100 * abs(4 * logged / case["allocated"] - 1))
        self.assertEqual(len(errors), 16)
        self.assertLessEqual(report("trainings", errors, "four times the parameters", trivial), 5)

    def test_estimates_by_layers_match_the_recorder(self):
        """Backward holds activations, gradients in flight and written gradients, predicted without a recording."""
        pythons = pythons_with_torch()
        if not pythons:
            self.skipTest("no python3 here has PyTorch")
        for version, python in pythons.items():
            with self.subTest(version):
                models = [
                    *(IMAGES if version in pythons_with_torch("torchvision") else []),
                    *(TEXT if version in newest_torch() else []),
                ]
                errors, shares = {}, []
                for case in told_by(python, BY_LAYERS, *models):
                    outcome = ddpsim("import", estimate(case["model"]))
                    self.assertEqual(outcome.code, 0, outcome.err)
                    most, in_shares = most_in_backward(outcome.json())
                    errors[case["model"]] = 100 * (most / case["most"] - 1)
                    shares.append(100 * abs(in_shares / case["most"] - 1))
                self.assertLessEqual(report("models by their layers alone", errors, "equal shares", shares), 5)


if __name__ == "__main__":
    unittest.main()
