"""Compares the collectives of `simulate --scheme` with those that real PyTorch and DeepSpeed issued over gloo.

They must match one by one in kind, size to the byte, phase, and unit if it is known (tests/fixtures/schemes;
scheme_logs.py)."""

import pathlib
import tempfile
import unittest

import scheme_logs
from command import answer, workload, write_json

# Facts of the trainings, or settings of a library, that no option of --scheme can express.
UNSAID = {
    "last",
    "reshard_after_backward",
    "overlap",
    "reduce_scatter",
    "use_multi_rank_bucket_allreduce",
    "round_robin_gradients",
}


def said(scheme, options):
    """The value of --scheme for these options, or None if it cannot express them."""
    options = dict(options)
    options.pop("frozen", None)  # part of the workload
    if UNSAID & set(options) or options.get("sync") == "no_all_reduce":
        return None
    parts, sync, root = options.pop("accumulate", 1), options.pop("sync", None), options.pop("root", None)
    if scheme == "zero3":
        options.pop("allgather_bucket_size", None)  # only stages 1 and 2 use it
    if (scheme.startswith("fsdp") or scheme == "replicate") and parts > 1:
        options["no_sync"] = sync == "no_sync"
    if "dtype" in options:
        options["param_dtype"] = options.pop("dtype")
    if scheme == "fsdp2" and options.get("reshard_after_forward") and root is None:
        options["reshard_root"] = True
    keys = ",".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items()
    )
    return scheme + (":" + keys if keys else "")


def within(path, modules):
    """Whether a parameter is in one of the modules, which are joined by '+'."""
    return any(path == one or path.startswith(one + ".") for one in modules.split("+"))


def weights_first(model):
    """The order of gradients after DeepSpeed's stage 3 has replaced torch.nn.functional.linear by its own function."""
    ready = list(model["ready"])
    for k, path in enumerate(ready[:-1]):
        weight = path.removesuffix("bias") + "weight"
        if ready[k + 1] == weight != path and len(model["parameters"][weight]) == 2:
            ready[k : k + 2] = [weight, path]
    return ready


def by_kind_of_container(scheme, training, parameters):
    """Adjusts for facts that names do not tell: whether a container is an nn.Sequential or a ModuleList.

    PyTorch's size policy makes a unit only of an nn.Sequential. Stage 3 counts a call only of an nn.Sequential, and it
    keeps parameters that are used again soon.
    """
    options, nested = training["options"], training["model"] == "nested"
    if scheme == "zero3":
        return nested and "stage3_max_reuse_distance" in options and options["stage3_prefetch_bucket_size"] > 0
    if options.get("wrap") != "size":
        return False
    units = {unit for *_, unit in scheme_logs.collectives(training["log"])} - {"root"}
    below = {
        unit: {path[len(unit) + 1 :].split(".")[0] for path in parameters if path.startswith(unit + ".")}
        for unit in units
    }
    return any(all(name.isdigit() for name in names) for names in below.values())


class SchemeCollectives(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.models = pathlib.Path(folder.name), scheme_logs.models()

    def workload(self, name, weights_come_first, frozen):
        model = self.models[name]
        names = list(model["parameters"])
        ready = weights_first(model) if weights_come_first else model["ready"]
        ready = [path for path in ready if not within(path, frozen)]
        parameters = [
            {"name": path, "shape": shape, "dtype": "float32", **({"frozen": True} if within(path, frozen) else {})}
            for path, shape in model["parameters"].items()
        ]
        return write_json(self.folder / "workload.json", workload(parameters, [names.index(path) for path in ready]))

    def simulated(self, training, scheme):
        workload = self.workload(training["model"], scheme.startswith("zero3"), training["options"].get("frozen", ""))
        result = answer(
            "simulate",
            workload,
            f"node:1 gpu:{training['ranks']}xV100 pcie:12GBps",
            "--compute-scale",
            "1",
            "--torch",
            scheme_logs.PYTORCH,
            "--optimizer",
            "sgd",
            "--backend",
            "gloo",
            "--accumulate",
            training["options"].get("accumulate", 1),
            "--scheme",
            scheme,
        )
        return [(each["kind"], each["bytes"], each["phase"], each["unit"]) for each in result["collectives"]]

    def hold(self, scheme, trainings, logged_in=None, **more):
        """Compares all trainings that --scheme can express, and checks their number. `more` are options that hold for
        all."""
        held = 0
        for training in scheme_logs.trainings(logged_in or scheme):
            if training.get("scheme", scheme) != scheme:
                continue
            words = said(scheme, {**training["options"], **more})
            if words is None or by_kind_of_container(scheme, training, self.models[training["model"]]["parameters"]):
                continue
            held += 1
            with self.subTest(
                words,
                model=training["model"],
                ranks=training["ranks"],
                accumulate=training["options"].get("accumulate", 1),
                frozen=training["options"].get("frozen"),
            ):
                logged = scheme_logs.collectives(training["log"])
                known = 4 if all(unit for *_, unit in logged) else 3
                self.assertEqual(
                    [each[:known] for each in self.simulated(training, words)], [each[:known] for each in logged]
                )
        self.assertEqual(held, trainings)

    def test_fsdp1(self):
        self.hold("fsdp1", 96)

    def test_fsdp2(self):
        self.hold("fsdp2", 61)

    def test_replicate(self):
        self.hold("replicate", 17)

    def test_zero1(self):
        self.hold("zero1", 18)

    def test_zero2(self):
        self.hold("zero2", 18)

    def test_zero3(self):
        self.hold("zero3", 46)

    def test_an_older_deepspeed(self):
        for scheme in ("zero1", "zero2"):
            self.hold(scheme, 9, "zero_0_14", deepspeed="0.14")

    def test_zero_redundancy(self):
        self.hold("zero_redundancy", 16)

    def test_frozen_parameters(self):
        for scheme, trainings in {"fsdp1": 31, "fsdp2": 24}.items():
            self.hold(scheme, trainings, "frozen")
        for scheme, trainings in {"zero1": 6, "zero2": 6, "zero3": 27}.items():
            self.hold(scheme, trainings, "frozen_zero")


if __name__ == "__main__":
    unittest.main()
