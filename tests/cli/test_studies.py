"""The words of a study are data. They are workloads, clusters, labels and values, never options or files to write."""

import csv
import json
import pathlib
import shlex
import tempfile
import unittest

from command import SHARED, ddpsim, write_json

ATTACK = SHARED / "data" / "attack"
WORKLOAD = "resnet50-v100-b32"
# Labels of candidates, including all characters that have a meaning on a command line.
LABELS = [
    '=HYPERLINK("http://evil")',
    "a=b",
    "",
    "dgx1v@2",
    "a/b",
    "node:2",
    "{1,2}",
    "[1..4]",
    "--csv=stolen.csv",
    "-o",
    "--",
    "$(touch stolen)",
    "'; touch stolen; '",
    "naïve \u2028 label",
    " faster than ",
]


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "stolen.csv").write_text("mine\n")

    def study(self, **fields):
        write_json(self.folder / "study.json", {"schema": "ddpsim.study/1", "workload": WORKLOAD, **fields})
        return "study.json"

    def compare(self, *words, **fields):
        return ddpsim("compare", "--study", self.study(**fields), "--no-tune", *words, cwd=self.folder)

    def sweep(self, *words, **fields):
        return ddpsim("sweep", self.study(**fields), *words, cwd=self.folder)

    def require_nothing_was_written(self, *expected):
        self.assertEqual("mine\n", (self.folder / "stolen.csv").read_text())
        self.assertEqual({"study.json", "stolen.csv", *expected}, {path.name for path in self.folder.iterdir()})


class Words(InAFolder):
    def test_a_candidate_that_looks_like_an_option_is_an_unknown_cluster(self):
        for word in ("--csv=stolen.csv", "--csv", "-o", "--report=stolen.csv", "--", "--study=x", "--help"):
            with self.subTest(word=word):
                both = self.compare("--json", candidates=["dgx1v", word])
                self.assertEqual(0, both.code, both.err)
                self.assertEqual(["dgx1v", word], [row["label"] for row in both.json()["rows"]])
                self.assertIn("no ", both.json()["rows"][1]["error"])
                self.assertEqual(3, self.compare(candidates=[word]).code)
                self.assertEqual(3, self.sweep(candidates=[word]).code)
                self.require_nothing_was_written()

    def test_a_workload_that_looks_like_an_option_is_an_unknown_workload(self):
        for word in ("--csv=stolen.csv", "--csv", "-o", "--workload=resnet18@V100"):
            for fields in (
                {"workload": word},
                {"workload": None, "workloads": [word]},
                {"workload": None, "workloads": [{"workload": word, "share": 2}]},
            ):
                with self.subTest(fields=fields):
                    for outcome in (
                        self.compare(candidates=["dgx1v"], **fields),
                        self.sweep(candidates=["dgx1v"], **fields),
                    ):
                        self.assertEqual(3, outcome.code)
                        self.assertIn(word, outcome.err)
                        self.require_nothing_was_written()

    def test_a_value_that_looks_like_an_option_is_a_value(self):
        for options in (
            {"scheme": "--csv=stolen.csv"},
            {"comm-hook": "--csv"},
            {"price": ["list", "--csv=stolen.csv"]},
            {"gpu": "--csv=stolen.csv"},
            {"workload": "--csv=stolen.csv"},
        ):
            with self.subTest(options=options):
                self.assertEqual(3, self.compare(candidates=["dgx1v"], options=options).code)
                self.sweep(candidates=["dgx1v"], options=options)
                self.require_nothing_was_written()

    def test_options_that_write_files_or_shape_the_answer_are_refused_by_name(self):
        for name in ("csv", "plot", "plot-cost", "report"):
            outcome = self.compare(candidates=["dgx1v"], options={name: "stolen.csv"})
            self.assertEqual(3, outcome.code)
            self.assertIn(
                f"study.json:/options/{name}: --{name} names a file to write, which a study cannot do", outcome.err
            )
            self.assertEqual(3, self.sweep(candidates=["dgx1v"], options={name: "stolen.csv"}).code)
            self.assertEqual(3, self.sweep(candidates=["dgx1v"], grid={name: ["stolen.csv"]}).code)
        for name in ("json", "quiet", "threads"):
            outcome = self.compare(candidates=["dgx1v"], options={name: True})
            self.assertEqual(3, outcome.code)
            self.assertIn(f"--{name} sets how the answer is shown", outcome.err)
        for name in ("study", "help", "output", "o", "csv=stolen.csv", "WORKLOAD", "CLUSTER", ""):
            self.assertEqual(3, self.compare(candidates=["dgx1v"], options={name: "stolen.csv"}).code)
        self.require_nothing_was_written()

    def test_a_value_that_an_option_does_not_take_is_named_with_its_place(self):
        for options, message in (
            ({"scheme": "no"}, "study.json:/options/scheme: --scheme"),
            ({"straggler": "no"}, "study.json:/options/straggler: --straggler"),
            ({"batch": 0}, "study.json:/options/batch: --batch"),
            ({"batch": True}, "study.json:/options/batch: --batch takes a value"),
            ({"torch": [True]}, "study.json:/options/torch/0: --torch takes a value"),
        ):
            outcome = self.compare(candidates=["dgx1v"], options=options)
            self.assertEqual(3, outcome.code, outcome.err)
            self.assertIn(message, outcome.err)

    def test_a_wrong_price_or_share_of_a_study_is_an_error_of_the_study(self):
        priced = self.compare(candidates=[{"label": "own", "cluster": "dgx1v", "price": "much"}])
        self.assertEqual(3, priced.code)
        self.assertIn("study.json:/candidates/0/price: --price own=much: expected", priced.err)
        shared = self.compare(workload=None, workloads=[{"workload": WORKLOAD, "share": 0}], candidates=["dgx1v"])
        self.assertEqual(3, shared.code)
        self.assertIn("study.json:/workloads: --workload", shared.err)
        typed = self.compare("--scheme", "no", candidates=["dgx1v"], options={"scheme": "ddp"})
        self.assertEqual(2, typed.code)  # an error of the command line

    def test_typed_options_win_over_a_study_and_typed_clusters_are_added(self):
        outcome = self.compare("dgx1v@2", "--batch=64", "--json", candidates=["dgx1v"], options={"batch": 16})
        rows = outcome.json()["rows"]
        self.assertEqual(["dgx1v", "dgx1v@2"], [row["label"] for row in rows])
        self.assertEqual(
            outcome.out, ddpsim("compare", WORKLOAD, "dgx1v", "dgx1v@2", "--batch", 64, "--no-tune", "--json").out
        )

    def test_a_study_without_a_workload_takes_the_typed_one(self):
        outcome = self.compare(WORKLOAD, "dgx1v@2", "--json", workload=None, candidates=["dgx1v"])
        self.assertEqual(["dgx1v", "dgx1v@2"], [row["label"] for row in outcome.json()["rows"]])

    def test_the_command_of_a_report_gives_the_same_answer_again(self):
        self.study(candidates=[{"label": "--csv=stolen.csv", "cluster": "dgx1v"}], options={"torch": "2.4"})
        written = ddpsim("compare", "--study", "study.json", "--no-tune", "--report", "page.json", cwd=self.folder)
        self.assertEqual(0, written.code, written.err)
        command = json.loads((self.folder / "page.json").read_text())["command"]
        self.assertEqual({"ddpsim", "compare", "--no-tune", "--study", "study.json"}, set(shlex.split(command)))
        self.require_nothing_was_written("page.json")


class Again(InAFolder):
    def test_the_command_of_a_simulated_report_keeps_its_caps(self):
        caps = ["--torch", "2.11", "--bucket-cap-mb-list", "1,25"]
        written = ddpsim("simulate", WORKLOAD, "dgx1v", *caps, "--report", "page.json", cwd=self.folder)
        self.assertEqual(0, written.code, written.err)
        command = json.loads((self.folder / "page.json").read_text())["command"]
        self.assertIn("--bucket-cap-mb-list 1,25", command)


class Labels(InAFolder):
    def test_a_label_is_any_text(self):
        candidates = [{"label": label, "cluster": "dgx1v", "price": "3/gpu_hour"} for label in LABELS]
        rows = self.compare("--json", candidates=candidates).json()["rows"]
        self.assertEqual(LABELS, [row["label"] for row in rows])
        self.assertEqual([24] * len(LABELS), [row["cost"]["usd_per_hour"] for row in rows])
        lines = [json.loads(line) for line in self.sweep(candidates=candidates).out.split("\n")[1:-1]]
        self.assertEqual(LABELS, [line["label"] for line in lines])
        self.assertEqual([(24, None)] * len(LABELS), [(line["usd_per_hour"], line["error"]) for line in lines])
        self.require_nothing_was_written()

    def test_a_measured_step_belongs_to_the_candidate_that_states_it(self):
        candidates = [
            {"label": "a", "cluster": "dgx1v@2", "measured_step": "120ms"},
            {"label": "a=b", "cluster": "dgx1v@2", "measured_step": "130ms"},
        ]
        rows = self.compare("--json", candidates=candidates).json()["rows"]
        self.assertEqual([120000, 130000], [row["iteration_us"] for row in rows])
        lines = [json.loads(line) for line in self.sweep(candidates=candidates).out.splitlines()[1:]]
        self.assertEqual([120000, 130000], [line["iteration_us"] for line in lines])

    def test_a_candidate_of_a_study_may_search_a_range_of_prices(self):
        outcome = self.compare(
            "--until",
            "new cheaper than old",
            "--json",
            candidates=[
                {"label": "old", "cluster": "dgx1v", "price": "20/node_hour"},
                {"label": "new", "cluster": "dgx1v@2", "price": "[10..60]/node_hour"},
            ],
        )
        self.assertEqual(0, outcome.code, outcome.err)
        self.assertEqual("[10..60]", outcome.json()["until"][0]["range"])

    def test_a_measured_step_of_several_workloads_needs_its_workload(self):
        outcome = self.compare(
            workload=None,
            workloads=[WORKLOAD, "resnet18@V100"],
            candidates=[{"label": "own", "cluster": "dgx1v", "measured_step": "120ms"}],
        )
        self.assertEqual(2, outcome.code)
        self.assertIn("state the workload, too", outcome.err)


class Tables(InAFolder):
    def test_no_csv_cell_is_a_formula(self):
        candidates = [
            {"label": label, "cluster": "dgx1v"} for label in ("=1+1", "+1 node", "-2+3", "@SUM(1)", "\t=1", "plain")
        ]
        for run, name in ((self.compare, "compare.csv"), (self.sweep, "sweep.csv")):
            outcome = run(
                "--csv", name, candidates=candidates, **({} if name == "compare.csv" else {"grid": {"batch": [32]}})
            )
            self.assertEqual(0, outcome.code, outcome.err)
            with open(self.folder / name, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
            column = rows[0].index("label" if "label" in rows[0] else "cluster")
            self.assertEqual(
                ["'=1+1", "'+1 node", "'-2+3", "'@SUM(1)", "' =1", "plain"], [row[column] for row in rows[1:]]
            )
            for cell in (cell for row in rows[1:] for cell in row):
                self.assertFalse(cell.startswith(("=", "+", "@", "\t", "\r")), cell)


@unittest.skipUnless(ATTACK.is_dir(), "the studies of the attack lie in ../shared")
class Attacks(InAFolder):
    def test_the_studies_that_broke_earlier_versions(self):
        for name in ("study_overwrites_file", "study_option_escape", "study_label_equals", "study_csv_formula"):
            study = json.loads((ATTACK / f"{name}.json").read_text())
            (self.folder / ".bashrc").write_text("mine\n")
            fields = {key: value for key, value in study.items() if key != "schema"}
            compared = self.compare("--csv", "compare.csv", **fields)
            swept = self.sweep("--csv", "sweep.csv", **fields)
            self.assertEqual((3, 3) if name == "study_option_escape" else (0, 0), (compared.code, swept.code), name)
            self.assertEqual("mine\n", (self.folder / ".bashrc").read_text())
            for table in ("compare.csv", "sweep.csv"):
                path = self.folder / table
                if not path.exists():
                    continue
                for row in csv.reader(path.read_text().splitlines()):
                    self.assertFalse([cell for cell in row if cell.startswith(("=", "+", "@", "-2"))])
                path.unlink()
            (self.folder / ".bashrc").unlink()
            self.require_nothing_was_written()


if __name__ == "__main__":
    unittest.main()
