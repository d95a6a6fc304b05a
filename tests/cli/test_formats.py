"""The examples of docs/reference/formats.md are valid.

Commands read the files shown with them and print the shown output. Every key of an example is explained in its section,
or by the schema that the section names."""

import json
import pathlib
import re
import tempfile
import unittest

import pages
from command import ROOT, ddpsim

PAGE = (ROOT / "docs" / "reference" / "formats.md").read_text()


def keys(document):
    """All keys of a document except those of `provenance`, which are free."""
    if isinstance(document, dict):
        inner = [key for name, value in document.items() if name != "provenance" for key in keys(value)]
        return list(document) + inner
    return [key for value in document for key in keys(value)] if isinstance(document, list) else []


def keys_of_schemas(section):
    """All keys in the output of the commands `ddpsim list --schema NAME` of a section."""
    for name in re.findall(r"`ddpsim list --schema (\S+)`", section):
        schema = ddpsim("list", "--schema", name, "--json").json()
        for part in [schema, *schema["$defs"].values()]:
            yield from part["properties"]


class Formats(unittest.TestCase):
    def test_the_program_reads_and_prints_the_examples(self):
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
            explained.update(keys_of_schemas(section))
            for block in pages.blocks(section):
                if block.language == "json":
                    with self.subTest(section=title, example=block.name):
                        self.assertEqual(sorted(set(keys(json.loads(block.text))) - explained), [])


if __name__ == "__main__":
    unittest.main()
