"""The first screen of every answer: its order, its length, and words that it never uses (docs/reference/answers.md)."""

import re
import unittest

from command import ddpsim

MOST_LINES = 25

# Jobs of every kind: recorded and estimated, calibrated and not, on one GPU and many, with and without a scheme.
COMMANDS = [
    ["simulate", "resnet50-v100-b32", "p3dn@2"],
    ["simulate", "resnet50-v100-b32", "2xv100-nvlink"],
    ["simulate", "gpt2@A100:b8", "dgxa100@2"],
    ["simulate", "resnet50-v100-b32", "dgx1v", "--scheme", "fsdp2"],
    ["simulate", "resnet50-v100-b32", "dgx1v", "--straggler", "3:1.2"],
    ["tune", "resnet50-v100-b32", "p3dn@2"],
    ["tune", "resnet50-v100-b32", "dgx1v-1xedr@2", "--torch", "2.8"],
    ["tune", "resnet50-v100-b32", "p3dn@2", "--measured-step", "110ms"],
    ["advise", "resnet50-v100-b32", "p3dn@2"],
    ["advise", "gpt2@A100:b8", "dgxa100@2"],
    ["compare", "resnet50-v100-b32", "p3dn@2", "dgx1v@2"],
    ["compare", "gpt2@A100:b8", "dgxa100@1", "dgxa100@2"],
]

# Words that readers did not understand (from the word list for plain English).
NEVER = re.compile(
    r"\bConfidence [ABC]\b|confidence [ABC]\b|unexplained slowdown|same for caps|no measurement stands behind"
    r"|four times in five|  points  |  may be  "
)


def screen(arguments):
    return ddpsim(*arguments).out


class FirstScreens(unittest.TestCase):
    def test_every_first_screen_keeps_the_rules(self):
        for command in COMMANDS:
            with self.subTest(" ".join(command)):
                lines = screen(command).splitlines()
                self.assertLessEqual(len(lines), MOST_LINES)
                self.assertIsNone(NEVER.search("\n".join(lines)))
                interval = [k for k, line in enumerate(lines) if line.startswith("80 % interval of the step: ")]
                self.assertEqual(len(interval), 1)
                warnings = [k for k, line in enumerate(lines) if line.startswith("warning: ")]
                if command[0] != "compare" and warnings:
                    self.assertLess(interval[0], warnings[0], "what it rests on stands before the warnings")
                self.assertRegex(lines[-1], "^Next: ddpsim ")

    def test_an_estimate_is_never_called_calibrated(self):
        for command in COMMANDS:
            if "@A100" not in " ".join(command):
                continue
            with self.subTest(" ".join(command)):
                text = " ".join(screen(command).split())
                self.assertRegex(text, "compute estimated, collectives (not )?calibrated")

    def test_reasons_need_verbose(self):
        self.assertNotIn("Why the interval runs", screen(COMMANDS[0]))
        whole = screen([*COMMANDS[0], "--verbose"])
        self.assertIn("Why the interval runs from", whole)
        self.assertIn("published log", whole)


if __name__ == "__main__":
    unittest.main()
