"""Repeats the trainings behind tests/fixtures/data_loading.

They log the collectives of Join and of SyncBatchNorm, and the counts of DistributedSampler. DDPSIM_UPDATE_GOLDEN=1
stores the results with PyTorch 2.13."""

import json
import os
import pathlib
import tempfile
import unittest

from test_data_loading import FIXTURES, check_join, check_sync_batchnorm
from torch_python import pythons_with_torch, told_by, trained_together

FOLDER = pathlib.Path(__file__).parent
RENEW = os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1"


def keep(name, entries):
    (FIXTURES / name).write_text(
        "[\n" + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "\n]\n"
    )


@unittest.skipUnless("2.13" in pythons_with_torch(), "no python3 here has PyTorch 2.13 (scripts/setup.sh --torch)")
class LoaderTrainings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.python = pathlib.Path(folder.name), pythons_with_torch()["2.13"]

    def trained(self, script, ranks, *more):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        return trained_together(self.python, FOLDER / script, folder, ranks, ranks, *more)

    def test_join_issues_the_stored_collectives(self):
        trainings = [training for ranks in (2, 4) for training in self.trained("join_trainings.py", ranks)]
        self.assertEqual(len(trainings), 46)
        for training in trainings:
            with self.subTest(**{key: training[key] for key in ("ranks", "inputs", "ddp", "join")}):
                check_join(self, self.folder, training)
        if RENEW:
            keep("join.json", trainings)

    def test_sync_batchnorm_issues_the_stored_collectives(self):
        trainings = [training for ranks in (2, 4) for training in self.trained("sync_batchnorm_trainings.py", ranks)]
        for training in trainings:
            check_sync_batchnorm(self, self.folder, training)
        if RENEW:
            keep("sync_batchnorm.json", trainings)

    def test_the_sampler_gives_the_stored_counts(self):
        [counts] = told_by(self.python, FOLDER / "sampler_counts.py")
        if RENEW:
            (FIXTURES / "sampler.json").write_text(json.dumps(counts) + "\n")
        self.assertEqual(counts, json.loads((FIXTURES / "sampler.json").read_text()))


if __name__ == "__main__":
    unittest.main()
