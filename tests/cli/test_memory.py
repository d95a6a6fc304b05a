"""Memory as the profiler saw it allocated on a CPU, against `simulate`: models, optimizers, views and micro-batches of
memory_trainings.py, under each PyTorch whose profiler tells of memory (2.0 and later)."""

import json
import pathlib
import statistics
import subprocess
import tempfile
import unittest

from command import answer
from torch_python import ENVIRONMENT, pythons_with_torch

TRAININGS = pathlib.Path(__file__).with_name("memory_trainings.py")
CLUSTER = "node:1 gpu:2xV100 pcie:12GBps"


def simulated(folder, case):
    options = ["--optimizer", case["optimizer"], "--compute-scale", "1", "--backend", "gloo", "--gloo", "tensors:host"]
    if case["views"]:
        options.append("--gradient-as-bucket-view")
    if case["parts"] > 1:
        options += ["--accumulate", str(case["parts"])]
    return answer("simulate", folder / case["file"], CLUSTER, *options)


class Memory(unittest.TestCase):
    def test_trainings(self):
        pythons = {version: python for version, python in pythons_with_torch().items() if int(version.split(".")[0]) >= 2}
        if not pythons:
            self.skipTest("no python3 here has PyTorch 2 (scripts/setup.sh --torch)")
        for version, python in pythons.items():
            with self.subTest(version), tempfile.TemporaryDirectory() as scratch:
                self.compare(pathlib.Path(scratch), python)

    def compare(self, folder, python):
        ranks = []
        for rank in range(2):
            with open(folder / f"said-{rank}", "w") as said, open(folder / f"told-{rank}", "w") as told:
                ranks.append(subprocess.Popen([python, "-W", "ignore", str(TRAININGS), str(folder), str(rank)],
                                              env=ENVIRONMENT, stdout=told, stderr=said))
        codes = [rank.wait(timeout=600) for rank in ranks]
        self.assertEqual(codes, [0, 0], (folder / "said-0").read_text()[-2000:])
        lines = [line for line in (folder / "told-0").read_text().splitlines() if line.startswith("{")]
        errors, trivial = {}, []
        for case in map(json.loads, lines):
            self.assertIsNone(case["problem"])
            result = simulated(folder, case)
            memory = result["memory"]
            parts = memory["parts"]
            logged = sum(int(size) for size in case["buckets"].replace(",", " ").split())
            self.assertEqual(parts["buckets_bytes"], logged)
            self.assertEqual(parts["parameters_bytes"], logged)  # all are under DDP, of one type
            states = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}[case["optimizer"]]
            self.assertEqual(parts["optimizer_bytes"], states * logged)
            self.assertEqual(parts["rounding_bytes"] + parts["segments_bytes"] + parts["nccl_bytes"], 0)  # of GPUs
            name = "{model}, {optimizer}{0}{1}".format(", views" * case["views"], ", accumulated" * (case["parts"] > 1),
                                                       **case)
            errors[name] = 100 * (memory["allocated_bytes"] / case["allocated"] - 1)
            trivial.append(100 * abs(4 * logged / case["allocated"] - 1))
        sizes = sorted(map(abs, errors.values()))
        worst = max(errors, key=lambda name: abs(errors[name]))
        print(f"\n{len(errors)} trainings: median {statistics.median(sizes):.2f} %, p90 {sizes[int(0.9 * len(sizes))]:.2f} %, "
              f"worst {errors[worst]:+.2f} % ({worst}); four times the parameters: median {statistics.median(trivial):.0f} %")
        for name, error in errors.items():
            print(f"  {error:+7.2f} %  {name}")
        self.assertEqual(len(errors), 16)
        self.assertLessEqual(statistics.median(sizes), 5)


if __name__ == "__main__":
    unittest.main()
