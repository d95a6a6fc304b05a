"""`ddpsim topo`: every bundled cluster has a page and a document, and dumped files are read."""

import unittest

from command import ROOT, answer, ddpsim

FIXTURES = ROOT / "tests" / "fixtures" / "topologies"
CLUSTERS = """2xv100-nvlink dgx1v dgx1v-1xedr dgx2 p3.16xlarge p3dn abci-v100 dgxa100 p4d p4de
abci-a100 polaris-a100 perlmutter-a100 dgxh100 p5 a3-mega alps-gh200 h200 b200 8xpcie gb200-nvl72 gb300-nvl72""".split()
# Sizes with logs. Every other cluster and size is not calibrated.
MEASURED = {
    "dgx1v": 1,
    "p3dn": 2,
    "abci-v100": 8,
    "dgxa100": 2,
    "p4d": 2,
    "abci-a100": 2,
    "polaris-a100": 540,
    "dgxh100": 1,
    "p5": 2,
    "a3-mega": 2,
    "alps-gh200": 128,
    "b200": 2,
    "8xpcie": 1,
}


class Topo(unittest.TestCase):
    def test_every_bundled_cluster(self):
        listed = [cluster["name"] for cluster in answer("list")["clusters"]]
        self.assertEqual(sorted(listed), sorted(CLUSTERS))
        for name in CLUSTERS:
            with self.subTest(name):
                page = ddpsim("topo", name)
                self.assertEqual(page.code, 0, page.err)
                for word in ("matrix", "node", "channels", "bottleneck", "source"):
                    self.assertIn(word, page.out)
                document = answer("topo", name)
                self.assertEqual(document["schema"], "ddpsim.topo/1")
                self.assertTrue(document["cluster"]["sources"])
                self.assertEqual(
                    document["cluster"]["verified"],
                    MEASURED.get(name) == 1 or name in ("abci-v100", "dgxa100", "abci-a100", "alps-gh200", "b200"),
                )

    def test_sizes_with_a_log_are_marked(self):
        for name, nodes in MEASURED.items():
            self.assertTrue(answer("topo", f"{name}@{nodes}")["cluster"]["verified"], name)
        self.assertFalse(answer("topo", "dgxa100@3")["cluster"]["verified"])
        self.assertFalse(answer("topo", "dgxa100 node:2 oversubscription:2")["cluster"]["verified"])

    def test_assumptions_about_connections_are_named(self):
        line = "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:1x100Gbps:tcp-vm"
        words = "tcp-vm: each TCP connection is assumed to reach 5 Gb/s"
        self.assertIn(
            f"{words}, the documented limit of one cloud; the only open log shows 3.3 to 3.9; "
            "the bound above is the NICs' alone",
            " ".join(ddpsim("topo", line).out.split()),
        )
        for command in (["allreduce", line], ["simulate", "resnet50-v100-b32", line]):
            self.assertIn(words, " ".join(answer(*command)["warnings"]))
            plain = [word.replace("tcp-vm", "tcp") for word in command]
            self.assertNotIn(words, " ".join(answer(*plain)["warnings"]))

    def test_every_bundled_cluster_simulates(self):
        for name in CLUSTERS:
            for cluster in (name, f"{name} node:2" if name not in ("2xv100-nvlink", "8xpcie") else name):
                outcome = ddpsim("simulate", "resnet50-v100-b32", cluster, "--compute-scale", "1", "--json")
                self.assertEqual(outcome.code, 0, f"{cluster}: {outcome.err}")

    def test_document(self):
        document = answer("topo", "dgxa100@8")
        self.assertEqual(document["cluster"]["ranks"], 64)
        self.assertEqual(document["ring"], {"channels": 8, "intra_gbps": 24, "inter_gbps": 24})
        node = document["node_types"][0]
        self.assertEqual(node["matrix"]["cells"][0][:3], ["X", "NV12", "NV12"])
        self.assertEqual(len(node["channels"]), 8)
        self.assertEqual(sorted(node["channels"][0]["gpus"]), list(range(8)))
        self.assertEqual(document["node_trees"][0], [None, 2, 4, 2, 0, 6, 4, 6])
        self.assertEqual(document["bottleneck"]["kind"], "nic")
        self.assertEqual(document["bottleneck"]["busbw_gbps"], 200)

    def test_files(self):
        matrix = f"{FIXTURES / 'four-a100.txt'} gpu:4xA100 nic:200Gbps:ib switches:{FIXTURES / 'racks.txt'}"
        document = answer("topo", matrix)
        self.assertEqual(document["cluster"]["nodes"], 4)
        self.assertEqual(document["cluster"]["network"]["switches"], "list")
        self.assertIn("└─ mlx5_0  31.5 GB/s  → network 25 GB/s", ddpsim("topo", matrix).out)
        self.assertEqual(answer("topo", FIXTURES / "two-v100.xml")["ring"]["channels"], 2)
        self.assertEqual(answer("topo", FIXTURES / "mixed.json")["cluster"]["degraded_links"], 1)

    def test_output_is_plain_on_a_pipe_and_has_no_trailing_space(self):
        for cluster in ("dgx1v@4", "alps-gh200@2", "8xpcie"):
            page = ddpsim("topo", cluster).out
            self.assertNotIn("\x1b", page)
            for line in page.splitlines():
                self.assertEqual(line, line.rstrip())
                self.assertLessEqual(len(line), 120)

    def test_too_many_gpus_to_draw(self):
        page = ddpsim("topo", "dgxa100@100000")
        self.assertEqual(page.code, 0, page.err)
        self.assertIn("800000 ranks are too many to lay out link by link (at most 65536)", page.out)
        self.assertIsNone(answer("topo", "dgxa100@100000")["bottleneck"])

    def test_bad_input(self):
        for cluster, part in [
            ("dgxa1000", 'Did you mean "dgxa100"?'),
            (FIXTURES / "eight-h100.txt", "does not name the GPU model"),
            (FIXTURES / "racks.txt", "is not a cluster"),
            (ROOT / "README.md", "is not a cluster"),
            ("node:1000000 gpu:8xA100 nvswitch:300GBps nic:1x1Gbps oversubscription:0", "ratio"),
            (f"{FIXTURES / 'racks.txt'} gpu:A100", "is not a cluster"),
        ]:
            outcome = ddpsim("topo", cluster)
            self.assertEqual(outcome.code, 3)
            self.assertEqual(outcome.out, "")
            self.assertEqual(outcome.err.count("\n"), 1)
            self.assertIn(part, outcome.err)


if __name__ == "__main__":
    unittest.main()
