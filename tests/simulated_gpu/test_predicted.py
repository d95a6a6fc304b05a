"""Compares `ddpsim simulate` with `ddpsim-real` on a simulated GPU, span by span, for random jobs (random_jobs.py).

Both take their times from the same two files, a workload and a calibrated cluster (machine_table.py). So a difference
shows that one of them schedules a step differently.

Two things are not compared, and the jobs have none of them. For the search for unused parameters, ddpsim-real has no
graph. It also broadcasts buffers without flattening them."""

import json
import os
import subprocess
import unittest

import random_jobs
from machine_table import table
from simulated_gpu import OnSimulatedGpu
from thorough import cases

JOBS = cases(210, every_change=42)
# From the third step on, the host's lead is constant.
STEPS = "5"
NCCL = ("--nccl", "2.27.3")
ALONE = (*NCCL, "--rank-slowdown", "0%", "--interference", "sm:0 memory:0 nccl:1")
SPAN_US = 1
STEP = 0.005
BACKWARD = ("backward", "copy into bucket", "communication hook")


def as_measured(spans, job):
    """After the map that a host waits for, the GPU waits for each launch. There, a measured time of ddpsim-real begins
    with an event that the host records before the launch. It begins once the host is there and the GPU has finished its
    earlier work."""
    launch, latency = job.workload["host"]["costs"]["copy_us"], job.cluster["gpu_costs"]["launch_latency_us"]
    launched = [
        span["end_us"] + latency for span in spans if (span["track"], span["name"]) == ("host", "copy out of bucket")
    ]
    waits = {span["end_us"]: span["start_us"] for span in spans if span["name"] == "waits for launch"}
    before = None
    for span in spans:
        if span["track"] != "compute" or span["name"] not in ("copy out of bucket", "optimizer"):
            continue
        begin, end = span["start_us"], span["end_us"]
        if before is not None:
            span["start_us"] = before
        elif span["name"] == "optimizer":
            span["start_us"] = waits.get(begin, begin)
        elif any(abs(begin - one) < 0.001 for one in launched):
            span["start_us"] = begin - launch
        if before is not None or span["start_us"] < begin:
            before = end
    return spans


def instants(spans):
    """Spans that both programs draw, as {(what, which): (start, end)}."""
    found, forwards = {}, 0
    for span in spans:
        track, name, bucket, start, end = (span[key] for key in ("track", "name", "bucket", "start_us", "end_us"))
        if track == "compute" and name == "forward":
            forwards += 1
            found["forward", forwards] = (start, end)
        elif track == "compute" and name in BACKWARD:
            first = found.get(("backward", forwards), (start, end))
            found["backward", forwards] = (first[0], end)
        elif (track, name) in (("compute", "copy out of bucket"), ("host", "launch")) and bucket is not None:
            first = found.get((name, bucket), (start, end))
            found[name, bucket] = (first[0], end)
        elif name in ("all_reduce", "local-used map", "optimizer") and track != "host":
            found[name, bucket] = (start, end)
    return found


class Predicted(OnSimulatedGpu):
    def answer(self, *arguments):
        run = subprocess.run(
            [os.environ["DDPSIM_BIN"], *arguments, "--json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def read(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def write(self, name, document):
        (self.folder / name).write_text(json.dumps(document), encoding="utf-8")

    def predict(self, job, views):
        options = [*job.options, *(["--gradient-as-bucket-view"] if views else [])]
        answer = self.answer(
            "simulate",
            "job.json",
            "cluster.json",
            *ALONE,
            "--bucket-cap-mb",
            job.cap,
            "--comm-hook",
            job.hook,
            *options,
            "--timeline",
            "predicted.json",
        )
        return answer, self.read("predicted.json")["ranks"][0]["spans"]

    def all_reduces(self, job, answer):
        """The time of each all-reduce of the job, by `ddpsim allreduce`."""
        sizes = {bucket["bytes"] // (1 if job.hook == "none" else 2) for bucket in answer["buckets"]}
        if "--find-unused-parameters" in job.options or "--static-graph" in job.options:
            sizes.add(4 * len(job.workload["parameters"]))
        return {
            size: self.answer("allreduce", "cluster.json", *NCCL, "-b", f"{size}B", "-e", f"{size}B")["rows"][0][
                "time_us"
            ]
            for size in sizes
        }

    def test_steps_take_the_predicted_time(self):
        spans, worst = 0, {}
        for seed in range(JOBS):
            job = random_jobs.job(seed)
            self.write("job.json", job.workload)
            self.write("cluster.json", job.cluster)
            predicted = {
                name: self.predict(job, views)
                for name, views in ((f"cap{job.cap}", False), (f"cap{job.cap}-views", True))
            }
            reduces = self.all_reduces(job, predicted[f"cap{job.cap}"][0])
            (self.folder / "table").write_text(table(job.cluster, job.workload, reduces), encoding="utf-8")
            self.run_well(
                "--ranks",
                str(job.ranks),
                "--iterations",
                STEPS,
                "--warmup",
                "2",
                "--no-check",
                "--caps",
                job.cap,
                "--views",
                "both",
                "--comm-hook",
                job.hook,
                *job.options,
                "-o",
                "out",
                workload="job.json",
                SIMULATED_GPU_TABLE="table",
            )
            measured = {one["name"]: one for one in self.read("out/measurement.json")["configurations"]}
            for name, (answer, drawn) in predicted.items():
                with self.subTest(seed=seed, job=str(job), point=name):
                    spans += self.assertAlike(
                        answer,
                        instants(as_measured(drawn, job)),
                        measured[name],
                        self.read(f"out/{name}.timeline.json"),
                        worst,
                    )
        print(
            f"{2 * JOBS} points, {spans} spans; apart at most, in us: "
            + ", ".join(f"{name} {us:.2f}" for name, us in sorted(worst.items()))
        )

    def assertAlike(self, predicted, expected, measured, timeline, worst):
        def compare(what, got, expected, allowed=SPAN_US):
            worst[what] = max(worst.get(what, 0), abs(got - expected))
            self.assertAlmostEqual(got, expected, delta=allowed, msg=what)

        self.assertEqual(
            [one["parameter_indices"] for one in measured["buckets"]],
            [one["parameter_indices"] for one in predicted["buckets"]],
        )
        step = predicted["iteration_us"]
        compare("iteration", measured["iteration_us"]["median"], step, min(STEP * step, SPAN_US))
        for field in (
            "forward_us",
            "backward_us",
            "communication_us",
            "exposed_communication_us",
            "finalize_us",
            "optimizer_us",
        ):
            compare(field, measured[field]["median"], predicted[field])
        for one, other in zip(measured["buckets"], predicted["buckets"]):
            for field in ("ready_us", "launch_us", "start_us", "end_us"):
                compare(f"bucket's {field}", one[field]["median"], other[field])
        for rank in timeline["ranks"]:
            got = instants(rank["spans"])
            for key, (begin, end) in expected.items():
                self.assertIn(key, got)
                # Launches of all steps are checked; the time of the median one is above.
                if key[0] == "launch":
                    compare("launch lasts", got[key][1] - got[key][0], end - begin)
                else:
                    compare(f"{key[0]} begins", got[key][0], begin)
                    compare(f"{key[0]} ends", got[key][1], end)
        return len(timeline["ranks"]) * len(expected)


if __name__ == "__main__":
    unittest.main()
