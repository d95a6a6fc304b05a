"""scripts/times.py compares the times of a run with stored ones, on folders made here."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import times  # noqa: E402

KEPT = {"checks": {"build": [100, 200], "tests": [50, 100], "fuzzing": [5, 10]}, "tests": {"release: cli: golden": 30}}


class Times(unittest.TestCase):
    def shown(self, checks, *options, kept=KEPT):
        """The printed lines for a run with these CPU seconds by check. One test took 40 s."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "kept.json").write_text(json.dumps(kept))
            (folder / "checks").write_text("".join(f"{name}\t1 {cpu} 0\n" for name, cpu in checks.items()))
            (folder / "tests-release-1.xml").write_text(
                '<testsuite><testcase name="cli: golden" time="40" status="notrun"/></testsuite>'
            )
            told = io.StringIO()
            with (
                unittest.mock.patch.object(times, "KEPT", folder / "kept.json"),
                contextlib.redirect_stdout(told),
                unittest.mock.patch.object(sys, "argv", ["times.py", str(folder), *options]),
            ):
                times.main()
            return told.getvalue().splitlines(), json.loads((folder / "kept.json").read_text())

    def line(self, lines, name):
        return next(line.split() for line in lines if line.startswith(name))

    def test_a_check_that_grew_relative_to_the_others_is_shown(self):
        lines, kept = self.shown({"build": 400, "tests": 230, "fuzzing": 20})  # a machine half as fast
        self.assertEqual([self.line(lines, name)[-2] for name in ("build", "tests", "fuzzing")], ["+0", "+30", "+0"])
        self.assertEqual(self.line(lines, "release: cli: golden")[-2], "-20")
        self.assertEqual(kept, KEPT)

    def test_warm_caches_do_not_count_as_a_faster_machine(self):
        lines, _ = self.shown({"build": 4, "tests": 100, "fuzzing": 10})
        self.assertEqual([self.line(lines, name)[-2] for name in ("build", "tests")], ["-196", "+0"])

    def test_the_expected_time_of_a_check_is_scaled_to_this_machine(self):
        slow = {"build": 400, "tests": 200}  # a machine half as fast
        self.assertEqual(self.shown(slow, "--expected", "fuzzing")[0], ["10"])
        self.assertEqual(self.shown({}, "--expected", "tests")[0], ["50"])
        self.assertEqual(self.shown(slow, "--expected", "a new check")[0], ["0"])

    def test_keep_replaces_the_table(self):
        lines, kept = self.shown({"build": 7, "coverage": 9}, "--keep")
        self.assertEqual(self.line(lines, "coverage")[-1], "new")
        self.assertEqual(kept, {"checks": {"build": [1, 7], "coverage": [1, 9]}, "tests": {"release: cli: golden": 40}})


if __name__ == "__main__":
    unittest.main()
