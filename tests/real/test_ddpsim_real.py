"""Tests of the ddpsim-real program: a sweep, and failures of real processes. Each failure ends all ranks within its
time-out, with one message for each rank and no remaining process."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402
from held_port import held_port  # noqa: E402

BINARY = os.environ["DDPSIM_REAL_BIN"]
BACKENDS = os.environ.get("DDPSIM_REAL_BACKENDS", "").split()
CAPS = range(1, 301)
# Slow steps of several configurations.
MINUTES = ("--caps", ",".join(map(str, CAPS)), "--iterations", 1, "--warmup", 2)
SOON = patience.seconds(3)  # a --timeout whose end a test waits for
# A --timeout that is longer than the test's own.
NEVER = patience.seconds(600)
LAUNCHER_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "DDPSIM_JOB_TOKEN")


def workload(backward_us=2000):
    return {
        "schema": "ddpsim.workload/1",
        "name": "small",
        "parameters": [{"name": f"p{i}", "shape": [1000 * (i + 1)], "dtype": "float32"} for i in range(4)],
        "forward": {"duration_us": 1000},
        "backward": {
            "duration_us": backward_us,
            "ready": [{"parameter": i, "at_us": backward_us * (4 - i) / 4} for i in (3, 2, 1, 0)],
        },
    }


def environment(**variables):
    clean = {key: value for key, value in os.environ.items() if key not in LAUNCHER_VARIABLES}
    return {**clean, **{key: str(value) for key, value in variables.items()}}


@unittest.skipUnless("cpu-gloo" in BACKENDS, "this build has no gloo (Debian: libgloo-dev)")
class Real(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.workload = self.folder / "small.json"
        self.workload.write_text(json.dumps(workload()), encoding="utf-8")

    def start(self, *arguments, variables=None, binary=BINARY, **keywords):
        process = subprocess.Popen(
            [binary, str(self.workload), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=environment(**(variables or {})),
            **keywords,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=patience.seconds(60))
        return process.returncode, out, err

    def rank(self, rank, ranks, port, *arguments, binary=BINARY):
        return self.start(
            *arguments,
            binary=binary,
            variables={"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
        )

    def slow(self):
        self.workload.write_text(json.dumps(workload(200_000)), encoding="utf-8")

    def in_its_steps(self, *arguments, out="out"):
        """A job that has measured its first configuration and would continue for minutes."""
        self.slow()
        process = self.start(*arguments, *MINUTES, "-o", out)
        self.until_measured(out, process)
        return process

    def until_measured(self, out, process):
        patience.until(lambda: (self.folder / out / "measurement.json").exists() or process.poll() is not None)

    def children_of(self, process):
        listing = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
        ).stdout
        return [int(pid) for pid in listing.split()]

    def all_children(self, process, count):
        patience.until(lambda: len(self.children_of(process)) >= count)
        children = self.children_of(process)
        self.assertEqual(len(children), count)
        return children

    def assertGone(self, pids):
        for pid in pids:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), f"process {pid} is still there")

    def test_a_sweep_writes_a_measurement_and_a_timeline_of_each_configuration(self):
        for backend in [name for name in ("cpu-gloo", "c10d-gloo") if name in BACKENDS]:
            with self.subTest(backend=backend):
                out = self.folder / backend
                code, _, err = self.finish(
                    self.start(
                        "--backend",
                        backend,
                        "--ranks",
                        2,
                        "--caps",
                        "0.01,25",
                        "--views",
                        "both",
                        "--torch",
                        "1.13",
                        "--all-reduce",
                        "4KiB,64KiB",
                        "-o",
                        out,
                        "--iterations",
                        3,
                    )
                )
                self.assertEqual(code, 0, err)
                measurement = json.loads((out / "measurement.json").read_text(encoding="utf-8"))
                self.assertEqual(
                    [one["name"] for one in measurement["configurations"]],
                    ["cap0.01", "cap0.01-views", "cap25", "cap25-views"],
                )
                self.assertEqual([row["size_bytes"] for row in measurement["all_reduces"]], [4096, 65536])
                for one in measurement["configurations"]:
                    self.assertEqual(sum(bucket["bytes"] for bucket in one["buckets"]), 40_000)
                    self.assertGreaterEqual(one["iteration_us"]["median"], 3000)
                    self.assertEqual(len(one["iterations_us"]), 3)
                    timeline = json.loads((out / one["timeline"]).read_text(encoding="utf-8"))
                    self.assertEqual([rank["rank"] for rank in timeline["ranks"]], [0, 1])
                    self.assertEqual(timeline["provenance"]["configuration"], one["name"])
                self.assertIn("cap25-views", (out / "measurement.csv").read_text(encoding="utf-8"))

    def test_modes_of_ddp_launch_the_same_as_pytorchs_reducer(self):
        """Also checks averages. p0 has no gradient on rank 1, and p2 has none on any rank."""
        job = workload()
        whole = job["backward"]["ready"]
        job["backward"]["ready"] = [event for event in whole if event["parameter"] != 2]
        job["recorded_with"] = {"accumulate": 2, "world_size": 2}
        rest = {key: job[key] for key in ("forward", "backward", "recorded_with")}
        without_p0 = {"duration_us": 2000, "ready": [event for event in whole if event["parameter"] not in (0, 2)]}
        job["ranks"] = [{"rank": 0, **rest}, {"rank": 1, **rest, "backward": without_p0}]
        self.workload.write_text(json.dumps(job), encoding="utf-8")
        for mode, micro_batches in (
            (["--find-unused-parameters"], 2),
            (["--static-graph", "--accumulate", "1"], 1),
            (["--static-graph"], 2),
        ):
            launched = {}
            for backend in [name for name in ("cpu-gloo", "c10d-gloo") if name in BACKENDS]:
                with self.subTest(mode=mode, backend=backend):
                    code, out, err = self.finish(
                        self.start(
                            "--backend",
                            backend,
                            "--ranks",
                            2,
                            "--caps",
                            "0.01,25",
                            "--torch",
                            "1.13",
                            *mode,
                            "--iterations",
                            2,
                            "--warmup",
                            2,
                            "--json",
                            "-o",
                            backend,
                        )
                    )
                    self.assertEqual(code, 0, err)
                    measured = json.loads(out)
                    launched[backend] = [
                        [bucket["bytes"] for bucket in one["buckets"]] for one in measured["configurations"]
                    ]
                    self.assertEqual(measured["setup"].get("accumulate"), "2" if micro_batches == 2 else None)
                    for one in measured["configurations"]:
                        timeline = json.loads((self.folder / backend / one["timeline"]).read_text(encoding="utf-8"))
                        names = [span["name"] for span in timeline["ranks"][0]["spans"]]
                        self.assertEqual(names.count("forward"), micro_batches)
                        self.assertEqual(names.count("local-used map"), int("--find-unused-parameters" in mode))
            self.assertEqual(len({str(sizes) for sizes in launched.values()}), 1, launched)

    def test_the_table_states_the_job_units_and_written_files(self):
        code, out, err = self.finish(self.start("--ranks", 2, "--iterations", 1, "--all-reduce", "4KiB", "-o", "out"))
        self.assertEqual(code, 0, err)
        lines = out.splitlines()
        self.assertEqual(lines[0], "2 ranks, cpu-gloo")
        self.assertIn("exposed ms", lines[1])
        self.assertIn("algbw GB/s", lines[3])
        self.assertEqual(lines[5], "Wrote measurement.json, measurement.csv, all_reduce.txt, 1 timelines to out")

    def test_separately_started_ranks_meet(self):
        port = held_port(self.addCleanup)
        ranks = [self.rank(rank, 3, port, "--iterations", 2, "--json") for rank in (2, 1, 0)]
        outcomes = [self.finish(process) for process in ranks]
        self.assertEqual([code for code, _, _ in outcomes], [0, 0, 0], outcomes)
        self.assertEqual(json.loads(outcomes[2][1])["ranks"], 3)
        self.assertEqual(outcomes[0][1], "")

    def test_a_killed_rank_ends_the_others(self):
        process = self.in_its_steps("--ranks", 3, "--timeout", NEVER)
        children = self.all_children(process, 3)
        os.kill(children[1], signal.SIGKILL)
        code, _, err = self.finish(process)
        self.assertEqual(code, 1, err)
        self.assertIn("rank 1 was ended by signal 9", err)
        self.assertLessEqual(len(err.strip().splitlines()), 3, err)
        self.assertGone(children)

    def test_a_stopped_rank_is_named_and_ended(self):
        for stopped in (0, 1):
            process = self.in_its_steps("--ranks", 2, "--timeout", SOON, out=f"out-{stopped}")
            children = self.all_children(process, 2)
            os.kill(children[stopped], signal.SIGSTOP)
            code, _, err = self.finish(process)
            self.assertEqual(code, 1, err)
            self.assertRegex(
                err, f"^ddpsim-real: rank {1 - stopped}: .*; rank {stopped} was stopped by signal 19 .*\n$"
            )
            self.assertGone(children)

    def test_a_store_that_was_killed_is_named(self):
        self.slow()
        port = held_port(self.addCleanup)
        ranks = [self.rank(rank, 2, port, *MINUTES, "-o", "out") for rank in (0, 1)]
        (store,) = self.all_children(ranks[0], 1)
        self.until_measured("out", ranks[0])
        os.kill(store, signal.SIGKILL)
        ends = [self.finish(process) for process in ranks]
        for rank, (why, (code, _, err)) in enumerate(
            zip(("was ended by signal 9 (Killed)", "is gone: it was killed, or rank 0's host is gone"), ends)
        ):
            gone = f"ddpsim-real: rank {rank}: the store, a separate process on rank 0's host, {why}\n"
            self.assertEqual((code, err), (1, gone))

    def test_one_process_holds_several_ranks(self):
        for ranks, each in ((2, 2), (4, 2)):
            out = self.folder / f"{ranks}-{each}"
            process = self.start(
                "--ranks",
                ranks,
                "--ranks-per-process",
                each,
                "--iterations",
                3,
                "--comm-hook",
                "fp16",
                "--all-reduce",
                "4KiB",
                "-o",
                out,
            )
            code, _, err = self.finish(process)
            self.assertEqual(code, 0, err)
            measurement = json.loads((out / "measurement.json").read_text(encoding="utf-8"))
            self.assertEqual(measurement["ranks"], ranks)
            self.assertEqual(measurement["setup"]["ranks_per_process"], str(each))
            self.assertEqual(measurement["setup"]["comm_hook"], "fp16_compress_hook")
            self.assertEqual(measurement["all_reduces"][0]["dtype"], "float16")
            self.assertGreater(measurement["all_reduces"][0]["compress_us"]["median"], 0)
            self.assertEqual(sum(one["bytes"] for one in measurement["configurations"][0]["buckets"]), 40_000)

    def test_a_killed_process_of_several_ranks_ends_the_others(self):
        process = self.in_its_steps("--ranks", 4, "--ranks-per-process", 2, "--timeout", NEVER)
        children = self.all_children(process, 2)
        os.kill(children[1], signal.SIGKILL)
        code, _, err = self.finish(process)
        self.assertEqual(code, 1, err)
        self.assertIn("ranks 2 to 3 were ended by signal 9", err)
        self.assertLessEqual(len(err.strip().splitlines()), 2, err)
        self.assertGone(children)

    def test_several_ranks_of_a_process_fail_with_one_message(self):
        code, _, err = self.finish(
            self.rank(0, 2, held_port(self.addCleanup), "--timeout", SOON, "--ranks-per-process", 3)
        )
        self.assertEqual((code, err), (1, f"ddpsim-real: after {SOON} s 3 of 6 ranks were there; missing: 3, 4, 5\n"))

    def test_a_rank_that_never_arrives_is_named(self):
        code, _, err = self.finish(self.rank(0, 2, held_port(self.addCleanup), "--timeout", SOON))
        self.assertEqual((code, err), (1, f"ddpsim-real: after {SOON} s 1 of 2 ranks were there; missing: 1\n"))

    def test_no_server_at_rank_zeros_address(self):
        code, _, err = self.finish(self.rank(1, 2, held_port(self.addCleanup), "--timeout", 1))
        self.assertEqual(code, 1)
        self.assertIn("could not be reached at 127.0.0.1", err)

    def test_another_world_size_or_another_sweep_ends_both_with_one_reason(self):
        for ranks, arguments, reason in (
            (3, [], "rank 1 was told of 3 ranks"),
            (2, ["--iterations", 4], "another workload or other options"),
            (2, ["--first-bucket-mb", 0.01], "another workload or other options"),
            (2, ["--no-broadcast-buffers"], "another workload or other options"),
        ):
            port = held_port(self.addCleanup)
            zero = self.rank(0, 2, port, "--timeout", NEVER)
            one = self.rank(1, ranks, port, "--timeout", NEVER, *arguments)
            self.assertEqual(self.said_by_ranks_that_fail(one, zero).count(reason), 1)

    def test_another_version_of_the_program_ends_both_with_one_reason(self):
        version = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        other = self.folder / "other-version"
        renamed = version[:-1] + ("1" if version[-1] != "1" else "2")
        other.write_bytes(pathlib.Path(BINARY).read_bytes().replace(version.encode() + b"\0", renamed.encode() + b"\0"))
        other.chmod(0o755)
        port = held_port(self.addCleanup)
        processes = [
            self.rank(0, 2, port, "--timeout", NEVER),
            self.rank(1, 2, port, "--timeout", NEVER, binary=str(other)),
        ]
        said = self.said_by_ranks_that_fail(*processes)
        self.assertIn("start the same program everywhere", said)
        self.assertIn(renamed, said)

    def said_by_ranks_that_fail(self, *processes):
        """The single line that all failing ranks print."""
        said = ""
        for process in processes:
            code, _, err = self.finish(process)
            self.assertEqual(code, 1, err)
            said += err
        self.assertEqual(len(said.splitlines()), 1, said)
        return said

    def test_a_full_disk_ends_all_and_leaves_no_half_file(self):
        def small_files_only():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        out = self.folder / "out"
        code, _, err = self.finish(self.start("--ranks", 2, "--iterations", 2, "-o", out, preexec_fn=small_files_only))
        self.assertEqual(code, 1, err)
        self.assertIn("cannot be written", err)
        self.assertEqual(list(out.iterdir()), [])

    def test_an_interrupt_leaves_finished_configurations(self):
        process = self.in_its_steps("--ranks", 2)
        children = self.children_of(process)
        process.send_signal(signal.SIGINT)
        code, _, err = self.finish(process)
        self.assertEqual(code, 130, err)
        measurement = json.loads((self.folder / "out/measurement.json").read_text(encoding="utf-8"))
        names = [one["name"] for one in measurement["configurations"]]
        self.assertEqual(names, [f"cap{cap}" for cap in CAPS[: len(names)]])
        self.assertLess(len(names), len(CAPS))
        for name in names:
            self.assertTrue((self.folder / f"out/{name}.timeline.json").exists())
        self.assertGone(children)

    def test_the_parent_killed_leaves_no_orphans(self):
        self.slow()
        process = self.start("--ranks", 2, "--iterations", 1000)
        children = self.all_children(process, 2)
        process.kill()
        process.wait()
        patience.until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in children))

    def test_a_full_standard_output_is_reported(self):
        for arguments in (["--csv"], ["--json"], []):
            with open("/dev/full", "w", encoding="utf-8") as full:
                run = subprocess.run(
                    [BINARY, str(self.workload), "--ranks", "1", "--iterations", "1", *arguments],
                    stdout=full,
                    stderr=subprocess.PIPE,
                    text=True,
                    check=False,
                    env=environment(),
                    timeout=patience.seconds(60),
                )
            self.assertEqual((run.returncode, run.stderr), (1, "ddpsim-real: cannot write to standard output\n"))

    def test_ranks_meet_with_a_token_and_a_wrong_one_is_reported(self):
        def rank(number, token, port):
            return self.start(
                "--iterations",
                1,
                "--timeout",
                SOON,
                variables={
                    "RANK": number,
                    "WORLD_SIZE": 2,
                    "MASTER_ADDR": "localhost",
                    "MASTER_PORT": port,
                    "DDPSIM_JOB_TOKEN": token,
                },
            )

        port = held_port(self.addCleanup)
        for process in [rank(number, "the same", port) for number in (0, 1)]:
            code, _, err = self.finish(process)
            self.assertEqual((code, err), (0, ""))
        port = held_port(self.addCleanup)
        zero, one = rank(0, "the same", port), rank(1, "another", port)
        code, _, err = self.finish(one)
        self.assertEqual(
            (code, err),
            (1, "ddpsim-real: rank 1: rank 0 belongs to another job: give every rank the same DDPSIM_JOB_TOKEN\n"),
        )
        code, _, err = self.finish(zero)
        self.assertEqual(
            (code, err),
            (
                1,
                f"ddpsim-real: after {SOON} s 1 of 2 ranks were there; missing: 1; 1 came with "
                "another DDPSIM_JOB_TOKEN\n",
            ),
        )

    def test_a_wrong_address_of_rank_zero_is_reported(self):
        code, _, err = self.finish(self.start(variables={"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "192.0.2.7"}))
        self.assertEqual(
            (code, err),
            (
                1,
                "ddpsim-real: MASTER_ADDR=192.0.2.7 (192.0.2.7) is not an address of this host, "
                "where rank 0 runs: set it to an address of rank 0's host\n",
            ),
        )

    def test_the_measurement_names_its_clock(self):
        code, out, err = self.finish(self.start("--ranks", 2, "--iterations", 1, "--json"))
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["setup"]["clock"], "one host's")

    def test_contradictory_environments(self):
        for variables, reason in (
            ({"RANK": 0}, "RANK is set without WORLD_SIZE"),
            ({"RANK": 2, "WORLD_SIZE": 2}, "RANK=2 does not fit WORLD_SIZE=2"),
            ({"RANK": "one", "WORLD_SIZE": 2}, "RANK=one is not a number"),
            ({"RANK": 0, "WORLD_SIZE": 1, "MASTER_PORT": 70000}, "is not a port number"),
            ({"RANK": 0, "WORLD_SIZE": 2**31 - 1}, "more than the 65536 ranks"),
            ({"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 2**31 - 1}, "LOCAL_RANK=2147483647 is out of range"),
            ({"RANK": 0, "WORLD_SIZE": 1, "DDPSIM_JOB_TOKEN": 129 * "x"}, "the most it may have is 128"),
        ):
            code, _, err = self.finish(self.start(variables=variables))
            self.assertEqual(code, 1)
            self.assertIn(reason, err)
        code, _, err = self.finish(self.start("--ranks-per-process", 1024, variables={"RANK": 0, "WORLD_SIZE": 4096}))
        self.assertEqual((code, len(err.splitlines())), (1, 1), err)
        self.assertIn("4096 processes of 1024 ranks each are more than the 65536 ranks", err)

    def test_an_unreachable_rank_0_is_reported_once(self):
        """Linux allows a program to listen at a broadcast address, but not to connect to it."""
        code, _, err = self.finish(
            self.start(
                "--timeout",
                1,
                variables={
                    "RANK": 0,
                    "WORLD_SIZE": 1,
                    "MASTER_ADDR": "255.255.255.255",
                    "MASTER_PORT": held_port(self.addCleanup),
                },
            )
        )
        self.assertEqual((code, len(err.splitlines())), (1, 1), err)
        self.assertIn("255.255.255.255", err)

    def test_a_workload_too_large_for_any_machine_is_reported(self):
        huge = workload()
        huge["parameters"][1]["shape"] = [10**17]
        self.workload.write_text(json.dumps(huge), encoding="utf-8")
        for arguments in (["--ranks", 2], ["--ranks-per-process", 2]):
            code, _, err = self.finish(self.start(*arguments, "--iterations", 1))
            self.assertEqual((code, len(err.splitlines())), (1, 1), err)
            self.assertIn("memory ran out", err)

    def test_only_regular_files_are_replaced_in_the_folder_of_results(self):
        secret = self.folder / "secret"
        secret.write_text("kept", encoding="utf-8")
        plants = (
            lambda place: place.symlink_to(secret),
            lambda place: place.symlink_to(self.folder / "absent"),
            lambda place: place.symlink_to("/dev/null"),
            os.mkfifo,
            pathlib.Path.mkdir,
        )
        for name in ("measurement.json", "measurement.csv", "all_reduce.txt", "default.timeline.json"):
            for number, plant in enumerate(plants):
                with self.subTest(name=name, plant=number):
                    out = self.folder / f"{name}-{number}"
                    out.mkdir()
                    plant(out / name)
                    code, _, err = self.finish(self.start("--ranks", 1, "--iterations", 1, "-o", out))
                    self.assertEqual((code, len(err.splitlines())), (1, 1), err)
                    self.assertIn(f"{name}: cannot be written: a", err)
                    self.assertEqual(os.listdir(out), [name])
        self.assertEqual(secret.read_text(encoding="utf-8"), "kept")
        self.assertFalse((self.folder / "absent").exists())

    def test_a_link_created_during_the_job_is_not_followed(self):
        process = self.in_its_steps("--ranks", 2)
        for cap in CAPS:
            with contextlib.suppress(FileExistsError):  # points measured so far
                (self.folder / f"out/cap{cap}.timeline.json").symlink_to(self.folder / "absent")
        code, _, err = self.finish(process)
        self.assertEqual((code, len(err.splitlines())), (1, 1), err)
        self.assertIn("a symbolic link is in its place", err)
        self.assertFalse((self.folder / "absent").exists())

    def test_an_impossible_folder_of_results_is_reported_in_one_sentence(self):
        (self.folder / "file").write_text("kept", encoding="utf-8")
        (self.folder / "dangling").symlink_to("nothing")
        (self.folder / "loop").symlink_to("loop")
        for place, expected, reason in (
            ("dangling", 2, "leads to no folder"),
            ("loop", 2, "leads to no folder"),
            ("file/below", 1, "Not a directory"),
            (256 * "n", 1, "File name too long"),
        ):
            code, _, err = self.finish(self.start("--ranks", 1, "--iterations", 1, "-o", place))
            self.assertEqual((code, len(err.splitlines())), (expected, 1), err)
            self.assertIn(reason, err)
            self.assertNotIn("filesystem error", err)
        self.assertFalse((self.folder / "nothing").exists())

    @unittest.skipIf(os.geteuid() == 0, "root may write into every folder")
    def test_a_folder_of_another_user_is_reported_before_measuring(self):
        code, _, err = self.finish(self.start("--ranks", 1, "--iterations", 100_000, "-o", "/"))
        self.assertEqual((code, len(err.splitlines())), (1, 1), err)
        self.assertIn("cannot write into the folder /", err)


class Usage(unittest.TestCase):
    def run_real(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
            timeout=patience.seconds(60),
        )

    def test_impossible_options_are_refused(self):
        for arguments, code, reason in (
            ([], 2, "workload is required"),
            (["nothing.json"], 3 if "cpu-gloo" in BACKENDS else 1, ""),
            (["resnet50-v100-b32", "--backend", "mpi"], 2, "is not one of cpu-gloo, c10d-gloo"),
            (["resnet50-v100-b32", "--rank", "2"], 2, 'Did you mean "--ranks"?'),
            (["resnet50-v100-b32", "--caps", "x"], 2 if "cpu-gloo" in BACKENDS else 1, ""),
        ):
            run = self.run_real(*arguments)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(reason, run.stderr)

    def test_help_on_a_full_device_is_reported(self):
        for argument in ("--help", "--version"):
            with open("/dev/full", "w", encoding="utf-8") as full:
                run = subprocess.run(
                    [BINARY, argument],
                    stdout=full,
                    stderr=subprocess.PIPE,
                    text=True,
                    check=False,
                    timeout=patience.seconds(60),
                )
            self.assertEqual((run.returncode, run.stderr), (1, "ddpsim-real: cannot write to standard output\n"))

    def test_invalid_jobs_are_refused_once_and_leave_no_files(self):
        if "cpu-gloo" not in BACKENDS:
            self.skipTest("this build has no gloo (Debian: libgloo-dev)")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            file = pathlib.Path(folder) / "file"
            file.write_text("kept", encoding="utf-8")
            for arguments, reason in (
                (["--caps", "1,1.0"], "--caps: 1 is given twice"),
                (["--all-reduce", "4KiB,4096B"], "--all-reduce: 4096B is given twice"),
                (["--caps", "1", "--bucket-cap-mb", "2"], "--caps excludes --bucket-cap-mb"),
                (["--json", "--csv"], "--json excludes --csv"),
                (["--process-groups", "2", "--torch", "1.13"], "several process groups"),
                (["--static-graph", "--torch", "1.8"], "PyTorch 1.8 has no static_graph"),
                (["--warmup", "x"], "--warmup"),
                (["--ranks-per-process", "4"], "2 ranks are no multiple of 4"),
                (["--comm-hook", "powersgd"], "ddpsim-real runs none, fp16 and bf16"),
                (["--comm-hook", "fp32"], "not one of none, fp16, bf16, powersgd"),
                (["--comm-hook", "fp16", "--all-reduce", "5B"], "5B is no whole number of elements of 2 bytes"),
                (["--comm-hook", "fp16", "--torch", "1.7"], "PyTorch 1.7 has no fp16_compress_hook"),
                *(
                    [
                        (["--backend", "c10d-gloo", "--no-broadcast-buffers", "--busy"], "--busy: "),
                        (
                            ["--backend", "c10d-gloo", "--no-broadcast-buffers", "--ranks-per-process", "2"],
                            "a process per rank",
                        ),
                        (
                            ["--backend", "c10d-gloo", "--no-broadcast-buffers", "--comm-hook", "bf16"],
                            "does not support bfloat16",
                        ),
                    ]
                    if "c10d-gloo" in BACKENDS
                    else []
                ),
                (["-o", str(file)], "is a file. Name a folder"),
            ):
                if "-o" not in arguments:
                    arguments = [*arguments, "-o", str(out)]
                run = self.run_real("resnet50-v100-b32", "--ranks", "2", "--iterations", "1", *arguments)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)
                self.assertTrue(run.stderr.startswith("ddpsim-real: "), run.stderr)
                self.assertIn(reason, run.stderr)
                self.assertFalse(out.exists(), arguments)
            self.assertEqual(file.read_text(encoding="utf-8"), "kept")

    def test_without_a_gpu_there_is_one_message(self):
        if pathlib.Path("/dev/nvidia0").exists():
            self.skipTest("there is a GPU here")
        with tempfile.TemporaryDirectory() as folder:
            run = self.run_real("resnet50-v100-b32", "--backend", "cuda-nccl", "--ranks", "2", "-o", f"{folder}/out")
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(run.returncode, 1)
        self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)
        self.assertIn("no GPU" if "cuda-nccl" in BACKENDS else "is not in this build", run.stderr)


class Outputs(unittest.TestCase):
    """Jobs that are refused before any rank starts. They need no backend, except for its name."""

    def test_a_workload_at_the_path_of_an_output_is_refused_and_kept(self):
        backend = (BACKENDS or ["cpu-gloo"])[0]
        if backend not in BACKENDS:
            self.skipTest("this build has no backend")
        for name in ("measurement.json", "default.timeline.json"):
            with tempfile.TemporaryDirectory() as folder:
                place = pathlib.Path(folder, name)
                place.write_text(json.dumps(workload()), encoding="utf-8")
                link = pathlib.Path(folder, "w.json")
                link.symlink_to(name)
                run = subprocess.run(
                    [BINARY, link, "--backend", backend, "--ranks", "1", "-o", folder],
                    capture_output=True,
                    text=True,
                    env=environment(),
                    check=False,
                    timeout=patience.seconds(60),
                )
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(f"{name}: this is the input", run.stderr)
                self.assertEqual(place.read_text(encoding="utf-8"), json.dumps(workload()))

    def test_control_characters_of_a_workload_do_not_reach_the_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, "w.json")
            place.write_text(json.dumps({"schema": "x\x1b[31m\u202e\x9b", "parameters\0": []}), encoding="utf-8")
            run = subprocess.run(
                [BINARY, place, "--backend", "x\x1b[31m\u202e", "--ranks", "1"],
                capture_output=True,
                env=environment(),
                check=False,
                timeout=patience.seconds(60),
            )
            for text in (run.stdout, run.stderr):
                self.assertNotRegex(text.decode(), "[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]")


if __name__ == "__main__":
    sys.exit(unittest.main())
