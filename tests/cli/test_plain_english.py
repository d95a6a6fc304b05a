"""scripts/plain_english.py: what it finds in text of each kind, and what it leaves alone."""

import sys
import unittest

from command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import plain_english  # noqa: E402
from prose import passages, sentences  # noqa: E402


def rules(path, text):
    found = [f for passage in passages(path, text) for f in plain_english.findings_of_passage(passage)]
    return [finding.rule for finding in found]


LONG = " ".join(["word"] * 31)


class Rules(unittest.TestCase):
    def test_a_long_sentence_is_found_in_every_kind_of_text(self):
        for path, text in (
            ("sim/a.cpp", f"// {LONG}.\nint a;\n"),
            ("reports/a.cpp", f'auto a = "{LONG}.";\n'),
            ("reports/page/a.js", f"const a = `{LONG}.`;\n"),
            ("scripts/a.py", f'"""{LONG}."""\n'),
            ("scripts/a.sh", f"# {LONG}.\n"),
            ("docs/a.md", f"{LONG}.\n"),
        ):
            with self.subTest(path=path):
                limit = 25 if path.startswith("reports") else 30
                self.assertEqual([f"31 words, at most {limit}"], rules(path, text))

    def test_guides_have_shorter_sentences_than_other_pages(self):
        text = " ".join(["word"] * 27) + ".\n"
        self.assertEqual([], rules("docs/reference/diff.md", text))
        self.assertEqual(["27 words, at most 25"], rules("README.md", text))

    def test_lines_of_a_comment_are_one_text_and_full_stops_end_sentences(self):
        half = " ".join(["word"] * 16)
        self.assertEqual(["32 words, at most 30"], rules("sim/a.cpp", f"// {half}\n// {half}.\n"))
        self.assertEqual([], rules("sim/a.cpp", f"// {half}.\n// And {half}.\n"))
        self.assertEqual([], rules("sim/a.cpp", f"// {half}.\nint a;\n// {half}.\n"))

    def test_adjacent_literals_are_one_message(self):
        half = " ".join(["word"] * 16)
        self.assertEqual(["32 words, at most 25"], rules("cli/a.cpp", f'say("{half} "\n    "{half}");\n'))

    def test_a_comment_names_what_it_describes(self):
        for opener in ("Of", "That", "Those", "So many", "As many", "Whose", "Where it is", "…"):
            with self.subTest(opener=opener):
                self.assertIn(f'opens with "{opener}"', rules("sim/a.cpp", f"/// {opener} the ranks.\nint a;\n"))
        self.assertEqual([], rules("sim/a.cpp", "// Offered ranks. Of these one is late.\n"))

    def test_behind_code_there_is_room_for_a_unit_alone(self):
        self.assertEqual([], rules("sim/a.hpp", "int bytes = 0;  ///< of one bucket\n"))
        self.assertEqual(
            ["a comment stands above what it describes"],
            rules("sim/a.hpp", "int a = 0;  ///< one two three four five six seven eight nine\n"),
        )

    def test_words_of_the_list_are_found_with_what_to_write_instead(self):
        self.assertEqual(['"lever": write "setting"'], rules("docs/a.md", "Pull the lever first.\n"))
        self.assertEqual([], rules("docs/a.md", "Read the key `levers` first.\n"))

    def test_names_are_judged_without_comments_and_literals(self):
        text = 'int lever = 0;  // stretch\nauto key = "levers";\n'
        found = list(plain_english.findings_of_names("sim/a.cpp", text))
        self.assertEqual(['"lever": name it "setting"'], [finding.rule for finding in found])

    def test_what_tests_expect_was_written_elsewhere(self):
        self.assertEqual([], rules("tests/unit/a.cpp", f'CHECK(said == "{LONG}");\n'))
        self.assertEqual(["31 words, at most 25"], rules("tests/unit/a.cpp", f'TEST_CASE("{LONG}") {{}}\n'))

    def test_code_and_tables_of_a_page_are_no_prose(self):
        self.assertEqual([], rules("docs/a.md", f"```\n{LONG}\n```\n\n| {LONG[:40]} | 3 |\n|---|---|\n"))

    def test_sentences_end_at_full_stops_and_not_at_semicolons_or_abbreviations(self):
        self.assertEqual(["One; two.", "Three, e.g. four.", "Five?"], sentences("One; two. Three, e.g. four. Five?"))


if __name__ == "__main__":
    unittest.main()
