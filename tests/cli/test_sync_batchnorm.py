"""--sync-batchnorm: its output, and its cost compared with published trainings with and without it."""

import csv
import json
import pathlib
import tempfile
import unittest

from command import SHARED, answer, ddpsim

PUBLISHED = SHARED / "data" / "levers" / "levers.csv"
JOB = ("resnet18@V100:b128", "dgx1v", "--gpus-per-node", "4", "--torch", "1.13")
STEPS = 100 * (50_000 // 512)  # 100 epochs of CIFAR-10, 512 images per step
# For each method, the passes of the encoder with gradients. There are two views, but in MoCo a momentum encoder takes
# the second.
PASSES = {"MoCo": 1, "SimCLR": 2, "SimSiam": 2, "BarlowTwins": 2, "BYOL": 2, "SwaV": 2}


class SyncBatchNorm(unittest.TestCase):
    def test_a_recording_with_sync_batchnorm_gets_no_more(self):
        document = json.loads(ddpsim("import", "resnet18@V100:b32").out)
        self.assertEqual(sum(parameter.get("batch_norm", False) for parameter in document["parameters"]), 20)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "w.json")
            for recorded in (False, True):
                document["recorded_with"]["sync_batchnorm"] = recorded
                path.write_text(json.dumps(document))
                step = answer("simulate", path, "dgx1v", "--sync-batchnorm")
                self.assertEqual("sync_batchnorm_us" in step, not recorded)
                self.assertEqual(any("adds nothing" in warning for warning in step["warnings"]), recorded)

    def test_the_parts_add_up(self):
        step = answer("simulate", *JOB, "--sync-batchnorm", "--straggler", "1:1.1")
        parts = (
            "forward",
            "backward",
            "sync_batchnorm",
            "slowest_gpu",
            "unexplained",
            "exposed_communication",
            "finalize",
            "optimizer",
            "stall",
        )
        self.assertAlmostEqual(sum(step[f"{part}_us"] for part in parts), step["iteration_us"], places=3)
        self.assertNotIn("sync_batchnorm_us", answer("simulate", *JOB))

    def test_groups_of_whole_nodes(self):
        """Groups are closer, and run at the same time as DDP's buckets. So they are cheaper than all ranks in DDP's own
        group.

        The saving is larger with fewer nodes.
        """
        job = ("resnet18@V100:b128", "dgx1v@4", "--torch", "1.13", "--sync-batchnorm")
        waited = [
            answer("simulate", *job, "--sync-batchnorm-group", ranks)["sync_batchnorm_us"] for ranks in (8, 16, 32)
        ]
        self.assertLess(waited[0], waited[1])
        self.assertLess(waited[1], waited[2])
        self.assertLess(waited[2], answer("simulate", *job)["sync_batchnorm_us"])
        for ranks in (4, 12, 24, 64):
            outcome = ddpsim("simulate", *job, "--sync-batchnorm-group", ranks)
            self.assertEqual(outcome.code, 2)
            self.assertIn(
                f"--sync-batchnorm-group {ranks}: a group must consist of whole nodes: dgx1v has 4 of 8 GPUs, so "
                "the size must be a multiple of 8 that divides 32",
                outcome.err,
            )

    def test_groups_are_advised_between_nodes(self):
        job = ("resnet18@V100:b128", "dgx1v@4", "--torch", "1.13", "--sync-batchnorm")
        row = next(row for row in answer("advise", *job)["rows"] if row["levers"] == ["SyncBatchNorm over groups of 8"])
        self.assertTrue(row["changes_numerics"])
        self.assertEqual(row["iteration_us"], answer("simulate", *job, "--sync-batchnorm-group", 8)["iteration_us"])
        one = answer("advise", "resnet18@V100:b128", "dgx1v", "--torch", "1.13", "--sync-batchnorm")["rows"]
        self.assertFalse([row for row in one if "groups of" in row["levers"][0]])

    @unittest.skipUnless(PUBLISHED.exists(), "shared/data is not beside the checkout")
    def test_published_trainings_with_and_without_it(self):
        """Only the time that SyncBatchNorm adds is compared. The GPU and the images of the trainings differ, and so do
        evaluation and waits."""
        with open(PUBLISHED, newline="") as table:
            rows = [row for row in csv.DictReader(table) if row["lever"] == "SyncBatchNorm off->on"]
        self.assertEqual(len(rows), 6)
        errors = []
        print(f"{'':12} measured predicted  no effect: error")
        for row in rows:
            name, before, after = row["model"].split()[0], float(row["before"]), float(row["after"])
            step = answer("simulate", *JOB, "--sync-batchnorm", "--accumulate", PASSES[name])
            predicted = before / (before + step["sync_batchnorm_us"] * STEPS / 60e6)
            measured = before / after
            errors.append((predicted / measured - 1, 1 / measured - 1))
            print(f"{name:12} {measured:8.3f} {predicted:9.3f} {errors[-1][0]:+6.1%} {errors[-1][1]:+6.1%}")
        of_ours, of_none = (sum(abs(pair[k]) for pair in errors) / len(errors) for k in (0, 1))
        print(f"mean error {of_ours:.1%}, no effect {of_none:.1%}")
        self.assertLess(of_ours, of_none)


if __name__ == "__main__":
    unittest.main()
