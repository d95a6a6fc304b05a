"""scripts/site.sh builds the site: mkdocs finds no broken link or anchor, and no page asks anything of the network."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from command import BINARY, ROOT

NO_TOOLS = 77
# What a browser fetches by itself; links that a reader follows are allowed.
FETCHED = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=\"?https?:|<link[^>]*rel=\"?(?:stylesheet|preconnect|icon)[^>]*href=\"?https?:"
)
FETCHED_BY_STYLE = re.compile(r"(?:url\(|@import )[\"']?https?:")


class SiteBuild(unittest.TestCase):
    def test_site_is_built_and_fetches_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            built = subprocess.run(
                [ROOT / "scripts" / "site.sh", "--program", BINARY, "-o", folder], capture_output=True, text=True
            )
            if built.returncode == NO_TOOLS:
                self.skipTest(built.stderr.strip().splitlines()[-1])
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
            site = pathlib.Path(folder)
            self.assertIn("reshard_after_forward", (site / "docs/guides/ddp-or-fsdp.html").read_text(encoding="utf-8"))
            self.assertIn("--bucket-cap-mb", (site / "docs/reference/commands.html").read_text(encoding="utf-8"))
            self.assertIn("iteration_us", (site / "docs/reference/documents.html").read_text(encoding="utf-8"))
            self.assertTrue((site / "search/search_index.js").is_file())
            for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
                with self.subTest(file=file.relative_to(site)):
                    pattern = FETCHED if file.suffix == ".html" else FETCHED_BY_STYLE
                    self.assertIsNone(pattern.search(file.read_text(encoding="utf-8")))


if __name__ == "__main__":
    unittest.main()
