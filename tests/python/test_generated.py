"""What a build generates for the package (scripts/python_package.py), and the JSON Schemas among it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ddpsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(ddpsim.__file__).parent
PROGRAM = os.environ["DDPSIM_PROGRAM"]


def contents(folder):
    """Bytes of the files that are generated, by their path below the folder."""
    generated = [folder / "_commands.py", folder / "_results.py", *folder.glob("schemas/*.json")]
    return {path.relative_to(folder): path.read_bytes() for path in generated}


class Generated(unittest.TestCase):
    def test_is_the_same_in_every_folder_and_run(self):
        for seed in ("1", "2"):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(
                    [sys.executable, ROOT / "scripts" / "python_package.py", "-o", folder, PROGRAM],
                    cwd=folder,
                    env={**os.environ, "PYTHONHASHSEED": seed},
                    check=True,
                )
                self.assertEqual(contents(pathlib.Path(folder)), contents(PACKAGE))

    def test_a_schema_that_is_gone_does_not_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            gone = pathlib.Path(folder, "schemas", "ddpsim.gone.1.json")
            gone.parent.mkdir()
            gone.touch()
            subprocess.run([sys.executable, ROOT / "scripts" / "python_package.py", "-o", folder, PROGRAM], check=True)
            self.assertFalse(gone.exists())

    def test_source_without_it_says_how_to_build_it(self):
        done = subprocess.run(
            [sys.executable, "-c", "import ddpsim"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.assertEqual(done.stderr.count("Traceback"), 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"^ImportError: this is the source of ddpsim without its generated modules.*cmake --build")


class Schemas(unittest.TestCase):
    def test_each_is_what_the_program_prints(self):
        names = [schema.name for schema in ddpsim.list().schemas]
        self.assertIn("ddpsim.result/1", names)
        self.assertEqual(len(list(PACKAGE.glob("schemas/*"))), len(names))
        for name in names:
            printed = subprocess.run(
                [PROGRAM, "list", "--schema", name, "--json"], stdout=subprocess.PIPE, check=True
            ).stdout
            self.assertEqual(ddpsim.schema(name), json.loads(printed))

    def test_a_name_that_no_document_has_is_refused(self):
        for name in ("ddpsim.reslut/1", "", "../pyproject.toml", "x" * 1000):
            with self.subTest(name), self.assertRaisesRegex(ddpsim.UsageError, "no schema is named"):
                ddpsim.schema(name)


if __name__ == "__main__":
    unittest.main()
