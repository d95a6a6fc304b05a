"""No control character in a file, a file name or a command line reaches a terminal, a message or a written file.

The files of docs/reference/formats.md and tests/fixtures are given to the commands shown with them. Each of their strings in turn
gets every character appended that must not be shown."""

import copy
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import nsys_export
import pages
import patience
import recording
from command import BINARY, ROOT, SHARED, ddpsim, on_terminal, write_json

# C0 with NUL, DEL, C1, bidirectional controls and separators, then text that would be a separate line in bold.
PLANTED = (
    "".join(
        map(
            chr,
            [
                *range(1, 9),
                *range(11, 32),
                *range(0x7F, 0xA0),
                0x61C,
                0x200E,
                0x200F,
                *range(0x2028, 0x202F),
                *range(0x2066, 0x206A),
            ],
        )
    )
    + "\x1b[2J\x1b]0;title\x07\0behind a NUL\r\n\x1b[1mPLANTED"
)
HIDDEN = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
OWN_STYLES = re.compile("\x1b\\[[012]m")
MOST_PLACES = 40  # in one file


def places(value, path=()):
    """The paths of strings and keys in a document. Only the first entry of a list counts; others are read the same
    way."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
            yield (*path, (key,))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:1] if not value or not isinstance(value[0], dict) else value[:2]):
            yield from places(inner, (*path, index))
    elif isinstance(value, str):
        yield path


def planted_at(document, path):
    """A copy in which that string or key ends in the planted characters."""
    document = copy.deepcopy(document)
    inside = document
    for step in path[:-1]:
        inside = inside[step]
    last = path[-1]
    if isinstance(last, tuple):
        items = [(key + PLANTED if key == last[0] else key, value) for key, value in inside.items()]
        inside.clear()
        inside.update(items)
    else:
        inside[last] += PLANTED
    return document


class Hostile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name) / "here"
        self.here.mkdir()
        self.runs = 0

    def check(self, text, what):
        """Checks the bytes of an output: UTF-8 without characters that hide text, control the terminal or start a
        line."""
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        self.assertEqual(HIDDEN.findall(text), [], (what, text[:2000]))
        self.assertNotRegex(text, r"(?m)^PLANTED", what)

    def check_run(self, command, what=None):
        """Runs a line of shell or a list of words, checks its outputs, and returns its exit code."""
        self.runs += 1
        line = ["sh", "-c", command] if isinstance(command, str) else [BINARY, *map(str, command)]
        tools = self.here.parent / "bin"
        tools.mkdir(exist_ok=True)
        if not (tools / "ddpsim").exists():
            (tools / "ddpsim").symlink_to(BINARY)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        run = subprocess.run(
            line,
            cwd=self.here,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=patience.seconds(60),
        )
        self.assertIn(run.returncode, (0, 2, 3, 4), (what or command, run.stderr))
        self.check(run.stdout, what or command)
        self.check(run.stderr, what or command)
        if run.returncode in (2, 3):
            self.assertEqual(run.stderr.count(b"\n"), 1, (what or command, run.stderr))
            self.assertTrue(run.stderr.startswith(b"ddpsim: "), run.stderr)
        return run.returncode

    def on_terminal(self, *words):
        _, text = on_terminal(*words, cwd=self.here, NO_COLOR="")
        shown = text.replace("\r\n", "\n")
        self.assertNotIn("\x1b[1mPLANTED", shown)
        self.check(OWN_STYLES.sub("", shown), words)
        return shown

    def plant(self, name, document, commands):
        """Plants in one string of the file after another. Afterwards the file is as before."""
        found = list(dict.fromkeys(places(document)))
        for path in found[:: max(1, len(found) // MOST_PLACES)]:
            write_json(self.here / name, planted_at(document, path))
            for command in commands:
                self.check_run(command, (name, path, command))
        write_json(self.here / name, document)


class FilesOfTheDocumentation(Hostile):
    MOST_COMMANDS = 2  # for each file

    def test_strings_of_every_format(self):
        blocks = [block for block in pages.blocks((ROOT / "docs" / "reference" / "formats.md").read_text())]
        seen = set()
        for at, block in enumerate(blocks):
            if not block.name:
                for line in block.commands():
                    self.check_run(line)
                continue
            (self.here / block.name).write_text(block.text)
            commands = []
            for later in blocks[at + 1 :]:
                if later.name == block.name:
                    break
                commands += [line for line in later.commands() if block.name in line]
            if not commands:  # part of an archive
                continue
            commands = commands[: self.MOST_COMMANDS]
            with self.subTest(file=block.name):
                if block.language == "json":
                    self.plant(block.name, json.loads(block.text), commands)
                else:
                    words = list(re.finditer(r"[^\s,;=:]+", block.text))
                    for word in words[:: max(1, len(words) // 20)]:
                        (self.here / block.name).write_bytes(
                            (block.text[: word.end()] + PLANTED + block.text[word.end() :]).encode() + b"\xff\xfe\n"
                        )
                        for command in commands:
                            self.check_run(command, (block.name, word[0], command))
                (self.here / block.name).write_text(block.text)
            seen.add(block.name)
        self.assertGreater(len(seen), 15)
        self.assertGreater(self.runs, 200)


class Recordings(Hostile):
    def test_strings_of_a_trace(self):
        trace = json.loads((ROOT / "tests/fixtures/tiny-ddp-trace.json").read_text())
        self.plant(
            "trace.json",
            trace,
            [["import", "trace.json", "-o", "w.json"], ["simulate", "trace.json", "dgx1v@1", "--verbose"]],
        )
        trace["deviceProperties"][0]["name"] += PLANTED
        (self.here / "trace.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
        self.check_run(["diff", "trace.json.gz", "trace.json"])

    def test_strings_of_a_collected_job(self):
        (self.here / "job").mkdir()
        shutil.copy(ROOT / "tests/fixtures/tiny-ddp-trace.json", self.here / "job/rank0.json")
        (self.here / "job/gpus.csv").write_text("name\nTesla V100\n")
        manifest = {
            "schema": "ddpsim.collect/1",
            "ranks": 1,
            "nodes": 1,
            "step_us": 104000,
            "members": [
                {"path": "rank0.json", "kind": "trace", "rank": 0, "node": 0},
                {"path": "gpus.csv", "kind": "gpus", "node": 0},
            ],
            "missing": [{"kind": "all_reduce_log", "node": 0, "why": "it is not on PATH"}],
        }
        self.plant(
            "job/manifest.json", manifest, [["simulate", "job", "dgx1v@1"], ["topo", "job"], ["diff", "job", "job"]]
        )

    def test_strings_of_an_nsight_export(self):
        trace = recording.profiler_trace()
        for table, column in (
            ("StringIds", "value"),
            ("TARGET_INFO_GPU", "name"),
            ("META_DATA_EXPORT", "value"),
            ("NVTX_EVENTS", "text"),
        ):
            path = self.here / "trace.sqlite"
            path.unlink(missing_ok=True)
            export = nsys_export.Export(path)
            export.add_gpu(0, "Tesla V100-SXM2-16GB")
            export.add_trace(trace)
            export.base.execute(f"UPDATE {table} SET {column} = {column} || ?", (PLANTED,))
            export.base.commit()
            export.base.close()
            self.check_run(["import", "trace.sqlite", "-o", "w.json"], (table, column))

    def test_strings_of_ddp_logging_data(self):
        log = json.loads((ROOT / "tests/fixtures/ddp-log-resnet18.json").read_text())
        (self.here / "same.json").write_text(json.dumps(log))
        self.plant("log.json", log, [["diff", "same.json", "log.json", "--verbose"]])

    def test_lines_of_logs(self):
        lines = [
            "host:1:2 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0",
            "host:1:2 [0] NCCL INFO NET/IB : No device found.",
            "host:1:2 [0] NCCL INFO Channel 00/02 : 0 1",
            "NCCL version 2.18.3+cuda12.1",
            "NCCL_DEBUG=INFO",
            "OMP_NUM_THREADS=1",
        ]
        text = "\n".join(lines) + "\n"
        (self.here / "old.txt").write_text(text)
        for line in lines:
            for word in line.split():
                (self.here / "new.txt").write_bytes(text.replace(word, word + PLANTED).encode() + b"\xff\n")
                self.check_run(["diff", "old.txt", "new.txt", "--verbose"], (line, word))


class DocumentsOfTheProgram(Hostile):
    JOB = ("resnet18@V100:b32", "2xv100-nvlink")

    def test_strings_of_a_workload_in_every_answer(self):
        document = {
            "schema": "ddpsim.workload/1",
            "name": "job" + PLANTED,
            "gpu": "V100",
            "forward": {"duration_us": 100},
            "parameters": [
                {"name": f"p{n}" + PLANTED, "shape": [1000 * (n + 1)], "dtype": "float32"} for n in range(4)
            ],
            "backward": {"duration_us": 500, "ready": [{"parameter": 3 - n, "at_us": 100 * (n + 1)} for n in range(4)]},
        }
        write_json(self.here / "w.json", document)
        files = ["--csv", "o.csv", "--report", "o.html"]
        for command in (
            ["simulate", "w.json", "dgx1v@1", *files, "--timeline", "o.json"],
            ["buckets", "w.json", "--csv", "o.csv"],
            ["tune", "w.json", "dgx1v@1", *files, "--plot", "o.svg"],
            ["advise", "w.json", "dgx1v@1", *files, "--export", "o.py"],
            ["compare", "w.json", "one\x1b[1m\u202e\nPLANTED=dgx1v@1", "two=dgx1v@2", *files, "--plot", "o.svg"],
        ):
            self.assertEqual(self.check_run(command), 0, command)
            self.check_run([*command[:3], "--json"])
            self.on_terminal(*command[:3], *(command[3:4] if command[0] == "compare" else []), "--verbose")
            for file in self.here.glob("o.*"):
                text = file.read_text(encoding="utf-8")
                self.check(text.split("<body", 1)[-1] if file.suffix == ".html" else text, (command, file.name))
                file.unlink()
        self.assertEqual(
            self.check_run(["simulate", "w.json", "dgx1v@1", "--timeline", "o.pftrace", "--report", "o.json"]), 0
        )
        self.check((self.here / "o.json").read_text(encoding="utf-8"), "report")
        names = (self.here / "o.pftrace").read_bytes()
        self.assertIn(b"p0?", names)
        for planted in (b"\x1b[", "\u202e".encode(), "\x9b".encode()):
            self.assertNotIn(planted, names)

    def test_strings_of_results_timelines_and_sweeps(self):
        for name, words in (
            ("result.json", ["simulate", *self.JOB, "--json"]),
            ("table.json", ["allreduce", "2xv100-nvlink", "--json"]),
        ):
            (self.here / name).write_text(ddpsim(*words).out)
        self.assertEqual(ddpsim("simulate", *self.JOB, "--timeline", "t.json", cwd=self.here).code, 0)
        shutil.copy(self.here / "t.json", self.here / "step.json")
        self.plant(
            "result.json", json.loads((self.here / "result.json").read_text()), [["validate", "result.json", "104ms"]]
        )
        self.plant(
            "t.json",
            json.loads((self.here / "t.json").read_text()),
            [["simulate", *self.JOB, "--measured", "t.json"], ["validate", "step.json", "t.json"]],
        )
        study = {
            "schema": "ddpsim.study/1",
            "workload": self.JOB[0],
            "candidates": [self.JOB[1]],
            "grid": {"bucket-cap-mb": [5, 25]},
        }
        self.plant("study.json", study, [["sweep", "study.json"], ["compare", "--study", "study.json"]])
        self.assertEqual(ddpsim("sweep", "study.json", "-o", "s.jsonl", cwd=self.here).code, 0)
        lines = (self.here / "s.jsonl").read_text().splitlines()
        for at, line in enumerate(lines):
            # Unescaped, as far as JSON allows it. It forbids NUL to 0x1f.
            changed = line.replace("resnet18", "resnet18" + re.sub("[\0-\x1f]", "", PLANTED)).replace(
                'study": "', 'study": "\u202e'
            )
            (self.here / "s.jsonl").write_text("\n".join([*lines[:at], changed, *lines[at + 1 :]]) + "\n")
            self.check_run(["sweep", "--join", "s.jsonl"])
            self.check_run(
                ["sweep", "--join", "s.jsonl", "-o", "joined.jsonl", "--csv", "joined.csv", "--plot", "joined.svg"]
            )
            for file in self.here.glob("joined.*"):
                self.check(file.read_text(encoding="utf-8"), file.name)
                file.unlink()


class NamesAndWords(Hostile):
    def test_names_of_files_and_words_of_the_command_line(self):
        shown = PLANTED.replace("\0", "").replace("/", "")
        name = ("w" + shown + ".json").encode("utf-8")[:200].decode("utf-8", "ignore")
        (self.here / name).write_text("{")
        for word in (name, "w" + shown, "nothing\x1b[31m\u202e\x9b"):
            for command in (
                ["simulate", word, "dgx1v"],
                ["simulate", "resnet18@V100:b32", word],
                ["import", word],
                ["topo", word],
                [word],
                ["simulate", "--" + word],
                ["list", word],
                ["tune", "resnet18@V100:b32", "dgx1v", "--torch", word],
                ["diff", word, word],
                ["sweep", word],
                ["allreduce", "dgx1v", "--sizes", word],
                ["compare", "resnet18@V100:b32", word + "=dgx1v"],
                ["calibrate", word, "--cluster", "dgx1v", "-o", word],
                ["validate", word, word],
                ["buckets", word],
            ):
                self.check_run(command)
        for out in ("out" + shown[:40], b"out\xff\x9b"):
            run = subprocess.run(
                [BINARY, "import", "resnet18@V100:b32", "-o", out], cwd=self.here, capture_output=True, check=False
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            self.check(run.stderr, out)

    def test_advice_for_a_file_whose_name_is_not_utf8_is_still_python(self):
        name = b"w\xff\x9b.json"
        subprocess.run(
            [BINARY, "import", "resnet18@V100:b32", "-o", name], cwd=self.here, capture_output=True, check=True
        )
        subprocess.run(
            [BINARY, "advise", name, "dgx1v@1", "--export", "x.py"], cwd=self.here, capture_output=True, check=True
        )
        compile((self.here / "x.py").read_text(encoding="utf-8"), "x.py", "exec")

    def test_a_nul_does_not_cut_a_message(self):
        write_json(self.here / "c.json", {"schema": "ddpsim.cluster/1", "name": "c", "nodes\0more": 1})
        self.assertRegex(ddpsim("topo", "c.json", cwd=self.here).err, r"nodes\?more.*Known keys here")


@unittest.skipUnless((SHARED / "data/attack").is_dir(), "the reproducers are not here: ../shared is absent")
class Reproducers(Hostile):
    def test_messages_print_nothing_raw(self):
        attack = SHARED / "data/attack"
        for command in (
            ["simulate", attack / "archive_manifest_escape.tar.gz", "dgx1v"],
            ["import", attack / "trace_gpu_name_escape.json", "-o", "w.json"],
            ["buckets", attack / "schema_escape.json"],
            ["simulate", attack / "schema_escape.json", "dgx1v"],
            ["compare", "--study", attack / "study_option_escape.json"],
            ["sweep", attack / "study_option_escape.json"],
        ):
            self.check_run(command)
            self.on_terminal(*command)


if __name__ == "__main__":
    unittest.main()
