"""Random cases, compared with PyTorch's own function in whichever python3 here has PyTorch."""

import json
import pathlib
import random
import subprocess
import tempfile
import unittest

from cases import assigned, canonical
from torch_python import python_with_torch

CASES = 200

# Runs under the Python that has torch: cases on stdin, bucket indices on stdout.
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
    dtypes = generator.choice([["float32"], ["float32", "float16"],
                               ["float32", "float16", "bfloat16", "float64"]])
    tensors = [(generator.choice([0, 1, 7, 100, generator.randint(1, 5000)]),
                generator.choice(dtypes)) for _ in range(count)]
    limits = [generator.choice([0, 1, 400, 1024, generator.randint(1, 40000)])
              for _ in range(generator.randint(1, 4))]
    indices = None
    if generator.random() < 0.5:
        indices = generator.sample(range(count), count)
    sparse = [generator.random() < 0.1 for _ in range(count)] if generator.random() < 0.4 else []
    return {"tensors": tensors, "limits": limits, "indices": indices, "sparse": sparse}


class RealTorch(unittest.TestCase):
    def test_random_cases(self):
        python = python_with_torch()
        if python is None:
            self.skipTest("no python3 here has PyTorch")
        seed = 20240917
        generator = random.Random(seed)
        cases = [draw(generator) for _ in range(CASES)]
        oracle = subprocess.run([python, "-c", ORACLE], input=json.dumps(cases), text=True,
                                capture_output=True, check=True)
        answers = [json.loads(line) for line in oracle.stdout.splitlines()]
        self.assertEqual(len(answers), CASES)
        with tempfile.TemporaryDirectory() as folder:
            for number, (case, expected) in enumerate(zip(cases, answers)):
                with self.subTest(seed=seed, number=number, case=case):
                    buckets = assigned(pathlib.Path(folder), case["tensors"], case["limits"],
                                       case["indices"], case["sparse"])
                    got = [b["parameter_indices"] for b in buckets]
                    if case["indices"] is not None:  # the order of leftover buckets is open
                        ends = [b["closed_by"] == "end" for b in buckets]
                        got = canonical(got, ends.__getitem__)
                        expected = canonical(expected, ends.__getitem__)
                    self.assertEqual(got, expected)


if __name__ == "__main__":
    unittest.main()
