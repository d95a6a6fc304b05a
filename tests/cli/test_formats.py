"""The examples of docs/formats.md: files are read by the commands beside them, commands print what is shown, and every key an
example shows is explained in its section or by the program."""

import json
import pathlib
import re
import tempfile
import unittest

import pages
from command import ROOT, ddpsim

PAGE = (ROOT / "docs" / "formats.md").read_text()


def keys(document):
    """All keys of a document but those of `provenance`, which are free."""
    if isinstance(document, dict):
        inner = [key for name, value in document.items() if name != "provenance" for key in keys(value)]
        return list(document) + inner
    return [key for value in document for key in keys(value)] if isinstance(document, list) else []


def described_keys(document):
    """The keys that `list --schema` explains of a document; none where it does not say which document it is."""
    told = ddpsim("list", "--schema", document.get("schema", "none"), "--json")
    if told.code != 0:
        return set()
    schema = json.loads(told.out)
    return {key for part in [schema, *schema["$defs"].values()] for key in part["properties"]}


class Formats(unittest.TestCase):
    def test_examples_are_what_the_program_reads_and_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder) / "here"
            here.mkdir()
            for block in pages.blocks(PAGE):
                shown = block.shown_after()
                for line in block.commands():
                    ran = pages.run(line, here)
                    with self.subTest(command=line):
                        self.assertEqual(ran.returncode, 0, ran.stderr)
                        printed = ran.stdout.splitlines()
                        self.assertEqual([part for part in shown.get(line, []) if part not in printed], [])
                if block.name:
                    (here / block.name).write_text(block.text)

    def test_every_key_shown_is_explained(self):
        for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
            title = section.splitlines()[0]
            explained = set(
                re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL))
            )
            for block in pages.blocks(section):
                if block.language == "json":
                    document = json.loads(block.text)
                    with self.subTest(section=title, example=block.name):
                        self.assertEqual(sorted(set(keys(document)) - explained - described_keys(document)), [])

    def test_a_document_of_the_program_is_explained_by_its_schema(self):
        self.assertIn("candidates", described_keys({"schema": "ddpsim.study/1"}))
        self.assertEqual(described_keys({"layers": []}), set())


if __name__ == "__main__":
    unittest.main()
