"""DDP's own logging data as input: its order and buckets are compared with ours, and with real PyTorch."""

import json
import pathlib
import tempfile
import unittest

from command import ROOT, answer, ddpsim, write_json

LOG = ROOT / "tests" / "fixtures" / "ddp-log-resnet18.json"


class DdpLog(unittest.TestCase):
    def test_the_log_becomes_a_workload_that_names_its_assumptions(self):
        outcome = ddpsim("import", LOG, "--gpu", "V100")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn("as in the bundled resnet18-v100-b256. This assumption is off by a few percent", outcome.err)
        self.assertIn("pass --bucket-cap-mb 5, and --torch VERSION", outcome.err)
        document = json.loads(outcome.out)
        self.assertEqual(len(document["backward"]["ready"]), 62)
        self.assertEqual(document["backward"]["duration_us"], 190_000)
        self.assertEqual(document["recorded_with"]["world_size"], 2)

    def test_buckets_are_compared_under_the_logs_own_cap(self):
        text = ddpsim("buckets", LOG, "--torch", "1.13").out
        self.assertIn("They match the 7 buckets DDP logged.", text)
        text = ddpsim("buckets", LOG, "--torch", "2.8").out
        self.assertIn(
            "first in bucket 0: 11493280 bytes here, 2052000 bytes there. With --torch 1.13 they match.",
            " ".join(text.split()),
        )
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
                ({"num_parameter_tensors": 61}, ["0 to 60"]),
            ]:
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
            self.assertIn("holds one iteration", outcome.err)


if __name__ == "__main__":
    unittest.main()
