"""Averages are right in every order that streams, events and synchronisation allow. Thousands of orders are drawn from
seeds. A run has four configurations, each with its own order."""

import unittest

from simulated_gpu import SHORT, SMALL_CAP, OnSimulatedGpu
from thorough import cases

CONFIGURATIONS = ["--caps", f"{SMALL_CAP},25", "--views", "both"]
SEEDS = cases(200, every_change=60)
SEEDS_OF_PROCESSES = cases(100, every_change=30)
UNUSED = "unused.json"


class Orders(OnSimulatedGpu):
    def runs(self, seeds, start, *arguments, workload="tiny.json"):
        run = start(*arguments, *SHORT, *CONFIGURATIONS, SIMULATED_GPU_SEEDS=f"1:{seeds}", workload=workload)
        self.assertEqual(run.stdout, f"seeds 1 to {seeds}: no failure\n")
        print(f"{4 * seeds} orders {' '.join(arguments)}")

    def test_without_a_hook(self):
        self.runs(SEEDS, self.run_threads)

    def test_unused_parameters(self):
        self.runs(SEEDS, self.run_threads, "--find-unused-parameters", workload=UNUSED)

    def test_fp16(self):
        self.runs(SEEDS, self.run_threads, "--comm-hook", "fp16")

    def test_fp16_in_a_static_graph(self):
        self.runs(
            SEEDS, self.run_threads, "--comm-hook", "fp16", "--static-graph", "--accumulate", "2", workload=UNUSED
        )

    def test_bf16(self):
        self.runs(SEEDS, self.run_threads, "--comm-hook", "bf16")

    def test_bf16_unused_parameters_of_micro_batches(self):
        self.runs(
            SEEDS,
            self.run_threads,
            "--comm-hook",
            "bf16",
            "--find-unused-parameters",
            "--accumulate",
            "3",
            workload=UNUSED,
        )

    def test_processes(self):
        self.runs(SEEDS_OF_PROCESSES, self.run_well, "--ranks", "2")


if __name__ == "__main__":
    unittest.main()
