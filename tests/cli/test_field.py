"""Inputs as people have them, each with the right answer: none is misread silently. tests/cli/field/README.md says what a row holds."""

import json
import pathlib
import re
import unittest

from command import ROOT, SHARED, ddpsim

HERE = ROOT / "tests/cli/field"
TOLERANCE = 0.005  # relative, where a row states none


def at(document, path):
    """The value at a/b/0/c; None where there is none."""
    for name in path.split("/"):
        if isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        elif isinstance(document, dict) and name in document:
            document = document[name]
        else:
            return None
    return document


def wrong(row, folder):
    """What differs from the right answer; nothing where the row is met."""
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
            close = (isinstance(right, (int, float)) and isinstance(found, (int, float)) and not isinstance(right, bool)
                     and abs(found - right) <= abs(right) * row.get("tolerance", TOLERANCE))
            if found != right and not close:
                differs.append(f"{path} is {found}, not {right}")
    return differs


def rows(name):
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def test_of(row, folder):
    def test(self):
        if not folder.is_dir():
            self.skipTest(f"{folder.name} is not beside the checkout")
        self.assertEqual(wrong(row, folder), [])
    return test


class Written(unittest.TestCase):
    """Written from each format's own source or documentation, before the rules that read them."""


class Found(unittest.TestCase):
    """The files of ../shared/data/field."""


def add(tests, folder, pattern):
    for path in sorted(HERE.glob(pattern)):
        for row in rows(path.name):
            name = "test_" + re.sub(r"\W+", "_", f"{path.stem} {row['name']}")
            assert not hasattr(tests, name), f"{name} is there twice"
            setattr(tests, name, test_of(row, folder))


add(Written, HERE, "written_*.json")
add(Found, pathlib.Path(SHARED / "data/field"), "found_*.json")

if __name__ == "__main__":
    unittest.main()
