"""`ddpsim diff` on recordings with deliberate changes (made by tests/lab/diff.py), and on incomparable inputs."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import test_ci_example
from command import BINARY, ROOT, ddpsim

LAB = ROOT / "tests" / "golden" / "inputs" / "lab"
INPUTS = LAB.parent


def diff(before, after, *options):
    return ddpsim("diff", str(before), str(after), "--json", *options)


class Changes(unittest.TestCase):
    """The change comes first, its row is within 10 % of it, and less than 10 % of the difference is unexplained."""

    def check(self, name, cause, row=None, us=None, base="base"):
        answer = diff(LAB / base, LAB / name).json()
        rows = {one["cause"]: one["us"] for one in answer["rows"]}
        self.assertAlmostEqual(sum(rows.values()), answer["after"]["step_us"] - answer["before"]["step_us"], places=5)
        self.assertEqual(answer["causes"][0]["class"], cause)
        self.assertLess(abs(rows.get("unexplained", 0)), 0.1 * abs(answer["change_us"]))
        if row is not None:
            self.assertLess(abs(rows[row] - us), 0.1 * us, rows)
        return answer

    def test_slower_link(self):
        self.check(
            "slower-link",
            "network_slower",
            "all_reduce_transfer",
            16 * 2**20 * 8 / (1448 / 1514) * (1 / 500 - 1 / 1000),
        )

    def test_slow_rank(self):
        answer = self.check("slow-rank", "slow_rank", "slowest_gpu", 15000)
        waits = next(row for row in answer["rows"] if row["cause"] == "slowest_gpu")
        self.assertEqual(waits["rank"], 1)
        late = answer["late_ranks"]
        self.assertEqual((late["pattern"], late["late"]), ("one_rank", [1]))
        self.assertEqual((late["ranks"][1]["longer_in"], late["ranks"][1]["phase"]), ("kernels", "backward"))

    def test_a_rank_whose_input_is_late(self):
        """Rank 1 sleeps 400 ms before each forward. The last sentence names the part that is late."""
        late_us = 400_000
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(2):
                step = json.loads((LAB / "base" / f"step-rank{rank}.json").read_text())
                step["iteration"]["duration_us"] += late_us
                for one in step["steps"]:
                    if "iteration_us" in one:
                        one["iteration_us"] += late_us
                if rank == 1:
                    for key in ("median_us", "p90_us", "mean_us"):
                        step["data_loading"][key] += late_us
                else:
                    recorded = step["recorded_with"]
                    recorded["exposed_us"] += late_us
                    for all_reduces in (
                        recorded["collectives"],
                        *(one["collectives"] for one in step["steps"] if "collectives" in one),
                    ):
                        for one in all_reduces:
                            one["duration_us"] += late_us
                pathlib.Path(folder, f"step-rank{rank}.json").write_text(json.dumps(step))
            answer = diff(LAB / "base", folder).json()
            text = " ".join(ddpsim("diff", str(LAB / "base"), folder).out.split())
        self.assertEqual(answer["late_ranks"]["ranks"][1]["longer_in"], "input")
        self.assertIn(
            "Who is late: rank 1, in nearly every step: look at its input: its data, its loader or its host.", text
        )
        self.assertNotIn("not at the data", text)
        causes = {cause["class"]: cause["decide_by"] for cause in answer["causes"]}
        self.assertIn("swap the batches of the late rank and another rank", causes["slow_rank"])
        self.assertIn("one batch over and over", causes["data_loading"])

    def test_sleeping_loader(self):
        self.check("sleeping-loader", "data_loading", "input", 30000)

    def test_buffers(self):
        answer = self.check("buffers", "buffers_broadcast", "slowest_gpu", 2_000_000 * 4 * 8 / (1448 / 1514) / 1000)
        self.assertEqual(answer["late_ranks"]["ranks"][1]["longer_in"], "buffer_broadcast")
        self.assertIn(
            "the cause is buffer broadcast, not its own speed",
            " ".join(ddpsim("diff", str(LAB / "base"), str(LAB / "buffers"), "--verbose").out.split()),
        )

    def test_tiny_buckets(self):
        answer = diff(LAB / "many", LAB / "tiny-buckets").json()
        self.assertGreater(answer["change_us"], answer["noise_us"])
        self.assertEqual(answer["causes"][0]["class"], "bucket_sizes")

    def test_a_core_that_something_else_uses(self):
        answer = self.check("slow-core", "slow_rank", "slowest_gpu", 60138, base="cores")
        self.assertEqual(answer["late_ranks"]["late"], [1])
        second = answer["causes"][1]
        self.assertEqual(second["class"], "host_threads")
        self.assertIn("the training thread of rank 1 waited for a core", " ".join(second["evidence"]))

    def test_threads_that_share_a_core(self):
        self.check("host-threads", "host_threads", base="cores")

    def test_overhead_of_the_host_is_a_candidate_where_the_model_runs_on_it(self):
        answer = self.check("host-overhead", "kernels_changed", "kernels", 16449, base="cores")
        candidates = [cause["class"] for cause in answer["causes"]]
        self.assertIn("host_overhead", candidates[:3])
        self.assertIn(
            "between them", next(one for one in answer["causes"] if one["class"] == "host_overhead")["decide_by"]
        )

    def test_sync_batchnorm(self):
        self.check("sync-batchnorm", "sync_batchnorm", base="norms")

    def test_a_hook_that_blocks(self):
        self.check("blocking-hook", "comm_hook", "copies", 16 * 2**20 * 8 / (1448 / 1514) / 1000, base="hookless")

    def test_no_sync_around_backward_alone(self):
        answer = self.check("no_sync-around-backward", "no_sync_misplaced", base="accumulated")
        rows = {one["cause"]: one for one in answer["rows"]}
        transfer = rows["all_reduce_transfer"]
        # Three more all-reduces of all gradients. Backward hides as much of each as of the last one.
        self.assertLess(abs(transfer["us"] - 3 * transfer["before_us"]), 0.1 * 3 * transfer["before_us"])
        self.assertEqual(transfer["bound"], "upper")
        self.assertAlmostEqual(answer["before"]["samples_per_s_per_gpu"], 4e6 / answer["before"]["step_us"], places=3)

    def test_two_runs_of_the_same_job_differ_only_by_noise(self):
        answer = diff(LAB / "base", LAB / "again").json()
        self.assertFalse(answer["beyond_noise"])
        self.assertEqual(answer["causes"], [])
        text = ddpsim("diff", str(LAB / "base"), str(LAB / "again")).out
        self.assertTrue(text.startswith("No difference larger than noise"), text)

    def test_one_rank_gives_bounds_that_contain_the_result_of_all_ranks(self):
        one = diff(LAB / "base" / "step-rank0.json", LAB / "slow-rank" / "step-rank0.json").json()
        rows = {row["cause"]: row for row in one["rows"]}
        self.assertEqual(rows["all_reduce_transfer"]["bound"], "upper")
        self.assertEqual(rows["slowest_gpu"]["bound"], "lower")
        for row in diff(LAB / "base", LAB / "slow-rank").json()["rows"]:
            if row["cause"] in ("all_reduce_transfer", "slowest_gpu"):
                self.assertLessEqual(rows[row["cause"]]["low_us"], row["us"])
                self.assertGreaterEqual(rows[row["cause"]]["high_us"], row["us"])
        self.assertIn("all ranks", one["causes"][0]["decide_by"])


class Sides(unittest.TestCase):
    def test_any_mixture_of_inputs_answers_what_it_can(self):
        answer = diff(LAB / "base", "200ms").json()
        self.assertEqual([row["cause"] for row in answer["rows"]], ["unexplained"])
        self.assertEqual(len(answer["missing"]), 1)
        self.assertEqual(answer["causes"][0]["class"], "unknown")

    def test_a_damaged_rank_is_never_dropped_silently(self):
        with tempfile.TemporaryDirectory() as place:
            traces = pathlib.Path(place, "traces")
            shutil.copytree(INPUTS / "log", traces)
            cut = sorted(traces.glob("*.pt.trace.json"))[1]
            cut.write_text("")
            refused = diff(traces, INPUTS / "log")
            self.assertEqual(refused.code, 3, refused.out)
            self.assertIn(f"{cut.name}: looks like an empty file", refused.err)
            recorded = pathlib.Path(place, "recorded")
            shutil.copytree(LAB / "base", recorded)
            damaged = max(recorded.iterdir())
            damaged.write_text(damaged.read_text()[:2000])
            warnings = diff(recorded, "200ms").json()["warnings"]
            self.assertTrue(any(f"{damaged.name} is not used" in warning for warning in warnings), warnings)
            empty = pathlib.Path(place, "empty")
            empty.mkdir()
            self.assertIn("is a folder without a file", diff(empty, "200ms").err)

    def test_a_log_with_a_step_time_names_the_cause(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "nccl.log")
            log.write_text("node0:12:12 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n")
            answer = diff("104ms", f"{log},150ms").json()
        self.assertEqual(answer["causes"][0]["class"], "peer_to_peer_off")
        self.assertEqual(answer["causes"][1]["class"], "unknown")

    def test_logs_without_times_are_compared_by_their_contents(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = pathlib.Path(folder, "old.log"), pathlib.Path(folder, "new.log")
            old.write_text(
                "node0:12:12 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n"
                "node0:12:12 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
            )
            new.write_text(
                "node0:12:12 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
                "node0:12:12 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
            )
            answer = diff(old, new).json()
            refused = ddpsim("diff", str(old), str(new), "--max-slowdown", "3")
        self.assertIsNone(answer["before"]["step_us"])
        self.assertEqual(answer["rows"], [])
        self.assertEqual(answer["causes"][0]["class"], "socket_instead_of_ib")
        self.assertEqual(refused.code, 3)
        self.assertIn("no times", refused.err)

    def test_two_sets_of_times_are_refused_and_a_time_of_another_job_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            times = pathlib.Path(folder, "times.txt")
            times.write_text("step_time_ms\n100\n101\n100\n102\n")
            done = ddpsim("diff", f"{times},{times}", "104ms")
        self.assertEqual(done.code, 3)
        self.assertIn("two sets of step times", done.err)
        answer = diff(LAB / "base", f"{LAB / 'again'},30ms").json()
        self.assertTrue(any("shorter than its recorded kernels" in warning for warning in answer["warnings"]))

    def test_words_after_a_log_belong_to_it(self):
        with tempfile.TemporaryDirectory() as folder:
            logs = [pathlib.Path(folder, f"{name}.txt") for name in ("old", "new")]
            for log, us, rate in zip(logs, (1000, 1500), ("1.05", "0.70")):
                log.write_text(f"  1048576  262144  float  sum  -1  {us}  {rate}  {rate}  0  {us}  {rate}  {rate}  0\n")
            done = ddpsim("diff", f"{logs[0]}@1x2,NCCL_ALGO=Ring", f"{logs[1]}@1x2,NCCL_ALGO=Ring", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertAlmostEqual(json.loads(done.out)["change_us"], 500)

    def test_options_in_ddp_logs_are_compared(self):
        log = {
            "world_size": 2,
            "rank": 0,
            "bucket_cap_bytes": 26214400,
            "bucket_sizes": "1000",
            "broadcast_buffers": 0,
            "find_unused_parameters": 0,
            "module_name": "ResNet",
            "backend_name": "nccl",
        }
        with tempfile.TemporaryDirectory() as folder:
            old, new = pathlib.Path(folder, "old.json"), pathlib.Path(folder, "new.json")
            old.write_text(json.dumps(log))
            new.write_text(json.dumps({**log, "broadcast_buffers": 1}))
            slower = diff(f"{old},104ms", f"{new},120ms").json()
            self.assertEqual(slower["causes"][0]["class"], "buffers_broadcast")
            relieved = diff(f"{new},104ms", f"{old},120ms").json()
            self.assertEqual(relieved["causes"][0]["class"], "unknown")
            self.assertEqual(diff(old, new).json()["causes"][0]["class"], "buffers_broadcast")  # without times

    def test_logs_are_compared_where_they_changed_most(self):
        def rows(times):
            return "".join(
                f"  {size}  {size // 4}  float  sum  -1  {us}  {size / us / 1000:.3f}  {size / us / 1000:.3f}  0  "
                f"{us}  {size / us / 1000:.3f}  {size / us / 1000:.3f}  0\n"
                for size, us in times
            )

        with tempfile.TemporaryDirectory() as folder:
            old, new = pathlib.Path(folder, "old.txt"), pathlib.Path(folder, "new.txt")
            old.write_text(rows([(1 << 20, 71.0), (1 << 30, 10000.0)]))
            new.write_text(rows([(1 << 20, 411.0), (1 << 30, 10010.0)]))
            done = ddpsim("diff", f"{old}@1x2", f"{new}@1x2", "--json", "--max-slowdown", "3%")
            self.assertEqual(done.code, 4)
            answer = json.loads(done.out)
            self.assertEqual(answer["after"]["all_reduce_bytes"], 1 << 20)
            self.assertTrue(any("1048576 bytes changed most" in warning for warning in answer["warnings"]))
            # Together with steps they show that the network is slower.
            causes = diff(f"{old}@1x2,104ms", f"{new}@1x2,160ms").json()["causes"]
        self.assertEqual(causes[0]["class"], "network_slower")
        self.assertIn("alone takes", causes[0]["evidence"][0])

    def test_inputs_without_facts_are_named_and_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            words, log = pathlib.Path(folder, "pip.txt"), pathlib.Path(folder, "train.log")
            words.write_text("Package    Version\ntorch      2.13.0\n")
            log.write_text(
                "{'loss': 3.2}\n"
                + "step_time=0.120 s\n" * 4
                + "[rank0]:node0:12:12 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n"
            )
            answer = diff("104ms", f"{words},120ms").json()
            self.assertTrue(any("pip.txt is not used" in warning for warning in answer["warnings"]))
            self.assertEqual(ddpsim("diff", "104ms", str(words)).code, 3)
            trained = diff("104ms", log).json()
        self.assertEqual(trained["causes"][0]["class"], "peer_to_peer_off")
        self.assertAlmostEqual(trained["after"]["step_us"], 120000)
        self.assertAlmostEqual(diff("4it/s", "2it/s").json()["change_us"], 250000)

    def test_samples_per_second_come_first(self):
        text = ddpsim("diff", "100ms", "110ms", "--batch", "32").out
        self.assertIn("320 samples/s per GPU", text)
        answer = diff("100ms", "110ms", "--batch", "32").json()
        self.assertAlmostEqual(answer["before"]["samples_per_s_per_gpu"], 320)

    def test_another_model_is_named(self):
        answer = diff(LAB / "base", LAB / "many").json()
        self.assertTrue(any("the models differ" in warning for warning in answer["warnings"]))

    def test_points_sum_to_the_change_of_efficiency(self):
        answer = diff(LAB / "base", LAB / "slower-link").json()
        self.assertAlmostEqual(
            sum(row["points"] for row in answer["rows"]),
            answer["after"]["efficiency_percent"] - answer["before"]["efficiency_percent"],
            places=4,
        )


class Check(unittest.TestCase):
    def test_exit_code_and_row(self):
        done = ddpsim("diff", str(LAB / "base"), str(LAB / "sleeping-loader"), "--max-slowdown", "3%")
        self.assertEqual(done.code, 4)
        self.assertIn("input", done.err)
        limit = json.loads(diff(LAB / "base", LAB / "sleeping-loader", "--max-slowdown", "3").out)["limit"]
        self.assertEqual(limit, {"max_slowdown_percent": 3, "exceeded": True, "row": "input"})
        self.assertEqual(ddpsim("diff", "100ms", "102ms", "--max-slowdown", "3%").code, 0)
        self.assertEqual(ddpsim("diff", "100ms", "104ms", "--max-slowdown", "3%").code, 4)

    def test_the_example_workflow_refuses_a_slower_change(self):
        text = (ROOT / "scripts" / "examples" / "ddpsim-diff-ci.yml").read_text()
        self.assertNotIn("\t", text)
        self.assertEqual(text.count("${{"), text.count("}}"))
        script = test_ci_example.steps(text)["No slower than main"]
        for today, code in (("again", 0), ("slow-rank", 4)):
            with self.subTest(today), tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                shutil.copytree(LAB / "base", folder / "main")
                shutil.copytree(LAB / today, folder / "today")
                (folder / "bin").mkdir()
                (folder / "bin" / "ddpsim").symlink_to(BINARY)
                done = subprocess.run(
                    ["bash", "-eo", "pipefail", "-c", script],
                    cwd=folder,
                    capture_output=True,
                    encoding="utf-8",
                    env={
                        **os.environ,
                        **test_ci_example.settings(text),
                        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
                    },
                )
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn("step 172", (folder / "summary.md").read_text())

    def test_bad_limits_are_usage(self):
        self.assertEqual(ddpsim("diff", "1ms", "2ms", "--max-slowdown", "fast").code, 2)


if __name__ == "__main__":
    unittest.main()
