"""scripts/on_gpu.sh without a GPU: which measurements are stored, their format, and the packed NCCL."""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

from command import BINARY, ROOT

sys.path.insert(0, str(ROOT / "scripts/on_gpu"))
import keep  # noqa: E402
import thin_nccl  # noqa: E402

KEPT = ROOT / "tests/lab/measured/gpu"
TYPES = {
    "schema": str,
    "part": str,
    "card": str,
    "rehearsed": bool,
    "notes": list,
    "runs": list,
    "rows": list,
    "problems": list,
}
FREE = ("provenance", "versions", "setup")  # may have any keys


def document(part="copies", **changed):
    return {
        "schema": "ddpsim.on_gpu/1",
        "part": part,
        "card": "NVIDIA H200",
        "driver": "580.1",
        "versions": {"torch": "2.11"},
        "command": f"{part}.py",
        "rehearsed": False,
        "complete": True,
        "begun": [],
        "rows": [],
        "problems": [],
        **changed,
    }


def sweep(*caps):
    """A measurement in the format of ddpsim-real."""
    spread = {"median": 5.0, "p10": 4.0, "p90": 6.0}
    return {
        "schema": "ddpsim.measurement/1",
        "ranks": 2,
        "all_reduces": [],
        "setup": {
            "command": "ddpsim-real /a/place/tiny.json -o /another/place/a-sweep",
            "workload": "estimate resnet50@H100",
            "hosts": "secret-host",
            "ranks_per_process": "2",
            "communication": "NCCL 2.30.7",
        },
        "configurations": [
            {
                "name": f"cap{cap}",
                "bucket_cap_mb": cap,
                "iteration_us": spread,
                "iterations_us": [4.0, 6.0],
                "timeline": f"cap{cap}.timeline.json",
                "buckets": [{"index": 0, "bytes": 8, "parameter_indices": [1, 0], "ready_us": spread}],
            }
            for cap in caps
        ],
    }


def keys(value, place=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in FREE:
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


class Keep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def left(self, path, **changed):
        """Writes a document as a run writes it."""
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document(path.stem, **changed)))
        return path

    def keep(self, *inputs, code=0):
        run = subprocess.run(
            [sys.executable, "-B", ROOT / "scripts/on_gpu/keep.py", "--into", self.folder / "kept", *inputs],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stderr

    def kept(self, part="copies"):
        return json.loads((self.folder / "kept/nvidia-h200" / f"{part}.json").read_text())

    def test_rows_of_a_later_run_replace_those_of_the_same_item(self):
        first = self.left(
            "a/copies.json",
            begun=["one", "two", "three"],
            rows=[{"item": "one", "n": 1}, {"item": "one", "n": 2}, {"item": "two", "n": 3}],
            problems=[{"item": "three", "what": "took too long"}],
        )
        second = self.left(
            "b/copies.json",
            begun=["one", "three"],
            driver="590.2",
            rows=[{"item": "one", "n": 4}, {"item": "three", "n": 5}],
        )
        self.keep(first, second)
        kept = self.kept()
        self.assertEqual(
            [(row["item"], row["run"], row["n"]) for row in kept["rows"]],
            [("two", 0, 3), ("one", 1, 4), ("three", 1, 5)],
        )
        self.assertEqual(kept["problems"], [])
        self.assertEqual([run["driver"] for run in kept["runs"]], ["580.1", "590.2"])

    def test_a_run_is_added_to_the_stored_rows(self):
        self.keep(self.left("a/copies.json", begun=["one"], rows=[{"item": "one", "n": 1}]))
        self.keep(self.left("b/copies.json", begun=["two"], rows=[{"item": "two", "n": 2}], driver="590.2"))
        self.assertEqual([row["item"] for row in self.kept()["rows"]], ["one", "two"])

    def test_folders_and_archives_give_the_same(self):
        whole = self.left("run/whole/copies.json", begun=["one"], rows=[{"item": "one", "n": 1}])
        self.keep(self.folder / "run")
        by_folder = self.kept()
        with tarfile.open(self.folder / "measured.tar.xz", "w:xz") as archive:
            archive.add(whole, "copies.json")
        (self.folder / "kept/nvidia-h200/copies.json").unlink()
        self.keep(self.folder / "measured.tar.xz")
        self.assertEqual(self.kept(), by_folder)

    def test_recorded_workloads_are_stored_with_the_document(self):
        recorder = self.left("a/recorder.json", begun=["small"], rows=[{"item": "small", "model": "small"}])
        (self.folder / "a/recorder").mkdir()
        for name in ("small", "small-profiled"):
            (self.folder / f"a/recorder/{name}.json").write_text(f'{{"name": "{name}"}}')
        self.keep(recorder)
        self.assertEqual([path.name for path in (self.folder / "kept/nvidia-h200/recorded").iterdir()], ["small.json"])

    def test_bulky_parts_hosts_paths_and_addresses_are_left_out(self):
        self.keep(
            self.left(
                "a/reducer.json",
                begun=["a sweep", "late"],
                rows=[{"item": "a sweep", "ranks": 2, "as": "threads", "measurement": sweep(25)}],
                problems=[
                    {"item": "late", "what": "took longer\n#0  0x00007f3a5dd108d7 in wait4 () from /lib/libc.so.6"}
                ],
            )
        )
        kept = self.kept("reducer")
        text = json.dumps(kept)
        for word in (
            "secret-host",
            "iterations_us",
            "parameter_indices",
            "timeline",
            "/a/place",
            "/another",
            "0x0",
            "wait4",
        ):
            self.assertNotIn(word, text)
        measurement = kept["rows"][0]["measurement"]
        self.assertEqual(measurement["configurations"][0]["buckets"], {"bytes": [8], "ready_us": [5.0]})
        self.assertEqual(measurement["setup"]["command"], "ddpsim-real tiny.json -o a-sweep")
        self.assertIn("was added before", self.keep(self.folder / "kept/nvidia-h200/reducer.json", code=3))

    def test_a_sweep_that_a_time_limit_ended_keeps_its_configurations(self):
        path = self.left(
            "a/reducer.json", begun=["big one"], problems=[{"item": "big one", "what": "took longer than 40 s"}]
        )
        (self.folder / "a/reducer/big-one").mkdir(parents=True)
        (self.folder / "a/reducer/big-one/measurement.json").write_text(json.dumps(sweep(1, 5)))
        self.keep(path)
        kept = self.kept("reducer")
        self.assertEqual(
            [(row["item"], row["partial"], row["as"], row["workload"]) for row in kept["rows"]],
            [("big one", True, "threads", "resnet50@H100")],
        )
        self.assertEqual([problem["item"] for problem in kept["problems"]], ["big one"])
        whole = self.left(
            "b/reducer.json",
            begun=["big one"],
            rows=[{"item": "big one", "ranks": 2, "as": "threads", "measurement": sweep(1, 5, 25)}],
        )
        self.keep(whole, path)  # a part never replaces a whole sweep
        kept = self.kept("reducer")
        self.assertEqual([len(row["measurement"]["configurations"]) for row in kept["rows"]], [3])
        self.assertEqual(kept["problems"], [])

    def test_documents_without_measurements_are_refused_and_nothing_is_written(self):
        good = self.left("good/copies.json", begun=["one"], rows=[{"item": "one"}])
        for name, changed, said in (
            ("rehearsed", {"rehearsed": True}, "is from a rehearsal"),
            ("cpu", {"card": "no GPU"}, "without a GPU"),
            ("probe", {"command": "copies.py --probe"}, "is from a probe"),
            ("other", {"schema": "x/1"}, "its schema"),
        ):
            with self.subTest(name):
                bad = self.left(f"{name}/copies.json", **changed)
                self.assertIn(said, self.keep(good, bad, code=3))
                self.assertIn(str(bad), self.keep(bad, code=3))
                self.assertFalse((self.folder / "kept").exists())
        self.assertIn("no document of a part", self.keep(self.folder, code=3))
        (self.folder / "no.tar.xz").write_text("not an archive")
        self.assertIn("no.tar.xz", self.keep(self.folder / "no.tar.xz", code=3))

    def test_a_note_goes_to_its_part(self):
        path = self.left("a/copies.json", begun=["one"], rows=[{"item": "one"}])
        self.keep(path, "--note", "copies=the host was slow")
        self.keep(path, "--note", "copies=the host was slow")
        self.assertEqual(self.kept()["notes"], ["the host was slow"])
        self.assertIn("--note ddp=text", self.keep(path, "--note", "ddp=text", code=3))


class Kept(unittest.TestCase):
    """The stored measurements in the repository."""

    def test_documents_have_the_stated_format(self):
        page = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
        section = page.split("## Measured on one GPU\n")[1].split("\n## ")[0]
        explained = set(
            re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL))
        )
        paths = sorted(KEPT.glob("*/*.json"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path=path.relative_to(KEPT)):
                text = path.read_text(encoding="utf-8")
                found = json.loads(text)
                self.assertEqual({key: type(value) for key, value in found.items()}, TYPES)
                self.assertEqual(
                    (found["schema"], found["part"], found["rehearsed"]), ("ddpsim.on_gpu/1", path.stem, False)
                )
                self.assertEqual(keep.folder_of(found["card"]), path.parent.name)
                for run in found["runs"]:
                    self.assertEqual(set(run), {"driver", "versions", "command", "complete"})
                for entry in found["rows"] + found["problems"]:
                    self.assertIsInstance(entry["item"], str)
                    self.assertIn(entry["run"], range(len(found["runs"])))
                self.assertTrue(found["rows"])
                self.assertEqual(sorted(set(keys(found)) - explained), [])
                self.assertEqual(re.findall(r"(?<![\w.])/\w+/\w+|0x[0-9a-f]{4,}|\d+\.\d+\.\d+\.\d+", text), [])
                self.assertEqual(keep.text_of(found), text)  # one row per line
                self.assertLess(len(text), 400_000)  # four models with ten caps each

    def test_recorded_workloads_are_simulated(self):
        paths = sorted(KEPT.glob("*/recorded/*.json"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path=path.relative_to(KEPT)):
                gpu = json.loads(path.read_text(encoding="utf-8"))["gpu"]
                run = subprocess.run(
                    [BINARY, "simulate", path, f"node:1 gpu:8x{gpu} nvswitch:450GBps", "--json"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(run.returncode, 0, run.stderr)

    def test_tables_can_be_made_from_them(self):
        run = subprocess.run(
            [sys.executable, "-B", ROOT / "tests/accuracy/gpu_tables.py", "--ddpsim", BINARY],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        for words in (
            "reducer, no communication:",
            "step, bound by the GPU:",
            "interference, no slowdown:",
            "recorder: 4 models",
        ):
            self.assertIn(words, run.stdout)

    def test_tables_say_when_nothing_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-B", ROOT / "tests/accuracy/gpu_tables.py", "--ddpsim", BINARY, "--measured", folder],
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Nothing has been measured on a GPU yet", run.stdout)


def container(*entries):
    """A container in the format of fatbinary. Entries have a kind, an architecture and a payload."""
    body = b""
    for kind, architecture, payload in entries:
        header = bytearray(64)
        struct.pack_into("<HHIQ", header, 0, kind, 0x101, 64, len(payload))
        struct.pack_into("<I", header, 28, architecture)
        body += bytes(header) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def elf(**sections):
    """A 64-bit ELF file with only these sections. Their names get a dot in front."""
    names, out, table = b"\0", bytearray(64), [(0,) * 10]
    for name, data in sections.items():
        out += bytes(-len(out) % 8)
        table.append((len(names), 1, 0, 0, len(out), len(data), 0, 0, 8, 0))
        names += b"." + name.encode() + b"\0"
        out += data
    table.append((len(names), 3, 0, 0, len(out), len(names) + len(b".shstrtab\0"), 0, 0, 1, 0))
    out += names + b".shstrtab\0"
    out += bytes(-len(out) % 8)
    struct.pack_into("<Q", out, 0x28, len(out))
    struct.pack_into("<HHH", out, 0x3A, 64, len(table), len(table) - 1)
    for header in table:
        out += struct.pack("<IIQQQQIIQQ", *header)
    return bytes(out)


class ThinNccl(unittest.TestCase):
    def thinned(self, image, architecture):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "source", pathlib.Path(folder) / "target"
            source.write_bytes(image)
            run = subprocess.run(
                [sys.executable, "-B", ROOT / "scripts/on_gpu/thin_nccl.py", source, target, str(architecture)],
                capture_output=True,
                text=True,
                check=False,
            )
            return run, target.read_bytes() if target.exists() else None

    def test_code_of_one_architecture_stays_and_the_rest_becomes_zeros(self):
        payloads = {(2, 80): b"A" * 40, (2, 90): b"B" * 24, (1, 90): b"C" * 16, (2, 100): b"D" * 8}
        image = elf(
            text=b"E" * 32,
            nv_fatbin=container(*((*key, payload) for key, payload in list(payloads.items())[:2]))
            + container(*((*key, payload) for key, payload in list(payloads.items())[2:])),
        )
        run, thinned = self.thinned(image, 90)
        self.assertEqual(run.returncode, 0, run.stderr)
        expected = image
        for payload in (payloads[2, 80], payloads[1, 90], payloads[2, 100]):
            expected = expected.replace(payload, bytes(len(payload)))
        self.assertEqual(thinned, expected)
        found = {name: (offset, size) for name, offset, size in thin_nccl.sections(image)}
        self.assertEqual(
            [(kind, of) for kind, of, _, _ in thin_nccl.entries(image, *found[b".nv_fatbin"])], list(payloads)
        )

    def test_a_library_without_that_architecture_is_refused(self):
        run, thinned = self.thinned(elf(nv_fatbin=container((2, 80, b"A" * 8))), 90)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no code for sm_90", run.stderr)
        self.assertIsNone(thinned)


if __name__ == "__main__":
    unittest.main()
