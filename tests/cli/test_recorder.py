"""The recorder in real trainings, compared with the logs of torch's own DistributedDataParallel."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import patience
from command import ROOT, answer, ddpsim
from torch_python import ENVIRONMENT, python_with_torch, pythons_with_torch, run_code, run_ranks

HERE = pathlib.Path(__file__).resolve().parent
RECORDER = ROOT / "traces" / "recorder" / "ddpsim_recorder.py"
ALONE = [
    "resnet18",
    "resnet50",
    "frozen",
    "transformer",
    "unused",
    "ignored",
    "sparse",
    "accumulated",
    "misplaced",
    "own-hook",
    "plain",
    "reentrant",
    "checkpointed",
    "autocast",
    "deadlines",
    "evaluated",
    "numbers",
    "stolen",
    "loaded",
    "loaded_by_two",
    "unwritable",
]
PAIR = ["viewed", "taken", "accumulated-hooked"]
PYTHON = python_with_torch("torchvision")


def trained(python, folder, ranks, *cases):
    """Trains, and returns for each rank the facts by case and the standard error."""
    folder.mkdir(exist_ok=True)
    told = run_ranks(python, HERE / "recorder_trainings.py", folder, ranks, ranks, *cases)
    return [
        ({facts["case"]: facts for facts in map(json.loads, text.splitlines())}, (folder / f"said-{rank}").read_text())
        for rank, text in enumerate(told)
    ]


class Trainings:
    """Trains under each PyTorch found, for the classes below."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        [(cls.facts, cls.said)] = trained(cls.python, cls.folder, 1, *ALONE)
        cls.both = trained(cls.python, cls.folder / "two", 2, "transformer", *PAIR)
        cls.pair = [facts["transformer"] for facts, _ in cls.both]
        cls.three = trained(cls.python, cls.folder / "three", 3, "hooked", "viewed")

    def document(self, case):
        return json.loads((self.folder / f"{case}.json").read_text())

    def order(self, case):
        """The order of gradients in DDP's numbering, which leaves out frozen parameters."""
        document = self.document(case)
        trained = [index for index, parameter in enumerate(document["parameters"]) if not parameter.get("frozen")]
        return [trained.index(entry["parameter"]) for entry in document["backward"]["ready"]]

    def test_waits_of_steps_for_their_loader_are_recorded(self):
        facts, loading = self.facts["loaded"], self.document("loaded")["data_loading"]
        self.assertIsNone(facts["problem"])
        self.assertTrue(facts["left_as_it_was"])
        self.assertEqual((loading["loads"], loading["count"]), ("trainer", 6))
        for key in ("median_us", "mean_us", "p90_us"):
            self.assertGreaterEqual(loading[key], 20000)
        self.assertGreaterEqual(self.document("loaded")["iteration"]["duration_us"], 20000)
        self.assertNotIn("data_loading", self.document("plain"))

    def test_workers_that_take_turns_limit_the_mean_step(self):
        loading = self.document("loaded_by_two")["data_loading"]
        self.assertEqual(loading["loads"], "workers")
        self.assertGreater(loading["interval_us"], 8000)  # 20 ms, two workers
        self.assertLess(loading["interval_us"], 18000)

    def test_ready_order_matches_the_log_of_ddp(self):
        for case in ("resnet18", "resnet50", "frozen", "transformer", "unused", "accumulated", "sparse"):
            with self.subTest(case):
                self.assertTrue(self.facts[case]["order"], "DDP logged no order")
                self.assertEqual(self.order(case), self.facts[case]["order"])

    def test_buckets_of_the_file_match_those_of_ddp(self):
        options = {"resnet50": ["--bucket-cap-mb", "10"], "transformer": ["--bucket-cap-mb", "1.5"]}
        for case in ("resnet18", "resnet50", "frozen", "transformer", "accumulated", "sparse", "ignored"):
            with self.subTest(case):
                buckets = answer(
                    "buckets", self.folder / f"{case}.json", "--torch", self.version, *options.get(case, [])
                )
                self.assertTrue(self.facts[case]["buckets"])
                self.assertEqual([bucket["bytes"] for bucket in buckets["buckets"]], self.facts[case]["buckets"])
                logged = " ".join(map(str, self.facts[case]["buckets"]))
                self.assertEqual(self.document(case)["provenance"]["bucket_bytes"], logged)

    def test_ready_times_are_those_of_a_backward_with_deadlines(self):
        document = self.document("deadlines")
        self.assertEqual(
            [(entry["parameter"], entry["at_us"]) for entry in document["backward"]["ready"]],
            [(5, 20000), (4, 20500), (3, 22000), (2, 30000), (1, 34000), (0, 50000)],
        )
        self.assertEqual(
            [document[part]["duration_us"] for part in ("forward", "backward", "optimizer", "iteration")],
            [5000, 50000, 0, 55000],
        )

    def test_the_file_goes_through_every_command_unchanged(self):
        for case in ("resnet18", "plain", "accumulated"):
            path, again = self.folder / f"{case}.json", self.folder / "again.json"
            outcome = ddpsim("import", path, "-o", again)
            self.assertEqual(outcome.code, 0, outcome.err)
            self.assertEqual(path.read_text(), again.read_text(), "import changed the file")
            answer("simulate", path, "2xv100-nvlink", "--compute-scale", "1", "--torch", self.version)
        answer("tune", self.folder / "plain.json", "2xv100-nvlink", "--compute-scale", "1", "--torch", self.version)
        outcome = ddpsim("simulate", self.folder / "plain.json", "2xv100-nvlink")
        self.assertEqual(outcome.code, 3, "a CPU's times were taken for a GPU's")
        self.assertIn("recorded on CPU", outcome.err)

    def test_the_parts_of_the_step_are_recorded(self):
        document = self.document("resnet18")
        self.assertEqual(document["batch_per_gpu"], 2)
        self.assertEqual(document["samples_per_step"], 2)
        self.assertEqual(document["precision"], "fp32")
        self.assertTrue(document["recorded_with"]["ddp_hooks"])
        self.assertGreater(document["recorded_with"]["finalize_us"], 0)
        self.assertGreater(document["recorded_with"]["buffer_broadcast_us"], 0)
        self.assertLess(document["recorded_with"]["buffer_broadcast_us"], document["forward"]["duration_us"])
        self.assertEqual(
            document["buffers"],
            [{"dtype": "float32", "bytes": 38400, "tensors": 40}, {"dtype": "int64", "bytes": 160, "tensors": 20}],
        )
        for entry in document["backward"]["ready"]:
            self.assertGreater(entry["copied_at_us"], entry["at_us"])
        plain = self.document("plain")
        self.assertFalse(plain["recorded_with"]["ddp_hooks"])
        self.assertNotIn("copied_at_us", plain["backward"]["ready"][0])
        self.assertEqual(self.order("plain"), self.order("resnet18"))
        self.assertEqual(self.document("autocast")["precision"], "bf16")

    def test_the_memory_of_backward_is_recorded(self):
        for case in ("resnet18", "transformer", "accumulated", "plain", "checkpointed"):
            with self.subTest(case):
                document = self.document(case)
                held = document["activations"]["held_bytes"]
                self.assertEqual(len(held), len(document["backward"]["ready"]) + 2)
                self.assertGreaterEqual(held[0], document["activations"]["bytes"])
                self.assertLess(held[-1], held[0])
        self.assertNotIn("held_bytes", self.document("reentrant")["activations"])
        self.assertIn("memory is known only for the end of forward", self.said)

    def test_the_variation_of_steps_is_recorded_and_widens_the_interval(self):
        document = self.document("resnet18")
        periods = [step["iteration_us"] for step in document["steps"] if "iteration_us" in step]
        windows = [step["backward_us"] for step in document["steps"] if "backward_us" in step]
        self.assertEqual((len(periods), len(windows), len(document["steps"])), (2, 2, 4))
        self.assertEqual(document["iteration"]["duration_us"], min(periods))
        self.assertEqual(document["backward"]["duration_us"], min(windows))

        def spread(path):
            result = answer("simulate", path, "2xv100-nvlink", "--compute-scale", "1", "--torch", "1.13")
            return next((one for one in result["sensitivities"] if one["source"] == "step_spread"), None)

        found = spread(self.folder / "resnet18.json")
        self.assertLess(found["low_us"], 0)
        self.assertGreater(found["high_us"], 0)
        document["steps"] = [step for step in document["steps"] if "iteration_us" not in step]
        (self.folder / "one period.json").write_text(json.dumps(document))
        self.assertIsNone(spread(self.folder / "one period.json"))

    def test_parameters_match_those_of_ddp(self):
        self.assertEqual(len(self.document("resnet50")["parameters"]), 161)
        parameters = self.document("frozen")["parameters"]
        frozen = [each["name"] for each in parameters if each.get("frozen")]
        self.assertEqual((len(parameters), len(frozen)), (26, 13))
        written = {parameters[event["parameter"]]["name"] for event in self.document("frozen")["backward"]["ready"]}
        self.assertEqual(written, {each["name"] for each in parameters} - set(frozen))
        self.assertIn("13, without gradients", self.document("frozen")["provenance"]["frozen_parameters"])
        names = [parameter["name"] for parameter in self.document("transformer")["parameters"]]
        self.assertIn("words.weight", names)
        self.assertNotIn("head.weight", names)
        self.assertEqual(self.order("transformer").count(names.index("words.weight")), 1)
        self.assertEqual(
            self.document("transformer")["provenance"]["tied_parameters"],
            "one gradient each: head.weight = words.weight",
        )
        names = [parameter["name"] for parameter in self.document("unused")["parameters"]]
        self.assertEqual(
            sorted(set(range(7)) - set(self.order("unused"))),
            [names.index("unused.weight"), names.index("unused.bias")],
        )
        marked = [parameter["name"] for parameter in self.document("ignored")["parameters"] if parameter.get("ignored")]
        self.assertEqual(marked, ["used.bias"])
        self.assertEqual(len(self.order("ignored")), 5)
        marked = [
            parameter["name"] for parameter in self.document("sparse")["parameters"] if parameter.get("sparse_gradient")
        ]
        self.assertEqual(marked, ["0.weight"])

    def test_the_synchronised_one_of_accumulated_backwards_is_recorded(self):
        document = self.document("accumulated")
        self.assertEqual(document["samples_per_step"], 6)
        for entry in document["backward"]["ready"]:  # without no_sync there are copies
            self.assertGreater(entry["copied_at_us"], entry["at_us"])
        step = float(document["provenance"]["step_us"].split()[0])
        others = float(re.search(r"others' ([0-9.]+) us", document["provenance"]["accumulation"]).group(1))
        self.assertAlmostEqual(document["iteration"]["duration_us"], step - others, places=2)
        self.assertIn("--accumulate 3", self.said)
        self.assertEqual(document["recorded_with"]["accumulate"], 3)
        earlier = document["earlier_micro_batches"]
        self.assertEqual((earlier["count"], earlier["all_reduced"]), (2, 0))
        self.assertAlmostEqual(earlier["compute_us"] + earlier["exposed_us"], others, places=2)

    def test_no_sync_around_only_backward_is_recognised(self):
        document = self.document("misplaced")
        self.assertEqual(document["earlier_micro_batches"]["all_reduced"], 2)
        self.assertNotIn("accumulate", document["recorded_with"])
        self.assertIn("3 of 3 micro-batches per step all-reduced", self.said)
        simulated = answer(
            "simulate", self.folder / "misplaced.json", "2xv100-nvlink", "--compute-scale", "1", "--torch", self.version
        )
        self.assertTrue(any("no_sync() must also cover forward" in one for one in simulated["warnings"]))

    def test_a_communication_hook_is_named(self):
        self.assertIn("allreduce_hook", self.document("own-hook")["provenance"]["comm_hook"])
        self.assertNotIn("comm_hook", self.document("resnet18")["provenance"])

    @unittest.skipUnless(
        pathlib.Path("/proc/self/schedstat").exists(), "this kernel does not say how threads were scheduled"
    )
    def test_running_and_waiting_times_of_threads_are_recorded(self):
        for case in ("resnet18", "loaded"):
            with self.subTest(case):
                threads, step = (
                    self.document(case)["threads"],
                    float(self.document(case)["provenance"]["step_us"].split()[0]),
                )
                self.assertGreaterEqual(threads["all_running_us"], threads["running_us"])
                self.assertGreaterEqual(threads["all_waiting_us"], threads["waiting_us"])
                self.assertGreater(threads["cores"], 0)
                if case == "loaded":  # it sleeps
                    self.assertLess(threads["running_us"], 0.8 * step)
                else:
                    self.assertGreater(threads["running_us"] + threads["waiting_us"], 0.2 * step)

    def test_checkpoints_write_a_gradient_when_it_is_complete(self):
        self.assertEqual(self.order("checkpointed"), self.order("reentrant"))
        self.assertIn("2 gradients were written again by reentrant checkpoints", self.said)

    def test_an_evaluation_between_steps_is_not_part_of_them(self):
        document = self.document("evaluated")
        self.assertEqual(len(document["backward"]["ready"]), 5)
        self.assertNotIn("accumulation", document["provenance"])

    def test_each_rank_writes_its_own_file(self):
        ranks = [json.loads((self.folder / "two" / f"transformer-rank{rank}.json").read_text()) for rank in range(2)]
        for rank, document in enumerate(ranks):
            self.assertEqual(document["recorded_with"]["world_size"], 2)
            self.assertEqual(document["samples_per_step"], 4)
            self.assertEqual(document["provenance"]["rank"], str(rank))
            self.assertGreater(document["recorded_with"]["exposed_us"], 0)
            self.assertEqual([entry["parameter"] for entry in document["backward"]["ready"]], self.pair[rank]["order"])

    def joined(self, folder, case, world):
        job = self.folder / f"{case} of {world}.json"
        ranks = [self.folder / folder / f"{case}-rank{rank}.json" for rank in range(world)]
        outcome = ddpsim("import", *ranks, "-o", job)
        self.assertEqual(outcome.code, 0, outcome.err)
        return job, outcome.err

    def test_all_reduces_leave_every_weight_as_it_is_to_the_bit(self):
        for runs, case in ((self.three, "hooked"), (self.three, "viewed"), (self.both, "viewed")):
            self.assertEqual([facts[case]["same"] for facts, _ in runs], [True] * len(runs), case)

    def test_all_reduces_are_those_of_the_buckets_in_every_recorded_step(self):
        document = json.loads((self.folder / "three" / "hooked-rank1.json").read_text())
        buckets = self.three[1][0]["hooked"]["buckets"]
        self.assertGreater(len(buckets), 2)
        steps = [step for step in document["steps"] if "collectives" in step]
        self.assertEqual([step["name"] for step in steps], ["recorded 1", "recorded 2", "recorded 3"])
        for step in steps:
            self.assertEqual([one["bytes"] for one in step["collectives"]], buckets)
            for one in step["collectives"]:
                self.assertGreaterEqual(one["start_us"], one["launch_us"])
                self.assertGreater(one["duration_us"], 0)
        self.assertEqual(document["provenance"]["recorded_step"], "recorded 2")
        self.assertEqual(document["recorded_with"]["collectives"], steps[1]["collectives"])
        self.assertIn("stays registered", self.three[0][1])

    def test_all_reduces_of_joined_ranks_tell_waits_from_transfers(self):
        job, said = self.joined("three", "hooked", 3)
        self.assertIn("3 ranks of one job of 3, recorded 2 on each", said)
        cluster = "node:3 gpu:1xV100 pcie:12GBps nic:1x10Gbps:tcp"
        options = ["--backend", "gloo", "--compute-scale", "1", "--torch", self.version]
        recorded = answer("simulate", job, cluster, *options)["recorded"]
        alone = answer("simulate", self.folder / "three" / "hooked-rank0.json", cluster, *options)["recorded"]
        self.assertEqual(recorded["steps"], 3)
        for both, one in zip(recorded["buckets"], alone["buckets"]):
            self.assertIsNone(one["transfer_us"])
            self.assertGreater(both["transfer_us"], 0)
            self.assertLessEqual(both["duration_us"]["min"], one["duration_us"]["min"])
        text = ddpsim("simulate", job, cluster, *options).out
        self.assertEqual(text.count("Current "), 1, text)
        again = self.folder / "again.json"
        self.assertEqual(ddpsim("import", self.folder / "three" / "hooked-rank0.json", "-o", again).code, 0)
        self.assertEqual((self.folder / "three" / "hooked-rank0.json").read_text(), again.read_text())

    def test_all_reduces_over_gloo_do_not_calibrate_nccl(self):
        outcome = ddpsim(
            "calibrate", self.joined("three", "hooked", 3)[0], "--cluster", "dgx1v", "-o", self.folder / "c.json"
        )
        if "has only one size" in outcome.err:
            self.skipTest("the times of this training leave one size")
        self.assertEqual(outcome.code, 0, outcome.err)
        written = json.loads((self.folder / "c.json").read_text())
        self.assertIn("gloo", written)
        self.assertNotIn("calibration", written)

    def test_if_all_reduces_cannot_be_seen_the_rest_is_recorded_with_a_note(self):
        cases = [
            ("two/taken", self.both, "taken", "can only be called once"),
            ("three/viewed", self.three, "viewed", "a hook cannot divide as DDP does"),
        ]
        for path, runs, case, words in cases:
            document = json.loads((self.folder / f"{path}-rank0.json").read_text())
            self.assertNotIn("collectives", document["recorded_with"])
            self.assertIn("all-reduces are not recorded: ", runs[0][1])
            self.assertIn(words, runs[0][1])
            self.assertGreater(len(document["backward"]["ready"]), 0)

    def test_all_reduces_of_the_last_accumulated_backward_are_recorded(self):
        document = json.loads((self.folder / "two" / "accumulated-hooked-rank0.json").read_text())
        self.assertEqual(
            [one["bytes"] for one in document["recorded_with"]["collectives"]],
            self.both[0][0]["accumulated-hooked"]["buckets"],
        )

    def test_training_is_unchanged_afterwards(self):
        self.assertTrue(self.facts["numbers"]["same"], "weights differ from those of a training without the recorder")
        self.assertEqual(
            set(self.facts["stolen"]["stolen"]), {True}, "AccumulateGrad copied a gradient it used to keep"
        )
        for case in ALONE:
            if case != "stolen":
                self.assertTrue(self.facts[case]["finished"], case)
                self.assertTrue(self.facts[case]["restored"], case)
                self.assertEqual(self.facts[case]["hooks"], 0, case)

    def test_a_file_that_cannot_be_written_is_reported_and_leaves_nothing(self):
        self.assertIn("cannot be written", self.facts["unwritable"]["problem"])
        self.assertEqual([path.name for path in self.folder.rglob(".ddpsim-*")], [])


WRITES = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from ddpsim_recorder import write_document
for name in sys.argv[2:]:
    write_document(name, {"a": 1})
"""


@unittest.skipUnless(python_with_torch(), "no python3 here has PyTorch (scripts/setup.sh --torch)")
class Documents(unittest.TestCase):
    def test_written_files_keep_permissions_follow_links_and_spare_devices(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "out.json").touch(0o600)
            (folder / "dangling").symlink_to("new.json")
            run_code(python_with_torch(), WRITES, folder, RECORDER.parent, "out.json", "dangling", "/dev/null")
            self.assertEqual((folder / "out.json").stat().st_mode & 0o777, 0o600)
            self.assertTrue((folder / "dangling").is_symlink())
            self.assertEqual(json.loads((folder / "new.json").read_text()), {"a": 1})
            self.assertTrue(pathlib.Path("/dev/null").is_char_device())
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["dangling", "new.json", "out.json"])


for release, interpreter in pythons_with_torch().items():
    name = "TrainingsUnder" + release.replace(".", "_")
    globals()[name] = type(name, (Trainings, unittest.TestCase), {"version": release, "python": interpreter})


COMMANDS = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import ddpsim_recorder
for arguments in json.loads(sys.argv[2]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = ddpsim_recorder.main(arguments)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def meta(python, folder, *commands):
    """Runs each `ddpsim_recorder.py -o NUMBER.json --meta …` in one process. Returns their exit codes, output and
    errors."""
    arguments = [["-o", f"{number}.json", "--meta", *command] for number, command in enumerate(commands)]
    told, _ = run_code(python, COMMANDS, folder, RECORDER.parent, json.dumps(arguments))
    return list(map(json.loads, told.splitlines()))


HOSTILE = """
import os, pathlib, sys
sys.path.insert(0, sys.argv[1])
import torch
from ddpsim_recorder import Recorder
Recorder_of = lambda path, **more: Recorder(model, path, warmup=2, steps=2, **more)
model = torch.nn.Linear(4, 4)
def train(recorder):
    for _ in range(10):
        model(torch.rand(2, 4)).sum().backward()
        model.zero_grad()
        recorder.step()
    return recorder
"""


@unittest.skipUnless(python_with_torch(), "no python3 here has PyTorch (scripts/setup.sh --torch installs it)")
class Hostile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def trained(self, code):
        """Runs `code` in a training and returns its output. The training must succeed even if its recorder fails."""
        return self.looked_through(*run_code(python_with_torch(), HOSTILE + code, self.folder, RECORDER.parent))

    def started(self, code, shell='exec "$@"', **environment):
        """Like `trained`, in a new Python that starts with the given streams and environment."""
        run = subprocess.run(
            ["bash", "-c", shell, "", python_with_torch(), "-W", "ignore", "-c", HOSTILE + code, str(RECORDER.parent)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            env={**ENVIRONMENT, **environment},
            timeout=patience.seconds(120),
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return self.looked_through(run.stdout, run.stderr)

    def looked_through(self, told, said):
        self.assertNotIn("Traceback", said)
        self.assertNotRegex(told + said, "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\udc80-\\udcff]")
        return told + said

    def test_links_modes_pipes_and_names_that_are_no_text(self):
        precious = self.folder / "precious"
        precious.write_text("mine")
        (self.folder / "old").write_text("old")
        (self.folder / "old").chmod(0o600)
        (self.folder / "link").symlink_to("old")
        (self.folder / "dangling").symlink_to("made")
        os.mkfifo(self.folder / "pipe")
        self.trained("""
train(Recorder_of("n" * 255))
for name in ("step.json", "old"):
    for number in range(os.getpid() - 2, os.getpid() + 3):
        for ending in ("tmp", "partial"):
            os.symlink("precious", f"{name}.{number}.{ending}")
train(Recorder_of("step.json")); train(Recorder_of("link")); train(Recorder_of("dangling"));
train(Recorder_of(os.fsdecode(b"caf\\xe9\\x1b[31m.json")))
reading = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
train(Recorder_of("pipe"))
assert os.read(reading, 1) == b"{"
""")
        self.assertEqual(precious.read_text(), "mine")
        self.assertTrue((self.folder / "link").is_symlink() and (self.folder / "pipe").is_fifo())
        for name in ("step.json", "old", "made", "n" * 255, os.fsdecode(b"caf\xe9\x1b[31m.json")):
            json.loads((self.folder / name).read_text())
        self.assertEqual((self.folder / "old").stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.folder / "made").stat().st_mode & 0o777, (precious.stat().st_mode & 0o777))

    def test_a_full_disk(self):
        said = self.started(
            """
recorder = train(Recorder_of("step.json"))
print(recorder.finished, recorder.problem)
""",
            shell='trap "" XFSZ; ulimit -f 0; exec "$@"',
        )
        self.assertIn("True step.json cannot be written: File too large", said)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_training_goes_on_if_stderr_is_full_or_closed(self):
        for shell in ('exec "$@" 2>/dev/full', 'exec "$@" 2>&-'):
            self.started(
                """
train(Recorder_of("step.json")); train(Recorder_of("no such folder/step.json"))
""",
                shell=shell,
            )
            json.loads((self.folder / "step.json").read_text())

    def test_invalid_paths_are_reported(self):
        (self.folder / "full").symlink_to("/dev/full")
        said = self.trained("""
for path in ("a\\0b", "\\ud800", "x" * 5000, "", "/", ".", "/proc/version", "full", "a/../b/c"):
    recorder = train(Recorder_of(path))
    assert recorder.finished and recorder.problem, path
""")
        self.assertEqual(said.count("cannot be written"), 9)

    def test_names_in_a_model_are_data(self):
        self.trained("""
type(model).__name__ = "Lin\\x1b[31mear"
train(Recorder_of("step.json", name="na\\x1b]0;x\\x07me\\udcff"))
""")
        self.assertEqual(json.loads((self.folder / "step.json").read_text())["name"], "na\x1b]0;x\x07me\udcff")

    def test_variables_of_the_environment(self):
        for environment in (
            {"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"},
            {"RANK": "x", "WORLD_SIZE": "a[$(touch pwned)]", "LOCAL_RANK": "-1"},
            {"TMPDIR": "/dev/full", "HOME": "/dev/full", "OMP_NUM_THREADS": "many"},
        ):
            self.started(
                """
train(Recorder_of("step.json", name="\\u00e9"))
""",
                **environment,
            )
            json.loads((self.folder / "step.json").read_text(encoding="utf-8"))
            self.assertEqual([one.name for one in self.folder.iterdir()], ["step.json"])

    def test_models_that_raise(self):
        (self.folder / "mine.py").write_text(
            "import torch\ndef raises(): raise KeyError('a\\x1bb')\n"
            "class Odd(torch.nn.Linear):\n    def forward(self, one, two): return one\n"
            "def odd(): return Odd(2, 2), (torch.rand(2),)\ndef three(): return 1, 2, 3\n"
            "def model(): return torch.nn.Linear(2, 2)\n"
        )
        (self.folder / "broken.py").write_text("def (\n")
        commands = (
            ["mine:raises"],
            ["mine:odd"],
            ["mine:three"],
            ["broken:model"],
            ["..x:model"],
            ["mine:model", "--input", "99999999999,99999999999"],
            ["mine:model", "--input", "9" * 40],
            ["mine:model", "--input", "3"],
            ["mine:model", "--output", "no such folder/x"],
        )
        for command, (code, _, said) in zip(commands, meta(python_with_torch(), self.folder, *commands)):
            self.assertEqual((code, len(said.splitlines())), (3, 1), f"{command}: {said}")
            self.assertNotIn("\x1b", said)


@unittest.skipUnless(PYTHON, "no python3 here has PyTorch and torchvision (scripts/setup.sh --torch installs them)")
class WithoutAGpu(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_models(self):
        (self.folder / "mine.py").write_text(
            "import torch\n"
            "def big():\n"
            "    layers = [torch.nn.Linear(1 << 20, 1 << 20, device='meta'), torch.nn.ReLU(),\n"
            "              torch.nn.Linear(1 << 20, 8, device='meta')]\n"
            "    return torch.nn.Sequential(*layers), torch.empty(4, 1 << 20, device='meta')\n"
        )
        runs = meta(
            PYTHON,
            self.folder,
            ["torchvision.models:resnet18", "--input", "2,3,32,32", "--name", "resnet18"],
            ["mine:big"],
            ["torchvision.models:alexnet"],
            ["torchvision.models:resnet18", "--input", "2,3,32,32", "--device", "meta"],
        )
        for code, _, err in runs:
            self.assertEqual((code, err), (0, ""))
        orders = [out.partition("order of gradients: ")[2] for _, out, _ in runs]
        documents = [json.loads((self.folder / f"{number}.json").read_text()) for number in range(len(runs))]

        self.assertEqual(
            runs[0][1], "wrote 0.json: resnet18, 62 parameters; order of gradients: one backward on the CPU\n"
        )
        self.assertEqual(answer("buckets", self.folder / "0.json")["buckets"], answer("buckets", "resnet18")["buckets"])
        outcome = ddpsim("import", self.folder / "0.json", "-o", self.folder / "again.json")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertEqual((self.folder / "0.json").read_text(), (self.folder / "again.json").read_text())

        # The model has four terabytes of weights, so only shapes are computed.
        self.assertIn("one backward on the meta device", orders[1])
        self.assertEqual([entry["parameter"] for entry in documents[1]["backward"]["ready"]], [3, 2, 1, 0])
        self.assertEqual(documents[1]["parameters"][0]["shape"], [1 << 20, 1 << 20])

        self.assertEqual(orders[2], "not recorded: no inputs were given\n")
        self.assertNotIn("backward", documents[2])
        self.assertEqual(len(documents[2]["parameters"]), 16)

        # Some operations do not run on the meta device of some torch versions. If they do, the order is the same.
        if "backward" in documents[3]:
            self.assertEqual(documents[3]["backward"], documents[0]["backward"])
        else:
            self.assertIn("the meta device of torch", orders[3])

    def test_bad_input(self):
        (self.folder / "mine.py").write_text("def seven(): return 7\n")
        cases = [
            (["torchvision.models"], "is not MODULE:FACTORY"),
            (["no_such_module:model"], "no_such_module cannot be imported"),
            (["torchvision.models:resnet19"], "torchvision.models has no resnet19"),
            (["mine:seven"], "makes a int, not a torch.nn.Module"),
            (["torchvision.models:squeezenet1_1", "--input", "2,3,x"], "is not a shape such as 2,3,224,224"),
            (["torchvision.models:squeezenet1_1", "--input", "2,3:nn"], "is not a shape such as 2,3,224,224"),
            (["torchvision.models:squeezenet1_1", "--input", "2,5,64,64"], "one forward and backward failed"),
        ]
        runs = meta(PYTHON, self.folder, *(command for command, _ in cases))
        for (command, message), (code, _, err) in zip(cases, runs):
            with self.subTest(command=command):
                self.assertEqual(code, 3, err)
                self.assertIn(message, err)
                self.assertEqual(len(err.splitlines()), 1, err)
        self.assertEqual(list(self.folder.glob("*.json")), [])


if __name__ == "__main__":
    unittest.main()
