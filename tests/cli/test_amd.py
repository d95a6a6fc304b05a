"""AMD's GPUs: every answer says what stands in for RCCL, as text and as JSON."""

import unittest

from command import answer, ddpsim

MI300X = "node:1 gpu:8xMI300X xgmi:7x64GBps"
MI250X = "node:1 gpu:2xMI250X xgmi:4x50GBps"
H100 = "node:1 gpu:8xH100 nvswitch:450GBps"
WORDS = "NCCL's tables (those of sm_90) stand in for RCCL's"
DIES = "each of the two dies (GCDs) of a card is a GPU"


def commands(cluster, gpu):
    job = f"resnet50@{gpu}"
    return [["simulate", job, cluster], ["tune", job, cluster], ["compare", job, cluster, cluster],
            ["allreduce", cluster], ["topo", cluster]]


class Amd(unittest.TestCase):
    def test_every_answer_says_so(self):
        for command in commands(MI300X, "MI300X"):
            with self.subTest(command[0]):
                self.assertIn(WORDS, " ".join(answer(*command)["warnings"]))
                whole = ["--verbose"] if command[0] in ("simulate", "tune", "compare") else []
                page = ddpsim(*command, *whole)
                text = " ".join((page.out + page.err).replace("#", " ").split())
                self.assertEqual(text.count(WORDS), 1, text)

    def test_a_die_is_a_gpu(self):
        for command in commands(MI250X, "MI250X"):
            self.assertIn(DIES, " ".join(answer(*command)["warnings"]), command[0])

    def test_no_word_of_it_for_others(self):
        for command in commands(H100, "H100"):
            self.assertNotIn("RCCL", " ".join(answer(*command)["warnings"]), command[0])
        gloo = answer("simulate", "resnet50@MI300X", MI300X, "--backend", "gloo")
        self.assertNotIn("RCCL", " ".join(gloo["warnings"]))

    def test_the_links_have_their_own_name(self):
        document = answer("topo", MI300X)
        self.assertEqual(document["cluster"]["intra"],
                         {"kind": "xgmi", "per_gpu_gbps": 448, "links_per_gpu": 7})
        node = document["node_types"][0]
        self.assertEqual({link["nccl_gbps"] for link in node["links"] if link["kind"] == "xgmi"}, {48})
        self.assertEqual(node["matrix"]["cells"][0][1], "XGMI")
        self.assertEqual(document["bottleneck"]["kind"], "xgmi")
        page = ddpsim("topo", MI300X).out
        for words in ("304 CUs", "xGMI, 448 GB/s per GPU", "bound by xGMI", "xGMI gpu1 gpu2"):
            self.assertIn(words, page)
        self.assertNotIn("NVLink", page)

    def test_list_names_every_gpu(self):
        names = [gpu["name"] for gpu in answer("list")["gpus"]]
        refused = ddpsim("topo", "node:1 gpu:1xNone").err
        for name in names:
            self.assertIn(f" {name} ", refused)
            self.assertEqual(ddpsim("topo", f"node:1 gpu:1x{name}").code, 0, name)
        self.assertEqual(len(names), 31)


if __name__ == "__main__":
    unittest.main()
