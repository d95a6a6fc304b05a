"""Runs ddpsim-real under a thread sanitizer on the simulated GPU.

Only CUDA's guarantees order its host threads and its streams, which are separate threads (thread_sanitizer.hpp). So a
missing order is reported in whatever order a run happens."""

import os
import subprocess
import unittest

from simulated_gpu import LIBRARIES, SHORT, SMALL_CAP, OnSimulatedGpu, patience
from test_faults import MODES as FAULTED, results
from test_modes import MODES

SEEDS = "1:4"
FAULTS = 20  # for each mode
CAPS = ("--caps", f"{SMALL_CAP},25")


class Races(OnSimulatedGpu):
    def tearDown(self):
        self.assertNoReport()

    def reports(self):
        files = list(self.folder.glob("sanitizer.*"))
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
        for file in files:
            file.unlink()
        return texts

    def assertNoReport(self):
        reports = self.reports()
        if reports:
            self.fail("\n".join(reports)[:5000])

    def environment(self, **variables):
        """The replacement of the C library is in front of the sanitizer, which sees only the calls that are passed
        on."""
        return super().environment(
            LD_PRELOAD=f"{LIBRARIES}/libsimulated_gpu.so",
            LD_BIND_NOW=1,
            TSAN_OPTIONS=f"log_path={self.folder}/sanitizer:atexit_sleep_ms=0",
            **variables,
        )

    def workload(self, name):
        return str(self.folder / ("unused.json" if "unused" in name or "static" in name else "tiny.json"))

    def test_a_missing_wait_or_lock_is_reported(self):
        def program(*words, clock="virtual"):
            return subprocess.run(
                [os.environ["SIMULATED_GPU_RACES"], *words],
                cwd=self.folder,
                capture_output=True,
                text=True,
                env=self.environment(SIMULATED_GPU_CLOCK=clock),
                check=False,
                timeout=patience.seconds(60),
            )

        cases = program().stdout.splitlines()
        self.assertEqual(len(cases), 4)
        for case in cases:
            for clock in ("virtual", "free"):
                with self.subTest(case=case, clock=clock):
                    self.assertEqual(program("order", case, clock=clock).returncode, 0)
                    self.assertNoReport()
                    program("race", case, clock=clock)
                    self.assertIn("WARNING: ThreadSanitizer: data race", "".join(self.reports()))

    def test_no_mode_has_a_race(self):
        for name, arguments in MODES.items():
            # It spins for seconds and has no other threads.
            if name == "busy":
                continue
            with self.subTest(mode=name):
                self.run_well(
                    *arguments,
                    *SHORT,
                    *CAPS,
                    "--views",
                    "both",
                    workload=self.workload(name),
                    SIMULATED_GPU_SEEDS=SEEDS,
                )
                self.assertNoReport()

    def test_no_race_on_the_free_running_clock(self):
        for arguments in (["--ranks", "2"], ["--ranks", "2", "--ranks-per-process", "2"]):
            self.run_well(*arguments, *SHORT, *CAPS, SIMULATED_GPU_CLOCK="free")
            self.assertNoReport()

    def faults(self, name, arguments, seeds, **variables):
        run = self.start(
            *arguments,
            *SHORT,
            *CAPS,
            "--timeout",
            "2",
            "-o",
            "out",
            workload=self.workload(name),
            timeout=patience.seconds(120),
            SIMULATED_GPU_FAULT="drawn",
            SIMULATED_GPU_SEEDS=seeds,
            **variables,
        )
        (self.folder / "without").rename(self.folder / f"without, {name}")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        without, *faults = results(run.stdout)
        self.assertEqual(without["code"], "0", without)
        self.assertGreater(len([one for one in faults if one["struck"] == "1"]), len(faults) / 2)
        self.assertNoReport()

    def test_no_race_with_faults(self):
        first = 1
        for name, arguments in FAULTED.items():
            with self.subTest(mode=name):
                self.faults(
                    name,
                    arguments,
                    f"{first}:{first + FAULTS - 1}",
                    **({"SIMULATED_GPU_QUEUE": 24} if "queue" in name else {}),
                )
            first += FAULTS

    def test_no_race_when_the_abort_frees_a_host_in_a_launch(self):
        # The launch of an all-reduce is the one that waits.
        for queue in (4, 8):
            run = self.start(
                "--ranks",
                "2",
                *SHORT,
                "--caps",
                SMALL_CAP,
                "--timeout",
                "2",
                SIMULATED_GPU_QUEUE=queue,
                SIMULATED_GPU_FAULT="silence:0:4",
            )
            self.assertRegex(run.stderr, r"^ddpsim-real: rank \d: a collective took longer than 2 s\n$")
            self.assertNoReport()


if __name__ == "__main__":
    unittest.main()
