"""`--network flow` simulates the links of the cluster, and the traffic of others on them."""

import pathlib
import tempfile
import unittest

from command import answer, ddpsim, write_json

STEP = ["simulate", "resnet50-v100-b32"]
FOUR_NODES = "node:4 gpu:8xV100 nvswitch:150GBps nic:4x100Gbps:ib"


def beside(background, *more):
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(pathlib.Path(folder) / "others.json", {"schema": "ddpsim.background/1", **background})
        return answer(*STEP, FOUR_NODES, "--network", "flow", "--background", path, *more)


class Flow(unittest.TestCase):
    def test_a_report_names_its_network(self):
        self.assertIn("flow network", ddpsim(*STEP, "dgx1v", "--network", "flow").out)
        self.assertIn("analytic network", ddpsim(*STEP, "dgx1v").out)

    def test_rings_alone_take_the_time_of_the_cost_model(self):
        for cluster in ["2xv100-nvlink", "dgx1v", FOUR_NODES]:
            with self.subTest(cluster):
                options = ["--algorithm", "ring"]
                law = answer(*STEP, cluster, *options)["iteration_us"]
                flow = answer(*STEP, cluster, *options, "--network", "flow")["iteration_us"]
                self.assertAlmostEqual(flow / law, 1, delta=1e-3)

    def test_another_job_on_our_nodes_makes_collectives_longer(self):
        alone = answer(*STEP, FOUR_NODES, "--network", "flow")
        busy = beside({"jobs": [{"nodes": [0, 1, 2, 3], "all_reduce": "100MiB", "every": "1ms"}]})
        self.assertGreater(busy["communication_us"], 1.3 * alone["communication_us"])
        later = beside({"jobs": [{"nodes": [0, 1], "all_reduce": "100MiB", "first": "10s"}]})
        self.assertAlmostEqual(later["iteration_us"], alone["iteration_us"], delta=0.01)

    def test_jobs_that_share_no_link_do_not_affect_each_other(self):
        alone = answer(*STEP, FOUR_NODES, "--network", "flow")
        apart = beside({"jobs": [{"nodes": [4, 5], "all_reduce": "100MiB", "every": "1ms"}]})
        self.assertAlmostEqual(apart["iteration_us"], alone["iteration_us"], delta=0.01)

    def test_two_runs_give_the_same_bytes(self):
        job = {"jobs": [{"nodes": [1, 2], "all_reduce": "30MiB", "every": "3ms"}]}
        self.assertEqual(beside(job), beside(job))

    def test_background_needs_the_flow_network(self):
        outcome = ddpsim(*STEP, FOUR_NODES, "--background", "others.json")
        self.assertEqual(outcome.code, 2)
        self.assertIn("--network flow", outcome.err)
        missing = ddpsim(*STEP, FOUR_NODES, "--network", "flow", "--background", "nowhere.json")
        self.assertEqual(missing.code, 3)
        self.assertIn("nowhere.json", missing.err)


if __name__ == "__main__":
    unittest.main()
