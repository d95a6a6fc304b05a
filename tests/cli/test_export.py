"""Imports the files of `advise --export` and runs them, and scripts/ab.py, under every PyTorch found here."""

import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from command import ROOT, answer, ddpsim
from torch_python import python_with_torch, pythons_with_torch, run_ranks, under_every_torch, under_newest_torch

sys.path.insert(0, str(ROOT / "scripts"))

import ab  # noqa: E402  (torch is imported where it is needed)

TRAININGS = pathlib.Path(__file__).with_name("ab_trainings.py")
INPUTS = ROOT / "tests" / "golden" / "inputs"
LAYERS = INPUTS / "three-layers.json"
# The options of each module, whose plan must give DDP the current setting.
PLANS = {
    "plain": [],
    "hook": ["--comm-hook", "fp16", "--static-graph"],
    "powersgd": ["--comm-hook", "powersgd", "--matrix-approximation-rank", "2"],
    "local": ["--comm-hook", "post_localSGD", "--local-sgd-period", "8"],
    "large": ["--comm-hook", "fp16", "--comm-hook-min-mb", "0.1", "--bucket-cap-mb", "0.05"],
    "accumulate": ["--accumulate", "2", "--find-unused-parameters"],
    "cap": ["--bucket-cap-mb", "8"],
    "first": ["--first-bucket-mb", "8"],
    "backward": ["--apply-optimizer-in-backward"],
}
MIB = 1 << 20


def exported(folder, name, *options, job=(LAYERS, "dgx1v@2")):
    file = folder / f"{name}.py"
    outcome = ddpsim("advise", *job, *options, "--quiet", "--export", file)
    assert outcome.code == 0, outcome.err
    return file


def run(python, folder, *arguments, ranks=1, **environment):
    """Runs the script and returns the standard output of rank 0."""
    return run_ranks(python, TRAININGS, folder, ranks, ranks, *arguments, **environment)[0]


def documents(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


# The advice for this job is NCCL_MAX_NCHANNELS=4.
FEWER_CHANNELS = ("gpt2-xl@A100:b2:s1024:bf16", "dgxa100@1")


class Plans(unittest.TestCase):
    @under_every_torch
    def test_a_plan_wraps_with_the_current_and_the_proposed_setting(self, version, python, folder):
        files, settings = [], {}
        for name, options in PLANS.items():
            if version.startswith("1.") and name == "backward":
                continue  # needs PyTorch 2.0
            if name == "powersgd" and version not in pythons_with_torch("numpy"):
                continue  # PowerSGDState needs its random numbers
            if name == "large" and version.startswith("1."):
                options = [*options, "--first-bucket-mb", "0.05"]  # the cap does not hold for it
            # Later versions ignore the size of the first bucket if a cap is given.
            rules = "1.13" if name == "first" else version
            files.append(exported(folder, name, *options, "--torch", rules).name)
            rows = answer("advise", LAYERS, "dgx1v@2", *options, "--torch", rules)["rows"]
            settings[name] = next((row["levers"] for row in rows if row["worth"] and not row["changes_numerics"]), [])
        seen = {one["plan"]: one for one in documents(run(python, folder, "plans", *files))}
        self.assertEqual(seen.keys(), settings.keys())
        for name, one in seen.items():
            with self.subTest(name):
                self.check_settings(one, settings[name])
                self.assertEqual(one["today"]["first"], MIB)  # unchanged
                self.assertEqual(one["today"]["synchronizes"], True)  # in the last micro-batch
        self.assertTrue(any(settings.values()))
        asked = exported(folder, "asked", "--torch", version, "--lever", "fp16_compress_hook")
        [one] = documents(run(python, folder, "plans", asked.name))
        self.assertNotIn("fp16", str(one["today"]["hook"]))
        self.assertIn("fp16_compress_hook", str(one["proposed"]["hook"]))
        self.assertIn("fp16_compress_hook", str(seen["hook"]["today"]["hook"]))
        self.assertIn("fp16_compress_hook", str(seen["hook"]["proposed"]["hook"]))
        if "powersgd" in seen:
            self.assertIn("powerSGD_hook", str(seen["powersgd"]["today"]["hook"]))
        self.assertIn("post_localSGD_hook", str(seen["local"]["today"]["hook"]))
        self.assertIn("post_localSGD_hook", str(seen["local"]["proposed"]["hook"]))
        # Weights have 256 x 256 elements, or 256 x 64 with all that comes before them, or 8 x 256.
        self.assertEqual({dtype for dtype, _ in seen["hook"]["today"]["sent"]}, {"float16"})
        large = seen["large"]["today"]["sent"]
        self.assertEqual({dtype for dtype, elements in large if 4 * elements >= 0.1 * MIB}, {"float16"})
        self.assertEqual({dtype for dtype, elements in large if 4 * elements < 0.1 * MIB}, {"float32"})
        self.assertTrue(seen["hook"]["today"]["static"])
        self.assertTrue(seen["accumulate"]["today"]["unused"])
        self.assertEqual(seen["first"]["today"]["first_within"], 8 * MIB)
        self.assertEqual(seen["cap"]["today"]["cap"], 8 * MIB)
        self.assertEqual(seen["plain"]["today"]["cap"], 25 * MIB)

    def check_settings(self, one, settings):
        today, proposed = one["today"], one["proposed"]
        self.assertEqual(
            proposed["broadcast"],
            today["broadcast"] and not {"broadcast_buffers=False", "forward_sync_buffers=False"}.intersection(settings),
        )
        self.assertEqual(proposed["view"], today["view"] or "gradient_as_bucket_view=True" in settings)
        self.assertEqual(proposed["static"], today["static"] or "static_graph=True" in settings)
        for setting in settings:
            if setting.startswith("bucket_cap_mb="):
                self.assertEqual(proposed["cap"], int(float(setting.split("=")[1].split(" ")[0]) * MIB))

    def test_the_environment_is_set_by_importing(self):
        python = python_with_torch()
        if python is None:
            self.skipTest("no python3 here has PyTorch (scripts/setup.sh --torch)")
        with tempfile.TemporaryDirectory() as folder:
            file = exported(pathlib.Path(folder), "nccl", job=FEWER_CHANNELS)
            for setting, expected in (("proposed", {"NCCL_MAX_NCHANNELS": "4"}), ("today", {})):
                told = run(python, pathlib.Path(folder), "environment", file.name, DDPSIM_SETTING=setting)
                self.assertEqual(documents(told), [{file.stem: expected}])
            limited = (*FEWER_CHANNELS, "--max-channels", "1")
            file = exported(pathlib.Path(folder), "unset", "--lever", "NCCL_MAX_NCHANNELS unset", job=limited)
            for setting, expected in (
                ("proposed", {"NCCL_MAX_NCHANNELS": None}),
                ("today", {"NCCL_MAX_NCHANNELS": "1"}),
            ):
                told = run(
                    python,
                    pathlib.Path(folder),
                    "environment",
                    file.name,
                    DDPSIM_SETTING=setting,
                    NCCL_MAX_NCHANNELS="1",
                )
                self.assertEqual(documents(told), [{file.stem: expected}])


class Names(unittest.TestCase):
    def test_a_file_whose_name_is_not_text_still_makes_a_module(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (b"caf\xe9.json", b"\xff\xfe\x80.json", b'a\nimport os\n\x1b\xc2\x9b""".json'):
                named = pathlib.Path(folder, os.fsdecode(name))
                shutil.copy(LAYERS, named)
                file = exported(pathlib.Path(folder), "plan", job=(named, "dgx1v@2"))
                compile(file.read_bytes(), "plan.py", "exec")
                self.assertNotIn("\nimport os\n\x1b", file.read_text(encoding="utf-8"))


class SideBySide(unittest.TestCase):
    @under_newest_torch
    def test_two_ranks(self, version, python, folder):
        file = exported(folder, "plan", "--torch", version)
        told = run(python, folder, "compare", file.name, ranks=2)
        self.assertIn("measured   saves", told)
        self.assertIn("predicted  saves", told)
        seen = {one["case"]: one for one in documents(told)}
        self.assertGreater(seen["faster"]["low"], 0)  # the current setting is slower
        self.assertLess(seen["slower"]["high"], 0)
        self.assertLessEqual(seen["alike"]["low"], 0)
        self.assertGreaterEqual(seen["alike"]["high"], 0)
        self.assertTrue(seen["hooks"]["all_reduced"])  # old wrappers do not reduce
        self.assertIn("Change step() so that it keeps no reference to it", seen["kept"]["error"])
        self.assertIn("NCCL reads its environment only once", seen["environment"]["error"])


class Interval(unittest.TestCase):
    def test_intervals_miss_as_often_as_stated_for_any_noise(self):
        noise = random.Random(1)
        noises = {"normal": lambda: noise.gauss(0, 1), "outliers": lambda: noise.random() ** 8 * 20}
        for name, draw in noises.items():
            for rounds, expected in ((6, 31 / 32), (8, 0.961), (12, 0.954)):
                with self.subTest(name, rounds=rounds):
                    held = 0
                    for _ in range(2000):
                        found = ab.difference([10 + draw() for _ in range(rounds)], [9 + draw() for _ in range(rounds)])
                        held += found.low <= 1 <= found.high
                    self.assertAlmostEqual(held / 2000, expected, delta=0.015)

    def test_a_difference_matches_a_calculation_by_hand(self):
        found = ab.difference([5, 6, 7, 8, 9, 10], [4, 4, 4, 4, 4, 4])
        self.assertEqual((found.gain, found.low, found.high), (3.5, 1, 6))

    def test_too_few_rounds_are_refused(self):
        with self.assertRaisesRegex(ValueError, "too few"):
            ab.difference([1] * 5, [1] * 5)


class Runs(unittest.TestCase):
    """Files of ab.measure, for settings that need a process each."""

    def told(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "ab.jsonl")
            file.write_text(text, encoding="utf-8", errors="surrogateescape")
            return subprocess.run(
                [sys.executable, str(ROOT / "scripts" / "ab.py"), str(file)], capture_output=True, text=True
            )

    def test_two_settings_are_compared(self):
        predicted = {"iteration_us": 14000, "gain_us": 1000, "low_us": 500, "high_us": 1500, "confidence": "C"}
        lines = [
            {"setting": setting, "step_s": step + index * 1e-5, "predicted": predicted}
            for index in range(6)
            for setting, step in (("today", 0.014), ("proposed", 0.0128))
        ]
        told = self.told("".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(
            told.stdout.splitlines(),
            [
                "measured   saves 1.2 of 14 ms a step (95 % interval 1.2 to 1.2 ms; 6 runs of each)",
                "predicted  saves 1 of 14 ms a step (80 % interval 0.5 to 1.5 ms; confidence C)",
                "           the intervals overlap",
            ],
        )

    def test_a_file_of_another_kind_is_named(self):
        good = {"setting": "today", "step_s": 0.014, "predicted": None}
        predicted = {"iteration_us": 14000, "gain_us": 1000, "low_us": 500, "high_us": 1500, "confidence": "C"}
        bad = [
            {**good, "step_s": step}
            for step in (math.nan, math.inf, -math.inf, -1, 0, True, "0.014", None, [1], 10**400)
        ]
        bad += [
            {**good, "predicted": other}
            for other in (
                5,
                "",
                [],
                {},
                {**predicted, "gain_us": math.nan},
                {**predicted, "low_us": "1"},
                {**predicted, "confidence": 3},
                {**predicted, "confidence": "\x1b[31m"},
            )
        ]
        bad += [{**good, "setting": setting} for setting in ("other", None, ["today"], {})]
        lines = [
            *map(json.dumps, bad),
            "{}",
            "[]",
            "5",
            "x",
            '{"setting": "today", "step_s": 1e999, "predicted": null}',
            "[" * 100000,
            "\udcff",
        ]
        for line in lines:
            with self.subTest(line[:80]):
                told = self.told(f"{json.dumps(good)}\n{line}\n")
                self.assertEqual((told.returncode, told.stdout), (1, ""))
                self.assertIn("ab.jsonl: line 2 is not a line of ab.measure", told.stderr)
                self.assertNotIn("Traceback", told.stderr)
                self.assertNotIn("\x1b", told.stderr)
        self.assertIn("0 runs of the current setting", self.told("").stderr)


class Tuner(unittest.TestCase):
    def test_every_size_has_a_line_that_the_tuner_plugin_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "plan.csv")
            self.assertEqual(ddpsim("advise", *FEWER_CHANNELS, "--export", file).code, 0)
            rows = [line.split(",") for line in file.read_text().splitlines() if not line.startswith("#")]
        for kind in ("allreduce", "broadcast"):
            ends = [(int(row[1]), int(row[2])) for row in rows if row[0] == kind]
            self.assertEqual((ends[0][0], ends[-1][1]), (0, 2**32 - 1))
            self.assertTrue(all(after[0] == before[1] + 1 for before, after in zip(ends, ends[1:])))
        for row in rows:
            self.assertEqual(len(row), 10)
            self.assertIn(row[3], ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree"))
            self.assertIn(row[4], ("ll", "ll128", "simple"))
            self.assertLessEqual(1, int(row[5]))
            self.assertLessEqual(int(row[5]), 8)
            self.assertEqual(row[6:], ["1", "8", "-1", "-1"])


if __name__ == "__main__":
    unittest.main()
