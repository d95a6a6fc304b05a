"""Compares random cases with PyTorch's own function, in every PyTorch found here."""

import json
import pathlib
import random
import subprocess
import tempfile
import unittest

from cases import assigned
from torch_python import pythons_with_torch

CASES = 200

# This runs in the Python with torch. It reads cases from stdin and prints bucket indices.
ORACLE = """
import json, sys, torch, torch.distributed as dist
for case in json.load(sys.stdin):
    tensors = [torch.empty(n, dtype=getattr(torch, d), device="meta") for n, d in case["tensors"]]
    indices, _ = dist._compute_bucket_assignment_by_size(
        tensors, case["limits"], case["sparse"], case["indices"] or [])
    print(json.dumps(indices))
"""


def draw(generator):
    count = generator.randint(1, 40)
    dtypes = generator.choice([["float32"], ["float32", "float16"], ["float32", "float16", "bfloat16", "float64"]])
    tensors = [
        (generator.choice([0, 1, 7, 100, generator.randint(1, 5000)]), generator.choice(dtypes)) for _ in range(count)
    ]
    limits = [generator.choice([0, 1, 400, 1024, generator.randint(1, 40000)]) for _ in range(generator.randint(1, 4))]
    indices = None
    if generator.random() < 0.5:
        indices = generator.sample(range(count), count)
    sparse = [generator.random() < 0.1 for _ in range(count)] if generator.random() < 0.4 else []
    return {"tensors": tensors, "limits": limits, "indices": indices, "sparse": sparse}


class RealTorch(unittest.TestCase):
    def test_random_cases_give_the_buckets_of_pytorch(self):
        pythons = pythons_with_torch()
        if not pythons:
            self.skipTest("no python3 here has PyTorch")
        seed = 20240917
        generator = random.Random(seed)
        cases = [draw(generator) for _ in range(CASES)]
        with tempfile.TemporaryDirectory() as folder:
            ours = [
                [
                    b["parameter_indices"]
                    for b in assigned(
                        pathlib.Path(folder), case["tensors"], case["limits"], case["indices"], case["sparse"]
                    )
                ]
                for case in cases
            ]
        for version, python in pythons.items():
            oracle = subprocess.run(
                [python, "-c", ORACLE], input=json.dumps(cases), text=True, capture_output=True, check=True
            )
            answers = [json.loads(line) for line in oracle.stdout.splitlines()]
            self.assertEqual(len(answers), CASES)
            for number, (case, got, expected) in enumerate(zip(cases, ours, answers)):
                with self.subTest(version, seed=seed, number=number, case=case):
                    self.assertEqual(got, expected)


if __name__ == "__main__":
    unittest.main()
