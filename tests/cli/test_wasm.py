"""The program as WebAssembly, in the worker of the page (reports/page/engine), under node.

Every command of the corpus must answer as the native program does, to the byte. DDPSIM_WASM is the folder of the
build's ddpsim-worker.js and ddpsim.wasm."""

import base64
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import patience
from golden import FIXTURES, GOLDEN, ROOT, Outcome, cases, contents, difference, sections_of

ENGINE = os.environ.get("DDPSIM_WASM", "")
# The most bytes that a page may contain of it. It had 1,733,719 before models of text and images, and 1,862,362 with
# advice for the host and causes in sentences. The limit is close to that, so that growth is noticed; the aim is
# 500,000.
COMPRESSED = 1_900_000

WITHOUT_SQLITE = {"import/nsys"}


def answers(commands):
    """The worker's results in order. Each command has arguments and its files by name."""
    told = subprocess.run(
        ["node", str(ROOT / "tests" / "wasm" / "commands.mjs"), f"{ENGINE}/ddpsim-worker.js", f"{ENGINE}/ddpsim.wasm"],
        input=json.dumps(
            [
                {"args": arguments, "files": [{"name": name, "path": str(path)} for name, path in files.items()]}
                for arguments, files in commands
            ]
        ),
        capture_output=True,
        encoding="utf-8",
        timeout=patience.seconds(600),
    )
    assert told.returncode == 0, told.stderr
    return [json.loads(line) for line in told.stdout.splitlines()]


class StandardLibrary(unittest.TestCase):
    """Finds gaps in the build's standard library without the build, which takes long and runs seldom."""

    FOLDERS = ("calibrate", "cli", "diagnose", "formats", "jobs", "models", "reports", "sim", "topologies", "traces")
    THERE = {"equal_to", "greater", "greater_equal", "less", "less_equal", "not_equal_to"}

    def sources(self):
        for folder in self.FOLDERS:
            for path in (ROOT / folder).rglob("*.[ch]pp"):
                yield path.relative_to(ROOT), path.read_text(encoding="utf-8")

    def test_every_used_algorithm_of_ranges_exists_or_is_added(self):
        given = (
            (ROOT / "cmake" / "wasm" / "standard_library.hpp")
            .read_text(encoding="utf-8")
            .split("namespace ranges {")[1]
        )
        there = self.THERE | set(re.findall(r"^(?:auto|bool|void) (\w+)\(", given, re.MULTILINE))
        for path, text in self.sources():
            self.assertLessEqual(set(re.findall(r"std::ranges::(\w+)", text)), there, path)

    def test_no_type_with_texts_uses_three_way_comparison(self):
        for path, text in self.sources():
            for found in re.finditer(r"operator<=>\([^)]*\)[^;]*= default", text):
                members = text[: found.start()].rpartition("struct ")[2]
                self.assertNotRegex(members, r"std::(string|optional|vector|pair|tuple)\b", path)


@unittest.skipUnless(ENGINE and shutil.which("node"), "no WebAssembly was built, or node is not here")
class Engine(unittest.TestCase):
    maxDiff = None

    def test_every_command_of_the_corpus_answers_as_the_native_program(self):
        chosen = [case for case in cases() if not case.columns and case.name not in WITHOUT_SQLITE]
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            shutil.copytree(GOLDEN / "inputs", folder, dirs_exist_ok=True)
            shutil.copytree(FIXTURES, folder / "fixtures")
            before = contents(folder)
            files = {name: folder / name for name in before}
            results = answers([(case.command, files) for case in chosen])
        for case, result in zip(chosen, results, strict=True):
            with self.subTest(case.name):
                self.assertIsNone(result.get("error"))
                after = before | {name: base64.b64decode(content) for name, content in result["written"].items()}
                sections = sections_of(result["stdout"].encode(), result["stderr"].encode(), before, after)
                self.assertIsNone(difference(case, Outcome(case, result["exit"], sections)))

    def test_an_export_of_nsight_systems_is_refused_with_a_remedy(self):
        [result] = answers([(["import", "tiny.sqlite"], {"tiny.sqlite": GOLDEN / "inputs" / "tiny.sqlite"})])
        self.assertEqual(result["exit"], 3)
        self.assertIn("which this build of ddpsim does not read", result["stderr"])
        self.assertIn("an installed ddpsim", result["stderr"])

    def test_an_archive_is_refused_with_a_remedy(self):
        with tempfile.TemporaryDirectory() as temporary:
            path = pathlib.Path(temporary, "job.tar.gz")
            with tarfile.open(path, "w:gz") as archive:
                archive.add(GOLDEN / "inputs" / "collected", "collected")
            [result] = answers([(["import", "job.tar.gz"], {"job.tar.gz": path})])
        self.assertEqual(result["exit"], 3)
        self.assertIn("Unpack it (tar xzf) and give the folder", result["stderr"])

    def test_a_large_trace_is_read_in_place(self):
        """A trace of 40 MB is read in pieces, with progress. Compressed, it has several gzip members."""
        small = json.loads((FIXTURES / "tiny-ddp-trace.json").read_text())
        with tempfile.TemporaryDirectory() as temporary:
            large = pathlib.Path(temporary, "large.json")
            padding = [{"ph": "M", "name": "padding", "args": {"note": "x" * 1000}}] * 40_000
            large.write_text(json.dumps({**small, "traceEvents": small["traceEvents"] + padding}))
            packed = pathlib.Path(temporary, "large.json.gz")
            text = large.read_bytes()
            packed.write_bytes(gzip.compress(text[: 1 << 20]) + gzip.compress(text[1 << 20 :], 0))
            arguments = ["import", "trace", "-o", "w.json"]
            small_one, plain, gz = answers(
                [(arguments, {"trace": path}) for path in (FIXTURES / "tiny-ddp-trace.json", large, packed)]
            )
        self.assertEqual(small_one["exit"], 0, small_one["stderr"])
        for result in (plain, gz):
            self.assertEqual(result["written"], small_one["written"])
            self.assertLess(result["memory"], len(text))
            self.assertGreater(result["messages"], 0)

    def test_the_program_in_a_page_is_small(self):
        program = pathlib.Path(ENGINE, "ddpsim.wasm").read_bytes()
        self.assertLess(len(gzip.compress(program, 9)), COMPRESSED)


if __name__ == "__main__":
    unittest.main()
