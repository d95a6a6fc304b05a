"""Tests the functions of the package: each command and its options, with the names that ddpsim prints."""

import ast
import contextlib
import doctest
import graphlib
import inspect
import io
import pathlib
import subprocess
import sys
import unittest

import ddpsim
import ddpsim._commands
from ddpsim._arguments import Arguments, Switch, repeated

ROOT = pathlib.Path(__file__).resolve().parents[2]
# These are no keywords: an answer always comes from --json, and a schema is not an answer.
NO_KEYWORD = {"--help", "--help-all", "--json", "--text", "--schema"}


def function(command):
    return getattr(ddpsim, {"import": "import_trace"}.get(command.name, command.name))


class Commands(unittest.TestCase):
    def test_every_option_has_a_keyword(self):
        commands = ddpsim.list(commands=True).commands
        self.assertGreater(len(commands), 10)
        for command in commands:
            given = inspect.signature(function(command)).parameters
            keywords = {name for name, one in given.items() if one.kind is one.KEYWORD_ONLY}
            spelled = {
                option.name[2:].replace("-", "_").lower() for option in command.options if option.name not in NO_KEYWORD
            }
            self.assertEqual(keywords, spelled, command.name)
            self.assertEqual(len(given) - len(keywords), len(command.positionals), command.name)

    def test_switches_values_lists_and_paths(self):
        words = Arguments(
            "simulate",
            ["w.json", pathlib.Path("c.xml")],
            {
                "--static-graph": Switch(True),
                "--collnet": Switch(False),
                "--torch": None,
                "--bucket-cap-mb": 12.5,
                "--nodes": 4,
                "--caps": [5, 25.0, 0.1],
                "--straggler": repeated(["3:1.2", "5:2"]),
                "--price": repeated("a=1/gpu_hour"),
                "--csv": pathlib.Path("a b.csv"),
                "--jitter": "2%",
            },
        ).words()
        self.assertEqual(
            words,
            [
                "simulate",
                "w.json",
                "c.xml",
                "--static-graph",
                "--bucket-cap-mb=12.5",
                "--nodes=4",
                "--caps=5,25,0.1",
                "--straggler=3:1.2",
                "--straggler=5:2",
                "--price=a=1/gpu_hour",
                "--csv=a b.csv",
                "--jitter=2%",
            ],
        )

    def test_only_switches_take_true_and_false(self):
        for value in (True, False):
            for option in ("bucket_cap_mb", "caps", "csv", "network", "straggler", "nodes"):
                for given in (value, [value]):
                    with (
                        self.subTest(option),
                        self.assertRaisesRegex(
                            TypeError, f"^{option}={value}: this option takes a value, it is not a switch"
                        ),
                    ):
                        ddpsim.tune("resnet50-v100-b32", "dgx1v", **{option: given})
        for value in ("yes", "", 2, 0.5, [], [True], object()):
            with self.assertRaisesRegex(TypeError, "^static_graph=.*: this option is a switch. Pass True or False"):
                ddpsim.tune("resnet50-v100-b32", "dgx1v", static_graph=value)
        self.assertEqual(
            Arguments("tune", [], {"--a": Switch(1), "--b": Switch(0), "--c": Switch(None)}).words(), ["tune", "--a"]
        )

    def test_a_value_of_a_wrong_type_is_a_type_error(self):
        for option, value, said in (
            ("bucket_cap_mb", float("nan"), "text or a number"),
            ("bucket_cap_mb", float("inf"), "text or a number"),
            ("bucket_cap_mb", object(), "text or a number"),
            ("bucket_cap_mb", {"MiB": 25}, "text or a number"),
            ("caps", {5, 25}, "a set has no order"),
            ("caps", [5, None], "text or a number"),
            ("straggler", {"3:1.2"}, "a set has no order"),
            ("nodes", 2.5, "a whole number"),
            ("min_compression_rate", float("nan"), "a number"),
            ("comm_hook", 16, "a word, as text"),
            ("csv", 5, "the path of a file"),
            ("background", 5, "a name, a path, a document or an answer"),
        ):
            with self.subTest(option, value=value), self.assertRaisesRegex(TypeError, f"^{option}=.*{said}"):
                ddpsim.tune("resnet50-v100-b32", "dgx1v", **{option: value})

    def test_a_name_that_looks_like_an_option_is_a_file(self):
        self.assertEqual(Arguments("topo", ["-x.json"], {}).words(), ["topo", "./-x.json"])

    def test_a_version_as_a_number_is_refused(self):
        with self.assertRaisesRegex(TypeError, "2.10 as a number"):
            ddpsim.tune("resnet50-v100-b32", "dgx1v", torch=2.1)

    def test_examples_in_docstrings(self):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            failed = sum(
                doctest.testmod(module, extraglobs={"ddpsim": ddpsim}).failed for module in (ddpsim, ddpsim._commands)
            )
        self.assertEqual(failed, 0, told.getvalue())
        self.assertGreater(len(doctest.DocTestFinder().find(ddpsim._commands)), 10)


def imports(folder, relative):
    """The modules of the folder that each module imports, including imports in functions or for types only."""
    paths = sorted([*folder.glob("*.py"), *folder.glob("*/*.py")])
    files = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    found = {path.stem: set() for path in files}
    for path, tree in files.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and relative == (node.level > 0):
                found[path.stem] |= {(node.module or one.name).rpartition(".")[2] for one in node.names}
            elif isinstance(node, ast.Import) and not relative:
                found[path.stem] |= {one.name for one in node.names}
    return {name: others & set(found) for name, others in found.items()}


class Package(unittest.TestCase):
    def test_imports_of_package_and_scripts_have_no_cycle(self):
        for folder, relative in ((pathlib.Path(ddpsim.__file__).parent, True), (ROOT / "scripts", False)):
            graph = imports(folder, relative)
            self.assertGreater(sum(map(len, graph.values())), 10)
            try:
                graphlib.TopologicalSorter(graph).prepare()
            except graphlib.CycleError as error:
                self.fail(f"{folder}: {' imports '.join(reversed(error.args[1]))}")

    def test_every_public_name_exists(self):
        for name in ddpsim.__all__:
            try:
                self.assertIsNotNone(getattr(ddpsim, name), name)
            except ImportError as error:  # names that need PyTorch
                self.assertIn("torch", str(error), name)
        self.assertLessEqual(set(ddpsim.__all__), set(dir(ddpsim)))
        with self.assertRaises(AttributeError):
            ddpsim.simulte

    def test_the_recorder_is_a_copy_of_the_one_in_traces(self):
        staged = pathlib.Path(ddpsim.__file__).with_name("ddpsim_recorder.py")
        self.assertEqual(staged.read_bytes(), (ROOT / "traces" / "recorder" / "ddpsim_recorder.py").read_bytes())
        torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", "from ddpsim import Recorder; print(Recorder.__module__)"],
            capture_output=True,
            text=True,
        )
        if torch:
            self.assertEqual(run.stdout, "ddpsim.ddpsim_recorder\n", run.stderr)
        else:
            self.assertIn("torch", run.stderr)

    def test_the_types_of_the_recorder_match_it(self):
        folder = pathlib.Path(ddpsim.__file__).parent
        classes = {}
        for name in ("ddpsim_recorder.py", "ddpsim_recorder.pyi"):
            tree = ast.parse((folder / name).read_text(encoding="utf-8"))
            one = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Recorder")
            classes[name] = {
                node.name: (
                    [argument.arg for argument in node.args.args],
                    [argument.arg for argument in node.args.kwonlyargs],
                )
                for node in one.body
                if isinstance(node, ast.FunctionDef)
            }
        for name, arguments in classes["ddpsim_recorder.pyi"].items():
            if name != "__exit__":
                self.assertEqual(arguments, classes["ddpsim_recorder.py"][name], name)

    def test_importing_ddpsim_loads_few_modules(self):
        code = "import sys; before = set(sys.modules); import ddpsim; print(*sorted(set(sys.modules) - before))"
        loaded = subprocess.run(
            [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        self.assertIn("ddpsim._commands", loaded)
        for module in ("torch", "pandas", "matplotlib", "subprocess", "json", "dataclasses", "ddpsim._results"):
            self.assertNotIn(module, loaded)

    def test_the_code_is_valid_python_3_9(self):
        for path in sorted(pathlib.Path(ddpsim.__file__).parent.glob("*.py*")):
            if path.suffix in (".py", ".pyi"):
                ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
