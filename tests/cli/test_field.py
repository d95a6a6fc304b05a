"""Inputs as people have them, each with its right answer: none is misread silently.

tests/cli/field/README.md explains a row.

DDPSIM_BIN=… python3 test_field.py --open >field/open.txt      lists the rows that are not right yet
"""

import json
import pathlib
import re
import sys
import unittest

import thorough
from command import ROOT, SANITIZED, SHARED, ddpsim

HERE = ROOT / "tests/cli/field"
TOLERANCE = 0.005  # relative; a row may state another


def at(document, path):
    """The value at a path such as a/b/0/c, or None."""
    for name in path.split("/"):
        if isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        elif isinstance(document, dict) and name in document:
            document = document[name]
        else:
            return None
    return document


def wrong(row, folder):
    """The difference from the right answer; empty if there is none."""
    words = [word.replace("INPUT", str(folder)) for word in row["run"]]
    outcome = ddpsim(*words)
    said = outcome.out + outcome.err
    expected = row.get("code", 0)
    if outcome.code != expected:
        return [f"exit code {outcome.code}, not {expected}: {outcome.err[:600]}"]
    differs = [f"does not say /{text}/: {said[:1500]}" for text in row.get("says", []) if not re.search(text, said)]
    differs += [f"says /{text}/: {said[:1500]}" for text in row.get("never", []) if re.search(text, said)]
    if row.get("values"):
        document = json.loads(outcome.out)
        for path, right in row["values"].items():
            found = at(document, path)
            close = (
                isinstance(right, (int, float))
                and isinstance(found, (int, float))
                and not isinstance(right, bool)
                and abs(found - right) <= abs(right) * row.get("tolerance", TOLERANCE)
            )
            if found != right and not close:
                differs.append(f"{path} is {found}, not {right}")
    return differs


def rows(name):
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def name_of(path, row):
    return re.sub(r"\W+", "_", f"{path.stem} {row['name']}")


def rows_of(folder, pattern):
    return [(name_of(path, row), row, folder) for path in sorted(HERE.glob(pattern)) for row in rows(path.name)]


WRITTEN = rows_of(HERE, "written_*.json")
FOUND = rows_of(pathlib.Path(SHARED / "data/field"), "found_*.json")
OPEN = (HERE / "open.txt").read_text(encoding="utf-8").split()


def test_of(name, row, folder):
    def test(self):
        if not folder.is_dir():
            self.skipTest(f"{folder.name} is not beside the checkout")
        differs = wrong(row, folder)
        if name in OPEN:
            self.assertTrue(differs, "it is right now: take its name out of field/open.txt")
        else:
            self.assertEqual(differs, [])

    return test


class Written(unittest.TestCase):
    """Inputs written from each format's source or documentation, before the code that reads them."""


class Found(unittest.TestCase):
    """Inputs from ../shared/data/field."""


def add(tests, all_rows):
    for name, row, folder in all_rows[:: thorough.cases(1, every_change=4) if SANITIZED else 1]:
        assert not hasattr(tests, f"test_{name}"), f"{name} is there twice"
        setattr(tests, f"test_{name}", test_of(name, row, folder))


add(Written, WRITTEN)
add(Found, FOUND)


class Open(unittest.TestCase):
    def test_the_list_of_open_rows_names_existing_rows(self):
        self.assertEqual(set(OPEN) - {name for name, _, _ in WRITTEN + FOUND}, set())


if __name__ == "__main__":
    if sys.argv[1:] == ["--open"]:
        print("\n".join(name for name, row, folder in WRITTEN + FOUND if wrong(row, folder)))
    else:
        unittest.main()
