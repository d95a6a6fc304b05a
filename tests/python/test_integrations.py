"""ddpsim.autotune inside PyTorch Lightning, transformers and Accelerate, on two gloo ranks.

forced.py makes the tuner change wrappers. Weights must equal those of a training without autotune, bit for bit."""

import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import patience  # noqa: E402
from held_port import held_port  # noqa: E402
from torch_python import ENVIRONMENT, ROOT  # noqa: E402

PYTHON = ROOT / "build" / "frameworks" / "bin" / "python"
RANKS = 2


def environment(rank, port):
    return {
        **ENVIRONMENT,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "NODE_RANK": "0",
        "WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
    }


@functools.lru_cache(maxsize=None)
def has(package):
    return (
        PYTHON.exists()
        and subprocess.run(
            [str(PYTHON), "-W", "ignore", "-c", f"import torch, {package}"], capture_output=True
        ).returncode
        == 0
    )


@functools.lru_cache(maxsize=None)
def trained(script):
    """What each rank of this script reported for each case, and the error if a rank failed."""
    cases = re.findall(r"^def case_(\w+)", (HERE / script).read_text(), re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held:
        port = held_port(held.callback)
        running = []
        for rank in range(RANKS):
            files = [open(pathlib.Path(folder) / f"{name}-{rank}", "w+") for name in ("told", "said")]
            process = subprocess.Popen(
                [str(PYTHON), "-W", "ignore", str(HERE / script), *cases],
                env=environment(rank, port),
                stdout=files[0],
                stderr=files[1],
                cwd=folder,
            )
            running.append((process, files))
        codes = [process.wait(timeout=patience.seconds(600)) for process, _ in running]
        texts = []
        for _, files in running:
            for file in files:
                file.seek(0)
            texts.append([file.read() for file in files])
            for file in files:
                file.close()
    told = [
        {name: facts for line in text.splitlines() if line.startswith('{"') for name, facts in json.loads(line).items()}
        for text, _ in texts
    ]
    wrong = f"exit codes {codes}: {texts[0][1][-3000:]} {texts[1][1][-3000:]}" if any(codes) else ""
    return told, wrong


def example(name):
    """The lines of autotune from an example, with the real simulator and real measurements."""
    with contextlib.ExitStack() as held:
        port = held_port(held.callback)
        done = subprocess.run(
            [
                str(PYTHON),
                "-W",
                "ignore",
                "-m",
                "torch.distributed.run",
                "--nproc-per-node",
                str(RANKS),
                "--master-port",
                str(port),
                str(ROOT / "examples" / name),
            ],
            env=environment(0, port),
            capture_output=True,
            text=True,
            timeout=patience.seconds(300),
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stderr.splitlines() if line.startswith("ddpsim autotune: ")]


class Asked(unittest.TestCase):
    def setUp(self):
        if not has("torch"):
            self.skipTest("torch is not in build/frameworks (scripts/setup.sh --frameworks)")

    def test_torchrun(self):
        self.assertRegex("\n".join(example("torchrun_autotune.py")), SAID)


# One line from one rank: the outcome, or that there was not enough time for one. A failure does not match.
SAID = (
    r"^ddpsim autotune: (set bucket_cap_mb|keep PyTorch's default: (no bucket cap|bucket_cap_mb)|at restart: |"
    r"training ended).*$"
)


class Framework:
    package = script = example = line = ""

    def setUp(self):
        if not has(self.package):
            self.skipTest(f"{self.package} is not in build/frameworks (scripts/setup.sh --frameworks)")

    def test_example(self):
        self.assertRegex("\n".join(example(self.example)), SAID)

    def told(self, case):
        """What rank 0 reported, after a check that rank 1 reported the same."""
        told, wrong = trained(self.script)
        self.assertEqual(wrong, "")
        self.assertEqual(told[0][case], told[1][case], "ranks differ")
        self.assertTrue(told[0][case]["same"], "weights differ from a training without autotune")
        return told[0][case]

    def assert_set(self, case):
        facts = self.told(case)
        self.assertTrue(facts["changed"], facts["said"])
        self.assertEqual(facts["cap"], 0.02)
        self.assertGreaterEqual(facts["built"], 4)  # two candidates, the default, the best
        self.assertIn(f"From the next start on: {self.line}", facts["said"])
        self.assertTrue(facts.get("held", True), "the framework still holds the replaced wrapper")
        return facts

    def assert_kept(self, case):
        facts = self.told(case)
        self.assertFalse(facts["changed"])
        self.assertIsNone(facts["cap"])
        self.assertGreaterEqual(facts["built"], 3)
        self.assertIn("keep PyTorch's default", facts["said"])

    def assert_early(self, case):
        facts = self.told(case)
        self.assertGreaterEqual(facts["built"], 1)
        return facts

    def test_a_faster_setting_is_applied(self):
        self.assert_set("set")

    def test_a_slower_setting_is_undone(self):
        self.assert_kept("kept")

    def test_accumulated_gradients(self):
        self.assert_set("accumulated")


class Lightning(Framework, unittest.TestCase):
    example = "lightning_autotune.py"
    package, script, line = "pytorch_lightning", "lightning_trainings.py", "DDPStrategy(bucket_cap_mb=0.02)"

    def test_manual_optimization(self):
        self.assert_set("manual")

    def test_manual_optimization_of_a_static_graph(self):
        self.assert_set("static_manual")

    def test_views_unused_parameters_and_half_precision(self):
        self.assert_set("views")

    def test_checkpoints(self):
        self.assertTrue(self.assert_set("checkpoints")["saved_same"])

    def test_training_that_ends_early(self):
        self.assertIn("training ended after 25 steps, before a cap was found", self.assert_early("early")["said"])

    def test_an_error_in_the_training_loop(self):
        facts = self.told("fails")
        self.assertEqual(facts["error"], "of the user's own")
        self.assertIn("training ended after 30 steps", facts["said"])


class Transformers(Framework, unittest.TestCase):
    example = "transformers_autotune.py"
    package, script, line = "transformers", "transformers_trainings.py", "TrainingArguments(ddp_bucket_cap_mb=0.02)"

    def test_half_precision(self):
        self.assert_set("half")

    def test_static_graph(self):
        self.assert_set("static")

    def test_trained_twice(self):
        self.assertTrue(self.assert_early("twice")["held"])

    def test_checkpoints(self):
        self.assertTrue(self.assert_set("checkpoints")["saved_same"])

    def test_training_that_ends_early(self):
        self.assertIn("training ended after 25 steps", self.assert_early("early")["said"])


class Accelerate(Framework, unittest.TestCase):
    example = "accelerate_autotune.py"
    package, script, line = "accelerate", "accelerate_trainings.py", "DistributedDataParallelKwargs(bucket_cap_mb=0.02)"

    def test_a_faster_setting_is_applied(self):
        self.assertTrue(self.assert_set("set")["again"], "prepare_model() wrapped the new wrapper again")

    def test_half_precision_of_a_static_graph(self):
        self.assert_set("half")

    def test_saved_and_loaded_state(self):
        self.assert_set("states")

    def test_training_that_ends_early(self):
        self.assertIsNone(self.assert_early("early")["said"])

    def test_a_model_without_a_wrapper(self):
        self.assertTrue(self.told("unwrapped")["stepped"])

    def test_the_suggested_argument_gives_the_same_buckets(self):
        for cap in (0.02, 0.004, 25, 8):
            facts = self.told(f"spelled {cap}")
            self.assertEqual(facts["bytes"], int(cap * 2**20))
            self.assertTrue(facts["explicit"], "the cap is taken for PyTorch's default")


if __name__ == "__main__":
    unittest.main()
