"""Python examples of both README files print what the files show."""

import doctest
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(>>> .*?)^```$", re.MULTILINE | re.DOTALL)


class Pages(unittest.TestCase):
    def test_examples_print_what_is_shown(self):
        for page in (ROOT / "README.md", ROOT / "python" / "README.md"):
            blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
            self.assertTrue(blocks, page)
            examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
            told = []
            failed = doctest.DocTestRunner(verbose=False).run(examples, out=told.append).failed
            self.assertEqual(failed, 0, "".join(told))


if __name__ == "__main__":
    unittest.main()
