"""Clusters with GPUs of AMD: every answer says what stands in for RCCL, as text and as JSON."""

import json
import pathlib
import tempfile
import unittest

from command import answer, ddpsim

MI300X = "node:1 gpu:8xMI300X xgmi:7x64GBps"
MI250X = "node:1 gpu:2xMI250X xgmi:4x50GBps"
H100 = "node:1 gpu:8xH100 nvswitch:450GBps"
WORDS = "NCCL's tables for sm_90 are used instead of RCCL's"
DIES = "Each of the two dies (GCDs) of a card counts as a GPU"


def commands(cluster, gpu):
    job = f"resnet50@{gpu}"
    return [
        ["simulate", job, cluster],
        ["tune", job, cluster],
        ["compare", job, cluster, cluster],
        ["allreduce", cluster],
        ["topo", cluster],
    ]


class Amd(unittest.TestCase):
    def test_every_answer_names_the_stand_in(self):
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

    def test_answers_for_other_gpus_do_not_mention_it(self):
        for command in commands(H100, "H100"):
            self.assertNotIn("RCCL", " ".join(answer(*command)["warnings"]), command[0])
        gloo = answer("simulate", "resnet50@MI300X", MI300X, "--backend", "gloo")
        self.assertNotIn("RCCL", " ".join(gloo["warnings"]))

    def test_the_links_have_their_own_name(self):
        document = answer("topo", MI300X)
        self.assertEqual(document["cluster"]["intra"], {"kind": "xgmi", "per_gpu_gbps": 448, "links_per_gpu": 7})
        node = document["node_types"][0]
        self.assertEqual({link["nccl_gbps"] for link in node["links"] if link["kind"] == "xgmi"}, {48})
        self.assertEqual(node["matrix"]["cells"][0][1], "XGMI")
        self.assertEqual(document["bottleneck"]["kind"], "xgmi")
        page = ddpsim("topo", MI300X).out
        for words in ("304 CUs", "xGMI, 448 GB/s per GPU", "bound by xGMI", "xGMI gpu1 gpu2"):
            self.assertIn(words, page)
        self.assertNotIn("NVLink", page)

    def test_json_of_amd_programs_is_read_like_their_tables(self):
        pairs = [(one, other) for one in range(4) for other in range(one + 1, 4)]
        kind = {pair: "XGMI" if pair[0] // 2 == pair[1] // 2 else "PCIE" for pair in pairs}
        table = (
            "== Link Type between two GPUs ==\n"
            + "".join(f" GPU{gpu}" for gpu in range(4))
            + "\n"
            + "".join(
                f"GPU{one} " + " ".join(kind.get((min(one, other), max(one, other)), "0") for other in range(4)) + "\n"
                for one in range(4)
            )
        )
        of_rocm = {
            "card0": {"Card Series": "AMD Instinct MI210"},
            "system": {
                f"(Topology) Link type between DRM devices {one} and {other}": kind[one, other] for one, other in pairs
            },
        }
        of_amd = [
            {
                "gpu": one,
                "links": [
                    {
                        "gpu": other,
                        "link_type": kind.get((min(one, other), max(one, other)), "SELF"),
                        "link_status": "DISABLED",
                    }
                    for other in range(4)
                ],
            }
            for one in range(4)
        ]
        with tempfile.TemporaryDirectory() as folder:

            def file(name, text):
                path = pathlib.Path(folder, name)
                path.write_text(text)
                return path

            tables = answer("topo", f"{file('table.txt', table)} gpu:MI210")
            for name, text, words in (
                ("rocm.json", json.dumps(of_rocm), ""),
                ("amd.json", json.dumps(of_amd, indent=4), " gpu:MI210"),
                ("amd-7.json", json.dumps({"gpu_data": of_amd}), " gpu:MI210"),
            ):
                document = answer("topo", f"{file(name, text)}{words}")
                for key in ("node_types", "bottleneck"):
                    self.assertEqual(document[key], tables[key], name)
                self.assertEqual(
                    "6 pairs of GPUs cannot reach each other's memory" in " ".join(document["warnings"]),
                    name != "rocm.json",
                )
            for text, command in (
                ({"card0": {"GPU use (%)": "0"}}, "rocm-smi --showtopo --json"),
                ([{"gpu": 0, "usage": {}}], "amd-smi topology --json"),
                ({"gpu_data": [{"gpu": 0, "bdf": "0000:01:00.0"}]}, "amd-smi topology --json"),
            ):
                outcome = ddpsim("topo", f"{file('other.json', json.dumps(text))} gpu:MI300X")
                self.assertEqual(outcome.code, 3)
                self.assertIn(f"Give the output of `{command}`", outcome.err)

    def test_list_names_every_gpu(self):
        gpus = answer("list")["gpus"]
        refused = ddpsim("topo", "node:1 gpu:1xNone").err
        for gpu in gpus:
            self.assertIn(f" {gpu['model']} ", refused)
            self.assertEqual(ddpsim("topo", f"node:1 gpu:1x{gpu['name']}").code, 0, gpu)
        self.assertEqual(len(gpus), 57)


if __name__ == "__main__":
    unittest.main()
