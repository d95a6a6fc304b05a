"""Names in backticks in ARCHITECTURE.md and CONTRIBUTING.md exist: a file, a folder, or a word of the sources.

The test finds names that were changed in the code but not on the page."""

import re
import subprocess
import unittest

from command import ROOT

PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md"]
NAME = re.compile(r"`([A-Za-z_][A-Za-z0-9_]*(?:[./][A-Za-z0-9_.]+)*)`")
SOURCES = (".cpp", ".hpp", ".h", ".cu", ".py", ".sh", ".json", ".txt", ".cmake")
# Names from other projects, files that a build makes, and patterns.
FOREIGN = {"_compute_bucket_assignment_by_size", "find_package", "add_subdirectory", "ddpsim.html"}


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return listed.stdout.split() if listed.returncode == 0 else []


class Pages(unittest.TestCase):
    def test_every_name_on_a_page_exists(self):
        files = tracked()
        if not files:
            self.skipTest("this is no git checkout")
        names = {part for file in files for part in (file, *file.split("/"), file.rsplit("/", 1)[-1].split(".")[0])}
        folders = {file[: end.start()] for file in files for end in re.finditer("/", file)}
        words = set()
        for file in files:
            if file.endswith(SOURCES) or file.endswith("CMakePresets.json"):
                words.update(re.findall(r"\w+", (ROOT / file).read_text(errors="replace")))
        for page in PAGES:
            for name in NAME.findall((ROOT / page).read_text()):
                known = (
                    name in names
                    or name in folders
                    or name in words
                    or name in FOREIGN
                    or any(file.endswith("/" + name) for file in files)
                )
                with self.subTest(page=page, name=name):
                    self.assertTrue(known, f"{page} names {name}, which is not there")


if __name__ == "__main__":
    unittest.main()
