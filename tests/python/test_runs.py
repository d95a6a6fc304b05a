"""Runs of ddpsim through the package: inputs, answers and errors."""

import base64
import concurrent.futures
import gc
import gzip
import json
import os
import pathlib
import pickle
import re
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import ddpsim
import ddpsim._program

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import patience  # noqa: E402

INPUTS = ROOT / "tests" / "golden" / "inputs"
THREE_LAYERS = INPUTS / "three-layers.json"


def pretender(folder, script):
    """Writes a shell script that takes the place of ddpsim, and returns its path."""
    path = pathlib.Path(folder, "ddpsim")
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Inputs(unittest.TestCase):
    def test_a_document_and_its_file_give_the_same_answer(self):
        document = json.loads(THREE_LAYERS.read_text())
        by_file = ddpsim.simulate(THREE_LAYERS, "2xv100-nvlink")
        self.assertEqual(ddpsim.simulate(document, "2xv100-nvlink"), by_file)
        self.assertEqual(ddpsim.simulate(str(THREE_LAYERS), "2xv100-nvlink").iteration_us, by_file.iteration_us)

    def test_an_error_quotes_a_name_with_line_breaks(self):
        with self.assertRaises(ddpsim.InputError) as caught:
            ddpsim.tune("three\nlayers", "2xv100-nvlink")
        self.assertEqual(caught.exception.file, "three\nlayers")

    def test_a_path_may_have_spaces_and_any_letters(self):
        with tempfile.TemporaryDirectory(prefix="drei Schichten – ü ") as folder:
            path = pathlib.Path(folder, 'größe "1" 模型.json')
            path.write_bytes(THREE_LAYERS.read_bytes())
            answer = ddpsim.simulate(path, "2xv100-nvlink", csv=pathlib.Path(folder, "ein schritt.csv"))
            self.assertEqual(answer.workload, "three-layers")
            self.assertIn("bucket,bytes", pathlib.Path(folder, "ein schritt.csv").read_text())
            self.assertIn(str(path), answer.arguments.words())

    def test_words_impossible_on_a_command_line_are_refused(self):
        for word, why in (
            ("a\0b", "NUL"),
            ("a\ud800b", "half of a character"),
            ("x" * (1 << 20), "more than a command line takes"),
        ):
            for question in (
                lambda: ddpsim.tune(word, "dgx1v"),
                lambda: ddpsim.tune(THREE_LAYERS, word),
                lambda: ddpsim.tune(THREE_LAYERS, "dgx1v", csv=word),
                lambda: ddpsim.tune(THREE_LAYERS, "dgx1v", caps=[word, 5]),
                lambda: ddpsim.tune(THREE_LAYERS, "dgx1v", torch=word),
                lambda: ddpsim.import_trace(THREE_LAYERS, output=word),
                lambda: ddpsim.sweep(THREE_LAYERS, output=word),
            ):
                with self.subTest(why), self.assertRaisesRegex(ddpsim.UsageError, why) as caught:
                    question()
                self.assertLess(len(str(caught.exception)), 300)
                self.assertTrue(str(caught.exception).isprintable())

    def test_file_names_that_are_not_utf_8_work(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, os.fsdecode(b"caf\xe9.json"))
            path.write_bytes(THREE_LAYERS.read_bytes())
            with os.scandir(os.fsencode(folder)) as entries:
                entry = next(entries)
            self.assertEqual(ddpsim.simulate(entry, "2xv100-nvlink").workload, "three-layers")
            self.assertEqual(
                ddpsim.simulate(path, "2xv100-nvlink", csv=os.fsencode(path) + b".csv").workload, "three-layers"
            )
            self.assertEqual(len(os.listdir(folder)), 2)

    def test_a_document_that_is_not_json_is_refused(self):
        endless = {"schema": "ddpsim.workload/1"}
        endless["self"] = endless
        for document in (endless, {"schema": "ddpsim.workload/1", "name": {1, 2}}, {("a",): 1}):
            with self.assertRaisesRegex(ddpsim.UsageError, "the document cannot be written as JSON"):
                ddpsim.tune(document, "dgx1v")
        with self.assertRaises(ddpsim.InputError):
            ddpsim.tune({"schema": "ddpsim.workload/1", "name": "\ud800"}, "dgx1v")
        with self.assertRaises(ddpsim.InputError):
            ddpsim.tune({"schema": "ddpsim.workload/1", "name": float("nan")}, "dgx1v")

    def test_an_empty_value_is_refused(self):
        for options in ({"csv": ""}, {"caps": []}, {"torch": ""}, {"bucket_cap_mb": ""}):
            with self.subTest(options), self.assertRaisesRegex(ddpsim.UsageError, "the value is empty. Leave"):
                ddpsim.tune(THREE_LAYERS, "2xv100-nvlink", **options)

    def test_a_first_argument_of_none_is_refused(self):
        with self.assertRaisesRegex(TypeError, "tune: the first argument is None"):
            ddpsim.tune(None, "2xv100-nvlink")

    def test_any_iterable_can_list_values(self):
        tuned = ddpsim.tune(THREE_LAYERS, "2xv100-nvlink", caps=[5, 25])
        for caps in ((5, 25), {5: "", 25: ""}.keys(), (cap for cap in (5, 25)), "5,25"):
            self.assertEqual(ddpsim.tune(THREE_LAYERS, "2xv100-nvlink", caps=caps), tuned)

    def test_a_relative_path_stays_valid_after_chdir(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(INPUTS)
        answer = ddpsim.simulate("three-layers.json", "2xv100-nvlink")
        os.chdir("/")
        self.assertTrue(answer.verdict.startswith("three-layers on 2xv100-nvlink"))

    def test_a_forked_child_does_not_delete_documents(self):
        answer = ddpsim.simulate(json.loads(THREE_LAYERS.read_text()), "2xv100-nvlink")
        child = os.fork()
        if child == 0:
            del answer
            gc.collect()
            os._exit(0)
        os.waitpid(child, 0)
        self.assertTrue(answer.verdict.startswith("three-layers on 2xv100-nvlink"))

    def test_str_is_the_text_of_the_terminal(self):
        answer = ddpsim.simulate(THREE_LAYERS, "2xv100-nvlink")
        self.assertEqual(str(answer), answer.text)

    def test_an_imported_workload_has_a_file(self):
        workload = ddpsim.import_trace(THREE_LAYERS)
        self.assertEqual(workload.name, "three-layers")
        self.assertEqual(json.loads(pathlib.Path(workload.path).read_text()), workload.document)
        self.assertEqual(
            workload.recognised,
            (
                "the GPU is busy for 12.80 ms of 13.00 ms and waits 0.20 ms for the host",
                "a workload file: 5 parameters",
            ),
        )
        self.assertEqual(workload.warnings, ())
        self.assertIn(
            "shapes are not recorded", ddpsim.import_trace(ROOT / "tests/fixtures/tiny-ddp-trace.json").warnings[0]
        )
        self.assertEqual(ddpsim.simulate(workload, "2xv100-nvlink").workload, "three-layers")
        path = workload.path
        del workload
        gc.collect()
        self.assertFalse(os.path.exists(path), "the file of a deleted workload remains")

    def test_an_answer_keeps_its_input_files(self):
        answer = ddpsim.simulate(ddpsim.import_trace(THREE_LAYERS), "2xv100-nvlink")
        gc.collect()
        self.assertTrue(answer.verdict.startswith("three-layers on 2xv100-nvlink"), answer.verdict)

    def test_a_calibrated_cluster_is_a_cluster(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "lab.json")
            lab = ddpsim.calibrate(
                f"{INPUTS / 'n1.txt'}@1x4", f"{INPUTS / 'n2.txt'}@2x4", cluster="abci-v100", output=path
            )
            self.assertEqual(lab.path, str(path))
            self.assertTrue(path.exists())
            table = ddpsim.allreduce(lab, nodes=2, begin="1M", end="1M")
            self.assertNotEqual(table.confidence.grade, "C")
            validated = ddpsim.validate(table, f"{INPUTS / 'n2.txt'}@2x4")
            self.assertEqual(validated.predicted, "allreduce.json")

    def test_a_study_may_be_a_document(self):
        study = {
            "schema": "ddpsim.study/1",
            "workload": json.loads(THREE_LAYERS.read_text())["name"],
            "candidates": ["dgx1v", "nosuch"],
            "grid": {"bucket-cap-mb": [5, 25]},
        }
        study["workload"] = str(THREE_LAYERS)
        swept = ddpsim.sweep(study)
        self.assertEqual([point.error is None for point in swept.points], [True, True, False, False])
        self.assertIn("2 of 4 points", swept.messages[-1])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(
                ddpsim.sweep(study, output=pathlib.Path(folder, "s.jsonl")).points[0].grid, {"bucket-cap-mb": 5}
            )

    def test_a_label_may_have_unicode_line_ends(self):
        ends = "a\u2028b\u2029c\u0085d"
        study = {
            "schema": "ddpsim.study/1",
            "workload": str(THREE_LAYERS),
            "candidates": [{"label": ends, "cluster": "dgx1v"}],
        }
        with tempfile.TemporaryDirectory() as folder:
            for options in ({}, {"output": pathlib.Path(folder, "lines.jsonl")}):
                swept = ddpsim.sweep(study, **options)
                self.assertEqual(len(swept.points), 1)

    def test_an_error_names_an_output_that_cannot_be_read_back(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(INPUTS)
        with self.assertRaisesRegex(ddpsim.Error, "/dev/null"):
            ddpsim.sweep(INPUTS / "study.json", output="/dev/null")

    def test_shards_are_joined(self):
        study = {
            "schema": "ddpsim.study/1",
            "workload": str(THREE_LAYERS),
            "candidates": ["dgx1v"],
            "grid": {"bucket-cap-mb": [5, 25, 50]},
        }
        with tempfile.TemporaryDirectory() as folder:
            parts = [pathlib.Path(folder, f"{part}.jsonl") for part in (1, 2)]
            for part, path in enumerate(parts, 1):
                self.assertEqual(ddpsim.sweep(study, shard=f"{part}/2", output=path).shard.index, part)
            self.assertEqual(ddpsim.sweep(join=parts).points, ddpsim.sweep(study).points)

    def test_each_of_several_workloads_is_an_option(self):
        mixed = ddpsim.compare("dgx1v", "dgx1v@2", workload=[f"{THREE_LAYERS}=40%", "resnet18@V100=60%"], no_tune=True)
        self.assertEqual([one.share for one in mixed.workloads], [0.4, 0.6])
        self.assertEqual([row.label for row in mixed.mix.rows], ["dgx1v", "dgx1v@2"])


class Answers(unittest.TestCase):
    def test_nothing_is_printed(self):
        code = "import ddpsim; ddpsim.tune('resnet50-v100-b32', 'p3dn@2'); ddpsim.import_trace('resnet50@V100')"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    def test_one_run_gives_text_page_timeline_and_report(self):
        with tempfile.TemporaryDirectory() as folder:
            counts = pathlib.Path(folder, "runs")
            script = f'echo >> {counts}; exec {ddpsim.program()} "$@"'
            with mock.patch.dict(os.environ, DDPSIM_PROGRAM=str(pretender(folder, script))):
                answer = ddpsim.tune(THREE_LAYERS, "2xv100-nvlink")
                self.assertTrue(answer.verdict and answer.page() and answer.timeline().ranks)
                self.assertEqual(answer.report()["verdict"], answer.verdict)
            self.assertEqual(counts.read_text(), "\n")

    def test_an_answer_without_a_page_has_text(self):
        answer = ddpsim.topo("dgx1v")
        self.assertIn("dgx1v", answer.text)
        with self.assertRaisesRegex(ddpsim.Failure, "has no page"):
            answer.page()
        mixed = ddpsim.compare("dgx1v", "dgx1v@2", workload=[f"{THREE_LAYERS}=40%", "resnet18@V100=60%"], no_tune=True)
        self.assertFalse(mixed.has_page)
        self.assertIn("dgx1v@2", mixed.text)

    def test_text_report_page_and_timeline_come_from_ddpsim(self):
        answer = ddpsim.simulate(THREE_LAYERS, "2xv100-nvlink", measured_step="16ms")
        command = [ddpsim.program(), "simulate", THREE_LAYERS, "2xv100-nvlink", "--measured-step=16ms"]
        self.assertEqual(answer.text, subprocess.run(command, capture_output=True, text=True).stdout)
        self.assertEqual(answer.report()["verdict"], answer.verdict)
        self.assertIn(answer.verdict, answer.page())
        self.assertEqual(
            {span.track for span in answer.timeline().ranks[0].spans}, {"host", "compute", "communication"}
        )
        self.assertEqual(answer.command, " ".join(map(str, ["ddpsim", *command[1:]])))

    def test_a_notebook_shows_the_page_in_a_frame_of_its_own(self):
        shown = ddpsim.tune(THREE_LAYERS, "2xv100-nvlink")._repr_html_()
        self.assertIn('sandbox="allow-scripts allow-downloads"', shown)
        self.assertNotIn("<script", shown)  # but in an attribute
        self.assertIn("&lt;script", shown)
        self.assertTrue(ddpsim.topo("dgx1v")._repr_html_().startswith("<pre>"))

    def test_a_workbench_starts_from_the_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            # This page has only the elements that the package fills in.
            page = pathlib.Path(folder, "ddpsim.html")
            page.write_text(
                "".join(f'<script id="{name}"></script>' for name in ("plain", "documents", "engine-program", "inputs"))
            )
            with mock.patch.dict(os.environ, DDPSIM_HTML=str(page)):
                shown = ddpsim.tune(json.loads(THREE_LAYERS.read_text()), "dgx1v@2").workbench()
        given = json.loads(gzip.decompress(base64.b64decode(re.search('id="inputs">([^<]+)<', shown.page)[1])))
        self.assertEqual(given["given"], [["WORKLOAD", "workload.json"], ["CLUSTER", "dgx1v@2"]])
        self.assertIn('sandbox="allow-scripts allow-downloads"', shown._repr_html_())
        with (
            self.assertRaisesRegex(ddpsim.InputError, "DDPSIM_HTML"),
            mock.patch.dict(os.environ, DDPSIM_HTML="/nowhere/ddpsim.html"),
        ):
            ddpsim.tune(THREE_LAYERS, "dgx1v@2").workbench()

    def test_a_notebook_shows_an_answer_after_its_files_are_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "w.json")
            path.write_bytes(THREE_LAYERS.read_bytes())
            answer = ddpsim.simulate(path, "2xv100-nvlink")
        self.assertIn("<iframe", answer._repr_html_())

    def test_warnings_are_on_the_answer(self):
        self.assertIn(
            "is not calibrated: link speeds come from data sheets",
            ddpsim.simulate(THREE_LAYERS, "2xv100-nvlink").warnings[0],
        )

    def test_many_threads_can_call_at_once(self):
        document = ddpsim.import_trace("resnet50-v100-b32").document
        caps = [1, 5, 100] * 4
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            steps = list(
                threads.map(lambda cap: ddpsim.simulate(document, "dgx1v", bucket_cap_mb=cap).iteration_us, caps)
            )
        self.assertEqual(steps[:3] * 4, steps)
        self.assertEqual(len(set(steps)), 3)


class Errors(unittest.TestCase):
    def test_a_usage_error(self):
        with self.assertRaises(ddpsim.UsageError) as caught:
            ddpsim.tune("resnet50-v100-b32", "dgx1v", network="flaw")
        self.assertEqual(str(caught.exception), '--network: "flaw" is not one of analytic, flow. Did you mean "flow"?')
        self.assertEqual(caught.exception.remedy, 'Did you mean "flow"?')

    def test_an_input_error_has_file_place_and_remedy(self):
        path = str(INPUTS / "bad-dtype.json")
        with self.assertRaises(ddpsim.InputError) as caught:
            ddpsim.simulate(path, "dgx1v")
        error = caught.exception
        self.assertEqual(
            (error.file, error.place, error.remedy), (path, "/parameters/0/dtype", 'Did you mean "float32"?')
        )
        self.assertTrue(error.message.startswith('"flot32" is not known'))
        self.assertEqual(str(error), f"{path}:{error.place}: {error.message}. {error.remedy}")

    def test_an_input_error_names_a_document_instead_of_its_temporary_file(self):
        with self.assertRaises(ddpsim.InputError) as caught:
            ddpsim.simulate({"schema": "ddpsim.workload/1", "parameters": [{"name": "a"}]}, "dgx1v")
        self.assertEqual((caught.exception.file, caught.exception.place), ("workload.json", "/parameters/0"))

    def test_an_error_about_a_word_has_suggestions(self):
        with self.assertRaises(ddpsim.UsageError) as caught:
            ddpsim.tune("resnet50-v100-b32", "dgx1v", network="flaw")
        self.assertEqual((caught.exception.place, caught.exception.did_you_mean), ("--network", ("flow",)))
        with self.assertRaises(ddpsim.InputError) as caught:
            ddpsim.tune("resnet5", "dgx1v")
        self.assertEqual((caught.exception.file, caught.exception.did_you_mean), ("resnet5", ("resnet50",)))

    def test_an_error_quotes_a_file_as_you_passed_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a: b, line 7.\n c.json")
            pathlib.Path(path).write_text("{")
            for ask in (lambda: ddpsim.simulate(path, "dgx1v"), lambda: ddpsim.import_trace(path)):
                with self.assertRaises(ddpsim.InputError) as caught:
                    ask()
                self.assertEqual(caught.exception.file, path)

    def test_an_error_in_a_sweep(self):
        study = {
            "schema": "ddpsim.study/1",
            "workload": "resnet18@V100",
            "candidates": ["dgx1v"],
            "grid": {"torhc": [1]},
        }
        with self.assertRaises(ddpsim.InputError) as caught:
            ddpsim.sweep(study)
        self.assertEqual((caught.exception.file, caught.exception.place), ("study.json", "/grid/torhc"))

    def test_a_regression_has_the_result_of_the_check(self):
        with self.assertRaises(ddpsim.Regression) as caught:
            ddpsim.validate(INPUTS / "predicted-table.json", INPUTS / "n2.txt", max_error=5)
        self.assertTrue(caught.exception.result.limit.exceeded)

    def test_an_output_that_cannot_be_written_is_a_failure(self):
        with self.assertRaisesRegex(ddpsim.Failure, "cannot be written"):
            ddpsim.simulate(THREE_LAYERS, "2xv100-nvlink", csv="nowhere/at/all.csv")

    def test_a_program_that_dies_or_prints_no_document(self):
        with tempfile.TemporaryDirectory() as folder:
            for script, said in (("kill -9 $$", "signal 9"), ("exit 7", "exit code 7"), ("echo hello", "no document")):
                with mock.patch.dict(os.environ, DDPSIM_PROGRAM=str(pretender(folder, script))):
                    with self.assertRaisesRegex(ddpsim.Failure, said):
                        ddpsim.topo("dgx1v")

    def test_errors_are_raised_when_sigchld_is_ignored(self):
        code = textwrap.dedent("""\
            import concurrent.futures, signal, ddpsim
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            def asked(_):
                try:
                    ddpsim.tune("no-such-workload", "dgx1v")
                except ddpsim.Error as error:
                    return type(error).__name__
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                print({asked(0)}, set(pool.map(asked, range(16))), signal.getsignal(signal.SIGCHLD).name)
            """)
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(run.stdout, "{'InputError'} {'InputError'} SIG_IGN\n", run.stderr)

    def test_a_full_disk(self):
        code = textwrap.dedent("""\
            import resource, signal, sys, ddpsim
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            try:
                ddpsim.tune({"schema": "ddpsim.workload/1"}, "dgx1v")
            except ddpsim.Failure as error:
                print(error)
            """)
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("Set TMPDIR to a folder ", run.stdout, run.stderr)

    def test_errors_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(ddpsim.InputError("c", "d", "a.json", "/b", ("e",))))
        self.assertEqual(str(error), "a.json:/b: c. d")
        self.assertEqual(error.did_you_mean, ("e",))

    def test_an_interrupt_ends_ddpsim_too(self):
        code = textwrap.dedent("""\
            import os, signal, subprocess, ddpsim
            waits = subprocess.Popen.communicate
            def interrupted(program, *arguments, **keywords):
                print(program.pid, flush=True)
                os.kill(os.getpid(), signal.SIGINT)
                return waits(program, *arguments, **keywords)
            subprocess.Popen.communicate = interrupted
            signal.signal(signal.SIGINT, signal.default_int_handler)
            ddpsim.topo('dgx1v')
            """)
        with tempfile.TemporaryDirectory() as folder:
            path = pretender(folder, "exec sleep 60")
            run = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "DDPSIM_PROGRAM": str(path)},
                timeout=patience.seconds(50),
                capture_output=True,
                text=True,
            )
        self.assertIn("KeyboardInterrupt", run.stderr)
        state = pathlib.Path("/proc", run.stdout.strip(), "stat")
        self.assertTrue(not state.exists() or state.read_text().split()[2] == "Z", "ddpsim still runs")


class WithoutTorch(unittest.TestCase):
    def test_everything_else_works(self):
        script = (
            "import sys; sys.modules['torch'] = None\nfrom ddpsim import *\nimport ddpsim\nprint(tune, sorted(dir(ddpsim))[0])\n"
            "try:\n    ddpsim.autotune\nexcept ImportError as error:\n    print(error)"
        )
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("ddpsim.autotune needs PyTorch", run.stdout)


class Program(unittest.TestCase):
    def setUp(self):
        ddpsim._program._installed.cache_clear()
        self.addCleanup(ddpsim._program._installed.cache_clear)

    def test_ddpsim_is_looked_up_in_environment_then_next_to_python_then_on_path(self):
        with tempfile.TemporaryDirectory() as beside, tempfile.TemporaryDirectory() as on_path:
            named = os.environ["DDPSIM_PROGRAM"]
            self.assertEqual(ddpsim.program(), named)
            with (
                mock.patch.dict(os.environ, {"PATH": on_path}),
                mock.patch.object(sys, "executable", os.path.join(beside, "python")),
                mock.patch("sysconfig.get_path", return_value=beside),
            ):
                del os.environ["DDPSIM_PROGRAM"]
                with self.assertRaisesRegex(ddpsim.Failure, "pip install ddpsim"):
                    ddpsim.program()
                path = pretender(on_path, "exit 0")
                self.assertEqual(ddpsim.program(), str(path))
                ddpsim._program._installed.cache_clear()
                own = pretender(beside, "exit 0")
                self.assertEqual(ddpsim.program(), str(own))

    def test_a_program_that_cannot_run_is_named(self):
        with mock.patch.dict(os.environ, DDPSIM_PROGRAM="/nowhere/ddpsim"):
            with self.assertRaisesRegex(ddpsim.Failure, "/nowhere/ddpsim cannot be run: No such file"):
                ddpsim.topo("dgx1v")


if __name__ == "__main__":
    unittest.main()
