"""`ddpsim simulate` beside `ddpsim-real` on a simulated GPU that takes the simulator's own times: what differs is how one of the
two schedules a step. Random jobs; host and buffers apart (ddpsim-real broadcasts buffers without flattening them)."""

import json
import os
import random
import subprocess
import unittest

from simulated_gpu import OnSimulatedGpu

JOBS = 13
CAPS = ("0.5", "1", "2.5", "25")
VIEWS = (False, True)
# sim's costs of DDP's own kernels: DdpCosts, and the memory of a V100 at the share of it that copies reach.
COPY_KERNEL_NS = 1800 + 1000
COPY_BYTES_PER_NS = 900 * 0.85
EVENT_LATENCY_NS = 1200
ALONE = ("--rank-slowdown", "0%", "--interference", "sm:0 memory:0 nccl:1")
SPAN_US = 1
STEP = 0.005


def random_workload(draw):
    parameters = [{"name": f"p{i}", "shape": [draw.choice((1, 7, 1000, 40_000, 300_000, 900_000)) + draw.randrange(50)],
                   "dtype": "float32"} for i in range(draw.randrange(2, 14))]
    order = list(range(len(parameters)))[::-1]
    if draw.random() < 0.5:
        draw.shuffle(order)
    at, ready = 0, []
    for parameter in order:
        at += draw.choice((20, 90, 400))
        ready.append({"parameter": parameter, "at_us": at})
    return {"schema": "ddpsim.workload/1", "name": "random", "gpu": "V100", "torch": "2.8", "parameters": parameters,
            "forward": {"duration_us": draw.randrange(200, 2000)},
            "backward": {"duration_us": at + draw.randrange(0, 50), "ready": ready},
            "optimizer": {"duration_us": draw.randrange(1, 400)}}


class Predicted(OnSimulatedGpu):
    def answer(self, *arguments):
        run = subprocess.run([os.environ["DDPSIM_BIN"], *arguments, "--json"], cwd=self.folder, capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def all_reduce_ns(self, cluster, size):
        row = self.answer("allreduce", cluster, "-b", f"{size}B", "-e", f"{size}B")["rows"][0]
        return round(row["time_us"] * 1000)

    def table(self, cluster, sizes):
        rows = [f"all_reduce {size} {self.all_reduce_ns(cluster, size)}\n" for size in sorted(sizes)]
        (self.folder / "table").write_text(
            f"kernel_ns {COPY_KERNEL_NS}\ncopy_bytes_per_ns {COPY_BYTES_PER_NS}\nevent_latency_ns {EVENT_LATENCY_NS}\n"
            + "".join(rows), encoding="utf-8")

    def test_steps_take_what_was_predicted(self):
        points = 0
        for seed in range(JOBS):
            draw = random.Random(seed)
            (self.folder / "job.json").write_text(json.dumps(random_workload(draw)), encoding="utf-8")
            ranks = draw.choice((1, 2, 4, 8))
            hook = draw.choice(("none", "none", "fp16", "bf16"))
            cluster = f"node:1 gpu:{ranks}xV100" + (f" nvlink:{ranks - 1}x25GBps:mesh" if ranks > 1 else "")
            predicted = {}
            for cap in CAPS:
                for views in VIEWS:
                    name = f"cap{cap}" + ("-views" if views else "")
                    predicted[name] = self.answer("simulate", "job.json", cluster, *ALONE, "--bucket-cap-mb", cap, "--comm-hook", hook,
                                                  *(["--gradient-as-bucket-view"] if views else []))
            half = 2 if hook != "none" else 1
            self.table(cluster, {bucket["bytes"] // half for one in predicted.values() for bucket in one["buckets"]})
            self.run_well("--ranks", str(ranks), "--iterations", "3", "--caps", ",".join(CAPS), "--views", "both", "--comm-hook",
                          hook, "-o", "out", workload="job.json", SIMULATED_GPU_TABLE="table")
            measured = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))
            for one in measured["configurations"]:
                points += 1
                with self.subTest(seed=seed, ranks=ranks, hook=hook, point=one["name"]):
                    # From all-reduce to cast and from there to the copies: two events, of which sim knows one.
                    self.assertAlike(predicted[one["name"]], one, SPAN_US + (hook != "none") * EVENT_LATENCY_NS / 1000)
        print(f"{points} points")

    def assertAlike(self, predicted, measured, span_us):
        for field in ("forward_us", "backward_us", "communication_us", "exposed_communication_us", "finalize_us", "optimizer_us"):
            self.assertAlmostEqual(measured[field]["median"], predicted[field], delta=span_us, msg=field)
        step = predicted["iteration_us"]
        self.assertAlmostEqual(measured["iteration_us"]["median"], step, delta=min(STEP * step, span_us), msg="iteration_us")
        self.assertEqual([one["parameter_indices"] for one in measured["buckets"]],
                         [one["parameter_indices"] for one in predicted["buckets"]])
        for got, expected in zip(measured["buckets"], predicted["buckets"]):
            for field in ("ready_us", "start_us", "last_arrival_us", "end_us"):
                self.assertAlmostEqual(got[field]["median"], expected[field], delta=span_us, msg=field)


if __name__ == "__main__":
    unittest.main()
