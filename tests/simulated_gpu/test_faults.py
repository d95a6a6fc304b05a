"""Whatever fails, all ranks end within --timeout and two seconds. One line names the rank and the reason. Finished
points are on disk, and no process remains. Kind, rank and moment of each fault are drawn from a seed. A slow rank is
not a fault."""

import collections
import json
import os
import re
import resource
import signal
import subprocess
import unittest

from simulated_gpu import PROGRAM, SHORT, SMALL_CAP, OnSimulatedGpu, held_port, patience
from thorough import cases

TIMEOUT_S = 2
MORE_S = 2
SEEDS = cases(86, every_change=40)  # for each mode
CAPS = (SMALL_CAP, "1", "25")
MODES = {
    "two processes": ["--ranks", "2"],
    "two processes of two threads": ["--ranks", "4", "--ranks-per-process", "2"],
    "three processes, fp16": ["--ranks", "3", "--comm-hook", "fp16"],
    "two processes, a queue of 24 launches": ["--ranks", "2"],
    "two processes, static graph": ["--ranks", "2", "--static-graph", "--accumulate", "2"],
    "three processes, unused parameters": ["--ranks", "3", "--find-unused-parameters"],
    "two processes of two threads, unused parameters, bf16": [
        "--ranks",
        "4",
        "--ranks-per-process",
        "2",
        "--find-unused-parameters",
        "--comm-hook",
        "bf16",
        "--accumulate",
        "3",
    ],
}
CUDA_DOES = (
    "setting|creating a stream|creating an event|choosing the GPU|asking for SMs|allocating memory(?: on the GPU)?|"
    "asking where the GPU is|allocating memory for copies to the GPU|clearing memory|fill|reading memory of the GPU|replaying compute|"
    "copying into a bucket|copying memory of the GPU|adding to a gradient|casting a bucket|"
    "recording an event|waiting for an event|waiting for the GPU|reading an event|asking the GPU what it is"
)
ERROR_CAUSES = rf"(?:{CUDA_DOES}): (?:too many resources requested for launch|unspecified launch failure)"
CAUSES = {
    "die": r"rank {rank} was ended by signal 9 \(Killed\)|ranks \d to \d were ended by signal 9 \(Killed\)",
    "error": f"rank {{rank}}: {ERROR_CAUSES}",
    # All threads of a process get a sticky error.
    "sticky": rf"rank \d: {ERROR_CAUSES}",
    "memory": "rank {rank}: allocating memory (?:on|for copies to) the GPU: out of memory",
    "async": "rank {rank}: a peer was lost: remote process exited or there was a network error",
    "silence": r"rank \d: a collective took longer than {timeout} s",
    "init": r"rank \d: joining the communicator took longer than {timeout} s",
}
LINE = re.compile(
    r"(?P<name>\S+) fault (?P<fault>(?P<kind>\w+)(?::(?P<rank>\d+):\d+)?) order [01] code (?P<code>\d+) "
    r"struck (?P<struck>[01]) after (?P<after>\S+) launched (?P<launched>\d+) left (?P<left>\d+)"
)


def results(text):
    found = []
    for line in text.splitlines():
        if line.startswith("| "):
            found[-1]["said"].append(line[2:])
        else:
            found.append({**LINE.fullmatch(line).groupdict(), "said": []})
    return found


class Faults(OnSimulatedGpu):
    def job(self, mode, caps, seeds):
        variables = {"SIMULATED_GPU_QUEUE": 24} if "queue" in mode else {}
        workload = "unused.json" if "unused" in mode or "static" in mode else "tiny.json"
        run = self.start(
            *MODES[mode],
            *SHORT,
            "--timeout",
            str(TIMEOUT_S),
            "--caps",
            ",".join(caps),
            "-o",
            "out",
            workload=str(self.folder / workload),
            SIMULATED_GPU_FAULT="drawn",
            SIMULATED_GPU_SEEDS=seeds,
            LD_BIND_NOW=1,
            **variables,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return results(run.stdout)

    def finished(self, name):
        file = self.folder / name / "out/measurement.json"
        return len(json.loads(file.read_text(encoding="utf-8"))["configurations"]) if file.exists() else 0

    def collectives_until(self, mode):
        """Number of collectives that a rank launches until each configuration is written."""
        counts = []
        for caps in range(1, len(CAPS) + 1):
            counts.append(int(self.job(mode, CAPS[:caps], "1:0")[0]["launched"]))
            (self.folder / "without").rename(self.folder / f"without-{caps}, {mode}")
        return counts

    def check(self, one, until):
        if one["kind"] == "slow":
            self.assertEqual((one["code"], self.finished(one["name"])), ("0", len(CAPS)), one)
            return
        self.assertEqual((one["struck"], one["code"]), ("1", "1"), one)
        self.assertEqual(one["left"], "0", one)
        self.assertEqual(len(one["said"]), 1, one)
        cause = CAUSES[one["kind"]].format(rank=one["rank"], timeout=TIMEOUT_S)
        self.assertRegex(one["said"][0], f"^ddpsim-real: (?:{cause})$", one)
        self.assertLessEqual(float(one["after"]), TIMEOUT_S + MORE_S, one)
        written = sum(count < int(one["launched"]) for count in until)
        self.assertGreaterEqual(self.finished(one["name"]), written, one)

    def test_every_fault_ends_all_ranks_in_time_with_one_message(self):
        counts, worst = collections.Counter(), collections.Counter()
        first = 1
        for mode in MODES:
            until = self.collectives_until(mode)
            without, *all_faults = self.job(mode, CAPS, f"{first}:{first + SEEDS - 1}")
            first += SEEDS
            self.assertEqual((without["code"], without["left"], self.finished("without")), ("0", "0", len(CAPS)))
            for one in all_faults:
                with self.subTest(mode=mode, seed=one["name"], fault=one["fault"]):
                    if one["struck"] == "0" and one["kind"] in (
                        "error",
                        "sticky",
                    ):  # only freeing calls remained
                        self.assertEqual(one["code"], "0", one)
                        counts["too late to matter"] += 1
                        continue
                    counts[one["kind"]] += 1
                    worst[one["kind"]] = max(worst[one["kind"]], float(one["after"]))
                    self.check(one, until)
            (self.folder / "without").rename(self.folder / f"without, {mode}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        faults = sum(counts[kind] for kind in CAUSES)
        print(
            f"{faults} faults and {counts['slow']} slow ranks, --timeout {TIMEOUT_S}: "
            f"{used.ru_utime + used.ru_stime:.0f} s of processor time"
        )
        for kind, count in counts.most_common():
            print(f"  {kind}: {count}, ended after {worst[kind]:.2f} s at most")
        self.assertGreaterEqual(faults, 5 * SEEDS)
        self.assertGreaterEqual(set(counts), {*CAUSES, "slow"})
        self.assertLess(counts["too late to matter"], faults / 20)


class FaultsOfLaunchedRanks(OnSimulatedGpu):
    """Ranks that a launcher started end separately, and exactly one of them gives the reason."""

    def test_one_message_names_rank_and_cause(self):
        faults = [
            f"{kind}:{rank}:{at}"
            for kind, at in (
                ("die", 0),
                ("die", 100),
                ("error", 60),
                ("sticky", 200),
                ("memory", 5),
                ("async", 9),
                ("silence", 9),
                ("init", 0),
            )
            for rank in (0, 1)
        ]
        port = held_port(self.addCleanup)
        for fault in faults:
            with self.subTest(fault=fault):
                kind, rank, _ = fault.split(":")
                ends = self.started_apart(
                    fault, "--caps", SMALL_CAP, "--timeout", str(TIMEOUT_S), port=port, SIMULATED_GPU_FAULT=fault
                )
                self.assertEqual(
                    [code for _, code in ends], [-9 if kind == "die" and int(rank) == one else 1 for one in (0, 1)]
                )
                cause = {**CAUSES, "die": "rank {rank} is gone"}[kind].format(rank=rank, timeout=TIMEOUT_S)
                self.assertRegex("".join(said for said, _ in ends), f"^ddpsim-real: (?:{cause})\n$")


class FaultsInRealTime(OnSimulatedGpu):
    """Faults with the host's own clock and scheduler, on a full disk, and with signals."""

    def launch(self, *arguments, out="out", timeout=patience.seconds(60), limit=None, **variables):
        def bounded():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        process = subprocess.Popen(
            [
                PROGRAM,
                "tiny.json",
                "--backend",
                "cuda-nccl",
                "--ranks",
                "2",
                "--timeout",
                str(timeout),
                "-o",
                out,
                *arguments,
            ],
            cwd=self.folder,
            env=self.environment(**variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=bounded,
            start_new_session=True,
        )
        self.addCleanup(process.stderr.close)
        return process

    def end_of(self, process):
        err = process.communicate(timeout=patience.seconds(60))[1]
        with self.assertRaises(ProcessLookupError):  # its session has no process
            os.killpg(process.pid, 0)
        return process.returncode, err

    def test_faults_on_the_free_running_clock(self):
        faults = [
            f"{kind}:{rank}:{at}"
            for kind, at in (
                ("die", 200),
                ("error", 200),
                ("sticky", 200),
                ("memory", 5),
                ("async", 9),
                ("silence", 9),
                ("init", 0),
            )
            for rank in (0, 1)
        ]

        # A time-out that no slow machine reaches, if it does not end the job.
        def timeout(fault):
            return patience.seconds(8 if fault.startswith(("silence", "init")) else 60)

        jobs = {
            fault: self.launch(
                *SHORT,
                "--caps",
                SMALL_CAP,
                out=fault,
                timeout=timeout(fault),
                SIMULATED_GPU_CLOCK="free",
                SIMULATED_GPU_FAULT=fault,
            )
            for fault in faults
        }
        for fault, job in jobs.items():
            with self.subTest(fault=fault):
                kind, rank, _ = fault.split(":")
                code, err = self.end_of(job)
                self.assertEqual(code, 1)
                self.assertRegex(err, rf"^ddpsim-real: (?:{CAUSES[kind].format(rank=rank, timeout=timeout(fault))})\n$")

    def test_a_full_disk(self):
        whole = self.launch(*SHORT, "--caps", "1,25", SIMULATED_GPU_CLOCK="free")
        self.assertEqual(self.end_of(whole), (0, ""))
        sizes = {file.name: file.stat().st_size for file in (self.folder / "out").iterdir()}
        for name, size in sorted(sizes.items()):  # the largest file never fits
            with self.subTest(f"files of {size // 2} bytes, half of {name}"):
                code, err = self.end_of(
                    self.launch(
                        *SHORT, "--caps", "1,25", out=f"half-{name}", limit=size // 2, SIMULATED_GPU_CLOCK="free"
                    )
                )
                self.assertEqual(code, 1)
                self.assertRegex(err, r"^ddpsim-real: rank 0: [^\n]*cannot be written[^\n]*\n$")
                for file in (self.folder / f"half-{name}").glob("*"):
                    if file.suffix == ".json":
                        json.loads(file.read_text(encoding="utf-8"))  # the file is complete

    def test_a_signal_while_points_are_written(self):
        for after in (0, 1):
            caps = ",".join(map(str, range(1, 1001)))  # more than are measured before the signal
            job = self.launch(
                "--iterations", "3", "--warmup", "2", "--caps", caps, out=f"out-{after}", SIMULATED_GPU_CLOCK="free"
            )
            file = self.folder / f"out-{after}/measurement.json"
            patience.until(lambda: job.poll() is not None or file.exists() and self.points(file) > after, pause=0)
            self.assertIsNone(job.poll())
            before = self.points(file)
            job.send_signal(signal.SIGINT)
            self.assertEqual(self.end_of(job), (130, ""))
            self.assertGreaterEqual(self.points(file), before)

    def points(self, file):
        return len(json.loads(file.read_text(encoding="utf-8"))["configurations"])


if __name__ == "__main__":
    unittest.main()
