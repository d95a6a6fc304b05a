"""An export of Nsight Systems tells the same about a step as the trace of the profiler, or names what it lacks."""

import copy
import decimal
import gzip
import json
import pathlib
import sqlite3
import sys
import tempfile
import unittest

from command import ROOT, SHARED, ddpsim
from nsys_export import Export

FIXTURE = ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json"
TIMES = ("forward", "optimizer", "iteration", "host")
LARGEST = 40 << 20  # larger traces take Python a minute


def without_markers(name):
    return not name.startswith("ProfilerStep")


class Nsys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = json.loads(FIXTURE.read_text())

    def export(self, name="step.sqlite", **how):
        path = self.folder / name
        export = Export(path)
        export.add_gpu(1, "Tesla V100-SXM2-16GB")
        export.add_trace(self.trace, **how)
        export.close()
        return path

    def changed(self, *statements):
        path = self.export(f"{len(list(self.folder.iterdir()))}.sqlite")
        with sqlite3.connect(path) as base:
            for statement in statements:
                base.execute(statement)
        base.close()
        return path

    def refused(self, path, *texts):
        said = ddpsim("import", path)
        self.assertEqual(said.code, 3, said.err)
        self.assertTrue(said.err.startswith(f"ddpsim: {path}: "), said.err)
        for text in texts:
            self.assertIn(text, said.err)

    def same_step(self, said, trace):
        self.assertEqual(said.code, 0, said.err)
        mine, theirs = said.json(), ddpsim("import", trace).json()
        for key in TIMES:
            self.assertEqual(mine.get(key), theirs.get(key), key)
        times = lambda one: [(entry["at_us"], entry.get("copied_at_us")) for entry in one["backward"]["ready"]]
        self.assertEqual(times(mine), times(theirs))
        self.assertEqual(mine["backward"]["duration_us"], theirs["backward"]["duration_us"])
        return mine, theirs

    def test_times_are_those_of_the_trace(self):
        said = ddpsim("import", self.export())
        mine, theirs = self.same_step(said, FIXTURE)
        self.assertIn("an Nsight Systems export (schema version 3.11.0)", said.err)
        self.assertEqual(mine["gpu"], "V100")
        self.assertEqual(mine["provenance"]["kind"], "Nsight Systems export")
        self.assertEqual(mine["recorded_with"]["nccl_kernels"], theirs["recorded_with"]["nccl_kernels"])
        self.assertIn("gradients are assumed to be", said.err)

    def test_sizes_become_shapes_and_optimizer_ranges_become_steps(self):
        shapes = [[10], [5, 4], [], [10], [5, 4], []]
        said = ddpsim("import", self.export(sizes=shapes))
        self.assertEqual([one["shape"] for one in said.json()["parameters"]], [[], [5, 4], [10]])
        self.assertIn("have the type of the all-reduces, float32", said.err)
        self.trace = json.loads(FIXTURE.read_text().replace("_Sum_float", "_Sum_half"))
        half = ddpsim("import", self.export("half.sqlite", sizes=shapes))
        self.assertEqual({one["dtype"] for one in half.json()["parameters"]}, {"float16"})
        self.assertIn(
            "the all-reduces are of float16: record with emit_nvtx(record_shapes=True)",
            ddpsim("import", self.export("unsized.sqlite")).err,
        )
        said = ddpsim("import", self.export("unmarked.sqlite", ranges=without_markers))
        self.assertEqual(said.code, 0, said.err)
        self.assertIn("step", said.err)

    def test_the_processes_of_one_session_are_its_ranks(self):
        path = self.folder / "two.sqlite"
        export = Export(path)
        late = copy.deepcopy(self.trace)
        for event in late["traceEvents"]:
            if event.get("cat") == "kernel" and "AllReduce" in event["name"]:
                event["ts"] += 10
                event["dur"] -= 10
        export.add_trace(late, pid=5, device=1)
        export.add_trace(self.trace, pid=9, device=0)
        export.close()
        said = ddpsim("import", path)
        job = said.json()
        self.assertEqual([one["rank"] for one in job["ranks"]], [0, 1])
        self.assertEqual(job["recorded_with"]["world_size"], 2)
        self.assertIn("2 processes, used as ranks in order of GPU", said.err)
        self.assertIn("rank 1 arrived last", said.err)
        self.assertIn("holds 2 ranks already", ddpsim("import", path, path).err)
        self.assertIn("holds 2 ranks, which", ddpsim("import", path, "--timing", "compacted").err)

    def test_a_folder_of_exports_is_a_job(self):
        for rank in (0, 1):
            self.export(f"rank{rank}.sqlite")
        self.assertEqual(len(ddpsim("import", self.folder).json()["ranks"]), 2)

    def test_an_export_without_ranges_names_its_contents_and_the_fix(self):
        path = self.export(ranges=lambda name: False)
        self.refused(
            path,
            "all-reduce kernels of",
            "no NVTX range of autograd's nodes",
            "torch.autograd.profiler.emit_nvtx(record_shapes=True)",
        )

    def test_missing_tables_are_named(self):
        for statement, text in (
            ("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "no GPU kernel was recorded"),
            ("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "no GPU kernel was recorded"),
            ("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", "but not the host's calls that launched them"),
            ("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME", "no launch belongs to any GPU activity"),
            ("DROP TABLE NVTX_EVENTS", "no NVTX range of autograd's nodes"),
            ("DROP TABLE StringIds", "not an export of Nsight Systems"),
            (
                "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN gridX TO blocks",
                "has no column gridX (schema version 3.11.0)",
            ),
            ("ALTER TABLE NVTX_EVENTS RENAME COLUMN eventType TO kind", "has no column eventType"),
            ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1", "goes from"),
            ("UPDATE NVTX_EVENTS SET start = -9000000000000000000", "goes from"),
            ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 5, end = 6", "cannot be imported"),
        ):
            with self.subTest(statement=statement):
                self.refused(self.changed(statement), text)

    def test_a_view_does_not_count_as_a_table(self):
        self.refused(
            self.changed(
                "DROP TABLE NVTX_EVENTS",
                "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) "
                "SELECT start, start AS end, 59 AS eventType, '' AS text, 0 AS textId, 0 AS globalTid FROM n",
            ),
            "no NVTX range of autograd's nodes",
        )

    def test_a_file_that_is_not_a_database_is_named(self):
        whole = self.export().read_bytes()
        for name, content, text in (
            ("cut.sqlite", whole[: len(whole) // 2], "database"),
            ("head.sqlite", whole[:40], "database"),
            ("zeros.sqlite", whole[:100] + bytes(len(whole) - 100), "cannot be read as an SQLite database"),
            ("packed.sqlite.gz", gzip.compress(whole), "is a compressed SQLite database. Unpack it"),
        ):
            with self.subTest(name=name):
                path = self.folder / name
                path.write_bytes(content)
                self.refused(path, text)
        other = self.folder / "other.sqlite"
        with sqlite3.connect(other) as base:
            base.execute("CREATE TABLE people (name TEXT)")
        base.close()
        self.refused(other, "is an SQLite database, but not an export of Nsight Systems")

    @unittest.skipUnless((SHARED / "data" / "traces").is_dir(), "no real traces beside the checkout")
    def test_real_steps_keep_their_times(self):
        compared = 0
        for path in sorted((SHARED / "data" / "traces").glob("*.json.gz")):
            text = gzip.open(path).read()
            if len(text) > LARGEST:
                continue
            with self.subTest(trace=path.name):
                self.trace = json.loads(text, strict=False, parse_float=decimal.Decimal)
                mine, theirs = self.same_step(ddpsim("import", self.export(path.name + ".sqlite")), path)
                self.assertEqual(len(mine["parameters"]), len(theirs["parameters"]))
                compared += len(mine["backward"]["ready"])
        print(f"nsys exports of the open traces: {compared} gradients ready when the traces say", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
