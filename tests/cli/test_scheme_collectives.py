"""What `simulate --scheme` issues, collective by collective, against what real PyTorch asked of gloo: kind, size to the byte, phase
and unit, in the order of issue (tests/fixtures/schemes; scheme_logs.py)."""

import pathlib
import tempfile
import unittest

import scheme_logs
from command import answer, workload, write_json

# What fully_shard's and a loop's own calls say that no option of --scheme does.
UNSAID = {"last", "reshard_after_backward"}
WORDS = {True: "true", False: "false"}


def said(scheme, options):
    """The words of --scheme, or None where it has none for them."""
    options = dict(options)
    if UNSAID & set(options) or options.get("sync") == "no_all_reduce":
        return None
    parts, sync, root = options.pop("accumulate", 1), options.pop("sync", None), options.pop("root", None)
    if parts > 1:
        options["no_sync"] = sync == "no_sync"
    if scheme == "fsdp2" and options.get("reshard_after_forward") and root is None:
        options["reshard_root"] = True
    keys = ",".join(f"{key}={WORDS.get(value, value) if isinstance(value, bool) else value}" for key, value in options.items())
    return scheme + (":" + keys if keys else "")


class SchemeCollectives(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.workloads = {}
        for name, model in scheme_logs.models().items():
            names = list(model["parameters"])
            document = workload([{"name": path, "shape": shape, "dtype": "float32"} for path, shape in model["parameters"].items()],
                                [names.index(path) for path in model["ready"]])
            cls.workloads[name] = write_json(pathlib.Path(folder.name) / f"{name.replace(' ', '-')}.json", document)

    def simulated(self, training, scheme):
        result = answer("simulate", self.workloads[training["model"]], f"node:1 gpu:{training['ranks']}xV100 pcie:12GBps",
                        "--compute-scale", "1", "--torch", scheme_logs.PYTORCH, "--optimizer", "sgd", "--backend", "gloo",
                        "--accumulate", training["options"].get("accumulate", 1), "--scheme", scheme)
        return [(each["kind"], each["bytes"], each["phase"], each["unit"]) for each in result["collectives"]]

    def hold(self, scheme, at_least):
        held = 0
        for training in scheme_logs.trainings(scheme):
            words = said(scheme, training["options"])
            if words is None:
                continue
            with self.subTest(words, model=training["model"], ranks=training["ranks"],
                              accumulate=training["options"].get("accumulate", 1)):
                self.assertEqual(self.simulated(training, words), scheme_logs.collectives(training["log"]))
                held += 1
        self.assertGreaterEqual(held, at_least)

    def test_fsdp1(self):
        self.hold("fsdp1", 100)

    def test_fsdp2(self):
        self.hold("fsdp2", 50)


if __name__ == "__main__":
    unittest.main()
