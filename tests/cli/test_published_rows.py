"""Tests which rows of published scaling are scored, and by which rules. The rows are made up."""

import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))

import published_rows as rows  # noqa: E402
from behind_figures import with_scripts  # noqa: E402
import published_scaling as scaling  # noqa: E402
import rank_costs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def row(**changes):
    made = {
        "row_id": "made-up",
        "source": "somebody",
        "model": "resnet50",
        "framework": "PyTorch 1.6 DDP",
        "gpu": "V100-SXM2-16GB",
        "gpus_per_node": "8",
        "nodes": "1",
        "n_gpus": "8",
        "network": "NVLink; 100 Gb/s EDR",
        "precision": "FP32",
        "per_gpu_batch": "64",
        "metric": "images/s total",
        "baseline_gpus": "1",
        "value_1gpu": "300",
        "value_ngpu": "2280",
        "scaling_efficiency": "0.95",
        "flags": "V100",
        "notes": "",
    }
    return {**made, **changes}


class Population(unittest.TestCase):
    def reason(self, changed):
        *_, others = rows.select(with_scripts([changed]))
        return next(iter(others), None)

    def test_each_exclusion_has_its_name(self):
        self.assertIsNone(self.reason(row()))
        for flag in ("grad-accumulation", "input-pipeline", "batch-changes", "do-not-score"):
            self.assertEqual(self.reason(row(flags="V100 " + flag)), "flag " + flag)
        self.assertIn("model", self.reason(row(model="nobody's")))
        self.assertIn("batch", self.reason(row(per_gpu_batch="")))

    def test_a_stack_that_loses_much_on_one_node_is_separate_on_several_too(self):
        lossy = row(scaling_efficiency="0.84")
        several = row(nodes="2", n_gpus="16", scaling_efficiency="0.8")
        self.assertEqual(rows.select([lossy, several])[:2], ([], [lossy, several]))
        self.assertEqual(rows.select([row(), several])[:2], ([row(), several], []))

    def test_duplicates_and_assumed_machines_are_in_the_wide_population_only(self):
        median, tail = (row(metric="s/iter p" + p, value_1gpu="0.1", value_ngpu="0.11") for p in ("50", "90"))
        unwired = row(source="PaddleFleetX benchmark (2019-06, Paddle 1.5)", gpu="V100")
        scored, _, wide, _ = rows.select(with_scripts([tail, median, unwired]))
        self.assertEqual(scored, [median])
        self.assertEqual([one["source"] for one in wide], [tail["source"], unwired["source"]])


class Caps(unittest.TestCase):
    def test_rules_follow_the_source_or_else_its_library(self):
        self.assertIsNone(rows.cap_of(row()))
        self.assertEqual(rows.cap_of(row(notes="bucket_cap_mb=1")), "1")
        self.assertEqual(rows.cap_of(row(framework="TensorFlow2+Horovod")), "64")
        self.assertEqual(rows.cap_of(row(framework="TensorFlow 2.3.0")), rows.ONE_PACK_MB)
        apex = with_scripts(
            [
                row(
                    source="NVIDIA DeepLearningExamples",
                    framework="PyTorch (apex/native DDP)",
                    model="BERT-large pretrain",
                )
            ]
        )[0]
        self.assertAlmostEqual(float(rows.cap_of(apex)), 1e9 / 2**20)


class Slowdown(unittest.TestCase):
    def case(self, measured, **changes):
        return {"row": row(**changes), "baseline": 100, "predicted": 110, "measured": measured}

    def test_slowdown_is_learned_from_one_node_and_then_from_several(self):
        slowest = scaling.slowest_gpu(row(), 8)
        self.assertAlmostEqual(slowest, 0.015 * 1.4236, places=5)
        slowdown = scaling.learn_slowdown(
            [
                self.case(114),
                self.case(115),
                self.case(130, n_gpus="1"),
                self.case(119.5, nodes="4", n_gpus="32", source="one"),
                self.case(116, nodes="16", n_gpus="128", baseline_gpus="8", source="another"),
                self.case(200, nodes="2", n_gpus="16", gpu="V100 (Azure)", source="unstated"),
            ]
        )
        several = 0.045 - slowest
        self.assertAlmostEqual(slowdown.several_gpus, several)
        one = (0.095 - scaling.slowest_gpu(row(), 32) - several - 2 * scaling.PER_DOUBLING) / (1 - 1 / 4)
        another = (0.06 - scaling.slowest_gpu(row(), 128) + slowest - 4 * scaling.PER_DOUBLING) / (1 - 1 / 16)
        self.assertAlmostEqual(slowdown.several_nodes, (one + another) / 2)
        self.assertEqual(slowdown.share(row(), 1, 1), 0)
        self.assertAlmostEqual(
            slowdown.share(row(), 32, 4),
            scaling.slowest_gpu(row(), 32) + several + slowdown.several_nodes * 0.75 + 2 * scaling.PER_DOUBLING,
        )
        self.assertEqual(scaling.Slowdown().share(row(), 32, 4), 0)

    def test_constants_match_the_program(self):
        header = (ROOT / "sim/values/include/ddpsim/sim/values/rank_slowdown.hpp").read_text()
        stated = re.search(
            r"\.several_gpus = ([\d.]+), \.several_nodes = ([\d.]+), \.per_doubling = ([\d.]+)\}", header
        )
        self.assertEqual(
            tuple(map(float, stated.groups())),
            (rank_costs.SEVERAL_GPUS, rank_costs.SEVERAL_NODES, rank_costs.PER_DOUBLING),
        )
        self.assertEqual(scaling.PER_DOUBLING, rank_costs.PER_DOUBLING)
        source = (ROOT / "sim/values/rank_slowdown.cpp").read_text()
        spreads = {int(c): float(v) for c, v in re.findall(r"case (\d+):\s+return ([\d.]+);", source)}
        self.assertEqual(spreads, {70: rank_costs.gpu_spread("V100"), 120: rank_costs.gpu_spread("RTX PRO 6000")})
        unknown = float(re.search(r"kUnknown = ([\d.]+);", source).group(1))
        for gpu in ("A100-SXM4-40GB", "B200"):
            self.assertEqual((rank_costs.gpu_spread(gpu), scaling.gpu_spread(row(gpu=gpu))), (unknown, unknown))
        self.assertEqual(scaling.gpu_spread(row(gpu="V100-SXM2-16GB")), spreads[70])

    def test_only_pytorchs_own_ddp_broadcasts_buffers(self):
        self.assertTrue(rows.broadcasts_buffers(row(framework="PyTorch 1.6.0 (pytorch/examples)")))
        for changed in (
            {"framework": "PyTorch (apex/native DDP)"},
            {"framework": "PyTorch + Horovod"},
            {"framework": "MXNet 1.6.0"},
            {"source": "PyTorch DDP benchmark README"},
        ):
            self.assertFalse(rows.broadcasts_buffers(with_scripts([row(**{"framework": "PyTorch 1.4", **changed})])[0]))


if __name__ == "__main__":
    unittest.main()
