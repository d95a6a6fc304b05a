"""Omitting any synchronising call of the program is noticed, by a wrong average, a CUDA error, or impossible times.

If an omission is not noticed, a test cannot fail or the call is not needed. Then the call is removed or listed in
NOT_MISSED with a reason."""

import itertools
import json
import re
import unittest

from simulated_gpu import FRAMES, PROGRAM, SMALL_CAP, OnSimulatedGpu, callers

MODES = (
    ["--caps", SMALL_CAP, "--views", "both", "--find-unused-parameters", "--accumulate", "2"],
    ["--caps", SMALL_CAP, "--views", "both", "--comm-hook", "fp16"],
    ["--caps", SMALL_CAP, "--all-reduce", "64B", "--comm-hook", "bf16"],
)
SEEDS = 6
STEPS = ("--iterations", "2", "--warmup", "2")
LATENCY_US = 15  # of each all-reduce without a table
# Patterns, because the compiler decides how many callers are inlined.
#
# Omitting these changes times only a little, so the test searches the output for impossible times.
TIMES = (
    "cudaEventSynchronize .*forget_marks < ReplayRunner::records",
    "cudaStreamWaitEvent NcclCommunicator::wait < ReplayBackend::all_reduce",
)
WARMUP = "noticed in ReplayRunner::records; here only times of the warm-up depend on it"
NOT_MISSED = {
    "cudaEventSynchronize .*CudaDevice::CudaDevice": WARMUP,
    "cudaEventSynchronize .*forget_marks < ReplayBackend::all_reduce": WARMUP,
    "cudaStreamWaitEvent NcclCommunicator::wait < ReplayRunner::step": "ranks would begin some microseconds apart, which is not an error",
    "cudaEventSynchronize .*::wait_for": "the host's lead is not an error (test_modes.py checks it); with --all-reduce, a time-out is that of one collective, and the "
    "final synchronise() is noticed",
}
# Functions that must appear among the places. Otherwise a mode ended early.
REACHED = (
    "Reducer::note_ready",
    "Reducer::all_reduce",
    "Reducer::finalize",
    "Reducer::copy_out",
    "Reducer::broadcast_buffers",
    "LocalUsedMap::used_anywhere",
    "ReplayRunner::step",
    "ReplayRunner::records",
    "ReplayBackend::all_reduce",
)


def workload_of(mode):
    return "unused.json" if "--find-unused-parameters" in mode else "tiny.json"


def told(reasons, name):
    return next((reason for pattern, reason in reasons.items() if re.match(pattern, name)), None)


class MissingCalls(OnSimulatedGpu):
    def test_each_omission_is_noticed(self):
        # A site is a call in a function that another calls. The program may contain it several times.
        sites, reached = {}, set()
        for mode in MODES:
            run = self.run_threads(
                *mode, *STEPS, workload=workload_of(mode), SIMULATED_GPU_SEEDS=f"1:{SEEDS}", SIMULATED_GPU_SKIP="each"
            )
            for line in run.stdout.splitlines():
                key, call, *frames, found = line.split(" ", 2 + FRAMES)
                reached.add(callers(PROGRAM, frames))
                site = sites.setdefault(f"{call} {callers(PROGRAM, frames, most=2)}", {"found": None, "places": []})
                site["places"].append((key, mode))
                if not found.startswith("none"):
                    site["found"] = site["found"] or found
        for function in REACHED:
            self.assertTrue(any(function in names for names in reached), function)
        for name, site in sorted(sites.items()):
            with self.subTest(site=name):
                found = site["found"] or self.impossible_times(name, site["places"]) or told(NOT_MISSED, name)
                print(f"{name}: {found}")
                self.assertIsNotNone(found, "nobody misses it")

    def impossible_times(self, name, places):
        if not any(re.match(pattern, name) for pattern in TIMES):
            return None
        for (key, mode), seed in itertools.product(places, range(SEEDS)):
            self.run_threads(
                *mode,
                *STEPS,
                "-o",
                f"out-{seed}",
                workload=workload_of(mode),
                SIMULATED_GPU_SEED=seed,
                SIMULATED_GPU_SKIP=key,
            )
            breaches = self.breaches(f"out-{seed}")
            if breaches:
                return f"seed {seed}: {breaches[0]}"
            measured = json.loads((self.folder / f"out-{seed}/measurement.json").read_text(encoding="utf-8"))
            for row in measured["all_reduces"]:
                if seed == 0 and row["time_us"]["median"] < LATENCY_US:
                    return f"an all-reduce of {row['size_bytes']} B in {row['time_us']['median']} us"
        return None


if __name__ == "__main__":
    unittest.main()
