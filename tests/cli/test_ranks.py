"""Traces of several ranks are imported as one workload and replayed rank by rank, or refused with a reason."""

import json
import pathlib
import tempfile
import unittest

from command import ROOT, answer, ddpsim, write_json

FIXTURE = json.loads((ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json").read_text())
CLUSTER = "node:1 gpu:3xV100 nvlink:6x25GBps:mesh"


def trace(rank, late_us=0, world=3):
    """The fixture as `rank` recorded it. Its all-reduce starts `late_us` later and ends together with the others."""
    document = json.loads(json.dumps(FIXTURE))
    document["distributedInfo"].update(rank=rank, world_size=world)
    for event in document["traceEvents"]:
        if "Group size" in event.get("args", {}):
            event["args"]["Group size"] = world
        if event.get("cat") == "kernel" and "AllReduce" in event["name"]:
            event["ts"] += late_us
            event["dur"] -= late_us
    return document


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "job.json"

    def write(self, *traces):
        return [write_json(self.folder / f"job-rank{k}.json", one) for k, one in enumerate(traces)]

    def test_several_ranks_become_one_workload(self):
        outcome = ddpsim("import", *self.write(trace(0), trace(1, 20), trace(2, 45)), "-o", self.output)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertEqual(outcome.out, "")
        self.assertIn("rank 2 arrived last in 1 of 1 all-reduce, costing the median rank 25.0 us", outcome.err)
        document = json.loads(self.output.read_text())
        self.assertEqual([entry["rank"] for entry in document["ranks"]], [0, 1, 2])
        for key in ("forward", "backward", "optimizer", "recorded_with"):
            self.assertEqual(document[key], document["ranks"][0][key])
        again = ddpsim("import", self.output)
        self.assertEqual(again.out, self.output.read_text())

    def test_other_ranks_wait_for_a_straggler_and_the_rest_is_named(self):
        late = {
            "schema": "ddpsim.workload/1",
            "name": "late",
            "parameters": [{"name": "w", "shape": [1 << 20], "dtype": "float32"}],
        }

        def recording(at):
            return {
                "forward": {"duration_us": 1000},
                "backward": {"duration_us": 2000, "ready": [{"parameter": 0, "at_us": at}]},
                "recorded_with": {"world_size": 3},
            }

        late |= recording(1000)
        late["ranks"] = [{"rank": rank, **recording(1000 + 300 * rank)} for rank in range(3)]
        path = write_json(self.folder / "late.json", late)
        result = answer("simulate", path, CLUSTER)
        self.assertEqual(result["buckets"][0]["last_rank"], 2)
        self.assertAlmostEqual(result["wait_us"], 600, delta=1)
        self.assertFalse([w for w in result["warnings"] if "ranks" in w])
        fewer = answer("simulate", path, CLUSTER, "--gpus-per-node", "2")
        self.assertAlmostEqual(fewer["wait_us"], 300, delta=1)
        self.assertTrue(any("left out, however late" in w for w in fewer["warnings"]))
        more = answer("simulate", path, "node:1 gpu:6xV100 nvswitch:150GBps", "--gpu-spread", "0%")
        self.assertAlmostEqual(more["wait_us"], 600, delta=1)
        self.assertTrue(any("repeat the 3 recorded" in w for w in more["warnings"]))
        self.assertEqual(answer("tune", path, CLUSTER)["schema"], "ddpsim.tune/1")

    def test_wrong_mixtures_are_refused_and_write_nothing(self):
        workload = {"parameters": [{"name": "w", "shape": [1], "dtype": "float32"}]}
        # The other inputs, and a fragment of the message.
        for others, fragment in [
            ([trace(0)], "is from rank 0, but so is"),
            ([trace(1, world=4)], "is from a job of 4 ranks"),
            ([workload], "is not a profiler trace"),
            ([trace(1), trace(3)], "is from rank 3, but its job has 3 ranks"),
            ([{"traceEvents": []}], "no event of a PyTorch profiler"),
        ]:
            with self.subTest(fragment=fragment):
                outcome = ddpsim("import", *self.write(trace(0), *others), "-o", self.output)
                self.assertEqual(outcome.code, 3, outcome.err)
                self.assertIn(fragment, outcome.err)
                self.assertEqual(outcome.out, "")
                self.assertFalse(self.output.exists())

    def test_missing_ranks_are_named(self):
        outcome = ddpsim("import", *self.write(trace(1), trace(2)), "-o", self.output)
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertIn("rank 0 of 3 missing", outcome.err)


if __name__ == "__main__":
    unittest.main()
