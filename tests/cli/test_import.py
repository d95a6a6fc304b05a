"""A compiled backward and compacted timing, from the trace to the recommendation."""

import json
import pathlib
import tempfile
import unittest

from command import ROOT, ddpsim

FIXTURE = ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json"
WORKLOAD = ROOT / "traces" / "data" / "resnet50-v100-b32.json"
CLUSTER = "2xv100-nvlink"


class CompiledBackward(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "compiled.json"
        document = json.loads(WORKLOAD.read_text())
        document["recorded_with"]["compiled_gradients"] = 161
        self.path.write_text(json.dumps(document))

    def test_tune_recommends_no_cap_and_says_why(self):
        said = ddpsim("tune", self.path, CLUSTER)
        self.assertEqual(said.code, 0, said.err)
        self.assertTrue(said.out.startswith("No cap is recommended.\nWhy: the backward was compiled"))
        self.assertNotIn("recommended\n", said.out)
        recommended = ddpsim("tune", self.path, CLUSTER, "--json").json()["recommended"]
        self.assertEqual(recommended["action"], "none")
        self.assertIn("compiled", recommended["reason"])
        self.assertNotIn("bucket_cap_mb", recommended)

    def test_simulate_says_what_it_means(self):
        warnings = ddpsim("simulate", self.path, CLUSTER, "--json").json()["warnings"]
        self.assertTrue(any("compiled backward: 161 of 161" in one for one in warnings), warnings)


class Named(unittest.TestCase):
    def test_a_bundled_workload_becomes_a_file_that_answers_alike(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "copy.json"
            said = ddpsim("import", "resnet50-v100-b32", "-o", copy)
            self.assertEqual(said.code, 0, said.err)
            self.assertIn("bundled: resnet50-v100-b32", said.err)
            self.assertEqual(ddpsim("simulate", copy, CLUSTER, "--json").out,
                             ddpsim("simulate", "resnet50-v100-b32", CLUSTER, "--json").out)

    def test_what_is_no_trace_has_no_iterations_and_a_slip_is_recognised(self):
        self.assertIn("--iteration", ddpsim("import", "resnet50@V100", "--iteration", "1").err)
        said = ddpsim("import", "resnet50-v100-b3")
        self.assertEqual(said.code, 3)
        self.assertIn('Did you mean "resnet50-v100-b32"?', said.err)


class Timing(unittest.TestCase):
    def test_compacted_is_for_traces_only(self):
        self.assertEqual(ddpsim("import", FIXTURE, "--timing", "compacted").code, 0)
        for arguments in (["import", WORKLOAD], ["simulate", WORKLOAD, CLUSTER],
                          ["tune", "resnet50-v100-b32", CLUSTER]):
            with self.subTest(arguments=arguments):
                said = ddpsim(*arguments, "--timing", "compacted")
                self.assertEqual(said.code, 3)
                self.assertIn("only a profiler trace can be compacted", said.err)
        self.assertEqual(ddpsim("import", FIXTURE, "--timing", "fast").code, 2)
        self.assertEqual(ddpsim("import", FIXTURE, FIXTURE, "--timing", "compacted").code, 2)

    def test_import_tells_the_idle_share_and_compacted_leaves_it_out(self):
        said = ddpsim("import", FIXTURE)
        self.assertIn("the GPU was idle in 21.9 % of forward and 0.0 % of backward", said.err)
        compacted = ddpsim("import", FIXTURE, "--timing", "compacted").json()
        self.assertEqual(compacted["forward"]["duration_us"], 100)
        self.assertEqual(compacted["provenance"]["timing"], "compacted")
        self.assertNotIn("iteration", compacted)
        self.assertNotIn("host", compacted)


if __name__ == "__main__":
    unittest.main()
