"""Settings advised by `tune` and `advise` are never slower than the current one.

This runs 100 cases of tests/accuracy/random_advice.py, with small models to save time. That script draws any model and
also compares policies."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))

import random_advice  # noqa: E402

MOST_PARAMETERS = 150
CASES = 100


class RandomAdvice(unittest.TestCase):
    def test_no_advised_setting_is_slower_than_the_current_one(self):
        program = random_advice.Program(os.environ["DDPSIM_BIN"], MOST_PARAMETERS)
        lines = list(random_advice.run_cases(program, 1, range(CASES), with_policies=False))
        told = random_advice.summary(lines)
        print(told)
        self.assertEqual([line for line in lines if line["failures"]], [], told)
        self.assertGreater(sum(line["set"] for line in lines), CASES / 10)
        self.assertGreater(sum(line["advised"] for line in lines), CASES / 10)


if __name__ == "__main__":
    unittest.main()
