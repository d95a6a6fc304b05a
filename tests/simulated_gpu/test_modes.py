"""Runs each mode of ddpsim-real's CUDA path on the simulated GPU. Averages are right, times are the table's, and the
output has the same bytes each time."""

import json
import os
import pathlib
import subprocess
import unittest

from simulated_gpu import SHORT, SMALL_CAP, WORKLOAD, OnSimulatedGpu, held_port, patience

MODES = {
    "processes": ["--ranks", "2"],
    "threads": ["--ranks", "2", "--ranks-per-process", "2"],
    "two processes of two threads": ["--ranks", "4", "--ranks-per-process", "2"],
    "eight ranks": ["--ranks", "8"],
    "fp16": ["--ranks", "2", "--comm-hook", "fp16"],
    "bf16": ["--ranks", "3", "--comm-hook", "bf16"],
    "busy": ["--ranks", "1", "--busy"],
    "static graph": ["--ranks", "2", "--static-graph"],
    "unused parameters, micro-batches": ["--ranks", "3", "--find-unused-parameters", "--accumulate", "3"],
    "unused parameters of a static graph": [
        "--ranks",
        "2",
        "--static-graph",
        "--comm-hook",
        "fp16",
        "--accumulate",
        "2",
    ],
    "all-reduce of a hook": ["--ranks", "2", "--all-reduce", "64B", "--comm-hook", "bf16"],
}


class Modes(OnSimulatedGpu):
    def test_every_mode_averages_correctly_and_repeats_the_same_bytes(self):
        for name, arguments in MODES.items():
            for seed in (0, 7) if name == "processes" else (7,):
                with self.subTest(mode=name, seed=seed):
                    for out in ("out-a", "out-b"):
                        self.run_well(
                            *arguments,
                            *SHORT,
                            "--caps",
                            f"{SMALL_CAP},25",
                            "--views",
                            "both",
                            "-o",
                            out,
                            SIMULATED_GPU_SEED=seed,
                            workload="unused.json" if "unused" in name else "tiny.json",
                        )
                    self.assertEqual(self.written("out-a"), self.written("out-b"))
                    self.assertEqual(self.breaches("out-a"), [])

    def test_a_step_takes_the_time_of_its_parts(self):
        (self.folder / "table").write_text(
            "launch_ns 1000\nkernel_ns 500\nall_reduce 4 20000\nall_reduce 1048576 20000\n"
        )
        self.run_well("--ranks", "2", "--iterations", "3", "-o", "out", SIMULATED_GPU_TABLE="table")
        one = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))["configurations"][0]
        self.assertAlmostEqual(one["forward_us"]["median"], 100, delta=25)  # including a broadcast of buffers
        # Including a copy into the bucket for each.
        self.assertAlmostEqual(one["backward_us"]["median"], 200 + 4 * 0.5, delta=0.1)
        self.assertAlmostEqual(one["communication_us"]["median"], 20, delta=0.1)
        self.assertAlmostEqual(min(one["iterations_us"]), max(one["iterations_us"]), delta=0.01)

    def test_busy_compute_is_slower_during_an_all_reduce(self):
        """The first gradient's all-reduce runs during 100 of the remaining 150 us of backward. Half of that time is
        lost."""
        backward = {}
        for slower in (1, 2):
            (self.folder / "table").write_text(
                f"kernel_ns 0\nwork_beside_collective {slower}\nall_reduce 4 0\n"
                "all_reduce 163 0\nall_reduce 164 100000\nall_reduce 165 0\n"
            )
            self.run_well(
                "--ranks",
                "2",
                "--iterations",
                "3",
                "--caps",
                SMALL_CAP,
                "--no-broadcast-buffers",
                "--busy",
                "-o",
                "out",
                SIMULATED_GPU_TABLE="table",
            )
            one = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))["configurations"][0]
            backward[slower] = one["backward_us"]["median"]
        self.assertAlmostEqual(backward[1], 200, delta=1)
        self.assertAlmostEqual(backward[2], 250, delta=1)

    def test_times_of_all_reduces_exclude_their_launches(self):
        (self.folder / "table").write_text("collective_launch_ns 40000\nall_reduce 64 5000\nall_reduce 1048576 90000\n")
        for hook in ("none", "fp16"):
            self.run_well(
                "--ranks",
                "2",
                *SHORT,
                "--all-reduce",
                "64B,1MiB",
                "--comm-hook",
                hook,
                "-o",
                "out",
                SIMULATED_GPU_TABLE="table",
            )
            rows = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))["all_reduces"]
            for row, us in zip(rows, (5, 90)):
                self.assertAlmostEqual(row["time_us"]["median"], us, delta=0.1)

    def test_a_long_measurement_keeps_microseconds(self):
        """It takes two minutes. Its steps are longer than --timeout, but none counts as silence."""
        slow = {**WORKLOAD, "forward": {"duration_us": 6e6}}
        (self.folder / "slow.json").write_text(json.dumps(slow), encoding="utf-8")
        (self.folder / "table").write_text("all_reduce 4 20000\nall_reduce 1048576 20000\n")
        self.run_well(
            "--ranks",
            "2",
            "--iterations",
            "20",
            "--timeout",
            "2",
            "--no-broadcast-buffers",
            "-o",
            "out",
            workload="slow.json",
            SIMULATED_GPU_TABLE="table",
        )
        one = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))["configurations"][0]
        for figure in ("median", "p10", "p90"):
            self.assertAlmostEqual(one["communication_us"][figure], 20, delta=1)
            self.assertAlmostEqual(one["backward_us"][figure], 208, delta=1)

    def test_a_time_out_applies_to_one_collective_not_the_queue(self):
        (self.folder / "table").write_text("all_reduce 64 400000000\nall_reduce 65 20000\n")  # 0.4 s each
        self.run_well(
            "--ranks", "2", *SHORT, "--all-reduce", "64B", "--timeout", "2", "-o", "out", SIMULATED_GPU_TABLE="table"
        )

    def test_another_seed_is_another_order(self):
        for seed in (1, 2):
            self.run_well("--ranks", "2", *SHORT, "-o", f"out-{seed}", SIMULATED_GPU_SEED=seed)
        self.assertNotEqual(self.written("out-1")["measurement.json"], self.written("out-2")["measurement.json"])

    def test_on_the_free_running_clock(self):
        for arguments in (["--ranks", "2"], ["--ranks", "2", "--ranks-per-process", "2"]):
            self.run_well(*arguments, *SHORT, "--caps", SMALL_CAP, "--all-reduce", "64B", SIMULATED_GPU_CLOCK="free")

    def test_a_queue_of_few_launches_makes_the_host_wait(self):
        self.run_well("--ranks", "2", *SHORT, "--caps", SMALL_CAP, SIMULATED_GPU_QUEUE=4)

    def test_missing_gpus(self):
        for variables, code in (
            ({"SIMULATED_GPU_DEVICES": 1}, 1),
            ({"SIMULATED_GPU_DEVICES": 2}, 0),
            ({"CUDA_VISIBLE_DEVICES": "5"}, 1),
            ({"CUDA_VISIBLE_DEVICES": "5,3"}, 0),
            ({"CUDA_VISIBLE_DEVICES": "5,9,3"}, 1),
        ):
            run = self.start("--ranks", "2", *SHORT, **variables)
            self.assertEqual(run.returncode, code, run.stderr)
            if code == 1:
                self.assertEqual(run.stderr, "ddpsim-real: local rank 1 has no GPU of its own: its process sees 1\n")
        run = self.start("--ranks", "2", CUDA_VISIBLE_DEVICES="")
        self.assertIn("no GPU to run on", run.stderr)

    def test_too_little_memory_is_reported(self):
        run = self.start("--ranks", "2", *SHORT, SIMULATED_GPU_MEMORY_MIB=0)
        self.assertEqual(run.returncode, 1)
        self.assertIn("allocating memory on the GPU: out of memory", run.stderr)

    def test_a_dead_peer_ends_the_job(self):
        for rank in (0, 1):
            run = self.start("--ranks", "2", *SHORT, "--timeout", "4", SIMULATED_GPU_DIE=f"{rank}:6")
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"rank {rank} was ended by signal 9", run.stderr)

    def test_ranks_started_by_a_launcher(self):
        port = held_port(self.addCleanup)
        for out in ("out-a", "out-b"):
            self.assertEqual(self.started_apart(out, port=port, SIMULATED_GPU_SEED=3), [("", 0), ("", 0)])
        self.assertEqual(self.written("out-a"), self.written("out-b"))

    def test_each_rank_has_its_own_gpu_with_any_launcher(self):
        self.assertEqual(
            self.started_apart("unnumbered", port=held_port(self.addCleanup), local_ranks=None), [("", 0), ("", 0)]
        )

    def test_two_ranks_on_one_gpu_are_refused_by_name(self):
        """One launcher gives both the same number, and one shows both the same GPU. NCCL would report it late, or
        hang."""
        for shown, local_ranks, bus in (({}, (0, 0), "01"), ({"CUDA_VISIBLE_DEVICES": "3"}, (0, 1), "04")):
            ends = self.started_apart(
                f"alike-{bus}", "--timeout", "4", port=held_port(self.addCleanup), local_ranks=local_ranks, **shown
            )
            self.assertEqual(
                ends,
                [
                    (
                        f"ddpsim-real: rank 0: ranks 0 and 1 have the same GPU, 0000:{bus}:00.0 of one host: give each rank a GPU of its own "
                        "(LOCAL_RANK, CUDA_VISIBLE_DEVICES, srun --gpus-per-task)\n",
                        1,
                    ),
                    ("", 1),
                ],
            )

    def test_two_ranks_share_one_gpu_if_nccl_allows_it(self):
        self.run_well("--ranks", "2", "-o", "shared", *SHORT, SIMULATED_GPU_DEVICES=1, NCCL_MULTI_RANK_GPU_ENABLE=1)
        self.assertEqual(json.loads((self.folder / "shared/measurement.json").read_text(encoding="utf-8"))["ranks"], 2)

    def test_the_watchdog_avoids_a_communicator_during_a_launch(self):
        """It checks every 100 ms. NCCL calls of one communicator must not overlap: on a GPU they hung or ended the
        process."""
        for seed in (1, 2):
            self.run_threads(
                *SHORT[2:], "--iterations", "3000", "--caps", SMALL_CAP, "--no-check", SIMULATED_GPU_SEED=seed
            )

    def test_a_dead_peer_is_noticed_in_time_also_with_a_full_queue(self):
        for out, variables in (
            ("short", {"SIMULATED_GPU_DIE": "1:9"}),
            ("full", {"SIMULATED_GPU_DIE": "1:30", "SIMULATED_GPU_QUEUE": 200}),
        ):
            steps = ("--iterations", "60") if out == "full" else ()
            ends = self.started_apart(out, *steps, "--timeout", "6", port=held_port(self.addCleanup), **variables)
            self.assertEqual(ends, [("ddpsim-real: rank 1 is gone\n", 1), ("", -9)])

    def test_the_host_is_exactly_one_step_ahead(self):
        self.run_well("--ranks", "2", "--iterations", "30", "-o", "out")
        one = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))["configurations"][0]
        self.assertGreater(one["buckets"][0]["launch_us"]["median"], -2 * one["iteration_us"]["median"])

    def test_validate_runs_all_of_it(self):
        source = pathlib.Path(os.environ["DDPSIM_SOURCE"])
        programs = [str(pathlib.Path(os.environ[name]).parent) for name in ("DDPSIM_BIN", "DDPSIM_REAL_BIN")]
        run = subprocess.run(
            [
                str(source / "scripts/validate.sh"),
                "--ranks",
                "2",
                "--workload",
                "tiny.json",
                "--cluster",
                "2xv100-nvlink",
                "--caps",
                "1,25",
                "--sizes",
                "64KiB,256KiB,1MiB,4MiB",
                "-o",
                "validation",
            ],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience.seconds(120),
            env=self.environment(PATH=":".join([*programs, os.environ["PATH"]])),
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        measured = json.loads((self.folder / "validation/measured/measurement.json").read_text(encoding="utf-8"))
        self.assertEqual(len(measured["configurations"]), 4)
        self.assertEqual(len(measured["all_reduces"]), 4)
        self.assertTrue((self.folder / "validation.tar.gz").exists())


if __name__ == "__main__":
    unittest.main()
