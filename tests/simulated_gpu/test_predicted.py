"""`ddpsim simulate` beside `ddpsim-real` on a simulated GPU that takes the times of the same calibrated cluster: span by span, for
random jobs (random_jobs.py). What differs is how one of the two schedules a step.

Not compared: when the host launches (ddpsim-real's is up to a step ahead, sim's as the recording says; how long it takes is), what a
Python hook takes of it, and the search for unused parameters, for which ddpsim-real has no graph. Buffers are broadcast without
being flattened, so jobs have none."""

import json
import os
import subprocess
import unittest

import random_jobs
from simulated_gpu import OnSimulatedGpu

JOBS = 210
# sim's costs of DDP's own kernels: DdpCosts, and the memory of a V100 at the share of it that copies reach.
COPY_KERNEL_NS = 1800 + 1000
COPY_BYTES_PER_NS = 900 * 0.85
EVENT_LATENCY_NS = 1200
HOST_LAUNCH_NS = 50_000
LAUNCH_LATENCY_NS = 12_000
# Of the simulated GPU's host, which is to be ahead as sim's is; a collective's launch is four events and NCCL's.
EVENT_NS = 10
KERNEL_NS = 20
TABLE = {"kernel_ns": COPY_KERNEL_NS, "copy_bytes_per_ns": COPY_BYTES_PER_NS, "event_latency_ns": EVENT_LATENCY_NS,
         "event_ns": EVENT_NS, "launch_ns": KERNEL_NS, "call_ns": EVENT_NS,
         "collective_launch_ns": HOST_LAUNCH_NS - 4 * EVENT_NS,
         # A round trip, in which the map comes back, too.
         "wake_ns": HOST_LAUNCH_NS + LAUNCH_LATENCY_NS - COPY_KERNEL_NS - KERNEL_NS}
NCCL = ("--nccl", "2.27.3")
ALONE = (*NCCL, "--rank-slowdown", "0%", "--interference", "sm:0 memory:0 nccl:1")
SPAN_US = 1
STEP = 0.005
BACKWARD = ("backward", "copy into bucket", "communication hook")


def instants(spans, without_hook):
    """Of what both programs draw, {(what, which): (start, end)}; None: not compared."""
    found, forwards, backward = {}, 0, None
    for span in spans:
        track, name, bucket, start, end = (span[key] for key in ("track", "name", "bucket", "start_us", "end_us"))
        if track == "compute" and name == "forward":
            forwards += 1
            found["forward", forwards] = (start, end)
        elif track == "compute" and name in BACKWARD:
            first = found.get(("backward", forwards), (start, end))
            found["backward", forwards] = (first[0], end)
        elif name == "copy out of bucket":
            first = found.get((name, bucket), (start, end))
            found[name, bucket] = (first[0], end)
        elif name in ("all_reduce", "local-used map", "optimizer"):
            found[name, bucket] = (start, end)
        elif name == "launch" and bucket is not None and without_hook:
            found[name, bucket] = (None, end - start)
    return found


class Predicted(OnSimulatedGpu):
    def answer(self, *arguments):
        run = subprocess.run([os.environ["DDPSIM_BIN"], *arguments, "--json"], cwd=self.folder, capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def read(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def write(self, name, document):
        (self.folder / name).write_text(json.dumps(document), encoding="utf-8")

    def predict(self, job, views):
        options = [*job.options, *(["--gradient-as-bucket-view"] if views else [])]
        answer = self.answer("simulate", "job.json", "cluster.json", *ALONE, "--bucket-cap-mb", job.cap, "--comm-hook", job.hook, *options,
                             "--timeline", "predicted.json")
        return answer, self.read("predicted.json")["ranks"][0]["spans"]

    def table(self, job, predicted):
        """What an all-reduce takes by its bytes; one of them as `ddpsim allreduce` says."""
        rows = {}
        for answer, spans in predicted.values():
            for bucket in answer["buckets"]:
                rows[bucket["bytes"] // (1 if job.hook == "none" else 2)] = bucket["end_us"] - bucket["last_arrival_us"]
            for span in spans:
                if span["name"] == "local-used map":
                    rows[4 * len(job.workload["parameters"])] = span["end_us"] - span["start_us"]
        size, us = max(rows.items())
        alone = self.answer("allreduce", "cluster.json", *NCCL, "-b", f"{size}B", "-e", f"{size}B")["rows"][0]["time_us"]
        self.assertAlmostEqual(us, alone, delta=0.001)
        lines = [f"{key} {value}" for key, value in TABLE.items()]
        lines += [f"all_reduce {size} {round(us * 1000)}" for size, us in sorted(rows.items())]
        (self.folder / "table").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def test_steps_take_what_was_predicted(self):
        spans, worst = 0, {}
        for seed in range(JOBS):
            job = random_jobs.job(seed)
            self.write("job.json", job.workload)
            self.write("cluster.json", job.cluster)
            predicted = {name: self.predict(job, views) for name, views in ((f"cap{job.cap}", False), (f"cap{job.cap}-views", True))}
            self.table(job, predicted)
            self.run_well("--ranks", str(job.ranks), "--iterations", "2", "--warmup", "2", "--caps", job.cap, "--views", "both", "--comm-hook",
                          job.hook, *job.options, "-o", "out", workload="job.json", SIMULATED_GPU_TABLE="table")
            measured = {one["name"]: one for one in self.read("out/measurement.json")["configurations"]}
            for name, (answer, drawn) in predicted.items():
                # From all-reduce to cast and from there to the copies: two events, of which sim knows one.
                delta = SPAN_US + (job.hook != "none") * EVENT_LATENCY_NS / 1000
                with self.subTest(seed=seed, job=str(job), point=name):
                    spans += self.assertAlike(job, answer, drawn, measured[name], self.read(f"out/{name}.timeline.json"), delta, worst)
        print(f"{2 * JOBS} points, {spans} spans; apart at most, in us: " +
              ", ".join(f"{name} {us:.2f}" for name, us in sorted(worst.items())))

    def assertAlike(self, job, predicted, drawn, measured, timeline, delta, worst):
        self.assertEqual([one["parameter_indices"] for one in measured["buckets"]],
                         [one["parameter_indices"] for one in predicted["buckets"]])
        expected = instants(drawn, job.hook == "none")
        step = predicted["iteration_us"]
        self.assertAlmostEqual(measured["iteration_us"]["median"], step, delta=min(STEP * step, delta), msg="iteration_us")
        for field in ("forward_us", "backward_us", "communication_us", "exposed_communication_us", "finalize_us", "optimizer_us"):
            self.assertAlmostEqual(measured[field]["median"], predicted[field], delta=delta, msg=field)
        compared = 0
        for rank in timeline["ranks"]:
            got = instants(rank["spans"], job.hook == "none")
            for key, times in expected.items():
                self.assertIn(key, got)
                for at, (one, other) in enumerate(zip(times, got[key])):
                    if one is None:
                        continue
                    kind = f"{key[0]} {('start', 'end')[at]}"
                    if job.hook == "none":
                        worst[kind] = max(worst.get(kind, 0), abs(one - other))
                    self.assertAlmostEqual(other, one, delta=delta, msg=f"rank {rank['rank']}: {key}")
                compared += 1
        return compared


if __name__ == "__main__":
    unittest.main()
