"""The logs in tests/fixtures/schemes, against trainings made anew by the PyTorch that they name, where it is here; DeepSpeed's
where `build/torch/2.13.0/bin/pip install deepspeed==0.19.8` was said.

DDPSIM_UPDATE_GOLDEN=1 writes them: the difference is the review."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from scheme_logs import DEEPSPEED, FOLDER, PYTORCH, RANKS, text_of
from torch_python import ENVIRONMENT, pythons_with_torch, trained_together

HERE = pathlib.Path(__file__).parent


def trained(python, script, ranks, *more):
    with tempfile.TemporaryDirectory() as folder:
        return trained_together(python, HERE / script, pathlib.Path(folder), ranks, *more)


class SchemeTrainings(unittest.TestCase):
    maxDiff = None

    def python(self, *packages):
        python = pythons_with_torch(*packages).get(PYTORCH)
        if python is None:
            self.skipTest(f"no python3 here has PyTorch {PYTORCH} (scripts/setup.sh --torch) {' '.join(packages)}")
        return python

    def hold(self, name, document):
        path = FOLDER / f"{name}.json"
        if os.environ.get("DDPSIM_UPDATE_GOLDEN"):
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text_of(document))
        kept = json.loads(path.read_text())
        for made, expected in zip(document.get("trainings", ()), kept.get("trainings", ())):
            told = {key: value for key, value in expected.items() if key in ("model", "ranks", "options", "cap")}
            with self.subTest(name, **told):
                self.assertEqual(made, expected)
        self.assertEqual(document, kept)

    def hold_schemes(self, python, script, header):
        schemes = {}
        for ranks in RANKS:
            for training in trained(python, script, ranks, ranks):
                schemes.setdefault(training.pop("scheme"), []).append(training)
        for scheme, trainings in schemes.items():
            self.hold(scheme, {**header, "made_by": f"tests/cli/{script}", "trainings": trainings})

    def hold_all(self, name, python, script, header):
        """Of several schemes, in one file."""
        trainings = [training for ranks in RANKS for training in trained(python, script, ranks, ranks)]
        self.hold(name, {**header, "made_by": f"tests/cli/{script}", "trainings": trainings})

    def test_models(self):
        told = subprocess.run([self.python(), "-W", "ignore", HERE / "scheme_models.py"], env=ENVIRONMENT, capture_output=True,
                              text=True, check=True)
        self.hold("models", {"torch": PYTORCH, "made_by": "tests/cli/scheme_models.py", "models": json.loads(told.stdout)})

    def test_fsdp_and_zero_redundancy(self):
        self.hold_schemes(self.python(), "scheme_trainings.py", {"torch": PYTORCH, "backend": "gloo"})

    def test_compiled(self):
        self.hold("compiled", {"torch": PYTORCH, "backend": "gloo", "made_by": "tests/cli/compiled_trainings.py",
                               "trainings": trained(self.python(), "compiled_trainings.py", 2)})

    def test_frozen_parameters(self):
        self.hold_all("frozen", self.python(), "frozen_trainings.py", {"torch": PYTORCH, "backend": "gloo"})

    def test_frozen_parameters_under_deepspeed(self):
        self.hold_all("frozen_zero", self.python("deepspeed"), "frozen_deepspeed.py",
                      {"torch": PYTORCH, "deepspeed": DEEPSPEED, "backend": "gloo"})

    def test_deepspeed(self):
        self.hold_schemes(self.python("deepspeed"), "deepspeed_trainings.py",
                          {"torch": PYTORCH, "deepspeed": DEEPSPEED, "backend": "gloo"})


if __name__ == "__main__":
    unittest.main()
