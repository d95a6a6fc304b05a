"""Compares `ddpsim simulate --scheme` with a driver that makes the calls of PyTorch's FSDP1 and FSDP2 (fsdp/).

The driver runs on a simulated GPU that has the times of the same job. Compared are compute, all-gathers,
reduce-scatters and the host's launches, one by one, for random jobs (fsdp_jobs.py)."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import fsdp_jobs
from machine_table import ns
from simulated_gpu import FRAMES, callers, patience
from thorough import cases

DRIVER = os.environ["FSDP_DRIVER"]
LIBRARIES = os.environ["SIMULATED_GPU_LIBRARIES"]
JOBS = cases(30, every_change=6)  # for each scheme
STEPS = 6
MOST_STEPS = 30
ALONE = ("--nccl", "2.27.3", "--rank-slowdown", "0%", "--interference", "sm:0 memory:0 nccl:1")
APART_US = 0.1
KINDS = {"all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-reduce": "all_reduce"}


def table(job, collectives):
    """The table of a machine with these collectives, which ddpsim timed alone. The job file has the host's launch
    times."""
    gpu = job.cluster["gpu_costs"]
    rows = {
        "launch_ns": 0,
        "collective_launch_ns": 0,
        "event_ns": 0,
        "call_ns": 0,
        "clock_ns": 0,
        "wake_ns": 0,
        "message_ns": 0,
        "kernel_ns": ns(gpu["copy_us"]) + ns(gpu["gap_us"]),
        "copy_bytes_per_ns": gpu["copy_gbps"],
        "launch_latency_ns": ns(gpu["launch_latency_us"]),
        "event_latency_ns": ns(gpu["event_latency_us"]),
    }
    lines = [f"{key} {value}" for key, value in rows.items()]
    lines += [f"{kind} {size} {ns(us)}" for (kind, size), us in sorted(collectives.items())]
    return "\n".join(lines) + "\n"


def driver_collectives(document):
    """The time of each collective, by kind and size."""
    return {
        (KINDS[one["kind"]], one["bytes"]): one["end_us"] - one["last_arrival_us"] for one in document["collectives"]
    }


def began_behind(spans, latency):
    """The earliest begin of a collective: its communicator must be free, which the event before it does not show."""
    found, before = [], None
    for span in spans:
        if span[0] in ("all_gather", "reduce_scatter"):
            what, unit, start, end = span
            if before:
                start = max(start, before[1] + (0 if before[0] == what else latency))
            before, span = (what, end), (what, unit, start, end)
        found.append(span)
    return found


class Work:
    """Spans of one kind on a stream, joined end to end. Says when a given amount is done. Neighbours may be drawn as
    one."""

    def __init__(self, spans):
        self.spans = sorted(spans)
        self.total = sum(end - start for start, end in self.spans)

    def instants(self, begin, end):
        """When work continues after an amount `begin`, and when an amount `end` is done."""
        at, started, tiny = 0, None, 0.5
        for start, stop in self.spans:
            if started is None and at + (stop - start) > begin + tiny:
                started = start + max(begin - at, 0)
            if at + (stop - start) >= end - tiny:
                return started, start + end - at
            at += stop - start
        return started, self.spans[-1][1] if self.spans else None


class Fsdp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def predict(self, job):
        self.write("job.json", json.dumps(job.workload()))
        self.write("cluster.json", json.dumps(job.cluster))
        batches = ["--accumulate", str(job.micro_batches)] if job.micro_batches > 1 else []
        if job.offloads():
            batches += ["--optimizer", "sgd"]
        run = subprocess.run(
            [
                os.environ["DDPSIM_BIN"],
                "simulate",
                "job.json",
                "cluster.json",
                *ALONE,
                "--scheme",
                job.scheme_words(),
                *batches,
                "--timeline",
                "timeline.json",
                "--json",
            ],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        timeline = json.loads((self.folder / "timeline.json").read_text(encoding="utf-8"))
        return json.loads(run.stdout), timeline["ranks"][0]["spans"]

    def drive(self, lines, *arguments, timeout=patience.seconds(120), **variables):
        self.write("job", lines)
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SIMULATED_GPU_")}
        return subprocess.run(
            [DRIVER, "job", *arguments],
            cwd=self.folder,
            timeout=timeout,
            capture_output=True,
            text=True,
            check=False,
            env={**clean, "LD_LIBRARY_PATH": LIBRARIES, **{key: str(value) for key, value in variables.items()}},
        )

    def spans(self, lines, machine):
        """Spans (what, unit, start, end) of rank 0's last step, relative to its begin."""
        self.write("table", machine)
        run = self.drive(lines, "--spans", SIMULATED_GPU_TABLE="table", SIMULATED_GPU_QUEUE=4096)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        found = []
        for line in run.stdout.splitlines():
            if line.startswith("span 0 "):
                what, unit, start, end = line[len("span 0 ") :].split("|")
                found.append((what, unit, float(start), float(end)))
        begins = next(start for what, unit, start, _ in found if (what, unit) == ("step", "begins"))
        return [(what, unit, start - begins, end - begins) for what, unit, start, end in found]


class Predicted(Fsdp):
    def differences(self, job):
        """Pairs (what, difference in us) of all comparable times. If the host limits the speed, its lead depends on the
        history, but the duration of the step does not. Then only that duration is compared."""
        document, drawn = self.predict(job)
        spare = document["iteration_us"] - job.host_us(len(document["collectives"]))
        # Enough steps for the host to reach its largest lead.
        steps = STEPS + round(document["iteration_us"] / max(spare, 1))
        self.host_sets_pace = steps > MOST_STEPS
        driven = self.spans(job.driver_lines(min(steps, MOST_STEPS)), table(job, driver_collectives(document)))
        yield (
            "step",
            next(end for what, unit, _, end in driven if (what, unit) == ("step", "ends")) - document["iteration_us"],
        )

        # The common event of host and streams began when its launch arrived there.
        latency = job.cluster["gpu_costs"]["launch_latency_us"]
        if self.host_sets_pace:
            return
        launches = [(unit, end - latency) for what, unit, _, end in driven if what == "launch"]
        self.assertEqual(
            [one["unit"] for one in document["collectives"]], [unit for unit, _ in launches], "order of launches"
        )
        for (unit, end), one in zip(launches, document["collectives"]):
            yield f"launch {one['kind']}", end - one["launch_us"]
        driven = began_behind(driven, job.cluster["gpu_costs"]["event_latency_us"])
        for kind, name in KINDS.items():
            predicted = [one for one in document["collectives"] if one["kind"] == kind]
            happened = [span for span in driven if span[0] == name]
            self.assertEqual([one["unit"] for one in predicted], [span[1] for span in happened])
            for one, span in zip(predicted, happened):
                yield f"{kind} begins", span[2] - one["last_arrival_us"]
                yield f"{kind} ends", span[3] - one["end_us"]

        def predicted_work(names):
            return Work(
                (span["start_us"], span["end_us"])
                for span in drawn
                if span["track"] == "compute" and span["name"] in names
            )

        stepped = [end - latency for what, _, _, end in driven if what == "host optimizer"]
        steps = [span["end_us"] for span in drawn if span["name"] == "optimizer on the host"]
        if job.offloads():
            yield "host optimizer ends", stepped[-1] - steps[-1]
        for what, names in (("forward", ("forward",)), ("backward", ("backward",)), ("optimizer", ("optimizer",))):
            happened = [span for span in driven if span[0] in (what, *(("accumulate",) if what == "backward" else ()))]
            work, at = predicted_work(names), 0
            for _, unit, start, end in happened:
                began, ended = work.instants(at, at + end - start)
                at += end - start
                yield f"{what} begins", start - began
                yield f"{what} ends", end - ended
            yield f"{what}, all", at - work.total

    def compare(self, scheme, offload=False):
        worst, spans, paced = {}, 0, 0
        for seed in range(JOBS):
            job = fsdp_jobs.job(seed, scheme, offload)
            with self.subTest(job=str(job), seed=seed):
                for what, apart in self.differences(job):
                    spans += 1
                    if abs(apart) > abs(worst.get(what, (0, 0))[0]):
                        worst[what] = (apart, seed)
                    self.assertAlmostEqual(apart, 0, delta=APART_US, msg=what)
                paced += self.host_sets_pace
        self.assertLess(paced, JOBS // 4)
        print(
            f"{scheme}: {JOBS} jobs, {paced} of them paced by the host; {spans} instants; apart at most, in us: "
            + ", ".join(f"{what} {apart:.3f}" for what, (apart, _) in sorted(worst.items()))
        )

    def test_fsdp1(self):
        self.compare("fsdp1")

    def test_fsdp2(self):
        self.compare("fsdp2")

    def test_replicate(self):
        self.compare("replicate")

    def test_fsdp1_on_the_host(self):
        self.compare("fsdp1", offload=True)

    def test_fsdp2_on_the_host(self):
        self.compare("fsdp2", offload=True)


def layers(scheme, forward_us=200, backward_us=400, units=6, **options):
    """A stack of equal layers with a head on two ranks. An all-gather takes as long as a layer's forward."""
    keys = {"scheme": scheme, "ranks": 2, "steps": STEPS, "steps_ahead": 1, "optimizer_us": 50, **options}
    lines = [f"{key} {value}" for key, value in keys.items()]
    for i in range(units):
        lines += [f"unit layers.{i} {forward_us}", f"param 10000 {backward_us}"]
    return "\n".join([*lines, "unit root 50", "param 1000 100"]) + "\n"


def machine(gather_us=150, reduce_us=100):
    return (
        "\n".join(
            (
                "launch_ns 0",
                "collective_launch_ns 0",
                "event_ns 0",
                "call_ns 0",
                "clock_ns 0",
                "kernel_ns 2000",
                f"all_gather 1000 {ns(20)}",
                f"all_gather 40000 {ns(gather_us)}",
                f"reduce_scatter 1000 {ns(20)}",
                f"reduce_scatter 40000 {ns(reduce_us)}",
            )
        )
        + "\n"
    )


def most_ahead(spans):
    """The most all-gathers of forward that begin while compute is still in a layer, without the one that it needs."""
    gathers = [span for span in spans if span[0] == "all_gather" and span[1] != "root"]
    left = {unit: end for what, unit, _, end in spans if what == "forward"}
    forward_ends = max(left.values())
    most = 0
    for _, _, begin, _ in gathers:
        if begin < forward_ends:
            begun = {unit for _, unit, start, _ in gathers if start <= begin}
            most = max(most, sum(left[unit] > begin for unit in begun))
    return most


def step_of(spans):
    return next(end for what, unit, _, end in spans if (what, unit) == ("step", "ends"))


class Properties(Fsdp):
    """Properties of the driver alone."""

    def run_layers(self, scheme, machine_of=machine(), **options):
        return self.spans(layers(scheme, **options), machine_of)

    def test_the_limiter_keeps_two_all_gathers_ahead(self):
        """At most two hold memory that is not free yet. One more follows when the oldest has become free."""
        held, free = (self.run_layers("fsdp1", machine(gather_us=30), units=12, limit_all_gathers=on) for on in (1, 0))
        print(f"all-gathers ahead of compute, limited or not: {most_ahead(held)}, {most_ahead(free)}")
        self.assertLessEqual(most_ahead(held), 3)
        self.assertGreater(most_ahead(free), 8)
        self.assertTrue([span for span in held if span[0] == "limited" and span[3] - span[2] > 50])
        self.assertFalse([span for span in free if span[0] == "limited"])

    def test_the_limiter_bounds_memory(self):
        self.write("table", machine(gather_us=30))
        whole, units = 40_000, 12
        most = {}
        for on in (1, 0):
            run = self.drive(layers("fsdp1", units=units, limit_all_gathers=on), SIMULATED_GPU_TABLE="table")
            most[on] = int(re.search(r"rank 0 most_bytes (\d+)", run.stdout)[1])
        print(f"bytes at most, limited or not: {most[1]}, {most[0]}")
        self.assertGreater(most[0] - most[1], (units - 5) * whole)

    def test_backward_prefetch_hides_all_gathers(self):
        steps = {
            prefetch: step_of(self.run_layers("fsdp1", backward_prefetch=prefetch))
            for prefetch in ("pre", "post", "none")
        }
        print(f"FSDP1, us: {steps}")
        self.assertLess(steps["pre"], steps["none"] - 4 * 150)
        # The order on the communicator is the same. With a host far ahead, the two do not differ.
        self.assertLess(steps["post"], steps["none"] - 4 * 150)
        compute = [span for span in self.run_layers("fsdp1", backward_prefetch="none") if span[0] == "backward"]
        spans = began_behind(self.run_layers("fsdp1", backward_prefetch="none"), 0)
        gathers = [span for span in spans if span[0] == "all_gather"][-5:]
        for _, unit, begin, end in gathers:
            self.assertFalse(
                [span for span in compute if span[2] < end - 1 and span[3] > begin + 1], f"{unit} is hidden"
            )

    def test_fsdp2_prefetches_and_never_blocks_the_host(self):
        one, two = self.run_layers("fsdp1"), self.run_layers("fsdp2")
        print(f"us: FSDP1 {step_of(one)}, FSDP2 {step_of(two)}")
        self.assertFalse([span for span in two if span[0] == "limited"])
        order = [span[1] for span in two if span[0] in ("all_gather", "reduce_scatter") and span[1] != "root"]
        self.assertEqual(
            order[6:10], ["layers.5", "layers.4", "layers.5", "layers.3"]
        )  # gathered one unit ahead, then reduced
        # FSDP2 copies in and out on the compute stream and before all-gathers. FSDP1 does not.
        self.assertFalse([span for span in one if span[0] == "copy in"])
        self.assertEqual(len([span for span in two if span[0] == "copy in"]), 12 + 1)

    def test_resharding_gathers_again(self):
        counts = {
            reshards: len(
                [span for span in self.run_layers("fsdp2", reshard_after_forward=reshards) if span[0] == "all_gather"]
            )
            for reshards in (0, 1)
        }
        self.assertEqual(counts, {0: 7, 1: 13})

    def test_without_synchronisation_nothing_is_reduced(self):
        for scheme in ("fsdp1", "fsdp2"):
            counts = {
                no_sync: len(
                    [
                        span
                        for span in self.run_layers(scheme, micro_batches=3, no_sync=no_sync)
                        if span[0] == "reduce_scatter"
                    ]
                )
                for no_sync in (0, 1)
            }
            self.assertEqual(counts, {0: 21, 1: 7}, scheme)


OPTIONS = (
    ("fsdp1", {}),
    ("fsdp1", {"param_dtype": "bf16", "reduce_dtype": "fp32", "backward_prefetch": "post"}),
    ("fsdp1", {"forward_prefetch": 1, "limit_all_gathers": 0, "reduce_dtype": "bf16"}),
    ("fsdp1", {"strategy": "shard_grad_op", "micro_batches": 2}),
    ("fsdp1", {"strategy": "no_shard", "backward_prefetch": "none"}),
    ("fsdp1", {"strategy": "hybrid_shard", "ranks": 4, "group": 2, "param_dtype": "fp16", "reduce_dtype": "fp16"}),
    ("fsdp2", {}),
    ("fsdp2", {"param_dtype": "bf16", "reduce_dtype": "fp32"}),
    ("fsdp2", {"reduce_dtype": "fp16", "reshard_root": 1}),
    ("fsdp2", {"reshard_after_forward": 0, "micro_batches": 2}),
    ("fsdp2", {"micro_batches": 2, "no_sync": 0, "reduce_dtype": "bf16"}),
    ("fsdp2", {"ranks": 4, "group": 2, "param_dtype": "bf16", "reduce_dtype": "bf16"}),
    ("fsdp2", {"ranks": 4, "group": 1, "reshard_after_forward": 0, "param_dtype": "bf16", "reduce_dtype": "fp32"}),
    ("fsdp2", {"group": 1, "reshard_after_forward": 0, "reduce_dtype": "bf16"}),
    ("fsdp1", {"cpu_offload": 1, "param_dtype": "bf16", "reduce_dtype": "fp32"}),
    ("fsdp1", {"cpu_offload": 1, "strategy": "shard_grad_op"}),
    ("fsdp2", {"cpu_offload": 1, "param_dtype": "bf16"}),
    ("fsdp2", {"cpu_offload": 1, "micro_batches": 2, "no_sync": 0}),
)
SEEDS = cases(25, every_change=5)
SKIP_SEEDS = 8


class Orders(Fsdp):
    """Final parameters are right in every allowed order."""

    def test_every_order(self):
        for scheme, options in OPTIONS:
            with self.subTest(scheme=scheme, options=options):
                run = self.drive(layers(scheme, units=3, **{**options, "steps": 3}), SIMULATED_GPU_SEEDS=f"1:{SEEDS}")
                self.assertEqual((run.returncode, run.stdout), (0, f"seeds 1 to {SEEDS}: no failure\n"))


# Waits whose omission is not noticed, by the calling function, with reasons.
LIMITER = "the limiter bounds memory, which two tests above check; no number depends on it"
AHEAD = "the lead of a script's host is not an error"
NOT_MISSED = {
    "cudaEvent(Query|Synchronize) Rank::synchronize < Fsdp1::wait_for_a_free": LIMITER,
    "cudaEventRecord Rank::record_event < Fsdp1::reshard": LIMITER,
    "cudaEvent(Record|Synchronize) Rank::.*train": AHEAD,
    "cudaEventRecord Rank::record_event < Fsdp2::copy_own": "the streams of all-gathers wait for the copies, but gather nothing",
    "cudaStreamWaitEvent Rank::wait_event < Fsdp2::root_post_backward_final_callback": "PyTorch waits twice: finalize_backward already waited for an event after that reduce-scatter",
}


class MissingWaits(Fsdp):
    """Omitting any wait or event of the driver gives a wrong number for some seed of some job. So it is needed, and it
    is PyTorch's."""

    def test_each_omission_is_noticed(self):
        sites = {}
        for scheme, options in OPTIONS:
            run = self.drive(
                layers(scheme, units=3, **{**options, "steps": 3}),
                SIMULATED_GPU_SEEDS=f"1:{SKIP_SEEDS}",
                SIMULATED_GPU_SKIP="each",
            )
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            for line in run.stdout.splitlines():
                _, call, *frames, found = line.split(" ", 2 + FRAMES)
                name = f"{call} {callers(DRIVER, frames, most=2)}"
                sites.setdefault(name, []).append(not found.startswith("none"))
        for name, found in sorted(sites.items()):
            print(f"{name}: {sum(found)} of {len(found)}")
        missed = {name for name, found in sites.items() if not any(found)}
        unexplained = [name for name in missed if not any(re.search(pattern, name) for pattern in NOT_MISSED)]
        self.assertEqual(unexplained, [])


if __name__ == "__main__":
    unittest.main()
