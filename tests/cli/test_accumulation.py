"""Recorded gradient accumulation is the default of --accumulate."""

import pathlib
import tempfile
import unittest

from command import answer, workload, write_json

CLUSTER = "node:1 gpu:2xV100 nvlink:6x25GBps:mesh"


class Accumulation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        document = workload([{"name": "w", "shape": [1 << 20], "dtype": "float32"}], [0])
        document["forward"] = {"duration_us": 500}
        self.plain = write_json(pathlib.Path(folder.name) / "plain.json", document)
        document["recorded_with"] = {"accumulate": 3}
        self.recorded = write_json(pathlib.Path(folder.name) / "recorded.json", document)

    def test_recorded_accumulation_is_the_default_and_the_answer_says_so(self):
        for command in ("simulate", "tune"):
            recorded = answer(command, self.recorded, CLUSTER)
            asked = answer(command, self.plain, CLUSTER, "--accumulate", "3")
            said = [w for w in recorded["warnings"] if "gradient accumulation" in w]
            self.assertEqual(len(said), 1)
            self.assertIn("3 micro-batches a step: simulated as recorded (--accumulate)", said[0])
            self.assertEqual(
                recorded.get("iteration_us", recorded.get("default")), asked.get("iteration_us", asked.get("default"))
            )
        compared = answer("compare", self.recorded, CLUSTER, CLUSTER)
        self.assertTrue(any("gradient accumulation" in w for w in compared["warnings"]))

    def test_an_explicit_accumulation_wins(self):
        one = answer("simulate", self.recorded, CLUSTER, "--accumulate", "1")
        self.assertEqual(one["iteration_us"], answer("simulate", self.plain, CLUSTER)["iteration_us"])
        self.assertTrue(any("simulated with --accumulate 1" in w for w in one["warnings"]))
        self.assertLess(one["iteration_us"], answer("simulate", self.recorded, CLUSTER)["iteration_us"])

    def test_a_step_without_reducer_gets_no_cap(self):
        document = workload([{"name": "w", "shape": [1 << 20], "dtype": "float32"}], [0])
        document["forward"] = {"duration_us": 500}
        for word, said in (("script", "the script"), ("hooks", "hooks of its own"), ("compiled", "torch.compile")):
            document["recorded_with"] = {"reduced_by": word}
            path = write_json(self.plain.parent / "other.json", document)
            simulated = answer("simulate", path, CLUSTER)
            self.assertTrue(any(said in w and "bucketing is not how this job ran" in w for w in simulated["warnings"]))
            self.assertIn("no bucket cap was used", str(answer("tune", path, CLUSTER)["recommended"]))
            advised = answer("advise", path, CLUSTER)
            self.assertTrue(
                any("no bucket cap is considered" in warning and said in warning for warning in advised["warnings"])
            )
            self.assertNotIn("bucket_cap_mb", str(advised["rows"]))
            self.assertEqual(answer("compare", path, CLUSTER, CLUSTER)["schema"], "ddpsim.compare/1")


if __name__ == "__main__":
    unittest.main()
