"""Workloads that were not recorded: estimates, other GPUs, other batches."""

import json
import pathlib
import tempfile
import unittest

from command import answer, ddpsim, workload, write_json

A100 = "node:1 gpu:8xA100 nvswitch:300GBps"
H100 = "node:1 gpu:8xH100 nvswitch:450GBps"


def warned(document, part):
    return any(part in warning for warning in document["warnings"])


class Estimates(unittest.TestCase):
    def test_an_estimate_says_that_it_is_one(self):
        document = answer("simulate", "resnet50@V100:b32", "2xv100-nvlink")
        self.assertTrue(document["workload"].startswith("estimate resnet50@V100:b32"))
        self.assertTrue(warned(document, "an estimate"))
        self.assertEqual(document["confidence"]["grade"], "C")
        low, high = document["confidence"]["interval_percent"]
        self.assertLess(low, -12)
        self.assertGreater(high, 15)
        text = ddpsim("simulate", "resnet50@V100:b32", "2xv100-nvlink")
        self.assertTrue(text.out.startswith("estimate resnet50@V100:b32:fp32 on 2xv100-nvlink"))

    def test_a_given_ratio_with_its_range_replaces_the_own_one(self):
        def interval(*options):
            return answer("simulate", "resnet50@V100:b32", "2xv100-nvlink", "--rank-slowdown", "0%", *options)[
                "confidence"
            ]["interval_percent"]

        self.assertLess(interval("--compute-scale", "1.1")[0], -12)
        low, high = interval("--compute-scale", "1.1±0.01")
        self.assertTrue(-3 < low < 0 < high < 5, (low, high))

    def test_an_optimizer_named_twice_is_told_apart(self):
        document = answer("simulate", "resnet18@V100:adamw", "2xv100-nvlink", "--optimizer", "sgd")
        self.assertTrue(warned(document, "--optimizer sgd counts in memory alone: the step was timed with adamw"))
        document = answer("simulate", "resnet18@V100", "2xv100-nvlink", "--optimizer", "momentum")
        self.assertFalse(warned(document, "--optimizer"))
        memory = answer("simulate", "resnet18@V100:sgd", "2xv100-nvlink")["memory"]
        self.assertEqual((memory["optimizer"], memory["optimizer_assumed"]), ("sgd", False))

    def test_what_is_sharded_already_needs_more_nodes(self):
        for scheme, remedy in (("ddp", "Shard it with --scheme fsdp2"), ("fsdp2", "More nodes shard it further")):
            told = ddpsim("simulate", "mixtral-8x7b@H100:bf16-true:fused", "dgxh100@4", "--scheme", scheme)
            self.assertEqual(told.code, 3)
            self.assertIn(remedy, told.err)

    def test_several_ranks_compute_slower_than_one(self):
        def shares(*options):
            step = answer("simulate", "resnet50@V100:b32", "2xv100-nvlink", "--no-broadcast-buffers", *options)
            compute = step["forward_us"] + step["backward_compute_us"] + step["optimizer_us"]
            return (round(step["slowest_gpu_us"] / compute, 4), round(step["unexplained_us"] / compute, 4))

        self.assertEqual(shares(), (0.0085, 0.026))
        self.assertEqual(shares("--gpu-spread", "3%"), (0.0169, 0.026))
        self.assertEqual(shares("--gpu-spread", "0%"), (0, 0.026))
        self.assertEqual(shares("--rank-slowdown", "8%"), (0, 0.08))
        self.assertEqual(shares("--accumulate", "4"), (0.0085, 0.0065))
        self.assertEqual(shares("--gpus-per-node", "1"), (0, 0.013))
        self.assertEqual(shares("--gpus-per-node", "1", "--rank-slowdown", "8%"), (0, 0))

    def test_every_command_takes_one(self):
        spec = "bert-base@A100:b8:s128:amp"
        for command in (["simulate", spec, A100], ["tune", spec, A100, "--caps", "25,50"], ["buckets", spec]):
            with self.subTest(command=command):
                self.assertEqual(ddpsim(*command, "--json").code, 0)

    def test_an_estimate_in_a_file_stays_an_estimate(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "estimate.json"
            self.assertEqual(ddpsim("import", "vgg16@V100:b16", "-o", path).code, 0)
            kept = answer("simulate", path, "2xv100-nvlink")
            self.assertTrue(warned(kept, "an estimate"))
            self.assertEqual(
                kept["iteration_us"], answer("simulate", "vgg16@V100:b16", "2xv100-nvlink")["iteration_us"]
            )

    def test_an_estimate_for_another_gpu_is_made_again(self):
        outcome = ddpsim("simulate", "resnet50@V100", A100)
        self.assertEqual(outcome.code, 3)
        self.assertIn("resnet50@A100", outcome.err)

    def test_an_estimate_is_close_to_the_recording_of_the_same_step(self):
        measured = answer("simulate", "resnet50-v100-b32", "2xv100-nvlink")
        estimate = answer("simulate", "resnet50@V100:b32", "2xv100-nvlink")
        ratio = estimate["iteration_us"] / measured["iteration_us"]
        self.assertTrue(0.9 < ratio < 1.1, ratio)


class Transfers(unittest.TestCase):
    def test_a_recording_is_converted_to_another_gpu_layer_by_layer(self):
        document = answer("simulate", "resnet50-v100-b32", A100, "--gpu", "A100")
        self.assertTrue(warned(document, "layer by layer (resnet50)"))
        recorded = answer("simulate", "resnet50-v100-b32", "2xv100-nvlink")
        speedup = recorded["backward_compute_us"] / document["backward_compute_us"]
        self.assertTrue(2 < speedup < 3.5, speedup)  # kernels of an A100 trace: 2.5

    def test_a_recording_is_converted_to_another_batch(self):
        small = answer("simulate", "resnet50-v100-b32", "2xv100-nvlink")
        large = answer("simulate", "resnet50-v100-b32", "2xv100-nvlink", "--batch", "64")
        self.assertTrue(warned(large, "from batch 32 to 64"))
        ratio = large["backward_compute_us"] / small["backward_compute_us"]
        self.assertTrue(1.8 < ratio <= 2.0, ratio)
        same = answer("simulate", "resnet50-v100-b32", "2xv100-nvlink", "--batch", "32")
        self.assertEqual(same["iteration_us"], small["iteration_us"])

    def test_another_gpu_and_another_batch_widen_the_interval(self):
        def width(*options):
            interval = answer("simulate", "resnet50-v100-b32", A100, *options)["confidence"]["interval_percent"]
            return interval[1] - interval[0]

        one = width("--gpu", "A100")
        self.assertGreater(one, 15)
        self.assertGreater(width("--gpu", "A100", "--batch", "256"), one)

    def test_an_unknown_model_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            document = workload([{"name": "w", "shape": [7, 9], "dtype": "float32"}], [0])
            document.update(gpu="V100", forward={"duration_us": 10}, batch_per_gpu=4)
            path = write_json(pathlib.Path(folder) / "own.json", document)
            for options in (["--gpu", "A100"], ["--gpu", "A100", "--batch", "8"]):
                outcome = ddpsim("simulate", path, A100, *options)
                self.assertEqual(outcome.code, 3, outcome.err)
                self.assertIn("--compute-scale", outcome.err)
            scaled = answer("simulate", path, A100, "--compute-scale", "2±0.2")
            self.assertTrue(warned(scaled, "scaled by 2"))

    def test_an_unknown_batch_is_assumed_with_a_warning_and_cannot_be_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            source = ddpsim("import", "alexnet@V100")
            document = json.loads(source.out)
            for known in ("batch_per_gpu", "precision", "provenance"):  # a recording may lack these
                del document[known]
            path = write_json(pathlib.Path(folder) / "alexnet.json", document)
            carried = answer("simulate", path, A100, "--gpu", "A100")
            self.assertTrue(warned(carried, "does not state its batch; 128 is assumed"))
            self.assertTrue(warned(carried, "does not state its precision; fp32 is assumed"))
            outcome = ddpsim("simulate", path, "2xv100-nvlink", "--batch", "8")
            self.assertEqual(outcome.code, 3)
            self.assertIn("batch_per_gpu", outcome.err)


class BundledProfiles(unittest.TestCase):
    def test_every_v100_table_is_there(self):
        names = [row["name"] for row in answer("list")["workloads"]]
        for name in (
            "alexnet-v100-b256",
            "densenet121-v100-b64",
            "inception_v3-v100-b128",
            "resnet18-v100-b256",
            "resnet50-v100-b128",
            "resnet101-v100-b64",
            "resnext101_32x4d-v100-b64",
            "vgg16-v100-b128",
        ):
            with self.subTest(name=name):
                self.assertIn(name, names)
                result = answer("simulate", name, "2xv100-nvlink")
                self.assertGreater(result["iteration_us"], 0)


if __name__ == "__main__":
    unittest.main()
