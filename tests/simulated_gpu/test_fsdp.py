"""FSDP1 and FSDP2: a driver that issues a step as PyTorch's source has it (fsdp/), on a simulated GPU whose times are those that
`ddpsim simulate --scheme` has of the same job, beside that command: compute, all-gathers, reduce-scatters, and the host's launches,
one by one, for random jobs (fsdp_jobs.py)."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import fsdp_jobs
from machine_table import ns

DRIVER = os.environ["FSDP_DRIVER"]
LIBRARIES = os.environ["SIMULATED_GPU_LIBRARIES"]
JOBS = 60  # of each scheme
STEPS = 6
ALONE = ("--nccl", "2.27.3", "--rank-slowdown", "0%", "--interference", "sm:0 memory:0 nccl:1")
APART_US = 0.1
KINDS = {"all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-reduce": "all_reduce"}


def table(job, collectives):
    """A machine of these collectives, which ddpsim timed alone; what launches take the driver's host says itself."""
    gpu = job.cluster["gpu_costs"]
    rows = {"launch_ns": 0, "collective_launch_ns": 0, "event_ns": 0, "call_ns": 0, "clock_ns": 0, "wake_ns": 0, "message_ns": 0,
            "kernel_ns": ns(gpu["copy_us"]) + ns(gpu["gap_us"]), "copy_bytes_per_ns": gpu["copy_gbps"],
            "launch_latency_ns": ns(gpu["launch_latency_us"]), "event_latency_ns": ns(gpu["event_latency_us"])}
    lines = [f"{key} {value}" for key, value in rows.items()]
    lines += [f"{kind} {size} {ns(us)}" for (kind, size), us in sorted(collectives.items())]
    return "\n".join(lines) + "\n"


def driver_collectives(document):
    """What each takes, by kind and size."""
    return {(KINDS[one["kind"]], one["bytes"]): one["end_us"] - one["last_arrival_us"] for one in document["collectives"]}


def began_behind(spans, latency):
    """A collective begins no sooner than its communicator is free, which the event in front of it does not say."""
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
    """Spans of one kind on a stream, laid end to end: when so much of it is done. Neighbours may be drawn as one."""

    def __init__(self, spans):
        self.spans = sorted(spans)
        self.total = sum(end - start for start, end in self.spans)

    def instants(self, begin, end):
        """When work goes on behind `begin` of it, and when `end` of it is done."""
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
        run = subprocess.run([os.environ["DDPSIM_BIN"], "simulate", "job.json", "cluster.json", *ALONE, "--scheme", job.scheme_words(),
                              *batches, "--timeline", "timeline.json", "--json"], cwd=self.folder, capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        timeline = json.loads((self.folder / "timeline.json").read_text(encoding="utf-8"))
        return json.loads(run.stdout), timeline["ranks"][0]["spans"]

    def drive(self, lines, *arguments, timeout=120, **variables):
        self.write("job", lines)
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SIMULATED_GPU_")}
        return subprocess.run([DRIVER, "job", *arguments], cwd=self.folder, timeout=timeout, capture_output=True, text=True, check=False,
                              env={**clean, "LD_LIBRARY_PATH": LIBRARIES, **{key: str(value) for key, value in variables.items()}})

    def spans(self, lines, machine):
        """Of rank 0's last step: (what, unit, start, end), from its begin on."""
        self.write("table", machine)
        run = self.drive(lines, "--spans", SIMULATED_GPU_TABLE="table")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        found = []
        for line in run.stdout.splitlines():
            if line.startswith("span 0 "):
                what, unit, start, end = line[len("span 0 "):].split("|")
                found.append((what, unit, float(start), float(end)))
        begins = next(start for what, unit, start, _ in found if (what, unit) == ("step", "begins"))
        return [(what, unit, start - begins, end - begins) for what, unit, start, end in found]


class Predicted(Fsdp):
    def differences(self, job):
        """(what, us apart) of all there is to compare."""
        document, drawn = self.predict(job)
        driven = self.spans(job.driver_lines(STEPS), table(job, driver_collectives(document)))
        yield "step", next(end for what, unit, _, end in driven if (what, unit) == ("step", "ends")) - document["iteration_us"]

        # The event that host and streams have in common began when its launch had got there.
        latency = job.cluster["gpu_costs"]["launch_latency_us"]
        launches = [(unit, end - latency) for what, unit, _, end in driven if what == "launch"]
        self.assertEqual([one["unit"] for one in document["collectives"]], [unit for unit, _ in launches], "order of launches")
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
            return Work((span["start_us"], span["end_us"]) for span in drawn if span["track"] == "compute" and span["name"] in names)
        for what, names in (("forward", ("forward",)), ("backward", ("backward",)), ("optimizer", ("optimizer",))):
            happened = [span for span in driven if span[0] in (what, *(("accumulate",) if what == "backward" else ()))]
            work, at = predicted_work(names), 0
            for _, unit, start, end in happened:
                began, ended = work.instants(at, at + end - start)
                at += end - start
                yield f"{what} begins", start - began
                yield f"{what} ends", end - ended
            yield f"{what}, all", at - work.total

    def compare(self, scheme):
        worst, spans = {}, 0
        for seed in range(JOBS):
            job = fsdp_jobs.job(seed, scheme)
            with self.subTest(job=str(job), seed=seed):
                for what, apart in self.differences(job):
                    spans += 1
                    if abs(apart) > abs(worst.get(what, (0, 0))[0]):
                        worst[what] = (apart, seed)
                    self.assertAlmostEqual(apart, 0, delta=APART_US, msg=what)
        print(f"{scheme}: {JOBS} jobs, {spans} instants; apart at most, in us: " +
              ", ".join(f"{what} {apart:.3f}" for what, (apart, _) in sorted(worst.items())))

    def test_fsdp1(self):
        self.compare("fsdp1")

    def test_fsdp2(self):
        self.compare("fsdp2")


if __name__ == "__main__":
    unittest.main()
