"""Compares the catalogue with PyTorch: names, shapes, definition order, and the order of gradients in one real
backward.

It covers every image model, and the text models that are built in torch_models. test_model_configs.py covers the
others."""

import pathlib
import unittest

from command import answer, ddpsim
from torch_python import newest_torch, pythons_with_torch, told_by

BUILDER = pathlib.Path(__file__).with_name("torch_models.py")
# Rows of embeddings, which do not change when a model is made narrower.
FIXED = {30522, 50257, 32768, 512, 1024, 2}


def parameters_of(model):
    outcome = ddpsim("import", f"{model}@V100:b1")
    assert outcome.code == 0, outcome.err
    return outcome.json()


class TorchModels(unittest.TestCase):
    def test_every_model_matches_pytorch(self):
        pythons = pythons_with_torch()
        if not pythons:
            self.skipTest("no python3 here has PyTorch")
        for version, python in pythons.items():
            self.compare(version, python)

    def compare(self, version, python):
        rows = answer("list")["models"]
        models = []
        if version in newest_torch():
            models += [row["name"] for row in rows if row["name"].startswith(("bert", "gpt2", "transformer"))]
        if version in pythons_with_torch("torchvision"):
            # The other families are held against their classes by published_configs.py and catalogue_test.cpp.
            convolutional = ("resnet", "resnext", "vgg", "alexnet", "densenet", "inception")
            models += [row["name"] for row in rows if row["name"].startswith(convolutional)]
        built = told_by(python, BUILDER, *models)
        self.assertEqual(len(built), len(models))
        for truth in built:
            with self.subTest(version, model=truth["name"]):
                ours = parameters_of(truth["name"])
                self.assertEqual([p["name"] for p in ours["parameters"]], truth["names"])
                for parameter, shape in zip(ours["parameters"], truth["shapes"]):
                    rows_fixed = (
                        "embed" in parameter["name"] or ".wte" in parameter["name"] or ".wpe" in parameter["name"]
                    )
                    widened = [
                        d
                        if truth["narrow"] == 1 or (rows_fixed and k == 0 and len(shape) == 2 and d in FIXED)
                        else d * truth["narrow"]
                        for k, d in enumerate(shape)
                    ]
                    self.assertEqual(parameter["shape"], widened, parameter["name"])
                self.assertEqual([r["parameter"] for r in ours["backward"]["ready"]], truth["ready"])
                if truth["buffers"] is not None:
                    self.assertEqual(
                        {group["dtype"]: [group["tensors"], group["bytes"]] for group in ours.get("buffers", [])},
                        truth["buffers"],
                    )


if __name__ == "__main__":
    unittest.main()
