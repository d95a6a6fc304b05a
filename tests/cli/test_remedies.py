"""A remedy that names a replacement works if it is followed literally.

For every refused input from the field, the command runs again with each proposed word in place of the input's."""

import os
import re
import shlex
import unittest

import thorough
from command import ROOT, SANITIZED, ddpsim
from test_field import FOUND, WRITTEN


def refused():
    return [
        (name, [word.replace("INPUT", str(folder)) for word in row["run"]], folder)
        for name, row, folder in WRITTEN + FOUND
        if row.get("code") == 3
    ]


def file_in(word):
    """The file at the start of a word: "a.json" for "a.json@A100"."""
    return next((word[:end] for end in range(len(word), 0, -1) if os.path.isfile(word[:end])), None)


def proposals(message, word):
    """The replacements for `word` that a message proposes, quoted if a shell needs it."""
    name = word.rsplit("/")[-1]
    advice = message.removeprefix("ddpsim: ").removeprefix(word).removeprefix(name)  # skip the place
    found = re.findall(r"""(?<!\w)'[^']*'|(?<!\w)"[^"]*"|[^\s,"']+""", advice)
    plain = [shlex.split(text.rstrip(".;:"))[0] for text in found if name in text]
    return [text for text in plain if text != word]


class Remedies(unittest.TestCase):
    def follow(self, words):
        """Runs the proposals of a message and returns their number."""
        said = ddpsim(*words)
        self.assertEqual(said.code, 3, said.err)
        tried = 0
        for k, word in enumerate(words):
            given = file_in(word)
            for other in proposals(said.err, given) if given else []:
                again = words[:k] + [other] + words[k + 1 :]
                if "--batch N" in said.err:
                    again += ["--batch", "32"]
                outcome = ddpsim(*again)
                self.assertEqual(outcome.code, 0, f"{said.err}\n{shlex.join(again)}\n{outcome.err}")
                tried += 1
        return tried

    def test_a_rate_without_unit_is_offered_one(self):
        said = ddpsim("diff", str(ROOT / "tests/cli/field/step_times/hf_dicts_eval.log"), "100ms")
        self.assertIn("eval_steps_per_second=it/s", said.err)

    def test_proposed_words_are_accepted(self):
        tried = 0
        for name, words, folder in refused()[:: thorough.cases(1, every_change=4) if SANITIZED else 1]:
            if folder.is_dir():
                with self.subTest(name):
                    tried += self.follow(words)
        self.assertGreater(tried, 5)


if __name__ == "__main__":
    unittest.main()
