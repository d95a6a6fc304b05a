"""Runs under torchrun agree with other answers: steps of each size, costs by simulated goodput, and sums."""

import unittest

from command import answer, ddpsim

JOB = ("resnet50-v100-b32", "p3dn@4")
RUN = ("--nnodes", "2:4", "--mtbf", "500h", "--checkpoint", "30s")


def elastic(*more, run=RUN):
    return answer("simulate", *JOB, *run, *more)["elastic"]


class Elastic(unittest.TestCase):
    def test_the_step_of_each_size_is_that_of_simulate(self):
        for scheme in ((), ("--scheme", "fsdp2")):
            for size in elastic(*scheme)["sizes"]:
                alone = answer("simulate", JOB[0], f"p3dn@{size['nodes']}", *scheme)
                with self.subTest(scheme=scheme, nodes=size["nodes"]):
                    self.assertEqual(size["step_us"], alone["iteration_us"])

    def test_a_measured_step_scales_all_sizes_equally(self):
        predicted, measured = elastic(), elastic("--measured-step", "150ms")
        self.assertEqual(measured["sizes"][-1]["step_us"], 150000)
        for a, b in zip(predicted["sizes"], measured["sizes"]):
            self.assertAlmostEqual(b["step_us"] / a["step_us"], 150000 / predicted["sizes"][-1]["step_us"], places=9)

    def test_parts_add_up_and_nothing_else_changes(self):
        with_run = answer("simulate", *JOB, *RUN)
        run = with_run.pop("elastic")
        self.assertEqual(with_run, answer("simulate", *JOB))
        self.assertAlmostEqual(sum(run["parts_s"].values()) / run["length_s"], 1, places=9)
        self.assertAlmostEqual(run["parts_s"]["training"] / run["length_s"], run["goodput"], places=5)
        self.assertAlmostEqual(sum(run["ended_by"].values()), run["ended"])

    def test_costs_follow_from_the_simulated_goodput(self):
        rows = answer("compare", JOB[0], "p3dn@4", "p3dn@2", *RUN, "--price", "p3dn@4=30/node_hour", "--no-tune")[
            "rows"
        ]
        with_price = [row for row in rows if row["cost"]]
        self.assertEqual(
            [row["cost"]["goodput"] for row in with_price], [row["elastic"]["goodput"] for row in with_price]
        )
        self.assertEqual(sorted(row["elastic"]["max_nodes"] for row in rows), [2, 4])
        same = next(row for row in rows if row["label"] == "p3dn@4")["elastic"]
        self.assertEqual(same, elastic())

    def test_a_key_in_force_is_shown_and_no_longer_assumed(self):
        said = {row["key"] for row in elastic()["assumed"]}
        self.assertEqual(said, {"stop", "start", "load", "repair", "resubmit", "process_share"})
        run = elastic("--elastic", "start=90s,process_share=40%,repair=2h")
        self.assertEqual({row["key"] for row in run["assumed"]}, {"stop", "load", "resubmit"})
        self.assertEqual(
            (run["options"]["start_s"], run["options"]["process_share"], run["options"]["repair_s"]), (90, 0.4, 7200)
        )
        run = elastic("--restart", "4min")
        self.assertEqual((run["options"]["start_s"], run["options"]["load_s"]), (240, 0))

    def test_backends_differ_in_how_a_lost_peer_is_felt(self):
        self.assertEqual(elastic()["options"]["timeout_s"], 600)
        self.assertEqual(elastic("--backend", "gloo")["options"]["timeout_s"], 0)
        self.assertEqual(elastic("--backend", "gloo", "--elastic", "timeout=10s")["options"]["timeout_s"], 10)

    def test_seeds_narrow_the_error(self):
        few, many = (elastic("--elastic", f"seeds={seeds}") for seeds in (4, 256))
        self.assertGreater(few["goodput_error"], 3 * many["goodput_error"])
        self.assertLess(abs(few["goodput"] - many["goodput"]), 5 * few["goodput_error"] + 5 * many["goodput_error"])

    def test_several_workloads_cannot_run_together(self):
        outcome = ddpsim(
            "compare",
            "--workload",
            "resnet50-v100-b32",
            "--workload",
            "bert-large@V100:b8:s128:fp32",
            "p3dn@2",
            "--nnodes",
            "2",
            "--mtbf",
            "500h",
        )
        self.assertEqual(outcome.code, 2)
        self.assertIn("--nnodes: this option simulates runs of one workload", outcome.err)


if __name__ == "__main__":
    unittest.main()
