"""Predictions for published measurements of other schemes (data/schemes) stay within limits that were once reached."""

import contextlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))

import schemes  # noqa: E402
from command import BINARY, SHARED  # noqa: E402

ROWS = SHARED / "data" / "schemes" / "schemes.csv"


@unittest.skipUnless(ROWS.exists(), f"no published rows: {ROWS} is not there")
class Published(unittest.TestCase):
    def test_limits_that_were_reached_still_hold(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = schemes.main([str(SHARED), "--ddpsim", BINARY, "--check"])
        self.assertEqual(code, 0, said.getvalue())
        print("\n" + said.getvalue().split("ratios:")[0])


if __name__ == "__main__":
    unittest.main()
