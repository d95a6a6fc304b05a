"""Questions of users about models and machines that others published, with the answer in one line.

The earlier answer is shown next to it. It is from before every setting was weighed (commit d73a3e7; from `tune` if
there was no `advise`). A setting that is advised must not be slower in `simulate`, under each version that the answer
is for."""

import json
import os
import pathlib
import sys
import unittest

from command import ddpsim

ACCURACY = pathlib.Path(__file__).resolve().parents[1] / "accuracy"
sys.path.insert(0, str(ACCURACY))

import random_advice  # noqa: E402

CASES = json.loads(pathlib.Path(__file__).with_name("decisions.json").read_text(encoding="utf-8"))


def options_of(words):
    """The options in words such as ["--torch", "2.6", "--sync-batchnorm"], in the form of random_advice."""
    options = {}
    for k, word in enumerate(words):
        if word.startswith("--"):
            value = words[k + 1] if k + 1 < len(words) and not words[k + 1].startswith("--") else True
            options[word] = value
    return options


class Decisions(unittest.TestCase):
    def test_the_answer_in_one_line(self):
        for case in CASES:
            with self.subTest(case["question"]):
                told = ddpsim(case["command"], *case["job"], *case["options"], "--quiet")
                print(f"{case['question']}\n  before: {case['before']}\n  now:    {case['now']}")
                self.assertEqual((told.out or told.err).splitlines()[0], case["now"])

    def test_advised_settings_are_not_slower(self):
        program = random_advice.Program(os.environ["DDPSIM_BIN"])
        for case in CASES:
            if case["command"] == "simulate":
                continue
            with self.subTest(case["question"]):
                options, failures = options_of(case["options"]), []
                steps = random_advice.Steps(program, case["job"])
                answer = program.answer("tune", case["job"], options)
                random_advice.check_caps(steps, answer, options, failures)
                if case["command"] == "advise":
                    random_advice.check_advice(steps, program, answer, options, failures)
                self.assertEqual(failures, [])

    def test_situations_of_an_expert_can_be_simulated(self):
        """The situations do not change until the rule is judged by them, so their words must stay valid."""
        for case in json.loads((ACCURACY / "expert_advice.json").read_text(encoding="utf-8"))["situations"]:
            with self.subTest(case["id"]):
                told = ddpsim("simulate", case["workload"], case["cluster"], *case["options"])
                self.assertEqual(told.code, 0, told.err)


if __name__ == "__main__":
    unittest.main()
