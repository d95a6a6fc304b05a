"""`ddpsim allreduce` prints the table of all_reduce_perf, and takes settings of NCCL."""

import csv
import pathlib
import tempfile
import unittest

from command import answer, ddpsim

NODE = "dgx1v"
HOPPER = "node:1 gpu:8xH100 nvswitch:450GBps"
HOPPERS = "node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib"
TCP = "node:2 gpu:1xV100 pcie:12GBps nic:1x10Gbps:tcp"
ROW = [
    "size_bytes",
    "time_us",
    "low_us",
    "high_us",
    "algbw_gbps",
    "busbw_gbps",
    "algorithm",
    "protocol",
    "channels",
    "nccl_estimate_us",
]


def rows(*arguments):
    return answer("allreduce", *arguments)["rows"]


def chosen(*arguments, size="256M"):
    (row,) = rows(*arguments, "-b", size, "-e", size)
    return row["algorithm"], row["protocol"]


class Table(unittest.TestCase):
    def test_document(self):
        document = answer("allreduce", NODE, "-b", "1M", "-e", "64M")
        self.assertEqual(document["schema"], "ddpsim.allreduce/1")
        self.assertEqual(document["ranks"], 8)
        self.assertEqual(document["nccl"], "2.27.3")
        self.assertEqual(document["confidence"]["grade"], "C")
        self.assertEqual([row["size_bytes"] for row in document["rows"]], [2**k for k in range(20, 27)])
        for row in document["rows"]:
            self.assertEqual(list(row), ROW)
            self.assertAlmostEqual(row["algbw_gbps"], row["size_bytes"] / row["time_us"] / 1e3, 4)
            self.assertAlmostEqual(row["busbw_gbps"], row["algbw_gbps"] * 14 / 8, 4)
            self.assertLess(row["low_us"], row["time_us"])
            self.assertLess(row["time_us"], row["high_us"])

    def test_text_is_read_like_a_log_of_nccl_tests(self):
        text = ddpsim("allreduce", NODE, "-b", "8", "-e", "1G").out.splitlines()
        data = [line.split() for line in text if not line.startswith("#")]
        self.assertEqual(len(data), 28)
        for line, row in zip(data, rows(NODE)):
            self.assertEqual(
                [int(line[0]), int(line[1]), *line[2:5]],
                [row["size_bytes"], row["size_bytes"] // 4, "float", "sum", "-1"],
            )
            self.assertAlmostEqual(float(line[5]), row["time_us"], delta=0.006 * row["time_us"])
            self.assertAlmostEqual(float(line[7]), row["busbw_gbps"], delta=0.006)

    def test_csv_holds_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.csv"
            document = answer("allreduce", NODE, "--csv", path)
            table = list(csv.DictReader(path.read_text().splitlines()))
        self.assertEqual(list(table[0]), ROW)
        self.assertEqual([float(row["time_us"]) for row in table], [row["time_us"] for row in document["rows"]])

    def test_one_rank_takes_no_time(self):
        for row in rows(NODE, "--gpus-per-node", "1"):
            self.assertEqual((row["time_us"], row["busbw_gbps"]), (0, 0))


class Sizes(unittest.TestCase):
    def sizes(self, *arguments):
        return [row["size_bytes"] for row in rows(NODE, *arguments)]

    def test_sizes_grow_as_nccl_tests_counts(self):
        self.assertEqual(self.sizes("-b", "8", "-e", "128", "-f", "4"), [8, 32, 128])
        self.assertEqual(self.sizes("-b", "1K", "-e", "4K", "-i", "1K"), [1024, 2048, 3072, 4096])
        self.assertEqual(self.sizes("-b", "25MiB", "-e", "25M"), [26214400])
        self.assertEqual(self.sizes("-b", "10", "-e", "10"), [8])  # whole elements of fp32
        self.assertEqual(self.sizes("-b", "0", "-e", "16"), [0, 4, 8, 16])

    def test_bad_sizes_are_named(self):
        for arguments, words in [
            (["-b", "many"], ['"many"', "-b"]),
            (["-b", "-8"], ["-b"]),
            (["-b", "nan"], ["-b"]),
            (["-b", "2M", "-e", "1M"], ["-e 1M", "-b 2M"]),
            (["-f", "1"], ["--factor"]),
            (["-i", "1"], ["-i"]),
            (["-i", "4", "-e", "1G"], ["10000"]),
            (["-e", "1e30"], ['-e: "1e30" is out of range']),
            (["-f", "2", "-i", "1M"], ["--factor"]),
            (["-b", "8Gbps"], ["-b"]),
        ]:
            with self.subTest(arguments=arguments):
                outcome = ddpsim("allreduce", NODE, *arguments)
                self.assertEqual((outcome.code, outcome.out), (2, ""))
                for word in words:
                    self.assertIn(word, outcome.err)


class Collectives(unittest.TestCase):
    FACTORS = {"all-gather": 7 / 8, "reduce-scatter": 7 / 8, "broadcast": 1, "reduce": 1, "send-recv": 1}

    def test_bus_bandwidth_as_nccl_tests_counts_it(self):
        for collective, factor in self.FACTORS.items():
            with self.subTest(collective=collective):
                document = answer("allreduce", NODE, "--collective", collective, "-b", "1M", "-e", "1M")
                self.assertEqual(document["collective"], collective)
                self.assertEqual(document["confidence"]["grade"], "C")
                (row,) = document["rows"]
                self.assertEqual(list(row), ROW)
                self.assertAlmostEqual(row["busbw_gbps"], row["algbw_gbps"] * factor, 4)
        self.assertNotIn("collective", answer("allreduce", NODE, "--collective", "all-reduce"))
        for spelt, collective in (
            ("all_gather", "all-gather"),
            ("reducescatter", "reduce-scatter"),
            ("ReduceScatter", "reduce-scatter"),
            ("sendrecv", "send-recv"),
        ):
            self.assertEqual(answer("allreduce", NODE, "--collective", spelt)["collective"], collective)

    def test_sizes_are_whole_parts_of_16_bytes(self):
        def sizes(*arguments):
            return [row["size_bytes"] for row in rows(NODE, *arguments)]

        self.assertEqual(sizes("--collective", "all-gather", "-b", "100", "-e", "1000"), [128, 384, 768])
        self.assertEqual(sizes("--collective", "reduce", "-b", "100", "-e", "1000"), [100, 200, 400, 800])

    def test_its_table_is_not_accepted_as_a_measured_log(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "gather.txt"
            log.write_text(ddpsim("allreduce", NODE, "--collective", "all-gather").out)
            outcome = ddpsim("calibrate", log, "--cluster", NODE, "-o", pathlib.Path(folder) / "c.json")
        self.assertEqual(outcome.code, 3)
        self.assertIn("no table of an all-reduce", outcome.err)

    def test_pairs_send_over_one_nic(self):
        (one,) = rows("dgxa100@2", "--collective", "send-recv", "-b", "1G", "-e", "1G")
        self.assertLess(one["busbw_gbps"], 25)
        self.assertGreater(one["busbw_gbps"], 20)


class Nccl(unittest.TestCase):
    def test_nvls_is_used_if_hardware_and_version_have_it(self):
        self.assertEqual(chosen(HOPPER), ("nvls", "Simple"))
        self.assertEqual(chosen(HOPPER, "--no-nvls"), ("ring", "Simple"))
        self.assertEqual(chosen(HOPPER, "--nccl", "2.16.2"), ("ring", "Simple"))
        self.assertEqual(chosen(HOPPER, "--gpus-per-node", "2")[0], "ring")
        self.assertEqual(chosen(HOPPERS, size="16M"), ("nvlstree", "Simple"))
        self.assertEqual(chosen(NODE)[0], "ring")

    def test_lists_and_exclusions(self):
        self.assertEqual(chosen(HOPPER, "--algorithm", "^nvls"), ("ring", "Simple"))
        self.assertEqual(chosen(HOPPER, "--algorithm", "TREE")[0], "tree")
        self.assertEqual(chosen(HOPPERS, "--algorithm", "ring,tree", "--protocol", "^Simple")[1], "LL128")
        self.assertEqual(chosen(TCP, "--protocol", "LL128")[1], "LL128")  # NCCL also obeys

    def test_channels_and_buffer(self):
        row = rows(NODE, "--algorithm", "ring", "--max-channels", "2")[-1]
        self.assertEqual(row["channels"], 2)
        self.assertEqual(rows(NODE, "--min-channels", "16")[-1]["channels"], 16)
        small = rows(TCP, "--buffer-size", "8KiB")[-1]["time_us"]
        self.assertGreater(small, rows(TCP)[-1]["time_us"])

    def test_impossible_settings_are_refused(self):
        for arguments, words in [
            (["--algorithm", "nvlstree"], ["nvlstree", "cannot all-reduce"]),
            (["--algorithm", "nvls", "--protocol", "LL"], ["cannot all-reduce"]),
            (["--algorithm", "nvlstre"], ['Did you mean "nvlstree"']),
            (["--algorithm", ""], ["--algorithm"]),
            (["--algorithm", "^ring,tree,nvls,nvlstree,collnetdirect,collnetchain"], ["leaves nothing to choose from"]),
            (["--nccl", "2.14.3", "--no-nvls"], ["2.17"]),
            (["--min-channels", "8", "--max-channels", "4"], ["--max-channels 4"]),
            (["--max-channels", "0"], ["--max-channels"]),
            (["--buffer-size", "4"], ["--buffer-size"]),
            (["--buffer-size", "1B"], ["8KiB"]),
            (["--torch", "new"], ["--torch"]),
            (["--nccl", "new"], ["--nccl"]),
        ]:
            with self.subTest(arguments=arguments):
                outcome = ddpsim("allreduce", HOPPER, *arguments)
                self.assertEqual((outcome.code, outcome.out), (2, ""), outcome.err)
                for word in words:
                    self.assertIn(word, outcome.err)

    def test_simulate_takes_the_same_options(self):
        job = ["simulate", "resnet50-v100-b32", NODE]
        self.assertEqual({b["protocol"] for b in answer(*job, "--protocol", "^LL128,Simple")["buckets"]}, {"LL"})
        self.assertEqual({b["channels"] for b in answer(*job, "--max-channels", "3")["buckets"]}, {3})


if __name__ == "__main__":
    unittest.main()
