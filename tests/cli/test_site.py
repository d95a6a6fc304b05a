"""The documentation site as mkdocs.yml describes it: each page of docs is in its navigation, and no page links to nothing."""

import pathlib
import re
import sys
import tempfile
import unittest

from command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import site_pages

NAVIGATION = re.compile(r"^ +- .+: (\S+\.md)$", re.MULTILINE)


class Site(unittest.TestCase):
    def test_navigation_has_each_page_once_and_no_other(self):
        named = NAVIGATION.findall((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
        self.assertEqual(sorted(named), sorted([*site_pages.pages_of_the_repository(), *site_pages.GENERATED]))

    def test_pages_link_to_files_of_the_repository_or_to_pages_of_the_site(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(site_pages.copy_pages(pathlib.Path(folder)), [])

    def test_links_in_code_are_no_links(self):
        page = "[a](a.md) `[b](b.md)`\n```text\n[c](c.md)\n```\n![d](d.png)\n"
        self.assertEqual(site_pages.LINK.findall(site_pages.without_code(page)), ["a.md", "d.png"])

    def test_the_name_of_a_block_stands_above_it(self):
        self.assertEqual(
            site_pages.NAMED_BLOCK.sub(r'\1 title="\2"', "```json a.json\n{}\n```\n```sh\n"),
            '```json title="a.json"\n{}\n```\n```sh\n',
        )

    def test_types_of_members_are_told_in_words(self):
        told = {
            "number or null": {"type": ["number", "null"]},
            "list of [Row](#row)": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
            '`"a"` or `"b"`': {"type": "string", "enum": ["a", "b"]},
            "[Row](#row) or null": {"anyOf": [{"$ref": "#/$defs/Row"}, {"type": "null"}]},
        }
        for words, member in told.items():
            self.assertEqual(site_pages.type_of(member, lambda name: name), words)


if __name__ == "__main__":
    unittest.main()
