"""The trainings behind tests/fixtures/data_loading, done again under every PyTorch 2 found here: a DataLoader whose data set sleeps
behind DDP's steps, Join's collectives, DistributedSampler's counts. DDPSIM_UPDATE_GOLDEN=1 keeps what 2.13 gives."""

import json
import os
import pathlib
import tempfile
import unittest

from test_data_loading import FIXTURES, check_join, check_sync_batchnorm, predicted_step
from torch_python import pythons_with_torch, told_by, trained_together

FOLDER = pathlib.Path(__file__).parent
STEP_MS, STEPS = 40, 30
CASES = ["0:2:20", "1:2:60", "2:1:120", "4:2:160"]
KEPT = ["0:2:20", "0:2:40", "0:2:60", *(f"{w}:{f}:{w * each}" for w in (1, 2, 4) for f in (1, 2, 4) for each in (20, 40, 60))]
RENEW = os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1"


def keep(name, entries):
    (FIXTURES / name).write_text("[\n" + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "\n]\n")


@unittest.skipUnless("2.13" in pythons_with_torch(), "no python3 here has PyTorch 2.13 (scripts/setup.sh --torch)")
class LoaderTrainings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.python = pathlib.Path(folder.name), pythons_with_torch()["2.13"]

    def trained(self, script, ranks, *more):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        return trained_together(self.python, FOLDER / script, folder, ranks, ranks, *more)

    def test_steps(self):
        """On a machine that does something else, too, one of the two is apart now and then: of those that are, the better of two."""
        kept = []
        for ranks in (2, 4):
            cases = KEPT if RENEW else CASES
            trainings = self.trained("loader_trainings.py", ranks, STEP_MS, STEPS, *cases)
            kept += trainings
            apart = {each["case"] for each in trainings if self.error(each) > 0.05}
            again = self.trained("loader_trainings.py", ranks, STEP_MS, STEPS, *sorted(apart)) if apart else []
            for training in again:
                with self.subTest(training["case"], ranks=ranks):
                    self.assertLessEqual(self.error(training), 0.05)
        if RENEW:
            keep("loaders.json", kept)

    def error(self, training):
        return abs(predicted_step(self.folder, training) / training["measured"] - 1)

    def test_join(self):
        trainings = [training for ranks in (2, 4) for training in self.trained("join_trainings.py", ranks)]
        self.assertEqual(len(trainings), 46)
        for training in trainings:
            with self.subTest(**{key: training[key] for key in ("ranks", "inputs", "ddp", "join")}):
                check_join(self, self.folder, training)
        if RENEW:
            keep("join.json", trainings)

    def test_sync_batchnorm(self):
        trainings = [training for ranks in (2, 4) for training in self.trained("sync_batchnorm_trainings.py", ranks)]
        for training in trainings:
            check_sync_batchnorm(self, self.folder, training)
        if RENEW:
            keep("sync_batchnorm.json", trainings)

    def test_sampler(self):
        [counts] = told_by(self.python, FOLDER / "sampler_counts.py")
        if RENEW:
            (FIXTURES / "sampler.json").write_text(json.dumps(counts) + "\n")
        self.assertEqual(counts, json.loads((FIXTURES / "sampler.json").read_text()))


if __name__ == "__main__":
    unittest.main()
