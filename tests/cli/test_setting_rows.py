"""Tests how rows of one changed setting are read. The rows are made up."""

import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))

import given_steps  # noqa: E402
import scheme_rows  # noqa: E402
import setting_rows  # noqa: E402
from row_words import NotPredicted  # noqa: E402
from vocabulary import WORDS  # noqa: E402

SEED, RANDOM_ROWS = 21, 1000


def row(**changes):
    made = {
        "source": "somebody",
        "family": "somebody",
        "model": "ResNet-50",
        "framework": "PyTorch 1.9 DDP",
        "gpu": "V100",
        "gpus_per_node": "8",
        "nodes": "2",
        "network": "NVLink; 100 Gb/s EDR",
        "precision": "fp32",
        "batch": "32",
        "lever": "gradient_as_bucket_view off->on",
        "before": "0.2",
        "after": "0.19",
        "comm_before": "",
        "speedup": "1.05",
        "higher_is_better": "",
        "notes": "",
    }
    return {**made, **changes}


def changed(change, **changes):
    return row(**changes) | {"lever": change}


def jobs(change="gradient_as_bucket_view off->on", **changes):
    return [scheme_rows.job_of(side) for side in setting_rows.sides_of(changed(change, **changes))]


class Changes(unittest.TestCase):
    def test_a_change_has_two_sides(self):
        for text, sides in (
            ("no_sync off->on (accumulate 4)", ("no_sync off", "no_sync on", "accumulate 4")),
            ("broadcast_buffers True->False", ("broadcast_buffers True", "broadcast_buffers False", "")),
            ("bucket size 1 MB -> 10 MB (overlapped)", ("bucket size 1 MB", "bucket size 10 MB", "overlapped")),
            ("DDP -> FSDP (full shard)", ("DDP", "FSDP", "full shard")),
            ("fp32 -> fp16 under DDP", ("fp32 ; DDP", "fp16 under DDP", "")),
        ):
            self.assertEqual(setting_rows.change_of(text), sides)
        for text in ("", "several settings", "->", "a -> b -> c"):
            with self.assertRaisesRegex(NotPredicted, "no change"):
                setting_rows.change_of(text)

    def test_the_sides_are_jobs_of_other_schemes(self):
        before, after = jobs()
        self.assertEqual(set(after.options) - set(before.options), {"--gradient-as-bucket-view"})
        self.assertEqual([job.scheme for job in jobs("DDP -> FSDP")], ["ddp", "fsdp1"])
        self.assertEqual([job.syncs_each for job in jobs("no_sync off->on (accumulate 4)")], [True, False])
        self.assertEqual([job.precision for job in jobs("fp32 -> fp16 under DDP", precision="")], ["fp32", "amp"])
        self.assertEqual(jobs("bucket size 1 MB -> 10 MB")[1].options[:2], ["--bucket-cap-mb", "10"])

    def test_a_row_that_cannot_be_read_has_a_reason(self):
        for changes, reason in (
            ({"gpu": ""}, "GPU not stated"),
            ({"model": "MoCo (CIFAR-10, 100 epochs)"}, "dimensions"),
            ({"change": "flurble off->on"}, "unknown word: flurble"),
            ({"batch": ""}, "batch"),
        ):
            with self.assertRaisesRegex(NotPredicted, reason):
                jobs(**changes)

    def test_gains_are_shares_of_the_time_before(self):
        self.assertAlmostEqual(setting_rows.measured_gain(row()), 5)
        self.assertAlmostEqual(setting_rows.measured_gain(row(before="", after="", speedup="1.25")), 20)
        self.assertAlmostEqual(setting_rows.measured_gain(row(higher_is_better="True", speedup="1.25")), 20)
        with self.assertRaisesRegex(NotPredicted, "no gain"):
            setting_rows.measured_gain(row(before="", after="", speedup="twice"))

    def test_no_words_stop_the_rules(self):
        chance, words = random.Random(SEED), [*WORDS, "->", "off->on", "flurble", "(", ")", "1 MB -> 2 MB"]
        for _ in range(RANDOM_ROWS):
            changed = chance.sample(list(row()), 5)
            made = row(
                **{name: " ".join(chance.choice(words) for _ in range(chance.randint(0, 5))) for name in changed}
            )
            try:
                setting_rows.measured_gain(made)
                for side in setting_rows.sides_of(made):
                    scheme_rows.job_of(side)
            except NotPredicted as reason:
                self.assertTrue(str(reason))


class GivenSteps(unittest.TestCase):
    rows = (
        changed("overlap off->on", batch="2", before="0.8", comm_before="0.4"),
        changed("bucket size 1 MB -> 10 MB", batch="2", notes="1 MB 0.1 ms, 10 MB 0.6 ms, 100 MB 5.3 ms"),
    )

    def test_a_family_states_its_step_and_its_all_reduces(self):
        given = given_steps.GivenSteps("ddpsim", self.rows, "")
        self.assertEqual(given.alone_of(self.rows[1])["before"], "0.8")
        self.assertEqual(given_steps.all_reduces_of(self.rows, "somebody"), {1: 0.1, 10: 0.6, 100: 5.3})
        for other in (row(family="another"), row(batch="4")):
            with self.assertRaisesRegex(NotPredicted, "GPU not stated"):
                given.alone_of(other)

    def test_parameters_are_those_of_the_dimensions(self):
        config = {"hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16}
        config |= {"vocab_size": 10, "num_hidden_layers": 1, "tie_word_embeddings": False}
        sizes = [80, 64, 32, 32, 64, 128, 128, 128, 8, 8, 8, 80]
        self.assertEqual(given_steps.parameters_of(config), sizes)


if __name__ == "__main__":
    unittest.main()
