"""Compares DDP's own log, torch.profiler and the recorder with `buckets` and `simulate`, to the byte.

All see the same small trainings of ddp_trainings.py, which combine caps, first buckets, flags and dtypes. All cases run
under the newest PyTorch found here, and a fifth of them under each other one. A thorough run takes all."""

import json
import pathlib
import tempfile
import unittest

from command import TORCH_SIZES, answer, ddpsim
from torch_python import newest_torch, pythons_with_torch, trained_together

TRAININGS = pathlib.Path(__file__).with_name("ddp_trainings.py")
OF_BUCKETS = ("--torch", "--bucket-cap-mb", "--bucket-cap-mb-list", "--first-bucket-mb")
OF_STEPS = ("--accumulate",)
FLAGS = {"--find-unused-parameters": ("find_unused_parameters", True), "--static-graph": ("static_graph", True)}
FLAGS_OF_STEPS = {
    "--gradient-as-bucket-view": ("gradient_as_bucket_view", True),
    "--no-broadcast-buffers": ("broadcast_buffers", False),
}
ALL_FLAGS = FLAGS | FLAGS_OF_STEPS


def options_said(case):
    """The options that the recorder tells users to pass: those for `buckets`, and the additional ones for
    `simulate`."""
    words = iter(case["said"].partition(" CLUSTER ")[2].split())
    buckets, beside = [], []
    for word in words:
        if word in OF_BUCKETS + OF_STEPS:
            (buckets if word in OF_BUCKETS else beside).extend((word, next(words)))
        elif word in ALL_FLAGS:
            (buckets if word in FLAGS else beside).append(word)
    return buckets, beside


def local_used_maps(case, timeline):
    """Checks DDP's all-reduces of one number per parameter, if it looks for unused parameters. Their count is
    simulated."""
    spans = json.loads(timeline.read_text())["ranks"][0]["spans"]
    return [
        case["parameters"] for span in spans if (span["track"], span["name"]) == ("communication", "local-used map")
    ]


class Trained:
    """Trains under each PyTorch found, for the classes below."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.cases = trained_together(cls.python, TRAININGS, cls.folder, 2, cls.every)

    def each_case(self):
        self.assertGreaterEqual(len(self.cases) * self.every, 100)
        for case in self.cases:
            yield case, self.folder / case["file"], self.subTest(case["file"], **case["options"], unused=case["unused"])

    def test_first_and_later_buckets_match_the_log_of_ddp(self):
        for case, path, named in self.each_case():
            with named:
                options, _ = options_said(case)
                for order, logged in (("definition", case["built"]), ("ready", case["rebuilt"] or case["built"])):
                    buckets = answer("buckets", path, *options, "--order", order)["buckets"]
                    self.assertEqual([bucket["bytes"] for bucket in buckets], logged, order)

    def test_the_recorder_passes_on_all_options(self):
        for case, _, named in self.each_case():
            with named:
                buckets, beside = options_said(case)
                self.assertEqual(buckets[:2], ["--torch", self.version])
                ddp = case["options"]
                self.assertEqual(
                    [word for word in buckets + beside if word in ALL_FLAGS],
                    [option for option, (name, value) in ALL_FLAGS.items() if ddp.get(name, not value) == value],
                )
                self.assertEqual("--accumulate" in beside, ddp["no_sync"] > 0)

    def test_each_iteration_reduces_as_the_profiler_saw(self):
        for case, path, named in self.each_case():
            with named:
                options, beside = options_said(case)
                parameters = json.loads(path.read_text())["parameters"]
                timeline = self.folder / "timeline.json"
                # The last iteration counts twice, because the steady step must be the same.
                for iteration, seen in enumerate(case["iterations"] + case["iterations"][-1:], 1):
                    steps = ["--iterations", str(iteration)] if iteration <= len(case["iterations"]) else []
                    step = answer(
                        "simulate",
                        path,
                        "2xv100-nvlink",
                        "--compute-scale",
                        "1",
                        "--timeline",
                        timeline,
                        *steps,
                        *options,
                        *beside,
                    )
                    elements = [
                        bucket["bytes"] // TORCH_SIZES[parameters[bucket["parameter_indices"][0]]["dtype"]]
                        for bucket in step["buckets"]
                    ]
                    # Two threads of gloo start all-reduces in any order, so they are sorted by size.
                    self.assertEqual(
                        sorted(elements + local_used_maps(case, timeline)), sorted(seen["reduced"]), iteration
                    )
                    if not case["options"].get("gradient_as_bucket_view"):  # copied out by bucket
                        members = [index for bucket in step["buckets"] for index in bucket["parameter_indices"]]
                        self.assertEqual(
                            [parameters[index]["shape"][0] for index in members], seen["copied"], iteration
                        )

    def test_recorder_profiler_and_ddp_see_the_same_order(self):
        for case, path, named in self.each_case():
            with named:
                self.assertIsNone(case["problem"])
                document = json.loads(path.read_text())
                self.assertEqual(document["recorded_with"]["world_size"], 2)
                self.assertEqual(
                    document["provenance"]["bucket_bytes"], " ".join(map(str, case["rebuilt"] or case["built"]))
                )
                self.assertEqual(document["buffers"], [{"dtype": "float32", "bytes": 12, "tensors": 1}])
                shapes = [parameter["shape"][0] for parameter in document["parameters"]]
                self.assertEqual(len(shapes), case["parameters"])
                order = [entry["parameter"] for entry in document["backward"]["ready"]]
                self.assertEqual(sorted(set(range(len(shapes))) - set(order)), case["unused"])
                last = case["iterations"][-1]["gradients"]
                self.assertEqual(last[-len(order) :], [shapes[parameter] for parameter in order])
                self.assertEqual(len(last), len(order) * (1 + case["options"]["no_sync"]))
                if case["order"]:
                    self.assertEqual(case["order"], order)

    def test_the_log_itself_is_read(self):
        log = self.folder / "ddp-log.json"
        for order in ("ready", "definition"):
            self.assertTrue(answer("buckets", log, "--torch", self.version, "--order", order)["logged"]["match"], order)
        document = json.loads(ddpsim("import", log).out)
        order = [entry["parameter"] for entry in document["backward"]["ready"]]
        said = json.loads(log.read_text())["rebuilt_per_bucket_param_indices"]
        self.assertEqual(order, [int(index) for index in said.replace(",", " ").split()])
        self.assertEqual(document["parameters"][order[0]]["name"], "fc.bias")


if not pythons_with_torch():

    class WithoutTorch(unittest.TestCase):
        @unittest.skip("no python3 here has PyTorch (scripts/setup.sh --torch installs it)")
        def test_nothing(self):
            pass


for release, interpreter in pythons_with_torch().items():
    name = "TrainedUnder" + release.replace(".", "_")
    globals()[name] = type(
        name,
        (Trained, unittest.TestCase),
        {"version": release, "python": interpreter, "every": 1 if release in newest_torch() else 5},
    )


if __name__ == "__main__":
    unittest.main()
