"""The examples of docs/formats.md: files are read by the commands beside them, documents have the keys that are printed,
and every key an example shows is explained in its section."""

import json
import pathlib
import re
import tempfile
import unittest

import pages
from command import ROOT

PAGE = (ROOT / "docs" / "formats.md").read_text()


def differing_keys(shown, printed, place=""):
    """Where the keys of `shown` are not those of `printed`; a list may show fewer entries."""
    if isinstance(shown, dict) and isinstance(printed, dict):
        if list(shown) != list(printed):
            return [f"{place or '/'}: {sorted(set(shown) ^ set(printed)) or 'another order'}"]
        return [found for key in shown for found in differing_keys(shown[key], printed[key], f"{place}/{key}")]
    if isinstance(shown, list) and isinstance(printed, list):
        if len(shown) > len(printed):
            return [f"{place}: {len(shown)} entries of {len(printed)}"]
        return [found for i, pair in enumerate(zip(shown, printed)) for found in differing_keys(*pair, f"{place}/{i}")]
    return (
        []
        if not isinstance(shown, (dict, list)) and not isinstance(printed, (dict, list))
        else [f"{place}: another type"]
    )


def keys(document):
    """All keys of a document but those of `provenance`, which are free."""
    if isinstance(document, dict):
        inner = [key for name, value in document.items() if name != "provenance" for key in keys(value)]
        return list(document) + inner
    return [key for value in document for key in keys(value)] if isinstance(document, list) else []


class Formats(unittest.TestCase):
    def test_examples_are_what_the_program_reads_and_prints(self):
        ran = None
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder) / "here"
            here.mkdir()
            for block in pages.blocks(PAGE):
                for line in block.commands():
                    ran = pages.run(line, here)
                    with self.subTest(command=line):
                        self.assertEqual(ran.returncode, 0, ran.stderr)
                if block.name == "output":
                    with self.subTest(printed=ran.args[-1]):
                        self.assertEqual(differing_keys(json.loads(block.text), json.loads(ran.stdout)), [])
                elif block.name:
                    (here / block.name).write_text(block.text)

    def test_every_key_shown_is_explained_in_its_section(self):
        for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
            title = section.splitlines()[0]
            explained = set(
                re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL))
            )
            for block in pages.blocks(section):
                if block.language == "json":
                    with self.subTest(section=title, example=block.name):
                        self.assertEqual(sorted(set(keys(json.loads(block.text))) - explained), [])

    def test_keys_are_compared_at_every_depth(self):
        printed = {"rows": [{"a": 1, "b": None}, {"a": 2, "b": {"c": 3}}]}
        self.assertEqual(differing_keys({"rows": [{"a": 9, "b": 9}]}, printed), [])
        self.assertEqual(differing_keys({"rows": [{"a": 9}]}, printed), ["/rows/0: ['b']"])
        self.assertEqual(differing_keys({"rows": [{"b": 9, "a": 9}]}, printed), ["/rows/0: another order"])
        self.assertEqual(differing_keys({"rows": [{"a": 9, "b": 9}] * 3}, printed), ["/rows: 3 entries of 2"])
        self.assertEqual(
            differing_keys({"rows": [{"a": 9, "b": 9}, {"a": 9, "b": 9}]}, printed), ["/rows/1/b: another type"]
        )


if __name__ == "__main__":
    unittest.main()
