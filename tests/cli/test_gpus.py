"""Products of one GPU model: what a name means, the variant of a cluster, and whether a job fits into memory."""

import pathlib
import tempfile
import unittest

from command import answer, ddpsim, write_json

GIB = 1 << 30
BUNDLED = {
    "p3.16xlarge": "V100-16GB",
    "p3dn": "V100-32GB",
    "abci-v100": "V100-16GB",
    "dgx2": "V100-32GB",
    "p4d": "A100-40GB",
    "p4de": "A100-80GB",
    "abci-a100": "A100-40GB",
    "polaris-a100": "A100-40GB",
    "8xpcie": "A100-40GB-PCIE",
    "p5": "H100-SXM",
    "dgxh100": "H100-SXM",
    "a3-mega": "H100-SXM",
    "h200": "H200-SXM",
}
OPEN = {"dgx1v": "V100-32GB", "dgxa100": "A100-80GB"}  # sold with two memory sizes


def warnings_of(*arguments):
    return answer(*arguments)["warnings"]


class Names(unittest.TestCase):
    def refused(self, *arguments):
        outcome = ddpsim(*arguments)
        self.assertIn(outcome.code, (2, 3), outcome.err)
        return outcome.err

    def test_a_suffix_is_kept(self):
        for gpu, gib in (("A100-40GB", 40), ("H100-NVL", 94), ("V100-16GB", 16), ("H100-PCIE", 80)):
            cluster = answer("topo", f"node:1 gpu:2x{gpu} pcie:25GBps")["cluster"]
            self.assertEqual((cluster["gpu_variant"], cluster["gpu_memory_bytes"]), (gpu, gib * GIB))
            self.assertEqual(cluster["gpu"], gpu.split("-")[0])
        text = ddpsim("topo", "node:1 gpu:8xH100-PCIE pcie:63GBps").out
        self.assertIn("8 × H100-PCIE per node, sm_90, 114 SMs, memory 80 GiB at 2000 GB/s", text)
        self.assertNotIn("does not say which variant", text)

    def test_a_suffix_that_no_variant_has_is_refused_with_the_variants(self):
        variants = "Variants of A100: A100-80GB, A100-40GB, A100-80GB-PCIE, A100-40GB-PCIE"
        for arguments in (
            ("topo", "node:1 gpu:8xA100-48GB nvswitch:300GBps"),
            ("simulate", "resnet50@A100-48GB", "p4d"),
            ("simulate", "resnet50-v100-b32", "p4d", "--gpu", "A100-48GB"),
            ("compare", "resnet50-v100-b32", "p4d", "p4de", "--compute-scale", "A100-48GB:2"),
        ):
            told = self.refused(*arguments)
            self.assertIn('unknown variant "48GB" of A100', told)
            self.assertIn(variants, told)

    def test_an_open_name_says_which_variant_was_taken(self):
        self.assertIn(
            "A100 does not say which variant: A100-80GB is assumed",
            ddpsim("topo", "node:1 gpu:8xA100 nvswitch:300GBps").out,
        )
        for name, variant in OPEN.items():
            told = answer("topo", name)
            self.assertEqual(told["cluster"]["gpu_variant"], variant)
            self.assertTrue(any(f"{variant} is assumed" in one for one in told["warnings"]), told["warnings"])
        estimate = "an estimate for A100-80GB: "
        self.assertTrue(any(one.startswith(estimate) for one in warnings_of("simulate", "resnet50@A100", "p4de")))
        self.assertFalse(any("an estimate for" in one for one in warnings_of("simulate", "resnet50@A100-40GB", "p4d")))

    def test_bundled_clusters_state_theirs(self):
        for name, variant in BUNDLED.items():
            told = answer("topo", name)
            self.assertEqual(told["cluster"]["gpu_variant"], variant)
            self.assertFalse(any("does not say which" in one for one in told["warnings"]))

    def test_a_word_with_an_open_cluster_chooses_the_variant(self):
        self.assertEqual(answer("topo", "dgxa100 gpu:A100-40GB")["cluster"]["gpu_memory_bytes"], 40 * GIB)
        self.assertIn("p4d has A100-40GB", self.refused("topo", "p4d gpu:A100-80GB"))

    def test_the_list_has_every_variant_and_marks_those_without_a_log(self):
        gpus = {one["name"]: one for one in answer("list")["gpus"]}
        self.assertEqual(gpus["A100-40GB"]["model"], "A100")
        self.assertNotIn("no bundled log", gpus["A100-40GB"]["summary"])
        self.assertIn("no bundled log", gpus["H100-PCIE"]["summary"])
        for name in (
            "A16",
            "B300",
            "H200-NVL",
            "MI325X",
            "MI355X",
            "P100-12GB-PCIE",
            "RTX6000Ada",
            "RTXPRO6000-SERVER",
            "V100S",
        ):
            self.assertIn("no bundled log", gpus[name]["summary"])


class Jobs(unittest.TestCase):
    def test_another_variant_is_not_a_mismatch_but_is_named(self):
        told = warnings_of("simulate", "resnet50@A100-80GB", "p4d")
        self.assertTrue(
            any(one.startswith("estimated for A100-80GB, but the cluster has A100-40GB: ") for one in told), told
        )
        self.assertTrue(any("resnet50@A100-40GB" in one for one in told), told)
        told = warnings_of("simulate", "resnet50-v100-b32", "p3.16xlarge")  # recorded on 32 GB
        self.assertTrue(
            any(one.startswith("recorded on V100-32GB, but the cluster has V100-16GB: ") for one in told), told
        )
        self.assertFalse(
            any("but the cluster has" in one for one in warnings_of("simulate", "resnet50-v100-b32", "p3dn"))
        )

    def test_memory_is_that_of_the_variant_of_the_cluster(self):
        job = "gpt2-xl@A100-80GB"  # 44 GiB
        self.assertEqual(ddpsim("simulate", job, "p4de").code, 0)
        refused = ddpsim("simulate", job, "p4d")
        self.assertEqual(refused.code, 3)
        self.assertIn("needs about 43.7 GiB of memory per GPU, but A100-40GB has 40 GiB", refused.err)
        self.assertIn("V100 (assumed to be V100-32GB) has 32 GiB", ddpsim("simulate", "gpt2-xl@V100", "dgx1v").err)

    def test_a_recording_from_a_larger_variant_does_not_prove_that_it_fits(self):
        document = {
            "gpu": "A100-80GB",
            "batch_per_gpu": 1,
            "forward": {"duration_us": 10},
            "backward": {"duration_us": 20, "ready": [{"parameter": 0, "at_us": 20}]},
            "parameters": [{"name": "w", "shape": [3 * GIB], "dtype": "float32"}],
        }
        with tempfile.TemporaryDirectory() as folder:
            for gpu, code in (("A100-80GB", 3), ("A100-40GB", 0), ("A100", 0)):
                path = write_json(pathlib.Path(folder) / "w.json", {**document, "gpu": gpu})
                outcome = ddpsim("simulate", path, "p4d")
                self.assertEqual(outcome.code, code, outcome.err)
                self.assertIn("A100-40GB has 40 GiB", outcome.out + outcome.err)

    def test_compare_names_candidates_that_do_not_fit(self):
        outcome = ddpsim("compare", "gpt2-xl@A100-80GB", "p4d", "p4de")
        self.assertEqual(outcome.code, 0)
        self.assertNotIn("differ only in name", outcome.out)
        self.assertIn("p4d (8 GPUs): needs about 43.7 GiB of memory per GPU, but A100-40GB has 40 GiB", outcome.out)

    def test_compare_of_two_variants_says_that_one_has_more(self):
        told = ddpsim("compare", "resnet50@A100-80GB", "p4d", "p4de").out
        self.assertIn("p4de is a strictly better configuration than p4d", told)

    def test_published_case_that_does_not_fit(self):
        """GPT-2 XL with batch 1 under DDP runs out of memory on a TITAN RTX of 24 GB, in fp32 and fp16.

        Source: huggingface/blog, pytorch-fsdp.md.
        """
        for precision in ("fp32", "amp"):
            outcome = ddpsim("simulate", f"gpt2-xl@TITANRTX:b1:{precision}", "node:1 gpu:2xTITANRTX nvlink:2x25GBps")
            self.assertEqual(outcome.code, 3, outcome.err)
            self.assertIn(
                "TITANRTX has 24 GiB. Without activations 23.9 GiB of it remain. Shard it with --scheme fsdp2.",
                outcome.err,
            )


if __name__ == "__main__":
    unittest.main()
