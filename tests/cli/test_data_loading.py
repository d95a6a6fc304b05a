"""Compares --data-loader, --dataset-size and --uneven-inputs with PyTorch 2.13.

The references in tests/fixtures/data_loading are renewed by test_loader_trainings.py. `join.json` has collectives
logged by join_trainings.py. `sampler.json` has the counts of DistributedSampler and DataLoader. `sync_batchnorm.json`
has the exchanges of its layers. `loaders.json` has steps measured by tests/lab/test_loader_steps.py."""

import json
import pathlib
import tempfile
import unittest

from command import ROOT, answer, ddpsim, workload, write_json

FIXTURES = ROOT / "tests" / "fixtures" / "data_loading"
EQUAL_GPUS = ("--compute-scale", "1", "--rank-slowdown", "0%")
JOB = ("resnet50-v100-b32", "dgx1v")
PARTS = (
    "forward",
    "backward",
    "sync_batchnorm",
    "slowest_gpu",
    "unexplained",
    "exposed_communication",
    "finalize",
    "optimizer",
    "model_averaging",
    "stall",
)


def one_gpu(folder, step_us):
    """A workload with this step on one GPU."""
    document = workload([{"name": "p", "shape": [8], "dtype": "float32"}], [0])
    document["backward"] = {"duration_us": 1, "ready": [{"parameter": 0, "at_us": 1}]}
    document["forward"] = {"duration_us": step_us - 1}
    return write_json(folder / "workload.json", document)


def loader(case):
    """The value of --data-loader for WORKERS:PREFETCH:BATCH_MS."""
    workers, prefetch, batch = case.split(":")[:3]
    hand = f",prefetch_factor={prefetch}" if int(workers) else ""
    return f"num_workers={workers}{hand},batch={batch}ms"


def predicted_step(folder, training):
    path = one_gpu(folder, round(training["step"] * 1e6))
    plain = answer("simulate", path, "node:1 gpu:1xV100", *EQUAL_GPUS)["iteration_us"]
    result = answer("simulate", path, "node:1 gpu:1xV100", *EQUAL_GPUS, "--data-loader", loader(training["case"]))
    # Copies into buckets take a few us, which a step that only sleeps does not have.
    return (result["iteration_us"] - plain) / 1e6 + training["step"]


def log_of(collectives):
    kinds = {"all_reduce": "all-reduce", "broadcast": "broadcast"}
    return [[kinds.get(each["kind"], each["kind"]), each["bytes"], each["dtype"]] for each in collectives]


def logged(phase, ranks):
    entries = [entry.split() for entry in phase]
    assert all(entry[3] == f"/{ranks}" for entry in entries), entries
    return [[kind, int(size), dtype] for kind, size, dtype, _ in entries]


def joined(folder, training):
    """The key `join` of the answer for the same training."""
    order = training["order"] or list(range(len(training["parameters"])))[::-1]
    parameters = [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in training["parameters"]]
    document = workload(parameters, order)
    groups = {}
    for dtype, elements in training["buffers"]:
        group = groups.setdefault(dtype, {"dtype": dtype, "bytes": 0, "tensors": 0})
        group["bytes"] += elements * {"float32": 4, "int64": 8}[dtype]
        group["tensors"] += 1
    if groups:
        document["buffers"] = list(groups.values())
    words = ["inputs=" + "+".join(map(str, training["inputs"]))]
    words += [f"{key}={str(value).lower()}" for key, value in training["join"].items()]
    flags = ["--find-unused-parameters"] * training["ddp"].get("find_unused_parameters", False)
    flags += ["--no-broadcast-buffers"] * (not training["ddp"].get("broadcast_buffers", True))
    kib = 1 / 1024
    return answer(
        "simulate",
        write_json(folder / "joined.json", document),
        f"node:1 gpu:{training['ranks']}xV100 pcie:12GBps",
        *EQUAL_GPUS,
        "--torch",
        "2.13",
        "--bucket-cap-mb",
        kib,
        *flags,
        "--uneven-inputs",
        ",".join(words),
    )["join"]


def check_join(test, folder, training):
    result, ranks = joined(folder, training), training["ranks"]
    phases = [(name, logged(entries, ranks)) for name, *entries in training["log"]]
    iteration, end = log_of(result["iteration"]), log_of(result["end"])
    shadow = log_of(result["joined_iteration"])
    test.assertEqual(result["of_join_per_iteration"], sum(each["of_join"] for each in result["iteration"]))
    inputs, throws = training["inputs"], training["raised"]
    iterations = [entries for name, entries in phases if name == "iteration"]
    whole = min(inputs) if throws else inputs[0]
    test.assertEqual(iterations[: whole - 2], [iteration] * (whole - 2))
    if throws:
        said = iterations[whole - 2] if inputs[0] > min(inputs) else dict(phases)["joined"]
        test.assertEqual(said, end)
        test.assertEqual(result["iterations"], min(inputs))
        return
    test.assertEqual(len(iterations), whole - 2)
    test.assertEqual(dict(phases)["joined"], shadow * (max(inputs) - inputs[0]) + end)
    test.assertEqual((result["iterations"], result["tail_iterations"]), (max(inputs), max(inputs) - min(inputs)))


def check_sync_batchnorm(test, folder, training):
    """Checks the exchanges of SyncBatchNorm's layers among DDP's buckets."""
    parameters = [
        {
            "name": name,
            "shape": shape,
            "dtype": "float32",
            **({"batch_norm": True} if name in training["normed"] else {}),
        }
        for name, shape in training["parameters"]
    ]
    path = write_json(folder / "normed.json", workload(parameters, training["order"]))
    collectives = answer(
        "simulate",
        path,
        f"node:1 gpu:{training['ranks']}xV100 pcie:12GBps",
        *EQUAL_GPUS,
        "--torch",
        "2.13",
        "--bucket-cap-mb",
        1 / 1024,
        "--scheme",
        "ddp",
        "--sync-batchnorm",
    )["collectives"]
    kinds = {"all_reduce": "all-reduce", "all_gather": "all-gather"}
    said = [[each["phase"], kinds.get(each["kind"], each["kind"]), each["bytes"], "float32"] for each in collectives]
    test.assertEqual(
        said, [[name, *entry] for name, *entries in training["log"] for entry in logged(entries, training["ranks"])]
    )


class DataLoading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def read(self, name):
        return json.loads((FIXTURES / name).read_text())

    def test_measured_steps(self):
        for training in self.read("loaders.json"):
            with self.subTest(training["case"], ranks=training["ranks"]):
                self.assertAlmostEqual(predicted_step(self.folder, training) / training["measured"], 1, delta=0.05)

    def test_logged_collectives(self):
        trainings = self.read("join.json")
        self.assertGreaterEqual(len(trainings), 40)
        for training in trainings:
            with self.subTest(**{key: training[key] for key in ("ranks", "inputs", "ddp", "join")}):
                check_join(self, self.folder, training)

    def test_sync_batchnorm(self):
        trainings = self.read("sync_batchnorm.json")
        self.assertEqual([training["ranks"] for training in trainings], [2, 4])
        for training in trainings:
            check_sync_batchnorm(self, self.folder, training)

    def test_sampled_counts(self):
        for ranks, cases in self.read("sampler.json").items():
            for case in cases:
                with self.subTest(ranks=ranks, **case):
                    self.check_counts(int(ranks), case)

    def check_counts(self, ranks, case):
        document = workload([{"name": "p", "shape": [8], "dtype": "float32"}], [0])
        document["batch_per_gpu"] = case["batch"]
        path = write_json(self.folder / "counted.json", document)
        cluster = "node:1 gpu:1xV100" if ranks == 1 else f"node:1 gpu:{ranks}xV100 pcie:12GBps"
        epoch = answer(
            "simulate", path, cluster, *EQUAL_GPUS, "--dataset-size", case["size"], "--drop-last", case["drop"]
        )["epoch"]
        self.assertEqual(epoch["samples_per_rank"], case["samples"])
        self.assertEqual(epoch["full_batches"] + (epoch["tail_batch"] > 0), len(case["batches"]))
        self.assertEqual(
            [case["batch"]] * epoch["full_batches"] + [epoch["tail_batch"]] * (epoch["tail_batch"] > 0), case["batches"]
        )
        self.assertEqual(epoch["repeated_samples"], max(case["samples"] * ranks - case["size"], 0))
        self.assertEqual(epoch["dropped_samples"], max(case["size"] - case["samples"] * ranks, 0))

    def test_a_loader_that_is_never_late_changes_nothing(self):
        plain = answer("simulate", *JOB)
        for words in ("num_workers=4,batch=0us", "num_workers=16,batch=200ms", "num_workers=0,batch=0us"):
            loaded = answer("simulate", *JOB, "--data-loader", words)
            data = loaded.pop("data_loader")
            self.assertEqual((data["stall_us"], data["cause"]), (0, "none"))
            self.assertEqual(loaded, plain)

    def test_the_slower_of_loader_and_step_decides(self):
        plain = answer("simulate", *JOB)["iteration_us"]
        for workers, batch in ((1, 300), (2, 500), (4, 900), (5, 1000)):
            result = answer("simulate", *JOB, "--data-loader", f"num_workers={workers},batch={batch}ms")
            self.assertAlmostEqual(result["iteration_us"], batch * 1000 / workers, delta=1e-5)
            self.assertEqual(result["data_loader"]["cause"], "workers")
            self.assertAlmostEqual(sum(result.get(f"{part}_us", 0) for part in PARTS), result["iteration_us"], places=3)
            losses = {row["cause"]: row["us"] for row in result["loss"]}
            self.assertAlmostEqual(losses["input"], result["data_loader"]["stall_us"], places=5)
            self.assertAlmostEqual(result["alone_us"] + sum(losses.values()), result["iteration_us"], places=3)
            least = result["data_loader"]["least_num_workers"]
            self.assertEqual(least, -(-batch * 1000 // plain))
            enough = answer("simulate", *JOB, "--data-loader", f"num_workers={least},batch={batch}ms")
            self.assertEqual(enough["iteration_us"], plain)

    def test_the_bottleneck_is_named(self):
        for words, cause, interval in (
            ("num_workers=8,sample=20ms,cores=16", "cores", 32 * 20_000 * 8 / 16),
            ("num_workers=8,sample=1ms,sample_bytes=1MB,storage=1GBps", "storage", 256_000),
            ("num_workers=8,batch=1ms,pin_memory=true,batch_bytes=200MB,pin=500MBps", "pin_memory", 400_000),
            ("num_workers=8,batch=1ms,batch_bytes=1MB", "copy", 125),
            ("num_workers=0,batch=50ms", "workers", 50_000),
        ):
            data = answer("simulate", *JOB, "--data-loader", words)["data_loader"]
            self.assertEqual(data["cause"], cause, words)
            self.assertAlmostEqual(data["supply_interval_us"], interval, delta=interval * 1e-4)
        said = ddpsim(
            "simulate", *JOB, "--data-loader", "num_workers=8,batch=1ms,pin_memory=true,batch_bytes=200MB,pin=500MBps"
        ).out
        self.assertIn("waits 300 ms of it for input, since the thread that pins memory is busy", " ".join(said.split()))
        self.assertIsNone(
            answer("simulate", *JOB, "--data-loader", "num_workers=8,sample=20ms,cores=16")["data_loader"][
                "least_num_workers"
            ]
        )

    def test_storage_belongs_to_each_node_or_to_the_whole_job(self):
        """128 nodes do not get the rate of 128 file servers."""
        job = ("resnet50-v100-b32", "dgx1v@4")
        words = "num_workers=8,sample=1ms,sample_bytes=1MB,storage=1GBps"
        each, shared = (
            answer("simulate", *job, "--data-loader", words + more)["data_loader"] for more in ("", ":shared")
        )
        self.assertEqual((each["options"]["storage_shared"], shared["options"]["storage_shared"]), (False, True))
        self.assertAlmostEqual(shared["supply_interval_us"], 4 * each["supply_interval_us"], delta=100)
        self.assertAlmostEqual(each["storage_demand_gbps"], 32 * 32 * 1e6 / each["step_without_us"] / 1000, places=3)
        self.assertEqual(shared["storage_demand_gbps"], each["storage_demand_gbps"])
        for more, said in (
            (
                "",
                "Storage gives 1 GB/s to each of 4 nodes, 4 GB/s together (storage=RATE:shared if they share it); "
                "without waits the job reads ",
            ),
            (":shared", "Storage gives 1 GB/s to all 4 nodes together; without waits the job reads "),
        ):
            text = " ".join(ddpsim("simulate", *job, "--data-loader", words + more).out.split())
            self.assertIn(said, text)
        self.assertIn("storage", ddpsim("simulate", *job, "--data-loader", words + ":all").err)

    def test_a_recording_that_waited_for_its_workers(self):
        """Its workers deliver one batch per recorded step. A faster step waits for them, a slower one does not."""
        document = workload([{"name": "p", "shape": [1000], "dtype": "float32"}], [0])
        document.update(
            forward={"duration_us": 30_000},
            iteration={"duration_us": 50_000},
            batch_per_gpu=8,
            backward={"duration_us": 10_000, "ready": [{"parameter": 0, "at_us": 10_000}]},
            data_loading={
                "median_us": 10_000,
                "p90_us": 11_000,
                "count": 20,
                "loads": "workers",
                "interval_us": 50_000,
            },
        )
        path = write_json(self.folder / "stalled.json", document)

        def step(scale):
            return answer("simulate", path, "node:1 gpu:1xV100", "--rank-slowdown", "0%", "--compute-scale", scale)

        today, faster, slower = step(1), step(2), step(0.5)
        self.assertEqual((today["iteration_us"], faster["iteration_us"]), (50_000, 50_000))
        self.assertEqual((today["data_loader"]["cause"], slower["data_loader"]["cause"]), ("recorded", "none"))
        self.assertGreaterEqual(slower["iteration_us"], 80_000)
        self.assertGreater(faster["data_loader"]["wait_us"], today["data_loader"]["wait_us"] + 19_000)
        loads = answer("simulate", path, "node:1 gpu:1xV100", *EQUAL_GPUS, "--data-loader", "num_workers=2,batch=20ms")
        self.assertEqual(loads["data_loader"]["from"], "options")
        self.assertLess(loads["iteration_us"], 41_000)

    def test_join_costs_the_time_of_its_collectives(self):
        """Without buffers and a number to read, nobody waits for these collectives. Raising at the first end ends all
        ranks."""
        plain = answer("simulate", *JOB, "--no-broadcast-buffers")
        both = (
            "inputs=90..100",
            "inputs=90..100,divide_by_initial_world_size=false",
            "inputs=90..100,throw_on_early_termination=true",
        )
        free, read, throws = (
            answer("simulate", *JOB, "--no-broadcast-buffers", "--uneven-inputs", words) for words in both
        )
        self.assertEqual(free["join"]["step_without_us"], plain["iteration_us"])
        self.assertLess(free["iteration_us"] - plain["iteration_us"], 150)
        self.assertGreater(read["iteration_us"], free["iteration_us"])
        self.assertEqual([each["join"]["of_join_per_iteration"] for each in (free, read, throws)], [2, 2, 3])
        self.assertEqual((throws["join"]["iterations"], free["join"]["iterations"]), (90, 100))
        self.assertAlmostEqual(free["join"]["epoch_us"], 100 * free["iteration_us"] + free["join"]["end_us"], delta=1)

    def test_impossible_loaders_are_refused(self):
        for words, said in (
            ("batch=1ms,sample=1ms", "Leave one of them out"),
            ("storage=1GBps,batch=1ms", "belong together"),
            ("num_workers=2,batch=1ms,pin_memory=true", "batch_bytes"),
            ("batch=601s", "600s"),
            ("batch=1ms,batch=2ms", "given twice"),
            ("num_workers=2,", "missing between two commas or at an end"),
            ("batch=", "missing"),
        ):
            outcome = ddpsim("simulate", *JOB, "--data-loader", words)
            self.assertEqual(outcome.code, 2, words)
            self.assertIn(said, outcome.err)
        for option, said in (
            ("--sync-batchnorm", "shadow"),
            ("--dataset-size=10", "DistributedSampler"),
            ("--static-graph", "shadow"),
        ):
            outcome = ddpsim("simulate", *JOB, "--uneven-inputs", "inputs=1..2", option)
            self.assertEqual(outcome.code, 2)
            self.assertIn(said, outcome.err)


if __name__ == "__main__":
    unittest.main()
