"""No file of the user is lost: an output is never an input, never another output, and never incomplete."""

import json
import os
import pathlib
import random
import re
import resource
import sqlite3
import subprocess
import tempfile
import unittest

import patience
from command import BINARY, ROOT, SANITIZED, ddpsim, workload, write_json
from nsys_export import Export

TRACE = ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json"
USAGE = 2
BAD_INPUT = 3
STUDY = {"schema": "ddpsim.study/1", "workload": "w.json", "candidates": ["dgx1v@1"], "grid": {"bucket-cap-mb": [1, 5]}}


def bash(script, folder):
    return subprocess.run(
        ["bash", "-c", script, "bash", BINARY],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=patience.seconds(60),
    )


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        document = workload([{"name": f"p{n}", "shape": [1000], "dtype": "float32"} for n in range(3)], [2, 1, 0])
        document["forward"] = {"duration_us": 10}
        write_json(self.folder / "w.json", document)
        write_json(self.folder / "s.json", STUDY)
        self.before = (self.folder / "w.json").read_bytes()

    def run_here(self, *arguments):
        return ddpsim(*arguments, cwd=self.folder)

    def refused(self, *arguments, names):
        """Checks that the command is refused with a usage error that names the file, before anything is written."""
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        outcome = self.run_here(*arguments)
        self.assertEqual((outcome.code, outcome.out), (USAGE, ""), (arguments, outcome.err))
        self.assertRegex(outcome.err, r"\Addpsim: [^\n]*Name [^\n]*\n\Z")
        for name in names:
            self.assertIn(name, outcome.err)
        self.assertEqual({path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}, before)

    def leftovers(self):
        return [path.name for path in self.folder.rglob(".ddpsim*")]


class AnOutputThatIsAnInput(WithFolder):
    def test_is_refused_by_every_command(self):
        self.refused("import", "w.json", "-o", "w.json", names=["--output w.json"])
        for command in (
            ["simulate", "w.json", "dgx1v@1"],
            ["tune", "w.json", "dgx1v@1"],
            ["buckets", "w.json"],
            ["compare", "w.json", "dgx1v@1", "dgx1v@2"],
        ):
            self.refused(*command, "--csv", "w.json", names=["--csv w.json"])
        self.refused("simulate", "w.json", "dgx1v@1", "--timeline", "w.json", names=["--timeline"])
        self.refused("simulate", "w.json", "dgx1v@1", "--report", "w.json", names=["--report"])
        self.refused("sweep", "s.json", "-o", "s.json", names=["--output s.json"])

    def test_is_refused_under_any_name(self):
        os.link(self.folder / "w.json", self.folder / "hard")
        (self.folder / "soft").symlink_to("w.json")
        (self.folder / "far").symlink_to(self.folder / "soft")
        (self.folder / "sub").mkdir()
        (self.folder / "round").symlink_to("sub")
        for name in ("hard", "soft", "far", "./w.json", "sub/../w.json", "round/../w.json", self.folder / "w.json"):
            self.refused("simulate", "w.json", "dgx1v@1", "--csv", name, names=["--csv", "w.json"])

    def test_is_refused_where_a_study_or_a_list_names_it(self):
        self.refused("sweep", "s.json", "-o", "q.jsonl", "--csv", "w.json", names=["--csv w.json"])
        write_json(
            self.folder / "c.json",
            {"schema": "ddpsim.study/1", "workload": "w.json", "candidates": ["dgx1v@1", "dgx1v@2"]},
        )
        self.refused("compare", "--study", "c.json", "--csv", "w.json", names=["--csv w.json"])
        self.refused("compare", "--study", "c.json", "--csv", "c.json", names=["--csv c.json"])
        (self.folder / "steps.csv").write_text("step_time_ms\n1.0\n1.1\n1.2\n")
        self.refused("diff", "steps.csv:step_time_ms", "steps.csv", "--csv", "steps.csv", names=["--csv steps.csv"])

    def test_is_refused_where_a_word_holds_its_name_among_others(self):
        config = {
            "model_type": "opt",
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 256,
            "vocab_size": 1000,
            "max_position_embeddings": 32,
            "word_embed_proj_dim": 64,
        }
        write_json(self.folder / "c.json", config)
        estimate = "c.json@H100:b1:s16:bf16-true:ckpt=selective"
        self.refused("import", estimate, "-o", "c.json", names=["--output c.json"])
        self.refused("simulate", estimate, "dgxh100@1", "--csv", "c.json", names=["--csv c.json"])
        write_json(self.folder / "s.json", {**STUDY, "workload": estimate})
        self.refused("sweep", "s.json", "-o", "c.json", names=["--output c.json"])

    def test_is_refused_before_a_sweeps_first_line_where_its_points_alone_read_it(self):
        (self.folder / "traces").mkdir()
        (self.folder / "traces" / "rank0.json").write_bytes(TRACE.read_bytes())
        (self.folder / "list").write_text("SwitchName=s0 Nodes=n[0-1]\n")
        for more, name in (
            ({"workload": None, "workloads": ["w.json", "traces"]}, "traces/rank0.json"),
            ({"candidates": ["dgx1v@1", "dgx1v@2 switches:list"]}, "list"),
        ):
            study = {key: value for key, value in {**STUDY, **more}.items() if value}
            write_json(self.folder / "s.json", study)
            self.refused("sweep", "s.json", "-o", "q.jsonl", "--csv", name, names=[f"--csv {name}"])
            self.refused("sweep", "s.json", "-o", name, names=[f"--output {name}"])

    def test_is_refused_where_it_stands_in_a_folder_that_is_read(self):
        (self.folder / "traces").mkdir()
        for rank in range(2):
            trace = json.loads(TRACE.read_bytes())
            trace["distributedInfo"]["rank"] = rank
            write_json(self.folder / "traces" / f"rank{rank}.json", trace)
        for rank in range(2):
            one = f"traces/rank{rank}.json"
            self.refused("import", "traces", "-o", one, names=[f"--output {one}"])
            self.refused("diff", "traces", "traces", "--csv", one, names=[f"--csv {one}"])
            write_json(self.folder / "s.json", {**STUDY, "workload": "traces"})
            self.refused("sweep", "s.json", "-o", one, names=[f"--output {one}"])
            self.refused("sweep", "s.json", "-o", "q.jsonl", "--csv", one, names=[f"--csv {one}"])
        self.assertFalse((self.folder / "q.jsonl").exists())

    def test_may_stand_in_a_folder_of_traces_and_be_replaced_by_the_same_command(self):
        (self.folder / "traces").mkdir()
        (self.folder / "traces" / "rank0.json").write_bytes(TRACE.read_bytes())
        study = {**STUDY, "workloads": ["w.json", "traces"]}
        del study["workload"]
        write_json(self.folder / "s.json", study)
        for command in (
            ["import", "traces", "-o", "traces/w.json"],
            ["diff", "traces", "traces", "--csv", "traces/diff.csv"],
            ["validate", "traces", "traces", "--csv", "traces/validate.csv"],
            ["sweep", "s.json", "-o", "traces/q.jsonl", "--csv", "traces/q.csv"],
        ):
            for _ in range(2):
                outcome = self.run_here(*command)
                self.assertEqual(outcome.code, 0, outcome.err)

    def test_is_refused_where_standard_output_is_appended_to_it(self):
        outcome = bash('"$1" simulate w.json dgx1v@1 >> w.json', self.folder)
        self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
        self.assertIn("standard output: this is the input w.json", outcome.stderr)
        self.assertEqual((self.folder / "w.json").read_bytes(), self.before)


class Sources(unittest.TestCase):
    def test_open_what_they_read_where_it_is_noted_as_an_input(self):
        """Outputs are compared only with these inputs."""
        opens = re.compile(
            r"\b(std::i?fstream|(std::)?fopen|sqlite3_open\w*|gzopen|archive_read_open_filename\w*|mmap|O_RDONLY|padded_string::load)\b"
        )
        found = set()
        for part in ("calibrate", "cli", "formats", "models", "reports", "sim", "topologies", "traces"):
            for path in (ROOT / part).rglob("*.[ch]pp"):
                if opens.search(path.read_text(encoding="utf-8")):
                    found.add(path.relative_to(ROOT).as_posix())
        self.assertEqual(found, {"formats/src/files.cpp", "formats/src/byte_sources.cpp", "traces/src/sqlite_file.cpp"})


class ADatabase(WithFolder):
    def setUp(self):
        super().setUp()
        export = Export(self.folder / "t.sqlite")
        export.add_gpu(0, "Tesla V100-SXM2-16GB")
        export.add_trace(json.loads(TRACE.read_bytes()))
        export.close()

    def change(self, journal):
        """A connection with a change that is not yet in the database file if its journal is a WAL."""
        database = sqlite3.connect(self.folder / "t.sqlite", isolation_level=None)
        self.addCleanup(database.close)
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("CREATE TABLE more(x)")
        return database

    def test_is_read_without_a_file_beside_it(self):
        for journal in ("DELETE", "PERSIST", "WAL"):
            self.change(journal).close()
            self.assertEqual(self.run_here("import", "t.sqlite", "-o", "out.json").code, 0)
            self.assertEqual({path.name for path in self.folder.glob("t.sqlite*")} - {"t.sqlite-journal"}, {"t.sqlite"})
            (self.folder / "t.sqlite").unlink()
            (self.folder / "t.sqlite-journal").unlink(missing_ok=True)
            self.setUp()

    def test_whose_changes_stand_in_another_file_is_refused(self):
        self.change("WAL")
        outcome = self.run_here("import", "t.sqlite")
        self.assertEqual(outcome.code, BAD_INPUT)
        self.assertIn(
            'ddpsim: t.sqlite: is not complete: "t.sqlite-wal" holds changes that are not in it yet', outcome.err
        )

    def test_may_have_any_name(self):
        for name in ("a?b=c&d#e%41.sqlite", "模 型.sqlite", "sub/../x.sqlite"):
            (self.folder / "sub").mkdir(exist_ok=True)
            os.link(self.folder / "t.sqlite", self.folder / name)
            self.assertEqual(self.run_here("import", name, "-o", "out.json").code, 0)
            self.assertEqual(self.run_here("import", f"{self.folder}//{name}", "-o", "out.json").code, 0)


class TwoOutputs(WithFolder):
    def test_behind_which_another_word_stands_takes_only_its_own(self):
        for words in (["--report", "a.html", "b.html"], ["--straggler", "1:1.2", "b.html"]):
            outcome = self.run_here("simulate", "w.json", "dgx1v@1", *words)
            self.assertEqual(outcome.code, USAGE, outcome.err)
            self.assertIn("b.html", outcome.err)
            self.assertFalse((self.folder / "b.html").exists())

    def test_of_one_name_are_refused(self):
        (self.folder / "sub").mkdir()
        (self.folder / "again").symlink_to("sub")
        (self.folder / "dangling").symlink_to("sub/x")
        (self.folder / "there").write_text("kept\n")
        os.link(self.folder / "there", self.folder / "other")
        for one, two in (("x", "x"), ("x", "./x"), ("sub/x", "again/x"), ("dangling", "sub/x"), ("there", "other")):
            self.refused(
                "simulate",
                "w.json",
                "dgx1v@1",
                "--csv",
                one,
                "--timeline",
                two,
                names=["--csv " + one, "--timeline " + two],
            )
        self.assertEqual((self.folder / "there").read_text(), "kept\n")

    def test_leave_standard_output_to_documents_with_json(self):
        self.assertEqual(self.run_here("sweep", "s.json", "-o", "s.jsonl", "--json").out, "")
        self.assertIn("Wrote s.jsonl", self.run_here("sweep", "s.json", "-o", "s.jsonl").out)

    def test_of_which_one_is_where_standard_output_goes_are_refused(self):
        outcome = bash('"$1" simulate w.json dgx1v@1 --csv out > out', self.folder)
        self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
        self.assertIn("standard output and --csv out are the same file", outcome.stderr)

    def test_may_share_a_device(self):
        self.assertEqual(
            self.run_here("simulate", "w.json", "dgx1v@1", "--csv", "/dev/null", "--timeline", "/dev/null").code, 0
        )

    def test_may_share_standard_output_in_a_file(self):
        outcome = bash('"$1" simulate w.json dgx1v@1 --csv /dev/stdout > out', self.folder)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        text = (self.folder / "out").read_text()
        self.assertIn("bucket,", text)
        self.assertIn("Wrote /dev/stdout", text)


class AFileThatIsWritten(WithFolder):
    def written(self, name, *commands):
        outcome = bash("; ".join([*commands, f'exec "$1" import w.json -o {name}']), self.folder)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual(self.leftovers(), [])
        return self.folder / name

    def mode(self, path):
        return oct(path.stat().st_mode & 0o777)

    def test_keeps_the_permissions_of_what_it_replaces(self):
        for mode in (0o600, 0o640, 0o755):
            (self.folder / "out").touch()
            (self.folder / "out").chmod(mode)
            self.assertEqual(self.mode(self.written("out")), oct(mode))

    def test_has_those_the_umask_leaves_where_it_is_new(self):
        self.assertEqual(self.mode(self.written("a", "umask 077")), "0o600")
        self.assertEqual(self.mode(self.written("b", "umask 022")), "0o644")

    def test_does_not_go_through_a_link_planted_under_a_name_that_can_be_guessed(self):
        (self.folder / "victim").write_text("precious\n")
        self.written("out", "for name in out.$$.partial out.partial .out.$$; do ln -s victim $name; done")
        self.assertEqual((self.folder / "victim").read_text(), "precious\n")

    def test_follows_links_also_to_what_is_not_there_yet(self):
        (self.folder / "sub").mkdir()
        (self.folder / "link").symlink_to("sub/second")
        (self.folder / "sub/second").symlink_to("new")
        self.written("link")
        self.assertTrue((self.folder / "link").is_symlink() and (self.folder / "sub/second").is_symlink())
        self.assertIn(b"ddpsim.workload/1", (self.folder / "sub/new").read_bytes())

    def test_whose_links_go_round_in_circles_is_refused(self):
        (self.folder / "a").symlink_to("b")
        (self.folder / "b").symlink_to("a")
        outcome = self.run_here("import", "w.json", "-o", "a")
        self.assertEqual(outcome.code, 1)
        self.assertIn("a: cannot be written: its symbolic links form a circle", outcome.err)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a link to somebody else")
    def test_is_not_where_a_stranger_linked_to_in_a_folder_for_everyone(self):
        (self.folder / "tmp").mkdir()
        (self.folder / "tmp").chmod(0o1777)
        (self.folder / "tmp/out").symlink_to("../victim")
        (self.folder / "victim").write_text("precious\n")
        os.lchown(self.folder / "tmp/out", 12345, 12345)
        outcome = self.run_here("import", "w.json", "-o", "tmp/out")
        self.assertEqual(outcome.code, 1)
        self.assertIn("another user has put this symbolic link", outcome.err)
        self.assertEqual((self.folder / "victim").read_text(), "precious\n")

    def test_may_have_the_longest_name(self):
        for length in (242, 255):
            self.written("n" * length)

    def test_sweeps_table_is_there_when_all_is_written(self):
        outcome = self.run_here("sweep", "s.json", "-o", "q.jsonl", "--csv", "q.csv")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertEqual(len((self.folder / "q.csv").read_text().splitlines()), 3)
        self.assertEqual(self.leftovers(), [])


class ClosedDescriptors(WithFolder):
    def test_do_not_lend_their_numbers_to_outputs(self):
        for closed in (">&-", "<&- >&-", "<&- >&- 2>&-"):
            for output in self.folder.glob("q.*"):
                output.unlink()
            for _ in range(2):  # the second resumes the first
                outcome = bash(f'"$1" sweep s.json -o q.jsonl --csv q.csv {closed}', self.folder)
                self.assertEqual(outcome.returncode, 0, (closed, outcome.stderr))
                lines = (self.folder / "q.jsonl").read_text().splitlines()
                self.assertEqual([json.loads(line).get("point") for line in lines], [None, 0, 1])
                self.assertEqual(len((self.folder / "q.csv").read_text().splitlines()), 3)
            outcome = bash(f'"$1" simulate w.json dgx1v@1 --csv q.csv {closed}', self.folder)
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            self.assertTrue(all("," in line for line in (self.folder / "q.csv").read_text().splitlines()))


class ASweepOntoAFileThatIsThere(WithFolder):
    @unittest.skipIf(SANITIZED, "the sanitizer takes memory of its own")
    def test_does_not_read_all_of_a_large_one(self):
        with open(self.folder / "big", "wb") as file:
            file.truncate(30 << 30)

        def little_memory():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

        process = subprocess.run(
            [BINARY, "sweep", "s.json", "-o", "big"],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            preexec_fn=little_memory,
            timeout=patience.seconds(60),
        )
        self.assertEqual(process.returncode, BAD_INPUT, process.stderr)
        self.assertIn("big: already exists and is not a sweep", process.stderr)
        self.assertEqual((self.folder / "big").stat().st_size, 30 << 30)

    def test_goes_through_links_and_keeps_them(self):
        (self.folder / "link").symlink_to("q.jsonl")
        for _ in range(2):
            self.assertEqual(self.run_here("sweep", "s.json", "-o", "link").code, 0)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(len((self.folder / "q.jsonl").read_text().splitlines()), 3)

    def test_written_to_dev_stdout_is_followed_by_its_summary(self):
        outcome = bash('"$1" sweep s.json -o /dev/stdout > out', self.folder)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        lines = (self.folder / "out").read_text().splitlines()
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[-1], "Wrote /dev/stdout")


class RandomNames(unittest.TestCase):
    """Random names of inputs and outputs: files, hard links, symbolic links, dangling links and other spellings of
    paths."""

    def test_no_input_ever_changes(self):
        draw = random.Random(37)
        document = workload([{"name": "p", "shape": [10], "dtype": "float32"}], [0])
        document["forward"] = {"duration_us": 10}
        refused = 0
        for _ in range(50):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "d").mkdir()
                (folder / "e").symlink_to("d")
                for file in ("a", "d/b"):
                    write_json(folder / file, document)
                os.link(folder / "a", folder / "d/hard")
                (folder / "soft").symlink_to("d/b")
                (folder / "dangling").symlink_to("d/new")
                names = ["a", "d/b", "e/b", "d/hard", "soft", "./a", "d/../a"]
                outputs = [*names, "dangling", "d/new", "e/new", "new", str(folder / "new")]
                before = {path: (path.read_bytes(), path.stat().st_ino) for path in folder.rglob("*") if path.is_file()}
                read, csv, timeline = draw.choice(names), draw.choice(outputs), draw.choice(outputs)
                outcome = ddpsim("simulate", read, "dgx1v@1", "--csv", csv, "--timeline", timeline, cwd=folder)
                if outcome.code == USAGE:
                    refused += 1
                    self.assertEqual(
                        {path: (path.read_bytes(), path.stat().st_ino) for path in folder.rglob("*") if path.is_file()},
                        before,
                    )
                else:
                    self.assertEqual((outcome.code, outcome.err), (0, ""))
                    self.assertEqual((folder / read).read_bytes(), json.dumps(document).encode())
        self.assertGreater(refused, 10)
        self.assertLess(refused, 45)


if __name__ == "__main__":
    unittest.main()
