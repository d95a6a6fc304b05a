"""Tests the modules and JSON Schemas that a build generates for the package (scripts/python_package.py)."""

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
    """The bytes of the generated files, by their path in the folder."""
    generated = [folder / "_commands.py", folder / "_results.py", *folder.glob("schemas/*.json")]
    return {path.relative_to(folder): path.read_bytes() for path in generated}


class Words(unittest.TestCase):
    def test_estimate_takes_the_optimizers_of_a_traced_model(self):
        from ddpsim._estimate_words import OPTIMIZERS

        words = ddpsim.schema("ddpsim.model/1")["properties"]["optimizer"]["enum"]
        self.assertEqual(tuple(word for word in words if word is not None), OPTIMIZERS)


class Generated(unittest.TestCase):
    def test_the_result_depends_on_neither_folder_nor_hash_seed(self):
        for seed in ("1", "2"):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(
                    [sys.executable, ROOT / "scripts" / "python_package.py", "-o", folder, PROGRAM],
                    cwd=folder,
                    env={**os.environ, "PYTHONHASHSEED": seed},
                    check=True,
                )
                self.assertEqual(contents(pathlib.Path(folder)), contents(PACKAGE))

    def test_a_removed_schema_is_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            gone = pathlib.Path(folder, "schemas", "ddpsim.gone.1.json")
            gone.parent.mkdir()
            gone.touch()
            subprocess.run([sys.executable, ROOT / "scripts" / "python_package.py", "-o", folder, PROGRAM], check=True)
            self.assertFalse(gone.exists())

    def test_importing_the_bare_source_tells_how_to_build_it(self):
        done = subprocess.run(
            [sys.executable, "-c", "import ddpsim"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.assertEqual(done.stderr.count("Traceback"), 1, done.stderr)
        self.assertRegex(
            done.stderr.splitlines()[-1],
            r"^ImportError: this is the source of ddpsim without its generated modules.*cmake --build",
        )


class Schemas(unittest.TestCase):
    def test_each_schema_equals_what_ddpsim_prints(self):
        names = [schema.name for schema in ddpsim.list().schemas]
        self.assertIn("ddpsim.result/1", names)
        self.assertEqual(len(list(PACKAGE.glob("schemas/*"))), len(names))
        for name in names:
            printed = subprocess.run(
                [PROGRAM, "list", "--schema", name, "--json"], stdout=subprocess.PIPE, check=True
            ).stdout
            self.assertEqual(ddpsim.schema(name), json.loads(printed))

    def test_an_unknown_name_is_refused(self):
        for name in ("ddpsim.reslut/1", "", "../pyproject.toml", "x" * 1000):
            with self.subTest(name), self.assertRaisesRegex(ddpsim.UsageError, "no schema is named"):
                ddpsim.schema(name)


if __name__ == "__main__":
    unittest.main()
