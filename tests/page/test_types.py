"""Tests the TypeScript types made from schemas, and that tsc checks the sources of the page against them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import page_types  # noqa: E402

SCHEMA = {
    "description": "a step",
    "properties": {
        "grade": {"description": "how sure it is", "type": ["string", "null"], "enum": ["A", "B", None]},
        "waits": {"description": "by rank", "type": ["array", "null"], "items": {"$ref": "#/$defs/Wait"}},
        "sizes": {"description": "of buckets", "type": "array", "items": {"type": ["integer", "null"]}},
        "memory": {"description": "of a rank", "anyOf": [{"$ref": "#/$defs/Memory"}, {"type": "null"}]},
        "words": {"description": "by key", "type": "object", "additionalProperties": {"type": "string"}},
        "known": {"description": "whether it is known", "type": "boolean"},
    },
    "required": ["grade", "waits", "sizes", "memory", "words"],
}

DECLARED = """\
/** a step */
export interface Step {
  /** how sure it is */
  grade: 'A' | 'B' | null;
  /** by rank */
  waits: Wait[] | null;
  /** of buckets */
  sizes: (number | null)[];
  /** of a rank */
  memory: Memory | null;
  /** by key */
  words: Record<string, string>;
  /** whether it is known */
  known?: boolean;
}
"""


def problems(types):
    """The errors of tsc in the sources of the page if documents have these types."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "documents.d.ts").write_text(types)
        paths = {"documents": [str(here / "documents.d.ts")]}
        config = {
            "extends": str(ROOT / "reports" / "page" / "tsconfig.json"),
            "compilerOptions": {"baseUrl": ".", "paths": paths},
        }
        (here / "tsconfig.json").write_text(json.dumps(config))
        return subprocess.run(["tsc", "-p", here], check=False, capture_output=True, text=True).stdout


class Types(unittest.TestCase):
    def test_every_kind_of_member_gets_a_type(self):
        self.assertEqual(page_types.interface("Step", SCHEMA), DECLARED)

    @unittest.skipUnless(shutil.which("tsc"), "tsc is missing (scripts/setup.sh --page)")
    def test_a_renamed_key_is_an_error_where_the_page_reads_it(self):
        types = page_types.declarations(os.environ["DDPSIM_BIN"])
        self.assertEqual(problems(types), "")
        renamed = problems(types.replace("last_arrival_us", "last_there_us"))
        self.assertIn("Property 'last_arrival_us' does not exist on type 'Bucket'", renamed)


if __name__ == "__main__":
    unittest.main()
