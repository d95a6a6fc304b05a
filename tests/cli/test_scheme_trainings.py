"""Compares the logs in tests/fixtures/schemes with new trainings under the PyTorch that they name, if it is installed.

DeepSpeed's trainings need `build/torch/2.13.0/bin/pip install deepspeed==0.19.8`. A third of the trainings runs, and in
a thorough run all of them. DDPSIM_UPDATE_GOLDEN=1 writes the logs; review the difference."""

import json
import os
import pathlib
import tempfile
import unittest

from scheme_logs import DEEPSPEED, FOLDER, PYTORCH, RANKS, text_of
from torch_python import THOROUGH, pythons_with_torch, told_by, trained_together

HERE = pathlib.Path(__file__).parent
RENEW = os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1"
# Every third training runs, because all of them take minutes.
EVERY = 1 if THOROUGH or RENEW else 3


def trained(python, script, ranks, *more):
    with tempfile.TemporaryDirectory() as folder:
        return trained_together(python, HERE / script, pathlib.Path(folder), ranks, *more)


def described(training):
    """A key that is unique for each training."""
    return json.dumps(
        [training.get(key) for key in ("scheme", "model", "ranks", "options", "first_bucket", "cap", "optimize_ddp")]
    )


class SchemeTrainings(unittest.TestCase):
    maxDiff = None

    def python(self, *packages):
        python = pythons_with_torch(*packages).get(PYTORCH)
        if python is None:
            self.skipTest(f"no python3 here has PyTorch {PYTORCH} (scripts/setup.sh --torch) {' '.join(packages)}")
        return python

    def hold(self, name, document):
        path = FOLDER / f"{name}.json"
        if RENEW:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text_of(document))
        kept = json.loads(path.read_text())
        self.assertEqual({**document, "trainings": None}, {**kept, "trainings": None})
        expected = {described(training): training for training in kept.get("trainings", ())}
        for training in document.get("trainings", ()):
            with self.subTest(described(training)):
                self.assertEqual(training, expected.get(described(training)))
        self.assertGreaterEqual(len(document.get("trainings", ())) * EVERY, len(expected))

    def hold_schemes(self, python, script, header):
        schemes = {}
        for ranks in RANKS:
            for training in trained(python, script, ranks, ranks, EVERY):
                schemes.setdefault(training.pop("scheme"), []).append(training)
        for scheme, trainings in schemes.items():
            self.hold(scheme, {**header, "made_by": f"tests/cli/{script}", "trainings": trainings})

    def hold_all(self, name, python, script, header):
        """Compares the trainings of several schemes in one file."""
        trainings = [training for ranks in RANKS for training in trained(python, script, ranks, ranks, EVERY)]
        self.hold(name, {**header, "made_by": f"tests/cli/{script}", "trainings": trainings})

    def test_models(self):
        [models] = told_by(self.python(), HERE / "scheme_models.py")
        self.hold("models", {"torch": PYTORCH, "made_by": "tests/cli/scheme_models.py", "models": models})

    def test_fsdp_and_zero_redundancy(self):
        self.hold_schemes(self.python(), "scheme_trainings.py", {"torch": PYTORCH, "backend": "gloo"})

    def test_compiled(self):
        self.hold(
            "compiled",
            {
                "torch": PYTORCH,
                "backend": "gloo",
                "made_by": "tests/cli/compiled_trainings.py",
                "trainings": trained(self.python(), "compiled_trainings.py", 2, EVERY),
            },
        )

    def test_frozen_parameters(self):
        self.hold_all("frozen", self.python(), "frozen_trainings.py", {"torch": PYTORCH, "backend": "gloo"})

    def test_frozen_parameters_under_deepspeed(self):
        self.hold_all(
            "frozen_zero",
            self.python("deepspeed"),
            "frozen_deepspeed.py",
            {"torch": PYTORCH, "deepspeed": DEEPSPEED, "backend": "gloo"},
        )

    def test_deepspeed(self):
        self.hold_schemes(
            self.python("deepspeed"),
            "deepspeed_trainings.py",
            {"torch": PYTORCH, "deepspeed": DEEPSPEED, "backend": "gloo"},
        )


if __name__ == "__main__":
    unittest.main()
