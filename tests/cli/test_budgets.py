"""Inputs from others take no more memory than docs/reference/formats.md says.

Hostile inputs are refused before they fill the memory. Large ones are read within a multiple of their size."""

import io
import json
import pathlib
import re
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

from command import BINARY, ROOT, SANITIZED, SHARED, Outcome, ddpsim
from nsys_export import Export

ATTACK = SHARED / "data" / "attack"
FIXTURE = ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json"
MIB = 1 << 20
ROOM = 64 * MIB  # allowed above the stated multiple
# The address space for inputs that must be refused. Libraries and stacks of threads need some of it.
ROOF = 700 * MIB
# Seconds of processor time. A reader without a limit would run for hours.
PATIENCE = 60


# A small process starts the program and measures it, because a process also counts the memory of the one it was forked
# from.
STARTER = """
import os, resource, sys
addresses, seconds, *command = sys.argv[1:]
if int(addresses):
    resource.setrlimit(resource.RLIMIT_AS, (int(addresses), int(addresses)))
resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
process = os.fork()
if process == 0:
    os.execv(command[0], command)
_, status, used = os.wait4(process, 0)
print("", used.ru_maxrss * 1024, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


def measured(*arguments, addresses=0):
    """The outcome of a command, and the most memory that it held, in bytes.

    `addresses` limits its address space, like ulimit -v.
    """
    process = subprocess.run(
        [sys.executable, "-S", "-c", STARTER, str(addresses), str(PATIENCE), BINARY, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    process.stderr, _, held = process.stderr.rstrip("\n").rpartition(" ")
    return Outcome(process), int(held)


def header(name, size, kind=b"0"):
    block = bytearray(512)
    for at, field in (
        (0, name),
        (100, b"0000644"),
        (108, b"0000000"),
        (116, b"0000000"),
        (124, b"%011o" % size),
        (136, b"00000000000"),
        (148, b" " * 8),
        (156, kind),
        (257, b"ustar\x0000"),
    ):
        block[at : at + len(field)] = field
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def record(key, value):
    rest = f" {key}={value}\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return f"{length}{rest}".encode()


def packed(path, pieces):
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open(path, "wb") as file:
        for piece in pieces:
            file.write(pack.compress(piece))
        file.write(pack.flush())
    return path


@unittest.skipIf(SANITIZED, "the sanitizer takes memory of its own")
class Budgets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.alone = measured("list")[1]  # the program itself

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calibrate = ["calibrate", "--cluster", "dgx1v", "-o", self.folder / "cluster.json"]

    def refused(self, path, *texts):
        said, held = measured("import", path, addresses=ROOF)
        self.assertEqual(said.code, 3, said.err)
        self.assertTrue(said.err.startswith(f"ddpsim: {path}"), said.err)
        for text in texts:
            self.assertIn(text, said.err)
        return held

    def within(self, read, multiple, *command, codes=(0,)):
        said, held = measured(*command)
        self.assertIn(said.code, codes, said.err)
        most = self.alone + ROOM + multiple * read
        self.assertLessEqual(
            held,
            most,
            f"{command}: {held / MIB:.0f} MiB held of {read / MIB:.0f} MiB read, {multiple} times "
            f"that and 64 MiB above the program's {self.alone / MIB:.0f} MiB are {most / MIB:.0f}",
        )
        return said

    def text(self, name, content):
        path = self.folder / name
        path.write_text(content)
        return path

    def stated(self, kind):
        """The memory of an input as a multiple of its bytes, from docs/reference/formats.md."""
        page = (ROOT / "docs" / "reference" / "formats.md").read_text().partition("\n## Memory\n")[2]
        return int(re.search(rf"^\| {kind} \| (\d+)", page, re.MULTILINE)[1])

    def archive(self, members):
        """A collected job of rank 0. `members` has the kind and bytes of each path."""
        manifest = {
            "schema": "ddpsim.collect/1",
            "ranks": 1,
            "nodes": 1,
            "members": [{"path": path, "kind": kind, "rank": 0, "node": 0} for path, (kind, _) in members.items()],
        }
        path = self.folder / f"job{len(list(self.folder.iterdir()))}.tar.gz"
        with tarfile.open(path, "w:gz", compresslevel=1) as tar:
            for name, content in [
                ("manifest.json", json.dumps(manifest).encode()),
                *((name, content) for name, (_, content) in members.items()),
            ]:
                entry = tarfile.TarInfo("job/" + name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        return path

    # archives

    @unittest.skipUnless(ATTACK.exists(), "shared/data/attack is not beside the checkout")
    def test_compression_bombs_that_were_found_are_refused(self):
        for name in ("sparse_bomb_480MB.tar.gz", "sparse_bomb_2.8GB.tar.gz", "pax_bomb.tar.gz"):
            held = self.refused(ATTACK / name, "is compressed twice")
            self.assertLess(held, self.alone + ROOM, name)

    def test_compression_bombs_of_one_layer_are_refused(self):
        entries = 4_000_000
        attributes = b"".join(
            record(key, value)
            for key, value in (
                ("GNU.sparse.major", "1"),
                ("GNU.sparse.minor", "0"),
                ("GNU.sparse.name", "j/s"),
                ("GNU.sparse.realsize", str(2**40)),
            )
        )
        head = b"%d\n" % entries
        size = (len(head) + 4 * entries + 511) // 512 * 512
        body = (head + b"0\n0\n" * entries).ljust(size + 512, b"\0")
        name = header(b"././@LongLink", MIB, b"L") + b"j/a".ljust(MIB, b"\0")
        bombs = {
            "sparse": (
                [header(b"x", len(attributes), b"x"), attributes.ljust(512, b"\0"), header(b"j/s", size + 512), body],
                "is a sparse file",
            ),
            "names": ([name] * 30, "more than 64 KiB"),
            "zeros": ([header(b"j/a", 200 * MIB)] + [bytes(MIB)] * 200, "more than 250 times its size"),
            "many": ([header(b"j/d%d" % number, 0, b"5") for number in range(5000)], "more than 4096 files"),
            "large": ([header(b"j/a", 300 * MIB)], "more than 256 MiB"),
        }
        for kind, (pieces, text) in bombs.items():
            with self.subTest(kind):
                path = packed(self.folder / f"{kind}.tar.gz", [*pieces, bytes(1024)])
                self.assertLess(self.refused(path, text), self.alone + ROOM)

    def test_zeros_are_not_an_archive(self):
        path = self.folder / "zeros"
        path.write_bytes(bytes(10_240))
        self.assertNotIn("tar", ddpsim("import", path).err.replace(str(path), ""))

    def test_an_archive_takes_twice_what_is_in_it(self):
        lines = b"".join(
            b"n%d:1:2 [0] NCCL INFO Channel %d/0 : %d[0] -> %d[0] [send] via NET/IB/0/GDRDMA\n"
            % (number % 9999, number % 32, number, number + 1)
            for number in range(150_000)
        )
        path = self.archive({"nccl/rank0.txt": ("nccl_log", lines)})
        self.within(len(lines), self.stated("archive"), "diff", path, path, codes=(0, 3))
        self.within(len(lines), self.stated("archive"), "import", path, codes=(3,))

    # databases

    def export(self, small=False):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.sqlite"
        made = Export(path, small)
        made.add_trace(json.loads(FIXTURE.read_text()))
        made.close()
        return path

    def fan_out(self, ids):
        path = self.export()
        with sqlite3.connect(path) as base:
            base.execute("DROP TABLE StringIds")
            base.execute("CREATE TABLE StringIds (id, value TEXT)")
            base.executemany("INSERT INTO StringIds VALUES (?, 'k')", ((one,) for one in ids))
            base.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME")
            base.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, 117440513, ?, 1, 0, NULL)",
                ((number,) for number in range(20_000)),
            )
        base.close()
        return path

    def test_one_id_with_many_texts_is_refused(self):
        said = "20000 rows of StringIds have the id 1"
        self.refused(self.fan_out([1] * 20_000), said)
        self.refused(self.fan_out(["0" * number + "1" for number in range(20_000 // 100)] * 100), said)

    def test_database_pages_that_point_at_each_other_are_refused(self):
        """A table of six pages, each of which points 60 times at the next one, so it has 60^6 leaves.

        The program counts rows as they come, or SQLite's steps if it sorts them first.
        """
        for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"):
            with self.subTest(table):
                path = self.export(small=True)
                base = sqlite3.connect(path)
                (root,) = base.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
                base.close()
                content = bytearray(path.read_bytes())
                page = lambda number: slice((number - 1) * 512, number * 512)
                leaf = root
                while content[page(leaf)][0] == 5:  # the rightmost child
                    leaf = struct.unpack(">I", content[page(leaf)][8:12])[0]
                if leaf == root:
                    content += content[page(root)]
                    leaf = len(content) // 512
                pages = len(content) // 512
                inner = [root, *range(pages + 1, pages + 6)]
                content += bytes(512 * 5)
                for here, child in zip(inner, [*inner[1:], leaf]):
                    cells = 60  # 5 bytes each: child and key
                    body = bytearray(512)
                    struct.pack_into(">BHHHBI", body, 0, 5, 0, cells, 512 - 5 * cells, 0, child)
                    for cell in range(cells):
                        at = 512 - 5 * (cell + 1)
                        struct.pack_into(">H", body, 12 + 2 * cell, at)
                        struct.pack_into(">IB", body, at, child, 1)
                    content[page(here)] = body
                struct.pack_into(">I", content, 28, len(content) // 512)
                path.write_bytes(content)
                self.refused(path, "far more work to read")

    # logs

    def test_a_log_in_one_line(self):
        log = self.text("nccl.log", "n1:1:2 [0] NCCL INFO " + "a b " * (6 * MIB) + "\nNCCL version 2.21.5\n")
        size = log.stat().st_size
        self.within(size, self.stated("log"), *self.calibrate, log, codes=(3,))
        self.within(size, self.stated("log"), "validate", "1ms", log, codes=(3,))
        said = self.within(2 * size, self.stated("log"), "diff", log, log)
        self.assertIn("nccl.log:1: ignored, because it is longer than 1 MiB", said.out + said.err)

    def test_a_log_of_many_lines(self):
        log = self.text(
            "nccl.log",
            "".join(
                f"n{number % 9999}:1:{number} [0] NCCL INFO Channel {number % 32}/0 : {number}[0] -> {number + 1}[0] [receive] via "
                "NET/IB/0\n" + f"n{number}:1:2 [0] NCCL INFO comm 0x1 rank 3 nRanks {number + 2}\n"
                for number in range(50_000)
            ),
        )
        self.within(2 * log.stat().st_size, self.stated("log"), "diff", log, log, codes=(0, 3))

    def test_tables_of_too_many_rows_or_runs_are_refused(self):
        row = "8 2 float sum -1 10.00 0.00 0.00 0\n"
        rows = self.text("rows.log", row * 50_001)
        device = "Rank 0 on node1 device 0 [0x07] V100\n"
        runs = self.text("runs.log", device * 10_002)
        for log, text in ((rows, "more than 50000 rows"), (runs, "more than 10000 runs")):
            said = self.within(log.stat().st_size, self.stated("log"), *self.calibrate, log, codes=(3,))
            self.assertIn(text, said.err)

    def test_step_times(self):
        most = self.text("most.log", "1s/it " * 1_000_000)
        self.within(most.stat().st_size, self.stated("log"), "diff", most, "1s")
        for name, content in (("more.log", "1s/it " * 1_000_001), ("more.csv", "step_time_s\n" + "1\n" * 1_000_001)):
            more = self.text(name, content)
            said = self.within(more.stat().st_size, self.stated("log"), "diff", more, "1s", codes=(3,))
            self.assertIn("more than 1000000 step times", said.err)
        commas = self.text("commas.csv", "step_time_s" + "," * (12 * MIB) + "\n1\n")
        self.within(commas.stat().st_size, self.stated("log"), "diff", commas, "1s", codes=(0, 3))

    # inputs that are held whole or streamed

    def test_other_inputs_take_what_the_page_says(self):
        count = 1 << 20
        event = '{"ph":"X","cat":"kernel","name":"k%d","ts":%d,"dur":1,"tid":1,"args":{"device":0,"correlation":%d}}'
        inputs = [
            ("JSON document", "ones.json", '{"schema":"ddpsim.workload/1","x":[' + "1," * count + "1]}", ["import"]),
            ("JSON document", "cut.json", '{"schema":"ddpsim.workload/1","x":[' + "[]," * count, ["import"]),
            ("JSON document", "cluster.json", '{"schema":"ddpsim.cluster/1","x":[' + "1," * count + "1]}", ["topo"]),
            ("XML", "topo.xml", '<system version="1">' + "<a/>" * count + "</system>", ["topo"]),
            (
                "matrix of nvidia-smi, tables of rocm-smi",
                "matrix.txt",
                "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV1\t0\nGPU1\tNV1\t X \t0\n" + "\n" * (8 * MIB),
                ["topo"],
            ),
            ("trace", "long.json", '{"traceEvents":[{"ph":"X","name":"' + "a" * (24 * MIB) + '"}]}', ["import"]),
            (
                "trace",
                "many.json",
                '{"schemaVersion":1,"traceEvents":['
                + ",".join(event % (number, number, number) for number in range(50_000))
                + "]}",
                ["import"],
            ),
            (
                "table",
                "layers.csv",
                "layer,parameters,forward_us,backward_us\n"
                + "".join(f"l{number},1,1,1\n" for number in range(200_000)),
                ["import"],
            ),
            (
                "table",
                "caps.csv",
                "bucket_cap_mb,iteration_ms\n" + "".join(f"{number},1\n" for number in range(1, 100_000)),
                ["validate", "1ms"],
            ),
            (
                "table",
                "sizes.csv",
                "size_bytes,time_us\n" + "".join(f"{number},1\n" for number in range(8, 50_000)),
                ["validate", "1ms"],
            ),
        ]
        for kind, name, content, command in inputs:
            with self.subTest(name):
                path = self.text(name, content)
                self.within(len(content), self.stated(kind), *command, path, codes=(0, 3))

    def test_an_export_takes_what_the_page_says(self):
        path = self.export()
        with sqlite3.connect(path) as base:
            (start,) = base.execute("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
            base.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, 117440513, ?, 1, 0, NULL)",
                ((start + number, start + number, 10**6 + number) for number in range(100_000)),
            )
            base.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 7, ?, 117440512, 8, 1)",
                ((start + number, start + number, 10**6 + number) for number in range(100_000)),
            )
        base.close()
        self.within(path.stat().st_size, self.stated("Nsight Systems export"), "import", path)


if __name__ == "__main__":
    unittest.main()
