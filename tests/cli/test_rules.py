"""Remarks of a command in addition to its numbers.

They tell which ranks replay which recording, how logged buckets match, which buckets were assumed, and where an import
writes."""

import json
import pathlib
import tempfile
import unittest

from command import ROOT, answer, ddpsim, write_json

MIB = 1 << 20
TRACE = ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json"


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, document, name="w.json"):
        return write_json(self.folder / name, document)


class Ranks(InAFolder):
    def warnings(self, recorded, simulated):
        """The warnings for a job with `recorded` recorded ranks on a cluster of `simulated` GPUs."""
        step = {
            "forward": {"duration_us": 10},
            "backward": {"duration_us": 20, "ready": [{"parameter": 0, "at_us": 20}]},
            "recorded_with": {"world_size": 8},
        }
        document = {
            "gpu": "V100",
            "parameters": [{"name": "w", "shape": [8], "dtype": "float32"}],
            **step,
            "ranks": [{"rank": rank, **step} for rank in recorded],
        }
        told = answer("simulate", self.write(document), f"node:1 gpu:{simulated}xV100 nvswitch:150GBps")
        return [one for one in told["warnings"] if "recorded" in one and "ranks" in one]

    def test_each_rank_replays_its_own_recording(self):
        self.assertEqual(self.warnings([0, 1, 2, 3], 4), [])

    def test_some_ranks_repeat_others(self):
        self.assertEqual(
            self.warnings([0, 1, 2], 4),
            [
                "3 of the cluster's 4 ranks replay their own recording, the others repeat the 3 recorded, in order. "
                "Stragglers rarer than 1 in 3 are missing, and shared data loading or storage may delay more ranks"
            ],
        )

    def test_some_recordings_are_left_out(self):
        self.assertEqual(
            self.warnings([0, 1, 2, 3, 4], 4),
            ["1 of the 5 recorded ranks exceed the cluster's 4 and are left out, however late they were"],
        )

    def test_some_ranks_repeat_others_and_some_recordings_are_left_out(self):
        told = self.warnings([0, 1, 6], 4)
        self.assertEqual(len(told), 2)
        self.assertTrue(told[0].startswith("2 of the cluster's 4 ranks replay their own"))
        self.assertTrue(told[1].startswith("1 of the 3 recorded ranks exceed the cluster's 4"))


class Buckets(InAFolder):
    """Six gradients of one MiB each, ready from last to first."""

    def job(self, ready=True):
        document = {"parameters": [{"name": f"p{k}", "shape": [MIB // 4], "dtype": "float32"} for k in range(6)]}
        if ready:
            document["backward"] = {"duration_us": 6, "ready": [{"parameter": 5 - k, "at_us": k} for k in range(6)]}
        return self.write(document)

    def sizes(self, *options, **keywords):
        document = answer("buckets", self.job(**keywords), *options)
        return [bucket["bytes"] // MIB for bucket in document["buckets"]], document["warnings"]

    def test_limits_are_in_bytes_and_the_last_repeats(self):
        self.assertEqual(self.sizes("--bucket-limits", f"{MIB},{2 * MIB}")[0], [1, 2, 2, 1])
        self.assertEqual(self.sizes("--bucket-limits", f"{MIB + 1}")[0], [2, 2, 2])
        self.assertEqual(self.sizes("--bucket-limits", "0")[0], [1] * 6)

    def test_a_limit_is_used_in_either_order(self):
        self.assertEqual(self.sizes("--bucket-limits", f"{4 * MIB}", "--order", "definition")[0], [2, 4])

    def test_without_a_ready_order_reverse_definition_is_used(self):
        said = "the order in which gradients become ready is not recorded"
        self.assertTrue(any(said in one for one in self.sizes(ready=False)[1]))
        self.assertFalse(any(said in one for one in self.sizes()[1]))
        self.assertFalse(any(said in one for one in self.sizes("--order", "definition", ready=False)[1]))

    def test_buckets_that_are_never_rebuilt_stay_as_constructed(self):
        said = "this PyTorch version with these flags never rebuilds buckets"
        never = ["--torch", "1.5"]
        self.assertTrue(any(said in one for one in self.sizes(*never)[1]))
        self.assertFalse(any(said in one for one in self.sizes(*never, "--order", "definition")[1]))
        self.assertFalse(any(said in one for one in self.sizes(*never, "--bucket-limits", "0")[1]))
        self.assertFalse(any(said in one for one in self.sizes()[1]))


class LoggedBuckets(InAFolder):
    """A log of ResNet-18 with the default cap. Its buckets are those of one PyTorch version or another."""

    def told(self, rebuilt, *options, **fields):
        document = json.loads((ROOT / "tests" / "fixtures" / "ddp-log-resnet18.json").read_text())
        document.pop("rebuilt_per_bucket_param_indices")
        document |= {"bucket_cap_bytes": 25 * MIB, "rebuilt_bucket_sizes": ", ".join(map(str, rebuilt)), **fields}
        return " ".join(ddpsim("buckets", self.write(document), "--model", "resnet18", *options).out.split())

    # The buckets of ResNet-18 with the default cap since 1.6. A given cap of 25 also fills the first bucket.
    DEFAULT = [2052000, 28852224, 15853824]

    def test_logged_buckets_match_the_rules(self):
        self.assertIn("They match the 3 buckets DDP logged.", self.told(self.DEFAULT))

    def test_a_given_default_is_recognised(self):
        asked = [b["bytes"] for b in answer("buckets", "resnet18", "--bucket-cap-mb", "25")["buckets"]]
        self.assertNotEqual(asked, self.DEFAULT)
        self.assertIn("With --torch 2.8 --bucket-cap-mb 25 they match.", self.told(asked))

    def test_an_older_version_is_recognised(self):
        old = [b["bytes"] for b in answer("buckets", "resnet18", "--torch", "1.5")["buckets"]]
        self.assertIn("With --torch 1.5 they match.", self.told(old))

    def test_buckets_that_no_version_builds_are_named(self):
        self.assertIn("No PyTorch version gives the logged buckets with this cap", self.told([20000000, 26758048]))

    def test_another_cap_is_named(self):
        self.assertIn(
            "DDP ran with the default cap; leave out --bucket-cap-mb.", self.told(self.DEFAULT, "--bucket-cap-mb", "5")
        )
        self.assertIn(
            "DDP ran with another cap: 3 MiB.",
            self.told(self.DEFAULT, "--bucket-cap-mb", "5", bucket_cap_bytes=3 * MIB),
        )


class Import(InAFolder):
    def test_only_the_document_goes_to_standard_output(self):
        plain = ddpsim("import", TRACE)
        self.assertEqual(json.loads(plain.out)["schema"], "ddpsim.workload/1")
        self.assertIn("a PyTorch profiler trace\n", plain.err)
        self.assertIn("warning: ", plain.err)
        self.assertEqual(ddpsim("import", TRACE, "-o", "-").out, plain.out)

    def test_a_file_is_named_when_written(self):
        output = self.folder / "out.json"
        written = ddpsim("import", TRACE, "-o", output)
        self.assertEqual(written.out, "")
        self.assertTrue(written.err.endswith(f"wrote {output}\n"))
        self.assertEqual(output.read_text(), ddpsim("import", TRACE).out)

    def test_estimates_and_bundled_workloads_become_files(self):
        self.assertIn("an estimate: estimate resnet18@V100:b32:fp32\n", ddpsim("import", "resnet18@V100").err)
        self.assertIn("bundled: resnet50-v100-b32\n", ddpsim("import", "resnet50-v100-b32").err)
        self.assertEqual(ddpsim("import", "resnet50-v100-b32", "--iteration", "0").code, 2)

    def test_options_of_a_trace(self):
        document = lambda *options: json.loads(ddpsim("import", TRACE, *options).out)
        self.assertEqual(document()["backward"]["duration_us"], 165)
        self.assertEqual(document("--iteration", "1")["backward"]["duration_us"], 175)
        self.assertEqual(document("--gpu", "H100")["gpu"], "H100")
        self.assertIn("host", document())
        self.assertEqual(list(document("--timing", "compacted")["host"]), ["launches"])
        self.assertEqual(ddpsim("import", TRACE, TRACE, "--timing", "compacted").code, 2)
        self.assertEqual(ddpsim("import", TRACE, "--iteration", "-1").code, 2)
        self.assertEqual(ddpsim("import", TRACE, "--iteration", "2").code, 3)


class Compare(InAFolder):
    def job(self):
        return self.write(
            {
                "gpu": "V100",
                "parameters": [{"name": "w", "shape": [8], "dtype": "float32"}],
                "forward": {"duration_us": 1000},
                "backward": {"duration_us": 2000, "ready": [{"parameter": 0, "at_us": 2000}]},
            }
        )

    def test_a_warning_for_some_clusters_names_them(self):
        a100 = "node:1 gpu:2xA100 nvswitch:300GBps"
        warnings = answer("compare", self.job(), "dgx1v", a100, "--compute-scale", "2±0.5")["warnings"]
        self.assertEqual(
            [one for one in warnings if "compute is scaled by" in one],
            [f"{a100}: compute is scaled by 2 (1.5 to 2.5), which no measurement of this workload confirms"],
        )

    def test_a_warning_for_all_clusters_appears_once(self):
        job = self.write({"parameter_order": "assumed", **json.loads(self.job().read_text())})
        warnings = answer("compare", job, "dgx1v@2", "dgx1v@4")["warnings"]
        self.assertEqual(
            [one for one in warnings if "order of parameters" in one],
            ["the order of parameters is assumed, not recorded: construction buckets may differ"],
        )

    def test_the_next_command_tunes_the_one_that_trains_most(self):
        self.job()
        told = ddpsim("compare", "w.json", "dgx1v@1", "dgx1v@4", "--torch", "2.4", cwd=self.folder).out
        self.assertEqual(told.rstrip().splitlines()[-1], "Next: ddpsim tune w.json dgx1v@4 --torch 2.4")


class List(unittest.TestCase):
    def test_a_model_is_summed_up(self):
        entries = {entry["name"]: entry["summary"] for entry in answer("list")["models"]}
        self.assertEqual(
            entries["alexnet"],
            "16 parameters, 244403360 bytes of fp32 gradients; estimates: batch 128 of 224 pixels a side",
        )
        self.assertEqual(
            entries["gpt2"], "148 parameters, 497759232 bytes of fp32 gradients; estimates: batch 8 of 1024 tokens"
        )
        self.assertIn("  alexnet ", ddpsim("list").out)


if __name__ == "__main__":
    unittest.main()
