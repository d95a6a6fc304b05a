"""The logs in tests/fixtures/schemes, against trainings made anew by the PyTorch that they name, where it is here.

DDPSIM_UPDATE_GOLDEN=1 writes them: the difference is the review."""

import json
import os
import pathlib
import tempfile
import unittest

from scheme_logs import FOLDER, PYTORCH, RANKS, logs, text_of
from torch_python import pythons_with_torch, trained_together

HERE = pathlib.Path(__file__).parent


def recorded(python):
    """{"fsdp1": the document of its file, …}"""
    lines = []
    for ranks in RANKS:
        with tempfile.TemporaryDirectory() as folder:
            lines += trained_together(python, HERE / "scheme_trainings.py", pathlib.Path(folder), ranks, ranks)
    models = {line["model"]: {key: line[key] for key in ("parameters", "ready")} for line in lines if "ready" in line}
    trainings = {}
    for line in lines:
        if "scheme" in line:
            trainings.setdefault(line.pop("scheme"), []).append(line)
    with tempfile.TemporaryDirectory() as folder:
        compiled = trained_together(python, HERE / "compiled_trainings.py", pathlib.Path(folder), 2)
    documents = {scheme: {"torch": PYTORCH, "backend": "gloo", "made_by": "tests/cli/scheme_trainings.py", "models": models,
                          "trainings": each} for scheme, each in trainings.items()}
    documents["compiled"] = {"torch": PYTORCH, "backend": "gloo", "made_by": "tests/cli/compiled_trainings.py",
                             "trainings": compiled}
    return documents


class SchemeTrainings(unittest.TestCase):
    maxDiff = None

    def test_logs_are_what_pytorch_does(self):
        python = pythons_with_torch().get(PYTORCH)
        if python is None:
            self.skipTest(f"no python3 here has PyTorch {PYTORCH} (scripts/setup.sh --torch)")
        documents = recorded(python)
        if os.environ.get("DDPSIM_UPDATE_GOLDEN"):
            FOLDER.mkdir(exist_ok=True)
            for scheme, document in documents.items():
                (FOLDER / f"{scheme}.json").write_text(text_of(document))
        self.assertEqual(sorted(documents), sorted(path.stem for path in FOLDER.glob("*.json")))
        for scheme, document in documents.items():
            kept = logs(scheme)
            self.assertEqual({key: value for key, value in document.items() if key != "trainings"},
                             {key: value for key, value in kept.items() if key != "trainings"})
            self.assertEqual(len(document["trainings"]), len(kept["trainings"]))
            for made, expected in zip(document["trainings"], kept["trainings"]):
                with self.subTest(scheme, model=made["model"], options=made.get("options")):
                    self.assertEqual(made, expected)


if __name__ == "__main__":
    unittest.main()
