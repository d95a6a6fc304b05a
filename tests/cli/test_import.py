"""A compiled backward, compacted timing and 16-bit gradients, from the trace to the recommendation."""

import gzip
import json
import pathlib
import re
import tempfile
import unittest

from command import ROOT, SHARED, ddpsim

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

    def test_simulate_explains_a_compiled_backward(self):
        warnings = ddpsim("simulate", self.path, CLUSTER, "--json").json()["warnings"]
        self.assertTrue(any("compiled backward: 161 of 161" in one for one in warnings), warnings)


class Named(unittest.TestCase):
    def test_a_bundled_workload_becomes_a_file_with_the_same_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "copy.json"
            said = ddpsim("import", "resnet50-v100-b32", "-o", copy)
            self.assertEqual(said.code, 0, said.err)
            self.assertIn("bundled: resnet50-v100-b32", said.err)
            self.assertEqual(
                ddpsim("simulate", copy, CLUSTER, "--json").out,
                ddpsim("simulate", "resnet50-v100-b32", CLUSTER, "--json").out,
            )

    def test_iterations_need_a_trace_and_a_mistake_is_recognised(self):
        self.assertIn("--iteration", ddpsim("import", "resnet50@V100", "--iteration", "1").err)
        said = ddpsim("import", "resnet50-v100-b3")
        self.assertEqual(said.code, 3)
        self.assertIn('Did you mean "resnet50-v100-b32"?', said.err)


class Timing(unittest.TestCase):
    def test_compacted_is_for_traces_only(self):
        self.assertEqual(ddpsim("import", FIXTURE, "--timing", "compacted").code, 0)
        for arguments in (
            ["import", WORKLOAD],
            ["simulate", WORKLOAD, CLUSTER],
            ["tune", "resnet50-v100-b32", CLUSTER],
        ):
            with self.subTest(arguments=arguments):
                said = ddpsim(*arguments, "--timing", "compacted")
                self.assertEqual(said.code, 3)
                self.assertIn("only a profiler trace can be compacted", said.err)
        self.assertEqual(ddpsim("import", FIXTURE, "--timing", "fast").code, 2)
        self.assertEqual(ddpsim("import", FIXTURE, FIXTURE, "--timing", "compacted").code, 2)

    def test_import_reports_the_idle_share_and_compacted_leaves_it_out(self):
        said = ddpsim("import", FIXTURE)
        self.assertIn("the GPU was idle in 21.9 % of forward and 0.0 % of backward", said.err)
        compacted = ddpsim("import", FIXTURE, "--timing", "compacted").json()
        self.assertEqual(compacted["forward"]["duration_us"], 100)
        self.assertEqual(compacted["provenance"]["timing"], "compacted")
        self.assertNotIn("iteration", compacted)
        self.assertEqual(list(compacted["host"]), ["launches"])  # neither times nor launch costs


@unittest.skipUnless((SHARED / "data" / "traces").is_dir(), "no real traces beside the checkout")
class SixteenBits(unittest.TestCase):
    """Real traces with other dtypes: gradients and buckets match the recording to the byte."""

    def imported(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            path.write_text(text)
            return ddpsim("import", path, "--gpu", "V100").json()

    def test_types_and_bucket_bytes_are_exact(self):
        # Without shapes and all-reduces, a trace does not tell the dtype of gradients (resnet18, compiled).
        for name in (
            "dlrm-ddp-2xV100-rank1",
            "dlrm-ddp-8xV100-rank0",
            "r50-1xV100-nw0",
            "r50-ddp-1xV100-rank0",
            "r50-ddp-2xA100-rank0",
            "vgg13-1xH100",
        ):
            for cpp, c10, dtype in (("c10::BFloat16", "BFloat16", "bfloat16"), ("c10::Half", "Half", "float16")):
                with self.subTest(trace=name, dtype=dtype):
                    with gzip.open(SHARED / "data" / "traces" / f"{name}.json.gz", "rt") as file:
                        text = file.read()
                    retyped = re.sub(
                        r'"Input [tT]ype": *\[[^\]]*\]', lambda m: m[0].replace('"float"', f'"{cpp}"'), text
                    )
                    retyped = re.sub(r'("dtype": *)"(?:Float|float)"', rf'\1"{c10}"', retyped)
                    before, after = self.imported(text), self.imported(retyped)
                    types = [
                        dtype if p["shape"] is not None else p["dtype"]  # undefined: neither is known
                        for p in before["parameters"]
                    ]
                    self.assertEqual([p["dtype"] for p in after["parameters"]], types)
                    self.assertEqual(
                        [p["shape"] for p in after["parameters"]], [p["shape"] for p in before["parameters"]]
                    )
                    buckets = [int(b) // 2 for b in before["provenance"].get("bucket_bytes", "").split()]
                    self.assertEqual([int(b) for b in after["provenance"].get("bucket_bytes", "").split()], buckets)


@unittest.skipUnless((SHARED / "data" / "traces").is_dir(), "no real traces beside the checkout")
class OtherSchemes(unittest.TestCase):
    """Real DDP traces with renamed all-reduces are refused, with the name of the scheme that they look like."""

    def test_no_other_scheme_is_taken_for_ddp(self):
        for name in ("r50-ddp-2xA100-rank0", "dlrm-ddp-2xV100-rank1", "dlrm-ddp-8xV100-rank0"):
            with gzip.open(SHARED / "data" / "traces" / f"{name}.json.gz", "rt") as file:
                text = file.read()
            for kernel, call, said in (
                ("ReduceScatter", "reduce_scatter", "as by FSDP, ZeRO or a distributed optimizer"),
                ("Reduce_Sum", "reduce", "as with ZeRO or a parameter server"),
                ("SendRecv", "send", "a stage of a pipeline"),
            ):
                with self.subTest(trace=name, scheme=said), tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder) / "renamed.json"
                    path.write_text(
                        text.replace("AllReduce", kernel).replace("all_reduce", call).replace("allreduce", call)
                    )
                    refused = ddpsim("import", path)
                    self.assertEqual(refused.code, 3, refused.out[:200])
                    self.assertIn("no all-reduce of gradients", refused.err)
                    self.assertIn(said, " ".join(refused.err.split()))


if __name__ == "__main__":
    unittest.main()
