"""DDP's own logging data as input: its order and buckets against ours, and against real PyTorch."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from command import ROOT, answer, ddpsim, write_json
from torch_python import python_with_torch

LOG = ROOT / "tests" / "fixtures" / "ddp-log-resnet18.json"

# One of two processes of a job on this machine; the first leaves its log.
JOB = """
import json, sys, torch, torch.distributed as dist, torchvision
rank, meeting, log, cap = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
model = torch.nn.parallel.DistributedDataParallel(torchvision.models.resnet18(), bucket_cap_mb=cap)
for _ in range(3):
    model(torch.randn(2, 3, 32, 32)).sum().backward()
if rank == 0:
    json.dump(model._get_ddp_logging_data(), open(log, "w"))
    print(torch.__version__)
dist.barrier()
"""


class DdpLog(unittest.TestCase):
    def test_the_log_becomes_a_workload_that_says_what_is_assumed(self):
        outcome = ddpsim("import", LOG, "--gpu", "V100")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn("as in the bundled resnet18-v100-b256, an assumption", outcome.err)
        self.assertIn("pass --bucket-cap-mb 5, and --torch VERSION", outcome.err)
        document = json.loads(outcome.out)
        self.assertEqual(len(document["backward"]["ready"]), 62)
        self.assertEqual(document["backward"]["duration_us"], 190_000)
        self.assertEqual(document["recorded_with"]["world_size"], 2)

    def test_buckets_are_compared_under_the_logs_own_cap(self):
        text = ddpsim("buckets", LOG, "--torch", "1.13").out
        self.assertIn("They match the 7 buckets DDP logged.", text)
        text = ddpsim("buckets", LOG, "--torch", "2.8").out
        self.assertIn("first in bucket 0: 11493280 bytes here, 2052000 bytes there. "
                      "With --torch 1.13 they match.", " ".join(text.split()))
        text = ddpsim("buckets", LOG, "--bucket-cap-mb", "7").out
        self.assertIn("DDP ran with another cap: 5 MiB.", text)
        logged = answer("buckets", LOG, "--torch", "1.13")["logged"]
        self.assertEqual(logged["match"], True)
        self.assertEqual(logged["bytes"][0], 2052000)
        self.assertNotIn("logged", answer("buckets", "resnet18"))

    def test_built_buckets_are_compared_too(self):
        logged = answer("buckets", LOG, "--torch", "1.13", "--order", "definition")["logged"]
        self.assertEqual(logged, {"match": True, "bytes": [46758048]})

    def test_a_bad_log_is_refused(self):
        document = json.loads(LOG.read_text())
        with tempfile.TemporaryDirectory() as folder:
            for change, fragments in [
                    ({"rank": 2}, ["/rank", "no rank 2 in a world of 2"]),
                    ({"rebuilt_bucket_sizes": "1, 2"}, ["rebuilt", "7 buckets"]),
                    ({"num_parameter_tensors": 61}, ["0 to 60"])]:
                path = write_json(pathlib.Path(folder) / "log.json", {**document, **change})
                outcome = ddpsim("import", path)
                self.assertEqual(outcome.code, 3, outcome.err)
                self.assertEqual(outcome.out, "")
                for fragment in fragments:
                    self.assertIn(fragment, outcome.err)
            outcome = ddpsim("import", LOG, "--model", "resnet50")
            self.assertEqual(outcome.code, 3)
            self.assertIn("resnet50", outcome.err)
            outcome = ddpsim("import", LOG, "--iteration", "1")
            self.assertEqual(outcome.code, 3)
            self.assertIn("hold one iteration", outcome.err)

    def test_against_real_torch(self):
        python = python_with_torch("torchvision")
        if python is None:
            self.skipTest("no python3 here has PyTorch and torchvision")
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.json"
            ranks = [subprocess.Popen(
                [python, "-c", JOB, str(rank), folder + "/meeting", str(log), "5"], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
            results = [rank.communicate(timeout=240) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], results)
            version = ".".join(results[0][0].strip().rsplit("\n", 1)[-1].split(".")[:2])
            self.assertTrue(answer("buckets", log, "--torch", version)["logged"]["match"])
            document = json.loads(ddpsim("import", log).out)
            order = [entry["parameter"] for entry in document["backward"]["ready"]]
            said = json.loads(log.read_text())["rebuilt_per_bucket_param_indices"]
            self.assertEqual(order, [int(index) for index in said.replace(",", " ").split()])
            self.assertEqual(document["parameters"][order[0]]["name"], "fc.bias")


if __name__ == "__main__":
    unittest.main()
