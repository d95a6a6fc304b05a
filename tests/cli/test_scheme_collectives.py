"""What `simulate --scheme` issues, collective by collective, against what real PyTorch asked of gloo: kind, size to the byte, phase
and (where it is known) unit, in the order of issue (tests/fixtures/schemes; scheme_logs.py)."""

import pathlib
import tempfile
import unittest

import scheme_logs
from command import answer, workload, write_json

# What the trainings' own calls, or a library's settings, say that no option of --scheme does.
UNSAID = {"last", "reshard_after_backward", "overlap", "reduce_scatter", "use_multi_rank_bucket_allreduce", "round_robin_gradients",
          "stage3_max_reuse_distance", "stage3_max_live_parameters", "dtype"}


def said(scheme, options):
    """The words of --scheme, or None where it has none for them."""
    options = dict(options)
    if UNSAID & set(options) or options.get("sync") == "no_all_reduce":
        return None
    parts, sync, root = options.pop("accumulate", 1), options.pop("sync", None), options.pop("root", None)
    if scheme.startswith("fsdp") and parts > 1:
        options["no_sync"] = sync == "no_sync"
    if scheme == "fsdp2" and options.get("reshard_after_forward") and root is None:
        options["reshard_root"] = True
    keys = ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in options.items())
    return scheme + (":" + keys if keys else "")


def by_kind_of_container(training, parameters):
    """PyTorch's size policy made a unit of an nn.Sequential, which by its parameters' names could be a ModuleList, never one."""
    if training["options"].get("wrap") != "size":
        return False
    units = {unit for *_, unit in scheme_logs.collectives(training["log"])} - {"root"}
    below = {unit: {path[len(unit) + 1:].split(".")[0] for path in parameters if path.startswith(unit + ".")} for unit in units}
    return any(all(name.isdigit() for name in names) for names in below.values())


class SchemeCollectives(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.models, cls.workloads = scheme_logs.models(), {}
        for name, model in cls.models.items():
            names = list(model["parameters"])
            document = workload([{"name": path, "shape": shape, "dtype": "float32"} for path, shape in model["parameters"].items()],
                                [names.index(path) for path in model["ready"]])
            cls.workloads[name] = write_json(pathlib.Path(folder.name) / f"{name.replace(' ', '-')}.json", document)

    def simulated(self, training, scheme):
        result = answer("simulate", self.workloads[training["model"]], f"node:1 gpu:{training['ranks']}xV100 pcie:12GBps",
                        "--compute-scale", "1", "--torch", scheme_logs.PYTORCH, "--optimizer", "sgd", "--backend", "gloo",
                        "--accumulate", training["options"].get("accumulate", 1), "--scheme", scheme)
        return [(each["kind"], each["bytes"], each["phase"], each["unit"]) for each in result["collectives"]]

    def hold(self, scheme, trainings):
        """All of those that can be said, which are so many."""
        held = 0
        for training in scheme_logs.trainings(scheme):
            words = said(scheme, training["options"])
            if words is None or by_kind_of_container(training, self.models[training["model"]]["parameters"]):
                continue
            held += 1
            with self.subTest(words, model=training["model"], ranks=training["ranks"],
                              accumulate=training["options"].get("accumulate", 1)):
                logged = scheme_logs.collectives(training["log"])
                known = 4 if all(unit for *_, unit in logged) else 3
                self.assertEqual([each[:known] for each in self.simulated(training, words)], [each[:known] for each in logged])
        self.assertEqual(held, trainings)

    def test_fsdp1(self):
        self.hold("fsdp1", 122)

    def test_fsdp2(self):
        self.hold("fsdp2", 80)


if __name__ == "__main__":
    unittest.main()
