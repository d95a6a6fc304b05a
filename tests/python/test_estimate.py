"""ddpsim.estimate and `python -m ddpsim estimate`: any module, traced without weights, as an estimate."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from torch_python import ENVIRONMENT, newest_torch, told_by  # noqa: E402

MODULES = pathlib.Path(__file__).with_name("estimated_modules.py")


def python():
    found = [where for version, where in newest_torch().items() if tuple(map(int, version.split("."))) >= (2, 4)]
    if not found:
        raise unittest.SkipTest("no python3 here has PyTorch 2.4 or later (scripts/setup.sh --torch)")
    return found[-1]


def facts(name, **options):
    [told] = told_by(python(), MODULES, name, json.dumps(options))
    return told


def layers(told, kind):
    return [layer for layer in told["document"]["layers"] if layer["kind"] == kind]


def total(told, key):
    return sum(layer.get(key, 0) for layer in told["document"]["layers"])


class Traces(unittest.TestCase):
    def test_convolutions_and_batch_norm_have_the_sizes_of_one_sample(self):
        told = facts("convolutions")
        first, second = layers(told, "convolution")
        self.assertEqual(
            first["product"],
            {
                "in": 3,
                "out": 8,
                "kernel_height": 3,
                "kernel_width": 3,
                "positions_in": 1024,
                "out_height": 32,
                "out_width": 32,
            },
        )
        self.assertIs(first["data_gradient"], False)
        self.assertEqual((second["product"]["stride"], second["product"]["out_height"]), (2, 16))
        self.assertEqual(second["backward_kernels"], 3)
        [norm] = layers(told, "normalization")
        self.assertEqual((norm["forward_elements"], norm["backward_elements"]), (3 * 8192, 5 * 8192))
        self.assertEqual(told["document"]["sample_size"], 32)
        self.assertEqual(told["document"]["batch"], 4)
        self.assertTrue(next(p for p in told["document"]["parameters"] if p["name"] == "norm.weight")["batch_norm"])
        self.assertEqual(sorted(b["dtype"] for b in told["document"]["buffers"]), ["float32", "int64"])

    def test_gradients_are_ready_in_the_order_of_real_backward(self):
        for name in ("convolutions", "words", "eager", "checkpointed", "branches"):
            with self.subTest(name):
                told = facts(name)
                self.assertEqual(told["ready"], told["order"])

    def test_a_module_on_the_meta_device_gives_the_same_trace(self):
        for name in ("convolutions", "words", "branches"):
            with self.subTest(name):
                self.assertTrue(facts(name)["meta"])

    def test_attention_is_one_kernel_or_written_out(self):
        fused, eager = facts("words"), facts("eager")
        self.assertEqual(
            layers(fused, "attention")[0]["attention"],
            {"heads": 4, "features": 16, "queries": 128, "keys": 128, "causal": True},
        )
        self.assertEqual(len(layers(fused, "attention")), 3)
        scores, weighted = [layer["product"] for layer in layers(eager, "attention")[:2]]
        self.assertEqual(scores, {"groups": 4, "in": 16, "out": 128, "positions_in": 128, "out_height": 128})
        self.assertEqual(weighted, {"groups": 4, "in": 128, "out": 16, "positions_in": 128, "out_height": 128})
        self.assertGreater(total(eager, "kept_elements"), total(fused, "kept_elements"))

    def test_what_backward_reads_is_kept(self):
        for name in ("convolutions", "words", "eager", "branches"):
            with self.subTest(name):
                self.assertGreater(total(facts(name), "kept_elements"), 0)
        # BatchNorm reads what the convolution gave.
        first = layers(facts("convolutions"), "convolution")[0]
        self.assertEqual(first["kept_elements"], first["outputs"])

    def test_a_tied_weight_is_one_parameter_that_is_ready_at_its_first_use(self):
        told = facts("words")
        names = [parameter["name"] for parameter in told["document"]["parameters"]]
        self.assertNotIn("head.weight", names)
        users = [layer["name"] for layer in told["document"]["layers"] if 0 in layer.get("parameters", [])]
        self.assertEqual(users, ["words:embedding", "head:mm"])
        self.assertEqual(told["ready"][-1], 0)

    def test_blocks_are_the_repeated_modules_or_what_is_checkpointed(self):
        plain, checkpointed = facts("words"), facts("checkpointed")
        self.assertEqual(len(plain["document"]["blocks"]), 3)
        self.assertNotIn("checkpointed", plain["document"])
        self.assertEqual(plain["document"]["blocks"], checkpointed["document"]["blocks"])
        self.assertTrue(checkpointed["document"]["checkpointed"])
        self.assertGreater(checkpointed["iteration_us"], plain["iteration_us"])

    def test_unused_and_frozen_parameters_have_no_gradient(self):
        told = facts("branches")
        names = [parameter["name"] for parameter in told["document"]["parameters"]]
        ready = {names[index] for index in told["ready"]}
        self.assertEqual(ready, {"last.weight", "last.bias", "first.weight", "first.bias", "scale", "shift"})
        frozen = [layer for layer in layers(told, "linear") if layer["name"].startswith("frozen")]
        self.assertEqual(len(frozen), 3)  # plain Python repeats it
        for layer in frozen:
            self.assertIs(layer["trains"], False)
            self.assertEqual(layer.get("backward_kernels", 1), 1)  # of its input alone

    def test_launches_are_those_of_a_real_step_under_autocast(self):
        for name in ("convolutions", "words", "eager"):
            for precision in ("fp32", "bf16"):
                with self.subTest(name=name, precision=precision):
                    told = facts(name, operators_in=precision)
                    # The estimate does not count the ones that backward begins with.
                    self.assertLessEqual(abs(told["counted"] - told["real"]), 1, told)

    def test_channels_last_is_seen_in_the_memory_of_convolutions(self):
        for wanted in (False, True):
            told = facts("convolutions", channels_last=wanted)
            self.assertEqual([layer.get("channels_last", False) for layer in layers(told, "convolution")], [wanted] * 2)

    def test_channels_last_stays_so_in_larger_batches(self):
        told = facts("many_convolutions", channels_last=True)
        self.assertTrue(all(layer["channels_last"] for layer in layers(told, "convolution")))
        self.assertTrue(all(layer["channels_last"] for layer in layers(told, "normalization")))

    def test_autocast_converts_what_a_product_reads_in_fp32(self):
        told = facts("words")
        sizes = {layer["name"]: layer for layer in told["document"]["layers"]}
        # The norm and the residual are fp32, what a product gives is half.
        self.assertEqual(sizes["blocks.0.qkv:addmm"]["autocast_casts"], 128 * 64)
        self.assertNotIn("autocast_casts", sizes["blocks.0.out:addmm"])
        self.assertNotIn("autocast_casts", sizes["blocks.1.norm:native_layer_norm"])
        self.assertAlmostEqual(sizes["blocks.0:add"]["autocast_width"], 10 / 3, delta=1e-3)
        self.assertNotIn("autocast_width", sizes["blocks.0:native_dropout"])

    def test_heads_that_share_keys_are_told(self):
        [attention] = layers(facts("shared_keys"), "attention")
        self.assertEqual((attention["attention"]["heads"], attention["attention"]["key_heads"]), (4, 2))

    def test_experts_are_grouped_products_and_named(self):
        told = facts("experts")
        rows = [layer["product"]["positions_in"] for layer in layers(told, "linear")]
        self.assertEqual(rows, [1, 2, 2])
        active = 4 * 32 + (4 * 32 * 48 * 2) // 2
        self.assertIn(f"{active} of {4 * 32 + 4 * 32 * 48 * 2} parameters are active", told["provenance"]["model_note"])
        self.assertIn("all-to-all", told["provenance"]["model_note"])

    def test_an_optimizer_is_a_word_or_one_of_pytorch(self):
        self.assertEqual(facts("words", optimizer="adamw")["document"]["optimizer"], "adamw")

    def test_an_lstm_multiplies_in_every_step_and_a_norm_is_one_kernel(self):
        told = facts("recurrent")
        products = [layer["product"] for layer in layers(told, "linear")]
        rows = sum(product["positions_in"] * product["in"] * product["out"] for product in products)
        self.assertEqual(rows, 10 * 4 * 64 * (32 + 64))
        self.assertEqual(len(layers(told, "normalization")), 1)

    def test_a_module_in_bfloat16_is_estimated_without_autocast(self):
        self.assertEqual(facts("narrow")["name"], "estimate Linear@A100:b4:bf16-true")
        self.assertEqual(facts("recurrent")["name"], "estimate Recurrent@A100:b4:bf16")

    def test_a_module_in_eval_mode_is_traced_with_a_note(self):
        self.assertIn("call train() on it", facts("evaluated")["provenance"]["model_note"])

    def test_a_note_says_that_outputs_without_a_loss_are_summed(self):
        self.assertIn("pass loss=FUNCTION", facts("recurrent")["provenance"]["model_note"])
        self.assertNotIn("model_note", facts("words")["provenance"])


class Mistakes(unittest.TestCase):
    def test_a_sparse_gradient_and_a_module_without_any_say_what_to_do(self):
        self.assertIn("Build the embedding with sparse=False", facts("sparse")["error"])
        self.assertIn("no output of the module has a gradient", facts("frozen")["error"])

    def test_a_module_that_asks_for_values_is_told_where_and_what_to_do(self):
        said = facts("asks")["error"]
        self.assertIn("asks for the values of a tensor", said)
        self.assertIn("Replace the question by one about shapes", said)

    def test_an_unknown_optimizer_names_those_that_are_known(self):
        self.assertIn("Pass one of sgd, momentum, adam, adamw", facts("words", optimizer="lion")["error"])


class CommandLine(unittest.TestCase):
    SCRIPT = (
        "import torch\n"
        "def build():\n    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)), torch.empty(16, 8)\n"
        "def wrong():\n    return 3\n"
    )

    def run_command(self, folder, *words):
        pathlib.Path(folder, "train.py").write_text(self.SCRIPT)
        return subprocess.run(
            [python(), "-W", "ignore", "-m", "ddpsim", *words],
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_a_function_of_a_file_becomes_a_workload_file(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.run_command(
                folder, "estimate", "train.py:build", "--gpu", "A100", "-o", "w.json", "--model", "m.json"
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("w.json: estimate Sequential@A100", run.stderr)
            workload = json.loads(pathlib.Path(folder, "w.json").read_text())
            self.assertEqual(workload["batch_per_gpu"], 16)
            again = self.run_command(folder, "import", "m.json@H100:b64:bf16", "-o", "again.json")
            self.assertEqual(again.returncode, 0, again.stderr)

    def test_a_function_that_is_not_there_or_gives_something_else(self):
        with tempfile.TemporaryDirectory() as folder:
            for words, says in (
                (("train.py:bild",), "there is no function bild. It has build, wrong"),
                (("train.py:wrong",), "wrong returns int, not (module, inputs)"),
                (("gone.py:build",), "there is no such file"),
                (("train.py",), "names no function"),
            ):
                run = self.run_command(folder, "estimate", *words)
                self.assertIn(run.returncode, (2, 3))
                self.assertIn(says, run.stderr)


if __name__ == "__main__":
    unittest.main()
