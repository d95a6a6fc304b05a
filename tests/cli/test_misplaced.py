"""Swapped arguments are named, with the command that was meant."""

import pathlib
import shutil
import tempfile
import unittest

from command import ROOT, ddpsim, workload, write_json

USAGE, BAD_INPUT = 2, 3
LINE = "node:1 gpu:4xV100 nvlink:6x25GBps:mesh"
WEIGHT = {"name": "w", "shape": [4, 4], "dtype": "float32"}
LOG = "# nThread 1 nGpus 4\n" + "".join(
    f"{size} {size // 4} float sum -1 {size / 1e4:.1f} 10.0 15.0 0\n" for size in (1 << 20, 1 << 22)
)


class Misplaced(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        write_json(
            self.folder / "job.json",
            {**workload([WEIGHT], [0]), "forward": {"duration_us": 5}, "optimizer": {"duration_us": 1}},
        )
        (self.folder / "layers.csv").write_text("layer,parameters,forward_us,backward_us\nfc,16,5,7\n")
        (self.folder / "log.txt").write_text(LOG)
        for name in ("mixed.json", "two-v100.xml", "four-a100.txt"):
            shutil.copy(ROOT / "tests" / "fixtures" / "topologies" / name, self.folder)
        shutil.copy(ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json", self.folder)

    def refused(self, code, arguments, sentence):
        outcome = ddpsim(*arguments, cwd=self.folder)
        with self.subTest(arguments=arguments):
            self.assertEqual(outcome.code, code, outcome.err)
            self.assertEqual(outcome.out, "")
            self.assertEqual(outcome.err, f"ddpsim: {sentence}\n")

    def swapped(self, typed, first, second, meant):
        self.refused(USAGE, typed, f"{first} and {second}; swap them. Did you mean: ddpsim {meant}")

    def test_cluster_first_workload_second(self):
        for cluster in ("dgx1v", "p3dn@2", "mixed.json", "two-v100.xml", "four-a100.txt"):
            for job in (
                "resnet50-v100-b32",
                "resnet50@V100",
                "resnet50",
                "job.json",
                "layers.csv",
                "tiny-ddp-trace.json",
            ):
                for command in ("simulate", "tune", "compare"):
                    self.swapped(
                        [command, cluster, job],
                        f'"{cluster}" is a cluster',
                        f'"{job}" a workload',
                        f"{command} {job} {cluster}",
                    )

    def test_options_stay_and_words_are_quoted(self):
        self.swapped(
            ["tune", LINE, "job.json", "--torch", "2.4"],
            f'"{LINE}" is a cluster',
            '"job.json" a workload',
            f"tune job.json '{LINE}' --torch 2.4",
        )
        self.swapped(
            ["compare", "p3dn@1..4", "dgx1v", "job.json"],
            '"p3dn@1..4" is a cluster',
            '"job.json" a workload',
            "compare job.json dgx1v p3dn@1..4",
        )

    def test_a_wrong_cluster_is_still_a_cluster(self):
        line = "node:1 gpu:4xA4500 pcie:12GBps"
        self.swapped(
            ["tune", line, "job.json"], f'"{line}" is a cluster', '"job.json" a workload', f"tune job.json '{line}'"
        )

    def test_cluster_and_log(self):
        self.swapped(
            ["calibrate", "dgx1v", "--cluster", "log.txt", "-o", "lab.json"],
            '"dgx1v" is a cluster',
            '"log.txt" a log',
            "calibrate log.txt --cluster dgx1v -o lab.json",
        )

    def test_an_argument_of_another_kind_is_named(self):
        for arguments, sentence in [
            (
                ["import", "mixed.json"],
                '"mixed.json" is a cluster, where a workload is expected. ddpsim topo mixed.json shows it',
            ),
            (["buckets", "dgx1v"], '"dgx1v" is a cluster, where a workload is expected. ddpsim topo dgx1v shows it'),
            (["import", LINE], f"\"{LINE}\" is a cluster, where a workload is expected. ddpsim topo '{LINE}' shows it"),
            (
                ["topo", "job.json"],
                '"job.json" is a workload, where a cluster is expected. ddpsim tune job.json CLUSTER takes both',
            ),
            (
                ["allreduce", "resnet50@V100"],
                '"resnet50@V100" is a workload, where a cluster is expected. ddpsim tune '
                "resnet50@V100 CLUSTER takes both",
            ),
            (
                ["calibrate", "dgx1v", "--cluster", "dgx1v", "-o", "lab.json"],
                '"dgx1v" is a cluster, where a log is expected. Pass it with --cluster, and its logs as LOG',
            ),
            (
                ["simulate", "log.txt", "dgx1v"],
                '"log.txt" is a log, where a workload is expected. ddpsim calibrate log.txt '
                "--cluster CLUSTER -o FILE reads it",
            ),
        ]:
            self.refused(BAD_INPUT, arguments, sentence)

    def test_an_argument_in_its_place_keeps_its_own_message(self):
        for arguments, words in [
            (["simulate", "job.json", "dgx1w"], 'Did you mean "dgx1v"?'),
            (["simulate", "nosuch", "dgx1v"], "no such file"),
            (["simulate", "job.json", "node:1 gpu:4xV100"], "are joined"),
            (["topo", "nosuch"], "there is no cluster or file"),
        ]:
            outcome = ddpsim(*arguments, cwd=self.folder)
            self.assertEqual(outcome.code, BAD_INPUT)
            self.assertIn(words, outcome.err)


if __name__ == "__main__":
    unittest.main()
