"""Inputs that would take minutes or all of the memory are refused. The message names the limit and the given value."""

import pathlib
import resource
import subprocess
import tempfile
import unittest

import patience
from command import BINARY, SANITIZED, SHARED, ddpsim, write_json

ATTACK = SHARED / "data" / "attack"
LONG_RUN = ("simulate", "resnet50-v100-b32", "dgx1v@2", "--nnodes", "1:2")


def workload_of(parameters):
    """A workload with gradients of 4 KiB, each ready 2 us after the previous one."""
    return {
        "schema": "ddpsim.workload/1",
        "name": "many",
        "gpu": "V100",
        "precision": "fp32",
        "batch_per_gpu": 32,
        "torch": "2.4",
        "parameters": [{"name": f"p{k}", "shape": [1024], "dtype": "float32"} for k in range(parameters)],
        "forward": {"duration_us": parameters},
        "backward": {
            "duration_us": 2 * parameters + 10,
            "ready": [{"parameter": parameters - 1 - k, "at_us": 2 * k} for k in range(parameters)],
        },
        "optimizer": {"duration_us": 600},
    }


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        write_json(cls.folder / "many.json", workload_of(50_001))
        write_json(cls.folder / "more.json", workload_of(100_001))

    def refused(self, message, *words, code=3):
        outcome = ddpsim(*words, cwd=self.folder)
        self.assertEqual((code, ""), (outcome.code, outcome.out), outcome.err)
        self.assertIn(message, outcome.err)

    def test_buckets(self):
        self.refused(
            "more.json: a step has 100001 buckets, and the limit is 100000; raise --bucket-cap-mb",
            "simulate",
            "more.json",
            "dgx1v",
            "--bucket-cap-mb",
            0.001,
            "--first-bucket-mb",
            0.001,
        )

    def test_gradients_of_micro_batches(self):
        self.refused(
            "a step computes 50001 parameters x 1000 micro-batches = 50001000 gradients, and the limit is 10000000",
            "simulate",
            "many.json",
            "dgx1v",
            "--accumulate",
            1000,
        )

    def test_gradients_of_jittered_ranks(self):
        self.refused(
            "a step computes 50001 parameters x 1 micro-batches x 4096 ranks (--jitter) = 204804096 gradients, and the limit is",
            "simulate",
            "many.json",
            "dgx1v@512",
            "--jitter",
            "2%",
            "--iterations",
            2,
        )

    def test_parameters_of_a_search_over_caps(self):
        for command in ("tune", "advise", "compare"):
            self.refused(
                "many.json:/parameters: has 50001 parameters, but a search over bucket caps is limited to 50000",
                command,
                "many.json",
                "dgx1v",
            )

    def test_jobs_and_nodes_of_background_traffic(self):
        job = {"nodes": [0, 1], "all_reduce": "1GiB"}
        for jobs, message in (
            ([job] * 11, "b.json:/jobs: has 11 jobs, and the limit is 10"),
            (
                [{**job, "nodes": list(range(257))}],
                "b.json:/jobs: has 257 nodes in all jobs together, and the limit is 256",
            ),
        ):
            write_json(self.folder / "b.json", {"schema": "ddpsim.background/1", "jobs": jobs})
            self.refused(
                message, "simulate", "resnet50-v100-b32", "dgx1v@2", "--network", "flow", "--background", "b.json"
            )

    def test_failures_of_long_runs(self):
        self.refused(
            "failures, and the limit is 3000000; lower length or seeds",
            *LONG_RUN,
            "--mtbf",
            "10s",
            "--elastic",
            "length=365d",
            code=2,
        )
        self.refused(
            "failures, and the limit is 3000000; lower length or seeds",
            *LONG_RUN,
            "--mtbf",
            "1000h",
            "--elastic",
            "seeds=10000,length=20y",
            code=2,
        )
        self.refused(
            "(join_timeout and resubmit). A run could have",
            *LONG_RUN,
            "--mtbf",
            "1000h",
            "--elastic",
            "join_timeout=2ms,last_call_timeout=1ms,resubmit=0s",
            code=2,
        )

    def test_times_too_small_or_too_long_to_be_simulated(self):
        self.refused("--mtbf 1e-11s: expected 1s or more", *LONG_RUN, "--mtbf", "1e-11s", "--checkpoint", "1s", code=2)
        self.refused(
            "--checkpoint, --restart: with --nnodes, at most 10 years",
            *LONG_RUN,
            "--mtbf",
            "1000h",
            "--checkpoint",
            "1e6h",
            code=2,
        )
        self.refused(
            "keep_alive_interval x keep_alive_max_attempt is longer than 10 years",
            *LONG_RUN,
            "--mtbf",
            "1000h",
            "--elastic",
            "keep_alive_interval=3650d,keep_alive_max_attempt=1000000",
            code=2,
        )
        for key in (
            "join_timeout",
            "last_call_timeout",
            "keep_alive_interval",
            "read_timeout",
            "length",
            "checkpoint_interval",
        ):
            self.refused(
                f"--elastic: {key}: expected a time from 1ms",
                *LONG_RUN,
                "--mtbf",
                "1000h",
                "--elastic",
                f"{key}=1e-9s",
                code=2,
            )

    def test_extreme_times_that_are_allowed_have_an_answer(self):
        for words in (
            ("--mtbf", "1s", "--checkpoint", "1e-9s"),
            ("--mtbf", "1e6h", "--checkpoint", "87000h"),
            ("--mtbf", "1s", "--restart", "1e-9s"),
            ("--mtbf", "1e6h", "--elastic", "repair=3652d,stop=3652d,start=3652d,load=3652d"),
            ("--mtbf", "1000h", "--elastic", "length=1ms,checkpoint_interval=36525d"),
        ):
            with self.subTest(words=words):
                outcome = ddpsim(*LONG_RUN, *words, "--json")
                self.assertEqual(0, outcome.code, outcome.err)

    @unittest.skipUnless(ATTACK.is_dir(), "the files of the attack lie in ../shared")
    def test_inputs_that_took_minutes_or_crashed_in_earlier_versions(self):
        small = ATTACK / "workload_small.json"
        for jobs in (50, 1000):
            self.refused(
                f"has {jobs} jobs, and the limit is 10",
                "simulate",
                small,
                "dgx1v@2",
                "--network",
                "flow",
                "--background",
                ATTACK / f"background_{jobs}_jobs.json",
            )
        self.refused(
            "--mtbf 1e-11s: expected 1s or more",
            "simulate",
            small,
            "dgx1v@8",
            "--nnodes",
            "1:8",
            "--mtbf",
            "1e-11s",
            "--checkpoint",
            "1s",
            code=2,
        )

    @unittest.skipIf(SANITIZED, "the sanitizer takes memory of its own")
    def test_running_out_of_memory_is_reported_in_plain_words(self):
        def little_memory():
            resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

        process = subprocess.run(
            [BINARY, "simulate", "more.json", "dgx1v@12", "--jitter", "2%", "--iterations", "2"],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            preexec_fn=little_memory,
            timeout=patience.seconds(300),
        )
        self.assertEqual(1, process.returncode, process.stderr)
        self.assertIn("ddpsim: memory ran out. Ask for less at once", process.stderr)
        self.assertNotIn("bad_alloc", process.stderr)


if __name__ == "__main__":
    unittest.main()
