"""Compares models from a config.json with transformers: names, shapes, definition order, buffers, and order of
gradients.

There is a small model of each kind in model_configs, with one real backward. The bundled names of models are compared
with their config at full size on the meta device."""

import json
import math
import pathlib
import re
import subprocess
import tempfile
import unittest

import thorough
from command import answer, ddpsim, write_json
from published_configs import PUBLISHED
from torch_python import ENVIRONMENT, ROOT

HERE = pathlib.Path(__file__).parent
BUILDER = HERE / "hugging_face_models.py"
CONFIGS = sorted((HERE / "model_configs").glob("*.json"))
PYTHON = ROOT / "build" / "frameworks" / "bin" / "python"


def transformers(*arguments):
    """The documents of transformers for these configs, or None without transformers."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import transformers"], capture_output=True).returncode:
        return None
    process = subprocess.run([PYTHON, BUILDER, *arguments], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return [json.loads(line) for line in process.stdout.splitlines()]


def estimated(model, takes_images=False):
    outcome = ddpsim("import", f"{model}@A100:b1" + ("" if takes_images else ":s8"))
    assert outcome.code == 0, outcome.err
    return outcome.json()


class AgainstTransformers(unittest.TestCase):
    def compare(self, ours, truth):
        self.assertEqual([p["name"] for p in ours["parameters"]], truth["names"])
        self.assertEqual([p["shape"] for p in ours["parameters"]], truth["shapes"])
        self.assertEqual(
            {group["dtype"]: [group["tensors"], group["bytes"]] for group in ours.get("buffers", [])}, truth["buffers"]
        )
        if truth["ready"] is not None:
            self.assertEqual([event["parameter"] for event in ours["backward"]["ready"]], truth["ready"])

    def test_small_models_of_every_kind(self):
        truths = transformers(*CONFIGS)
        if truths is None:
            self.skipTest("transformers is not in build/frameworks (scripts/setup.sh --frameworks)")
        self.assertEqual(len(truths), len(CONFIGS))
        for truth in truths:
            with self.subTest(pathlib.Path(truth["path"]).stem):
                self.compare(estimated(truth["path"], truth["takes_images"]), truth)

    def test_bundled_names(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [write_json(pathlib.Path(folder) / f"{name}.json", config) for name, config in PUBLISHED.items()]
            truths = transformers("--meta", *paths)
        if truths is None:
            self.skipTest("transformers is not in build/frameworks (scripts/setup.sh --frameworks)")
        for truth in truths:
            with self.subTest(pathlib.Path(truth["path"]).stem):
                self.compare(estimated(pathlib.Path(truth["path"]).stem), truth)


def sized(kind, **others):
    """A config that is large enough for blocks to dominate memory. It has no dropout, whose masks are larger on a
    CPU."""
    return {"model_type": kind, "vocab_size": 500, **others}


WIDE = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8}
# The largest relative errors of the kept and of the most memory.
MEMORY = {
    "llama": (sized("llama", **WIDE, num_key_value_heads=4, intermediate_size=704), 0.01),
    "mpt": (sized("mpt", d_model=256, n_layers=4, n_heads=8, max_seq_len=256), 0.05),
    "gptj": (sized("gptj", n_embd=256, n_layer=4, n_head=8, n_positions=256, rotary_dim=16), 0.04),
    "gpt_neox": (sized("gpt_neox", **WIDE, intermediate_size=1024), 0.05),
    "gpt2": (sized("gpt2", n_embd=256, n_layer=4, n_head=8, resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0), 0.04),
}


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def measured(self, *cases):
        if transformers(*CONFIGS[:1]) is None:
            self.skipTest("transformers is not in build/frameworks (scripts/setup.sh --frameworks)")
        process = subprocess.run(
            [PYTHON, HERE / "hugging_face_memory.py", *cases],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
        return [json.loads(line) for line in process.stdout.splitlines()]

    def counted(self, case):
        """The kept bytes, and the most of kept bytes and written gradients together."""
        path, checkpointing = case.rsplit(":", 1)
        outcome = ddpsim("import", f"{path}@A100:b4:s128:ckpt={checkpointing}")
        self.assertEqual(outcome.code, 0, outcome.err)
        document = outcome.json()
        written, most = 0, 0
        for event, held in zip(document["backward"]["ready"], document["activations"]["held_bytes"]):
            most = max(most, held + written)
            written += 4 * math.prod(document["parameters"][event["parameter"]]["shape"])
        return document["activations"]["bytes"], most

    def compare(self, case, truth, off):
        kept, most = self.counted(case)
        with self.subTest(pathlib.Path(case).name):
            self.assertLess(abs(kept / truth["kept"] - 1), off)
            self.assertLess(abs(most / truth["most"] - 1), off)

    def test_memory_of_every_kind_is_as_counted(self):
        cases = [f"{write_json(self.folder / f'{name}.json', config)}:none" for name, (config, _) in MEMORY.items()]
        for case, truth, (_, off) in zip(cases, self.measured(*cases), MEMORY.values(), strict=True):
            self.compare(case, truth, off)

    def test_memory_with_checkpointing_is_as_counted(self):
        path = write_json(self.folder / "llama.json", MEMORY["llama"][0])
        cases = [f"{path}:{policy}" for policy in ("none", "full", "selective")]
        truths = self.measured(*cases)
        for case, truth in zip(cases, truths, strict=True):
            self.compare(case, truth, 0.03)
        # Four blocks have seven products each. The last of each does not run again, and every second of the others is
        # saved.
        plain, full, selective = (truth["products"] for truth in truths)
        self.assertEqual(full - plain, 4 * 6)
        self.assertEqual(selective - plain, 4 * 3)


class Configs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_kind_has_a_model(self):
        kinds = {json.loads(path.read_text())["model_type"] for path in CONFIGS}
        message = ddpsim(
            "simulate", f"{write_json(self.folder / 'c.json', {'model_type': 'zebra'})}@A100", "dgxa100"
        ).err
        self.assertEqual(set(re.search(r"Known types: ([^.\n]*)", message)[1].split(", ")), kinds)

    def test_a_path_may_contain_special_characters(self):
        folder = self.folder / "at@home:b8"
        folder.mkdir()
        path = write_json(folder / "config.json", json.loads((HERE / "model_configs" / "llama.json").read_text()))
        self.assertEqual(estimated(path)["name"], f"estimate {path}@A100:b1:s8:fp32")

    def test_a_config_is_not_a_cluster(self):
        path = write_json(self.folder / "config.json", {"model_type": "opt"})
        for workload in (f"{path}@A100", "llama:layers=1,hidden=128@A100", "llama3.1-8b@A100"):
            with self.subTest(workload):
                outcome = ddpsim("compare", workload, "dgxa100", "--workload", workload)
                self.assertEqual(outcome.code, 2)
                self.assertIn("--workload", outcome.err)

    def test_assumptions_are_named(self):
        path = write_json(self.folder / "config.json", {"model_type": "mistral", "hidden_size": 64})
        provenance = estimated(path)["provenance"]
        self.assertIn("num_key_value_heads=8", provenance["assumed"])
        self.assertNotIn("hidden_size", provenance["assumed"])
        # The config has fewer key heads than heads, and the estimate is in fp32.
        self.assertEqual(provenance["attention"], "sdpa, not fused: heads share keys")

    def test_a_config_that_is_not_a_model_is_refused(self):
        base = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
        for change, part in (
            ({"hidden_size": 0}, "/hidden_size"),
            ({"num_hidden_layers": -1}, "/num_hidden_layers"),
            ({"vocab_size": 1e18}, "/vocab_size"),
            ({"intermediate_size": "wide"}, "/intermediate_size"),
            ({"hidden_size": 66}, "/hidden_size"),
            ({"num_key_value_heads": 3}, "/num_attention_heads"),
            ({"tie_word_embeddings": 1}, "/tie_word_embeddings"),
            ({"hidden_size": 64.5}, "/hidden_size"),
            ({"model_type": ["llama"]}, "/model_type"),
            ({"num_attention_heads": True}, "/num_attention_heads"),
        ):
            with self.subTest(change=change):
                path = write_json(self.folder / "config.json", {**base, **change})
                outcome = ddpsim("simulate", f"{path}@A100", "dgxa100")
                self.assertEqual(outcome.code, 3)
                self.assertIn(f"{path}:{part}", outcome.err)
        for text in ('{"model_type":"llama","hidden_size":NaN}', "[]", "{}", '{"model_type":"llama"', ""):
            with self.subTest(text=text):
                path = self.folder / "config.json"
                path.write_text(text)
                outcome = ddpsim("simulate", f"{path}@A100", "dgxa100")
                self.assertEqual(outcome.code, 3)
                self.assertIn(str(path), outcome.err)
        outcome = ddpsim("simulate", f"{self.folder}/none.json@A100", "dgxa100")
        self.assertEqual(outcome.code, 3)
        self.assertIn("none.json", outcome.err)

    def test_a_step_without_end_is_refused(self):
        for model in (
            "llama:layers=1000,hidden=1048576,ffn=4194304@A100:b1000000:s1048576",
            "llama3-405b@T4:b1000000:s1048576:attn=eager",
            "llama:layers=1,hidden=65536,heads=65536,vocab=16777216@A100:b1000000:s1048576:attn=eager",
        ):
            with self.subTest(model):
                outcome = ddpsim("simulate", model, "dgxa100")
                self.assertEqual(outcome.code, 3)
                self.assertIn("takes hours", outcome.err)


@unittest.skipUnless(thorough.THOROUGH, "only with --thorough")
class FieldConfigs(unittest.TestCase):
    def test_the_stored_configs_can_be_made_again(self):
        if transformers() is None:
            self.skipTest("transformers is not in build/frameworks (scripts/setup.sh --frameworks)")
        kept = HERE / "field"
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([PYTHON, kept / "make_configs.py", made], capture_output=True, check=True, env=ENVIRONMENT)
            for path in sorted(pathlib.Path(made).rglob("*.json")):
                name = path.relative_to(made)
                with self.subTest(str(name)):
                    self.assertEqual(path.read_text(encoding="utf-8"), (kept / name).read_text(encoding="utf-8"))


class Dimensions(unittest.TestCase):
    def test_a_config_equals_the_bundled_model(self):
        for name, text in (
            ("llama2-7b", "llama:layers=32,hidden=4096"),
            ("llama3-8b", "llama:hidden=4096,layers=32,kv_heads=8,ffn=14336,vocab=128256,tied=false"),
            ("tinyllama-1.1b", "llama:layers=22,hidden=2048,heads=32,kv_heads=4,ffn=5632"),
        ):
            with self.subTest(name):
                one, other = estimated(name), estimated(text)
                for part in ("parameters", "backward", "forward", "optimizer", "buffers"):
                    self.assertEqual(one[part], other[part])

    def test_a_config_is_simulated_like_any_workload(self):
        spec = "llama:layers=2,hidden=256,vocab=1000@A100:b1:s64:bf16"
        self.assertGreater(answer("simulate", spec, "dgxa100")["iteration_us"], 0)
        self.assertGreater(len(answer("buckets", spec)["buckets"]), 0)


if __name__ == "__main__":
    unittest.main()
