"""ddpsim.autotune inside real trainings of two gloo ranks, with every PyTorch here (autotune_trainings.py)."""

import functools
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from torch_python import newest_torch, run_ranks, under_every_torch, under_newest_torch  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().with_name("autotune_trainings.py")


def trained(python, folder, cases, expected=None):
    """What each rank reported, by case."""
    return [
        {name: facts for line in text.splitlines() for name, facts in json.loads(line).items()}
        for text in run_ranks(python, SCRIPT, folder, 2, *cases, expected=expected)
    ]


# The decorator of the test of each case.
CASES = {}


@functools.lru_cache(maxsize=None)
def all_trained(version, python):
    """What the ranks reported, and the error if they failed."""
    cases = [name for name, under in CASES.items() if under is under_every_torch or version in newest_torch()]
    try:
        with tempfile.TemporaryDirectory() as folder:
            return trained(python, pathlib.Path(folder), cases), None
    except AssertionError as error:
        return [], error


def case(name, under=under_newest_torch):
    """Makes a test of one case, which gets what both ranks reported. All cases run in one job."""
    CASES[name] = under

    def decorate(test):
        @under
        def run(self, version, python, folder):
            told, error = all_trained(version, python)
            if error is not None:
                raise error
            test(self, [rank[name] for rank in told], version)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


class Autotune(unittest.TestCase):
    def both(self, told):
        """Checks that the ranks agree, and returns what the first one reported."""
        for key in ("chosen", "said", "changed", "steps", "cap", "buckets"):
            self.assertEqual(told[0].get(key), told[1].get(key), key)
        if "lines" in told[0]:
            self.assertEqual([len(one["lines"]) for one in told], [1, 0], "only rank 0 logs, and only one line")
        return told[0]

    def set_and_same(self, told):
        facts = self.both(told)
        self.assertTrue(facts["changed"], facts["said"])
        self.assertAlmostEqual(facts["cap"], 0.03, 5)
        self.assertGreater(facts["buckets"], 1)
        self.assertIn("DistributedDataParallel(model, bucket_cap_mb=0.03)", facts["lines"][0])
        self.assertTrue(all(one["same"] for one in told), "weights differ from a training without autotune")
        self.assertEqual([one["called"] for one in told], [0, 0], "a removed hook was called")

    @case("rewrap", under_every_torch)
    def test_a_faster_setting_is_applied(self, told, version):
        self.set_and_same(told)

    @case("views", under_every_torch)
    def test_gradients_as_bucket_views(self, told, version):
        self.set_and_same(told)

    @case("kept_gradients", under_every_torch)
    def test_gradients_that_are_kept_for_later_steps(self, told, version):
        self.set_and_same(told)

    @case("accumulating", under_every_torch)
    def test_accumulation(self, told, version):
        self.set_and_same(told)

    @case("unused", under_every_torch)
    def test_find_unused_parameters(self, told, version):
        self.set_and_same(told)

    @case("static", under_every_torch)
    def test_static_graph(self, told, version):
        self.set_and_same(told)

    @case("not_faster", under_every_torch)
    def test_a_slower_setting_is_undone(self, told, version):
        facts = self.both(told)
        self.assertFalse(facts["changed"])
        self.assertIsNone(facts["cap"])
        self.assertIn("keep PyTorch's default: bucket_cap_mb=0.03 was predicted to save", facts["said"])
        self.assertTrue(all(one["same"] for one in told))

    @case("hook", under_every_torch)
    def test_communication_hooks_are_kept(self, told, version):
        facts = self.both(told)
        if version == "1.13":  # hides the state of a hook
            self.assertIn("at restart", facts["said"])
            self.assertIn("cannot be taken over", facts["said"])
        else:
            self.assertAlmostEqual(facts["cap"], 0.03, 5)
            self.assertEqual(facts["seen"], ["forward"] + ["bucket"] * facts["buckets"])

    @case("held", under_every_torch)
    def test_a_wrapper_held_by_another_object(self, told, version):
        facts = self.both(told)
        self.assertFalse(facts["changed"])
        self.assertIn("at restart: DistributedDataParallel(model, bucket_cap_mb=0.03)", facts["said"])
        self.assertIn("Trainer.model", facts["said"])
        self.assertAlmostEqual(facts["again"]["cap"], 0.03, 5, facts["again"]["said"])
        self.assertTrue(facts["renewed"])

    @case("old_wrapper", under_every_torch)
    def test_a_replaced_wrapper_still_trains(self, told, version):
        self.assertTrue(all(one["same"] and one["keys"] for one in told))

    @case("passed_on", under_every_torch)
    def test_a_replaced_wrapper_passes_no_sync_on(self, told, version):
        for facts in told:
            self.assertTrue(facts["silent"] and facts["again"])
            self.assertEqual(
                facts["modes"], [True, True, True, False], "the training modes of wrapper, module and frozen batch norm"
            )

    @case("buffers", under_every_torch)
    def test_buffers_of_each_rank_are_kept(self, told, version):
        self.assertEqual([facts["mean"] for facts in told], [0, 1])

    @case("pauses")
    def test_time_between_steps_is_not_counted(self, told, version):
        self.assertTrue(self.both(told)["changed"])
        self.assertGreater(told[0]["evaluations"], 1)
        self.assertLessEqual(told[0]["spent"], 0)

    @case("joined")
    def test_uneven_inputs(self, told, version):
        self.assertIn("gave up: under join()", self.both(told)["said"])

    @case("closed")
    def test_training_ends_before_a_cap_is_found(self, told, version):
        for name in ("recording", "trying"):
            facts = self.both([one[name] for one in told])
            self.assertIn("before a cap was found", facts["lines"][0])
            self.assertEqual(facts["changed"], name == "trying")
            self.assertEqual(
                "the wrapper still has bucket_cap_mb=0.03, which was on trial" in facts["said"], name == "trying"
            )
            self.assertEqual(facts["patched"], [True, False], "hooks of the recorder remain")
        self.assertIsNone(told[0]["recording"]["cap"])
        self.assertAlmostEqual(told[0]["trying"]["cap"], 0.03, 5)

    @case("no_wrapper")
    def test_a_wrapper_that_cannot_be_built(self, told, version):
        self.assertEqual([facts["error"] for facts in told], 2 * ["connection closed by peer"])

    @case("one_rank_fails")
    def test_a_recorder_that_fails_on_one_rank(self, told, version):
        facts = self.both(told)
        self.assertFalse(facts["changed"])
        self.assertIn("division by zero", facts["said"])
        self.assertTrue(all(one["same"] for one in told))

    @case("no_answer")
    def test_a_program_that_is_missing(self, told, version):
        self.assertIn("keep PyTorch's default: RuntimeError: no program here", self.both(told)["said"])

    @case("nobody_listens")
    def test_standard_error_that_cannot_be_written(self, told, version):
        self.assertEqual([one["ends"] for one in told], 2 * [3 * [True]])

    @case("odd_document")
    def test_a_rank_with_an_incomplete_recording(self, told, version):
        self.assertEqual(told[0]["said"], told[1]["said"])
        for said in told[0]["said"]:
            self.assertIn("keep PyTorch's default: ", said)

    @case("no_memory")
    def test_a_rank_without_memory(self, told, version):
        facts = self.both(told)
        self.assertEqual(told[0]["seen"], [[]])
        self.assertTrue(facts["changed"])
        self.assertTrue(all(one["same"] for one in told))

    @case("hostile_environment")
    def test_broken_programs_and_folders(self, told, version):
        self.assertEqual(told[0]["said"], told[1]["said"])
        self.assertEqual(len(told[0]["said"]), 14)
        for said in told[0]["said"]:
            self.assertRegex(said, "^keep PyTorch's default: ")

    @case("short")
    def test_a_short_horizon(self, told, version):
        facts = self.both(told)
        self.assertIn("more than 1 % of 1 steps", facts["said"])
        self.assertFalse(facts["changed"])

    @case("restart")
    def test_restart_only_suggests_a_setting(self, told, version):
        self.assertIn(
            "at restart: DistributedDataParallel(model, bucket_cap_mb=0.03): predicted to save", self.both(told)["said"]
        )

    @case("keep")
    def test_no_gain_is_predicted(self, told, version):
        self.assertIn("no bucket cap is predicted to gain 1 %", self.both(told)["said"])

    @case("real", under_every_torch)
    def test_the_real_simulator_proposes(self, told, version):
        facts = self.both(told)
        self.assertEqual(told[0]["sizes"][0], 4096)
        self.assertGreater(told[0]["predicted_us"], 0)
        self.assertRegex(facts["said"], "^(keep PyTorch's default: (no bucket cap|bucket_cap_mb)|set bucket_cap_mb)")

    @under_newest_torch
    def test_a_killed_rank(self, version, python, folder):
        # While recording, while asking the simulator, and while trying settings.
        for when in (9, 22, 34):
            with self.subTest(when), tempfile.TemporaryDirectory() as place:
                place = pathlib.Path(place)
                (place / "when").write_text(str(when))
                told = trained(python, place, ["killed"], expected=(0, -9))[0]["killed"]
                self.assertNotEqual(told["error"], "", "the other rank saw no error")
                self.assertIn(told["where"], (when, when + 1))


if __name__ == "__main__":
    unittest.main()
