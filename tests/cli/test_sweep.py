"""The grid of a study in full: order, threads, resuming after a kill, shards, and refusals."""

import csv
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import unittest

from command import BINARY, ROOT, answer, ddpsim, write_json
from test_progress import Waiting

NODES = "gpu:8xV100 nvlink:6x25GBps:cube nic:{1,4}x100Gbps:ib"
STUDY = {
    "schema": "ddpsim.study/1",
    "workloads": ["resnet50-v100-b32", "resnet18@V100"],
    "candidates": ["dgx1v@{1,2}", {"label": "own", "cluster": f"node:4 {NODES}", "price": "3.1/gpu_hour"}, "nosuch"],
    "options": {"price": "list", "mtbf": "1y", "restart": "10min", "checkpoint": "30s", "no-tune": True},
    "grid": {"bucket-cap-mb": [5, None], "comm-hook": ["none", "fp16"], "gradient-as-bucket-view": [False, True]},
}
POINTS = 2 * 5 * 8


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        write_json(cls.folder / "study.json", STUDY)
        cls.whole = cls.sweep("--csv", "whole.csv")
        cls.table = (cls.folder / "whole.csv").read_text()

    @classmethod
    def sweep(cls, *arguments, study="study.json", code=0):
        outcome = ddpsim("sweep", study, *arguments, cwd=cls.folder)
        assert outcome.code == code, outcome.err
        return outcome.out

    def file(self, content, name="sweep.jsonl"):
        path = self.folder / name
        path.write_text(content)
        self.addCleanup(path.unlink, missing_ok=True)
        return path

    def rows(self):
        return [json.loads(line) for line in self.whole.splitlines()[1:]]

    def refused(self, message, *arguments, code=3):
        outcome = ddpsim("sweep", *arguments, cwd=self.folder)
        self.assertEqual((outcome.code, outcome.err.count("\n")), (code, 1), outcome.err)
        self.assertIn(message, outcome.err)
        return outcome

    def refused_study(self, message, **fields):
        document = {key: value for key, value in {**STUDY, **fields}.items() if value is not None}
        write_json(self.folder / "bad.json", document)
        self.refused(message, "bad.json")


class Lines(Sweep):
    def test_points_have_the_order_of_the_study(self):
        header = json.loads(self.whole.splitlines()[0])
        self.assertEqual((header["schema"], header["points"], header["shard"]), ("ddpsim.sweep/1", POINTS, None))
        self.assertEqual(header["grid"], list(STUDY["grid"]))
        labels = ["dgx1v@1", "dgx1v@2", "own nic:1x100Gbps:ib", "own nic:4x100Gbps:ib", "nosuch"]
        expected = [
            (workload, label, {"bucket-cap-mb": cap, "comm-hook": hook, "gradient-as-bucket-view": view})
            for workload in STUDY["workloads"]
            for label in labels
            for cap in (5, None)
            for hook in ("none", "fp16")
            for view in (False, True)
        ]
        self.assertEqual([(row["workload"], row["label"], row["grid"]) for row in self.rows()], expected)
        self.assertEqual([row["point"] for row in self.rows()], list(range(POINTS)))

    def test_a_point_matches_compare(self):
        for point in (0, 9, 22, 8 + 40 + 3):
            row = self.rows()[point]
            options = [
                word
                for key, value in row["grid"].items()
                if value not in (None, False)
                for word in ([f"--{key}"] if value is True else [f"--{key}", str(value)])
            ]
            prices = ["--price", f"{row['cluster']}=3.1/gpu_hour"] if row["label"].startswith("own") else []
            document = answer(
                "compare",
                row["workload"],
                row["cluster"],
                *options,
                "--price",
                "list",
                *prices,
                "--mtbf",
                "1y",
                "--restart",
                "10min",
                "--checkpoint",
                "30s",
                "--no-tune",
            )
            job = document["rows"][0]
            for key in (
                "ranks",
                "iteration_us",
                "samples_per_second",
                "scaling_efficiency",
                "exposed_communication_us",
                "blocking_communication_us",
            ):
                self.assertEqual(row[key], job[key], (point, key))
            self.assertEqual(row["grade"], job["confidence"]["grade"])
            for key, percent in zip(("iteration_low_us", "iteration_high_us"), job["confidence"]["interval_percent"]):
                self.assertAlmostEqual(row[key], row["iteration_us"] * (1 + percent / 100), places=2)
            cost = job.get("cost")
            self.assertEqual(cost is None, row["usd_per_hour"] is None)
            if not cost:
                continue
            self.assertEqual(row["usd_per_hour"], cost["usd_per_hour"])
            for key, bound in (("", "value"), ("_low", "low"), ("_high", "high")):
                self.assertAlmostEqual(row["usd_per_1000_steps" + key], cost["usd_per_1000_steps"][bound], places=4)

    def test_a_point_that_fails_is_a_line_with_its_reason(self):
        for row in self.rows():
            failed = row["label"] == "nosuch"
            self.assertEqual(row["error"], 'there is no cluster or file "nosuch"' if failed else None)
            self.assertEqual(row["iteration_us"] is None, failed)
        outcome = ddpsim("sweep", "study.json", cwd=self.folder)
        self.assertEqual(outcome.err, f'ddpsim: 16 of {POINTS} points could not be answered; "error" says why\n')

    def test_conflicting_options_fail_only_at_their_points(self):
        study = {
            **STUDY,
            "workloads": ["resnet50-v100-b32"],
            "candidates": ["dgx1v"],
            "grid": {"network": ["analytic", "flow"], "background": [None, "nowhere.json"]},
        }
        # Neither value of --background is wrong alone. With --network flow both are read.
        write_json(self.folder / "meet.json", study)
        rows = [json.loads(line) for line in self.sweep(study="meet.json").splitlines()[1:]]
        self.assertEqual(
            [row["error"] for row in rows],
            [None, "--background: only --network flow simulates other traffic. Add it", None, "no such file"],
        )

    def test_the_table_has_one_row_per_line(self):
        table = list(csv.DictReader(self.table.splitlines()))
        self.assertEqual(len(table), POINTS)
        for cells, row in zip(table, self.rows()):
            values = {**row, **{"--" + option: value for option, value in row["grid"].items()}}
            for key, cell in cells.items():
                value = values[key]
                text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                if isinstance(value, float):
                    self.assertEqual(float(cell), value, key)
                else:
                    self.assertEqual(cell, text, key)
        self.assertEqual(set(self.rows()[0]) - set(table[0]), {"grid", "warnings"})

    def test_the_plot_is_made_from_the_lines(self):
        self.sweep("--plot", "whole.svg")
        figure = (self.folder / "whole.svg").read_text()
        for text in ("2 workloads on 4 clusters", "resnet18@V100 on dgx1v", "16 points without an answer", "samples/s"):
            self.assertIn(text, figure)
        path = self.file(self.whole[: len(self.whole) // 2])
        self.sweep("-o", path, "--plot", "again.svg")
        ddpsim("sweep", "--join", path, "--plot", "joined.svg", cwd=self.folder)
        for name in ("again.svg", "joined.svg"):
            self.assertEqual((self.folder / name).read_text(), figure)
        self.assertIn(
            "40 of 80 points",
            self.sweep("--shard", "1/2", "--plot", "half.svg", "-o", self.file("", "half.jsonl"))
            and (self.folder / "half.svg").read_text(),
        )

    def test_threads_change_nothing(self):
        for threads in (1, 3, 16):
            self.assertEqual(self.sweep("--threads", threads), self.whole)

    def test_without_intervals_the_step_is_the_same(self):
        lines = self.sweep("--no-intervals").splitlines()
        self.assertFalse(json.loads(lines[0])["intervals"])
        for line, row in zip(lines[1:], self.rows()):
            without = json.loads(line)
            self.assertEqual(without["iteration_us"], row["iteration_us"])
            for key in ("iteration_low_us", "iteration_high_us", "grade", "usd_per_1000_steps_low"):
                self.assertIsNone(without[key])


class GoingOn(Sweep):
    def test_a_sweep_cut_at_any_byte_resumes_to_the_same_end(self):
        first = self.whole.index("\n") + 1
        draw = random.Random(19)
        cuts = [
            0,
            1,
            first - 1,
            first,
            first + 1,
            len(self.whole) - 1,
            len(self.whole),
            *(draw.randrange(len(self.whole)) for _ in range(8)),
        ]
        for cut in cuts:
            with self.subTest(cut=cut):
                path = self.file(self.whole[:cut])
                self.sweep("-o", path, "--csv", "again.csv")
                self.assertEqual(path.read_text(), self.whole)
                self.assertEqual((self.folder / "again.csv").read_text(), self.table)

    def test_a_killed_sweep_loses_and_repeats_nothing(self):
        study = {**STUDY, "candidates": [f"node:{{1..64}} {NODES}"], "grid": {"bucket-cap-mb": list(range(1, 81))}}
        write_json(self.folder / "long.json", study)
        path = self.folder / "long.jsonl"
        run = subprocess.Popen(
            [BINARY, "sweep", "long.json", "-o", path, "--threads", "1"], cwd=self.folder, stdout=subprocess.DEVNULL
        )
        while not path.exists() or path.stat().st_size < 100_000:
            self.assertIsNone(run.poll())
        run.kill()
        run.wait()
        killed = path.read_text()
        self.assertLess(killed.count("\n"), 2 * 128 * 80)
        # Shares of the file are compared, so that the test takes less time than the whole sweep.
        lines = killed[: killed.rindex("\n")].split("\n")[1:]
        for k in (1, 256):
            share = self.sweep("--shard", f"{k}/256", study="long.json").splitlines()[1:]
            there = lines[k - 1 :: 256]
            self.assertEqual(there, share[: len(there)])
        run = Waiting("sweep", str(self.folder / "long.json"), "-o", str(path), "--threads", "1")
        run.until(rb"\d+ of \d+ points, \d+ s left \(Ctrl-C: stop here, keep these\)")
        run.process.send_signal(signal.SIGINT)
        said = run.finish().decode()
        self.assertEqual(run.process.returncode, 130)
        self.assertIn("from an earlier run", said)
        self.assertTrue(path.read_text().startswith(killed[: killed.rindex("\n") + 1]))
        points = [json.loads(line)["point"] for line in path.read_text().splitlines()[1:]]
        self.assertEqual(points, list(range(len(points))))
        self.assertGreater(len(points), killed.count("\n") - 1)

    def test_a_file_of_something_else_is_refused_and_left_as_it_is(self):
        other = write_json(self.folder / "other.json", {**STUDY, "grid": {"bucket-cap-mb": [7]}})
        lines = self.whole.splitlines(keepends=True)
        version = self.whole.replace('"ddpsim": "', '"ddpsim": "0.', 1)
        for content, message, study in (
            (
                self.whole,
                "sweep.jsonl: is the sweep of another study, or was written by another version of ddpsim. Move",
                other,
            ),
            (version, "is the sweep of another study, or was written by another version of ddpsim", "study.json"),
            (
                "my notes",
                "sweep.jsonl: already exists and is not a sweep. Move it away, or name another file",
                "study.json",
            ),
            ("my\nnotes\n", "sweep.jsonl:line 1: is not the first line of a sweep", "study.json"),
            (lines[0] + lines[2], "sweep.jsonl:line 2: is point 1, but 0 comes next", "study.json"),
            (lines[0] + "{}\n", "sweep.jsonl:line 2: is not a point of a sweep", "study.json"),
            (
                self.whole + lines[-1],
                f"line {POINTS + 2}: is point {POINTS - 1}, but the sweep has no more points",
                "study.json",
            ),
            (self.sweep("--shard", "1/2"), "contains another shard of this sweep", "study.json"),
        ):
            path = self.file(content)
            self.refused(message, study, "-o", path.name, "--csv", "never.csv")
            self.assertEqual(path.read_text(), content)
            self.assertFalse((self.folder / "never.csv").exists())

    def test_another_workload_of_the_same_name_is_another_study(self):
        document = json.loads((ROOT / "tests/golden/inputs/three-layers.json").read_text())
        write_json(self.folder / "w.json", document)
        write_json(
            self.folder / "named.json", {"schema": "ddpsim.study/1", "workload": "w.json", "candidates": ["dgx1v"]}
        )
        path = self.file(self.sweep(study="named.json"))
        self.sweep("-o", path, study="named.json")
        write_json(self.folder / "w.json", {**document, "name": "another"})
        self.refused("is the sweep of another study", "named.json", "-o", path.name)

    def test_two_at_once_do_not_write_one_file(self):
        import fcntl

        path = self.file(self.whole)
        with open(path, "r+") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.refused("sweep.jsonl: is being written by another sweep", "study.json", "-o", path.name)
        self.assertEqual(path.read_text(), self.whole)


class Shards(Sweep):
    def shards(self, of):
        names = [f"{k}of{of}.jsonl" for k in range(1, of + 1)]
        for k, name in enumerate(names, 1):
            self.file(self.sweep("--shard", f"{k}/{of}"), name)
        return names

    def test_joined_shards_equal_one_run(self):
        for of in (1, 2, 7):
            names = self.shards(of)
            random.Random(of).shuffle(names)
            outcome = ddpsim("sweep", "--join", *names, cwd=self.folder)
            self.assertEqual((outcome.code, outcome.out, outcome.err), (0, self.whole, ""))
            ddpsim("sweep", "--join", *names, "-o", "joined.jsonl", "--csv", "joined.csv", cwd=self.folder)
            self.assertEqual((self.folder / "joined.jsonl").read_text(), self.whole)
            self.assertEqual((self.folder / "joined.csv").read_text(), self.table)

    def test_gaps_overlaps_and_mixtures_are_refused(self):
        names = self.shards(3)
        self.refused(
            "1of3.jsonl: point 1 is in none of the files. This file is shard 1/3; give the other shards, too",
            "--join",
            names[0],
            names[2],
        )
        self.refused("2of3.jsonl: contains point 1, as does 2of3.jsonl", "--join", *names, names[1])
        cut = self.file((self.folder / names[1]).read_text()[:-10], "cut.jsonl")
        self.refused(
            "cut.jsonl: ends before point 79. Run its sweep again, which continues where it ended",
            "--join",
            names[0],
            cut.name,
            names[2],
        )
        other = self.file(self.sweep("--shard", "2/3", "--no-intervals"), "other.jsonl")
        self.refused("other.jsonl: is of another sweep than 1of3.jsonl", "--join", names[0], other.name)
        self.refused("study.json: is not a sweep", "--join", "study.json")
        self.refused("nothing.jsonl: no such file", "--join", "nothing.jsonl")

    def test_a_shard_is_some_i_of_n(self):
        for text in ("0/2", "3/2", "1", "1/", "/2", "a/b", "-1/2", "1/2/3"):
            self.refused(f"--shard {text}: expected I/N", "study.json", "--shard", text, code=2)


class Studies(Sweep):
    def test_errors_are_named_with_their_place(self):
        for message, fields in (
            (
                'bad.json:/grid/bucket-cap: `ddpsim compare` has no option --bucket-cap. Did you mean "bucket-cap-mb"',
                {"grid": {"bucket-cap": [1]}},
            ),
            (
                'bad.json:/grid/--bucket-cap-mb: options are written without dashes here. Write "bucket-cap-mb"',
                {"grid": {"--bucket-cap-mb": [1]}},
            ),
            ("bad.json:/grid/batch: varies, so it must be a list", {"grid": {"batch": 64}}),
            ("bad.json:/grid/batch: is empty", {"grid": {"batch": []}}),
            ("bad.json:/grid/batch/1: --batch", {"grid": {"batch": [64, -1]}}),
            (
                'bad.json:/grid/bucket-cap-mb/0: --bucket-cap-mb: "five" is not a number',
                {"grid": {"bucket-cap-mb": ["five", 5]}},
            ),
            ("ddpsim: 10 of 10 points could not be answered", {"options": {"sync-batchnorm-group": 3}, "grid": None}),
            ("bad.json:/grid/mtbf: is also in /options", {"grid": {"mtbf": ["1y"]}}),
            ("bad.json:/workloads: is given in addition to /workload", {"workload": "resnet18@V100"}),
            ("bad.json:/workloads: is empty", {"workloads": []}),
            ("bad.json:/candidates: is empty", {"candidates": []}),
            ("bad.json:/candidates: a: two candidates have this label", {"candidates": ["a=dgx1v", "a=p3dn"]}),
            ("bad.json:/options: --price", {"options": {"price": "3"}, "grid": None}),
            ('bad.json: missing "workload"', {"workloads": None}),
            ("nowhere.json: no such file", {"workloads": ["nowhere.json"]}),
            ('there is no cluster or file "nosuch"', {"candidates": ["nosuch"], "options": {}}),
            ("has more than", {"grid": {"batch": list(range(1, 5000)), "accumulate": list(range(1, 5000))}}),
        ):
            with self.subTest(message=message):
                self.refused_study(message, **fields)

    def test_a_gpu_that_no_candidate_has_is_refused(self):
        for message, options, grid in (
            ("bad.json: --gpu A100: no cluster has that GPU, only V100", {"gpu": "A100"}, None),
            ("bad.json: --compute-scale H100: no cluster has that GPU", {"compute-scale": "H100:2"}, None),
            ("bad.json: --gpu A100: no cluster has that GPU", {}, {"gpu": ["V100", "A100"]}),
        ):
            self.refused_study(message, candidates=["dgx1v@{1,2}"], options=options, grid=grid)

    def test_a_measured_step_anchors_as_in_compare(self):
        candidates = [{"label": "own", "cluster": "dgx1v@2", "measured_step": "120ms"}, "dgx1v@4", "dgxa100@4"]
        study = {
            "schema": "ddpsim.study/1",
            "workload": "resnet50-v100-b32",
            "candidates": candidates,
            "options": {"gpu": "A100"},
            "grid": {"bucket-cap-mb": [None, 5, 48, 49]},
            "measured_with": {"bucket-cap-mb": None},
        }
        write_json(self.folder / "measured.json", study)
        text = self.sweep(study="measured.json")
        rows = [json.loads(line) for line in text.splitlines()[1:]]
        self.assertEqual([row["corrected_by"] for row in rows], ["own"] * 8 + [None] * 4)
        self.assertEqual(rows[0]["iteration_us"], 120_000)
        self.assertNotEqual(rows[1]["iteration_us"], 120_000)  # the other cap was not measured
        document = answer(
            "compare",
            "resnet50-v100-b32",
            "own=dgx1v@2",
            "dgx1v@4",
            "dgxa100@4",
            "--gpu",
            "A100",
            "--no-tune",
            "--measured-step",
            "own=120ms",
        )
        for row, job in zip((rows[0], rows[4], rows[8]), document["rows"]):
            self.assertEqual(row["iteration_us"], job["iteration_us"])
            for key, percent in zip(("iteration_low_us", "iteration_high_us"), job["confidence"]["interval_percent"]):
                self.assertAlmostEqual(row[key], row["iteration_us"] * (1 + percent / 100), places=2)
        for threads in (1, 4):
            self.assertEqual(self.sweep("--threads", threads, study="measured.json"), text)
        one = {
            **study,
            "workloads": None,
            "workload": "resnet50-v100-b32",
            "options": {"gpu": "A100"},
            "candidates": candidates,
        }
        for message, fields in (
            (
                'a step was measured; state which value each option of "grid" had. Add "measured_with": {"bucket-cap-mb": …}',
                {"measured_with": None},
            ),
            ("bad.json:/measured_with: misses bucket-cap-mb", {"measured_with": {}}),
            ("bad.json:/measured_with/batch: does not vary", {"measured_with": {"bucket-cap-mb": 5, "batch": 1}}),
            ("bad.json:/measured_with: no step was measured", {"candidates": ["dgx1v"], "options": {}}),
            (
                "bad.json:/workloads: a measured step belongs to one workload",
                {"workload": None, "workloads": ["resnet50-v100-b32", "resnet18@V100"]},
            ),
            (
                "bad.json:/grid/measured-step: cannot vary",
                {"grid": {"measured-step": ["own=1ms"]}, "measured_with": None},
            ),
            (
                "bad.json: --measured-step other=1s: no candidate has this name",
                {"options": {"gpu": "A100", "measured-step": "other=1s"}},
            ),
            ("--measured-step: own is given twice", {"options": {"gpu": "A100", "measured-step": "own=1s"}}),
            (
                "--measured-step 1 ms is too short",
                {"candidates": [{"cluster": "dgx1v@2", "measured_step": "1ms"}, *candidates[1:]]},
            ),
        ):
            with self.subTest(message=message):
                self.refused_study(message, **{**one, **fields})

    def peak_kib(self, *words):
        # The address sanitizer keeps freed memory.
        env = {
            **os.environ,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
            + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64",
        }
        with open(self.folder / "said", "wb") as said:
            process = subprocess.Popen(
                [BINARY, "sweep", *words, "--no-intervals"], cwd=self.folder, stdout=said, env=env
            )
            _, status, usage = os.wait4(process.pid, 0)
        self.assertEqual(status, 0)
        process.returncode = 0
        return usage.ru_maxrss

    def test_many_combinations_need_no_memory(self):
        grid = {"bucket-cap-mb": list(range(1, 201)), "accumulate": list(range(1, 101))}
        for name, combinations in (("few", {"bucket-cap-mb": [1]}), ("many", grid)):
            write_json(
                self.folder / f"{name}.json",
                {**STUDY, "workloads": ["resnet18@V100"], "candidates": ["dgx1v"], "grid": combinations},
            )
        few = self.peak_kib("few.json")
        many = self.peak_kib("many.json", "--shard", "20000/20000")
        self.assertLess(many - few, 100 << 10)  # each would take some 23 KiB if kept
        last = (self.folder / "said").read_text(encoding="utf-8").splitlines()[1]
        self.assertEqual(json.loads(last)["grid"], {"bucket-cap-mb": 200, "accumulate": 100})

    def test_compare_names_the_command_that_takes_a_grid(self):
        outcome = ddpsim("compare", "--study", "study.json", cwd=self.folder)
        self.assertEqual(
            (outcome.code, outcome.err),
            (
                3,
                "ddpsim: study.json:/grid: is for a sweep; `ddpsim compare` does not take it. "
                "Run `ddpsim sweep` with this file, or leave it out\n",
            ),
        )

    def test_a_study_without_grid_is_swept_as_compare_reads_it(self):
        one = {key: value for key, value in STUDY.items() if key not in ("workloads", "grid")}
        write_json(self.folder / "one.json", {**one, "workload": "resnet18@V100"})
        self.assertEqual(len(self.sweep(study="one.json").splitlines()), 1 + 5)

    def test_a_speed_without_a_name_belongs_to_one_gpu(self):
        study = {
            "schema": "ddpsim.study/1",
            "workload": "resnet50-v100-b32",
            "candidates": ["dgx1v", "dgxa100", "node:1 gpu:8xH100 nvswitch:450GBps"],
            "options": {"compute-scale": "2"},
        }
        write_json(self.folder / "scale.json", study)
        rows = [json.loads(line) for line in self.sweep(study="scale.json").splitlines()[1:]]
        self.assertEqual([row["error"] is None for row in rows], [True, True, False])
        self.assertIn("--compute-scale 2: the clusters have A100 and H100. Give each its own", rows[2]["error"])

    def test_words_that_make_no_sense_together_are_refused(self):
        for files in (
            ("-o", "a", "--csv", "a"),
            ("-o", "a.svg", "--plot", "./a.svg"),
            ("--csv", "a.svg", "--plot", "a.svg"),
            ("--csv", self.folder / "study.json"),
            ("-o", "study.json"),
        ):
            with_study = any(str(file).endswith("study.json") for file in files)
            self.refused(
                "this is the input study.json" if with_study else "are the same file. Name a file for each",
                "study.json",
                *files,
                code=2,
            )
        self.refused("sweep: which STUDY?", code=2)


if __name__ == "__main__":
    unittest.main()
