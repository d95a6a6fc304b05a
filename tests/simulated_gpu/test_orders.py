"""Averages are right in every order of events that streams, events and synchronisation allow: thousands of them, each drawn from
a seed. A run has four configurations, each with an order of its own."""

import unittest

from simulated_gpu import SHORT, SMALL_CAP, OnSimulatedGpu

CONFIGURATIONS = ["--caps", f"{SMALL_CAP},25", "--views", "both"]
SEEDS_OF_A_HOOK = 400
SEEDS_OF_PROCESSES = 100


class Orders(OnSimulatedGpu):
    def runs(self, seeds, start, *arguments):
        run = start(*arguments, *SHORT, *CONFIGURATIONS, SIMULATED_GPU_SEEDS=f"1:{seeds}")
        self.assertEqual(run.stdout, f"seeds 1 to {seeds}: all well\n")
        print(f"{4 * seeds} orders {' '.join(arguments)}")

    def test_without_a_hook(self):
        self.runs(SEEDS_OF_A_HOOK, self.run_threads)

    def test_fp16(self):
        self.runs(SEEDS_OF_A_HOOK, self.run_threads, "--comm-hook", "fp16")

    def test_bf16(self):
        self.runs(SEEDS_OF_A_HOOK, self.run_threads, "--comm-hook", "bf16")

    def test_processes(self):
        self.runs(SEEDS_OF_PROCESSES, self.run_well, "--ranks", "2")


if __name__ == "__main__":
    unittest.main()
