"""Options of a job: their values on both sides of their limits, and their effect on the simulation.

The next command that is offered repeats every option that was given."""

import pathlib
import shlex
import tempfile
import unittest

from command import answer, ddpsim, write_json

CLUSTER = "node:1 gpu:2xV100 nvlink:6x25GBps:mesh"
TINY = {
    "schema": "ddpsim.workload/1",
    "name": "tiny",
    "gpu": "V100",
    "precision": "fp32",
    "batch_per_gpu": 4,
    "parameters": [
        {"name": "a", "shape": [65536], "dtype": "float32"},
        {"name": "b", "shape": [131072], "dtype": "float32"},
    ],
    "forward": {"duration_us": 1000},
    "backward": {"duration_us": 2000, "ready": [{"parameter": 1, "at_us": 800}, {"parameter": 0, "at_us": 2000}]},
    "optimizer": {"duration_us": 100},
}
GLOO = ["--backend", "gloo"]
OLD = ["--torch", "1.13"]
RUN = ["--iterations", "3"]

# The options with % for the value, the last accepted value, and the first refused value.
LIMITS = [
    (["--process-groups", "%", *OLD], "1", "0"),
    (["--process-groups", "%", *OLD], "64", "65"),
    (["--accumulate", "%"], "1", "0"),
    (["--nodes", "%"], "1", "0"),
    (["--gpus-per-node", "%"], "1", "0"),
    (["--min-channels", "%"], "1", "0"),
    (["--min-channels", "%"], "64", "65"),
    (["--max-channels", "%"], "1", "0"),
    (["--max-channels", "%"], "64", "65"),
    (["--min-channels", "%", "--max-channels", "4"], "4", "5"),
    (["--buffer-size", "%"], "8KiB", "8191B"),
    (["--buffer-size", "%"], "1GiB", "1073741825B"),
    (["--bucket-cap-mb=%"], "0", "-0.1"),
    (["--iterations", "%"], "1", "0"),
    (["--straggler", "1:%"], "0.01", "0.0099"),
    (["--straggler", "1:%"], "100", "100.1"),
    (["--straggler", "%:2"], "1", "2"),
    (["--straggler", "%:2"], "0", "-1"),
    (["--jitter", "%", *RUN], "0%", "-1%"),
    (["--jitter", "%", *RUN], "99.9%", "100%"),
    (["--rank-slowdown", "%"], "99.9%", "100%"),
    (["--stagger=%", *RUN], "0ms", "-1ms"),
    (["--seed", "%", *RUN], "0", "-1"),
    (["--interference", "sm:%"], "0", "-0.1"),
    (["--interference", "sm:%"], "10", "10.1"),
    (["--interference", "memory:%"], "10", "10.1"),
    (["--interference", "nccl:%"], "0.02", "0.019"),
    (["--interference", "nccl:%"], "1", "1.01"),
    ([*GLOO, "--gloo", "threads:%"], "1", "0"),
    ([*GLOO, "--gloo", "threads:%"], "64", "65"),
    ([*GLOO, "--gloo", "fill:%"], "1", "0.99"),
    ([*GLOO, "--gloo", "fill:%"], "64", "64.1"),
    ([*GLOO, "--gloo", "step:%"], "1s", "1.001s"),
    ([*GLOO, "--gloo", "start:%"], "0us", "-1us"),
    (["--compute-scale", "%"], "0.001", "0.0009"),
    (["--compute-scale", "%"], "1000", "1001"),
    (["--compute-scale", "%"], "2±1.99", "2±2"),
    (["--compute-scale", "%"], "999+-1", "999+-2"),
    (["--compute-scale", "%"], "2+/-0.5", "2+/-"),
    (["--compute-scale", "%"], "2±0", "2±-0.1"),
    (["--no-nvls", "--nccl", "%"], "2.17", "2.16.9"),
    (["--collnet", "--nccl", "%"], "2.6", "2.5.7"),
    (["--comm-hook", "bf16", "--nccl", "%"], "2.10", "2.9.9"),
    (["--apply-optimizer-in-backward", "--torch", "%"], "2.0", "1.13"),
    (["--apply-optimizer-in-backward", "--comm-hook", "%"], "none", "fp16"),
    (["--comm-hook", "powersgd", "--matrix-approximation-rank", "%"], "1024", "1025"),
    (["--comm-hook", "powersgd", "--matrix-approximation-rank", "%"], "1", "0"),
    (["--comm-hook", "powersgd", "--min-compression-rate", "%"], "0.001", "0"),
    (["--comm-hook", "powersgd", "--min-compression-rate", "%"], "1e9", "inf"),
    (["--matrix-approximation-rank", "2", "--comm-hook", "%"], "powerSGD", "fp16"),
    (["--comm-hook", "post_localSGD", "--local-sgd-period", "%"], "1", "0"),
    (["--comm-hook", "post_localSGD", "--local-sgd-period", "%"], "1000000", "1000001"),
    (["--comm-hook", "post_localSGD", "--local-sgd-gradients", "%"], "node", "all"),
    (["--comm-hook", "post_localSGD", "--torch", "%"], "1.10", "1.9"),
    (["--comm-hook", "post_localSGD", "--local-sgd-gradients", "none", "--torch", "%"], "1.12", "1.11"),
    (["--comm-hook", "post_localSGD", "--network", "%"], "analytic", "flow"),
    (["--local-sgd-period", "2", "--comm-hook", "%"], "postlocalsgd", "powersgd"),
    (["--comm-hook", "fp16", "--comm-hook-min-mb=%"], "0", "-1"),
    (["--comm-hook-min-mb", "2", "--comm-hook", "%"], "bf16", "powersgd"),
]

# Each option, and its effect in the document.
REACHES = [
    (["--torch", "2.4"], {"torch": "2.4"}),
    (["--nccl", "2.20.5"], {"nccl": "2.20.5"}),
    (["--network", "flow"], {"network": "flow"}),
    (GLOO, {"backend": "gloo", "nccl": None}),
    (["--gpus-per-node", "1"], {"ranks": 1}),
    (["--compute-scale", "2"], {"compute_scale": 2, "forward_us": 500, "optimizer_us": 50}),
    (["--bucket-cap-mb", "3"], {"bucket_setting": "bucket_cap_mb=3 (3 MiB each)"}),
    (["--bucket-cap-mb", "3", "--torch", "2.4"], {"bucket_setting": "bucket_cap_mb=3 (1 MiB first, then 3 MiB)"}),
    (["--first-bucket-mb", "2"], {"bucket_setting": "default (2 MiB first, then 25 MiB)"}),
    (["--bucket-cap-mb-list", "1,2.5", "--torch", "2.11"], {"bucket_setting": "bucket_cap_mb_list=[1, 2.5]"}),
    (["--comm-hook", "fp16"], {"comm_hook": "fp16_compress_hook"}),
    (
        ["--comm-hook", "powersgd", "--matrix-approximation-rank", "3", "--min-compression-rate", "1.5"],
        {
            "comm_hook": "powerSGD_hook",
            "matrix_approximation_rank": 3,
            "min_compression_rate": 1.5,
            "bucket_setting": "default (1 MiB first, then 25 MiB), powerSGD_hook of rank 3",
        },
    ),
    (
        ["--comm-hook", "post_localSGD", "--local-sgd-period", "8", "--local-sgd-gradients", "none"],
        {
            "comm_hook": "post_localSGD_hook",
            "local_sgd_period": 8,
            "local_sgd_gradients": "none",
            "bucket_setting": "default (1 MiB first, then 25 MiB), post_localSGD_hook of period 8",
        },
    ),
    (
        ["--comm-hook", "fp16", "--comm-hook-min-mb", "2.5"],
        {
            "comm_hook": "fp16_compress_hook",
            "comm_hook_min_mb": 2.5,
            "bucket_setting": "default (1 MiB first, then 25 MiB), fp16_compress_hook from 2.5 MiB",
        },
    ),
    (
        ["--apply-optimizer-in-backward"],
        {"bucket_setting": "default (1 MiB first, then 25 MiB), optimizer in backward"},
    ),
    (["--rank-slowdown", "10%"], {"rank_slowdown": 1.1, "forward_us": 1000, "unexplained_us": 310}),
    (["--gpu-spread", "0%"], {"slowest_gpu_us": 0}),
]

WARNINGS = [
    (["--torch", "2.13"], "newer than the rules known here", False),
    (["--torch", "2.14"], "PyTorch 2.14 is newer than the rules known here (2.13)", True),
    (["--bucket-cap-mb", "999999"], "did you mean bytes", False),
    (["--bucket-cap-mb", "1048576"], "--bucket-cap-mb 1048576 is in MiB, so 1 TiB; did you mean bytes, 1 MiB?", True),
    (
        ["--first-bucket-mb", "1048576"],
        "--first-bucket-mb 1048576 is in MiB, so 1 TiB; did you mean bytes, 1 MiB?",
        True,
    ),
    (["--nccl", "2.7"], "older than the oldest tuning table", False),
    (["--nccl", "2.6.9"], "NCCL 2.6.9 is older than the oldest tuning table here (2.7.8)", True),
    (["--nccl", "2.4.8"], "older than the oldest tuning table", False),  # its thresholds are known
    (["--compute-scale", "2"], "o measurement of this workload confirms", False),
    (
        ["--compute-scale", "2±0.5"],
        "compute is scaled by 2 (1.5 to 2.5), which no measurement of this workload confirms",
        True,
    ),
    ([*GLOO, "--comm-hook", "bf16"], "gloo refuses bfloat16", True),
    ([*GLOO, "--comm-hook", "fp16"], "gloo refuses bfloat16", False),
]


class OnTheTinyJob(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.job = [write_json(self.folder / "w.json", TINY), CLUSTER]

    def variant(self, **fields):
        return write_json(self.folder / "variant.json", {**TINY, **fields})


class Limits(OnTheTinyJob):
    def test_the_last_value_is_accepted_and_the_next_is_refused(self):
        for options, accepted, refused in LIMITS:
            with self.subTest(options=options):
                with_value = lambda value: [option.replace("%", value, 1) for option in options]
                outcome = ddpsim("simulate", *self.job, *with_value(accepted))
                self.assertEqual((outcome.code, outcome.err), (0, ""), accepted)
                outcome = ddpsim("simulate", *self.job, *with_value(refused))
                self.assertEqual((outcome.code, outcome.out), (2, ""), refused)
                self.assertTrue(outcome.err)

    def test_ratios_and_sizes_of_an_all_reduce_table(self):
        sizes = lambda *options: [row["size_bytes"] for row in answer("allreduce", CLUSTER, *options)["rows"]]
        self.assertEqual(sizes("-b", "8", "-e", "64"), [8, 16, 32, 64])
        self.assertEqual(sizes("-b", "8", "-e", "64", "-f", "4"), [8, 32])
        self.assertEqual(sizes("-b", "8", "-e", "24", "-i", "4"), [8, 12, 16, 20, 24])
        self.assertEqual(sizes("-b", "10", "-e", "14", "-i", "5"), [8])  # whole elements of 4 bytes
        self.assertEqual(sizes("-b", "8", "-e", "8"), [8])
        self.assertEqual(sizes("-b", "1K", "-e", "1k"), [1024])
        self.assertEqual(sizes("-b", "1M", "-e", "1MiB"), [1 << 20])
        self.assertEqual(sizes("-b", "1G", "-e", "1g"), [1 << 30])
        self.assertEqual(sizes("-b", "1KB", "-e", "1KB"), [1000])
        self.assertEqual(sizes()[0], 8)
        self.assertEqual(sizes()[-1], 1 << 30)
        for accepted, refused in (
            (["-i", "4"], ["-i", "3"]),
            (["-f", "1.5"], ["-f", "1.0009"]),
            (["-e", "8"], ["-e", "7"]),
            (["-b", "8"], ["-b", "-8"]),
        ):
            base = [
                "allreduce",
                CLUSTER,
                *(["-b", "8"] if accepted[0] != "-b" else []),
                *(["-e", "64"] if accepted[0] != "-e" else []),
            ]
            self.assertEqual(ddpsim(*base, *accepted).code, 0, accepted)
            self.assertEqual(ddpsim(*base, *refused).code, 2, refused)
        self.assertEqual(ddpsim("allreduce", CLUSTER, "-b", "4", "-e", "40000", "-i", "4").code, 0)
        self.assertEqual(ddpsim("allreduce", CLUSTER, "-b", "4", "-e", "40004", "-i", "4").code, 2)


class Reaches(OnTheTinyJob):
    def test_every_option_is_seen_in_the_document(self):
        for options, fields in REACHES:
            with self.subTest(options=options):
                own = {"--rank-slowdown", "--gpu-spread"} & set(options)
                slowdown = [] if own else ["--rank-slowdown", "0%"]
                document = answer("simulate", *self.job, *slowdown, *options)
                self.assertEqual({key: document[key] for key in fields}, fields)

    def test_warnings_appear_with_their_cause(self):
        for options, text, warned in WARNINGS:
            with self.subTest(options=options):
                warnings = answer("simulate", *self.job, *options)["warnings"]
                self.assertEqual(any(text in warning for warning in warnings), warned, warnings)

    def test_warnings_about_properties_of_a_recording(self):
        def warns(text, **fields):
            return any(text in one for one in answer("simulate", self.variant(**fields), CLUSTER)["warnings"])

        self.assertTrue(warns("the order of parameters is assumed", parameter_order="assumed"))
        self.assertFalse(warns("the order of parameters is assumed"))
        alone = "recorded on one of 2 ranks: waits for the others cannot be told"
        self.assertTrue(warns(alone, recorded_with={"world_size": 2, "nccl_kernels": 1}))
        self.assertFalse(warns(alone, recorded_with={"world_size": 2, "nccl_kernels": 0}))
        self.assertFalse(warns("recorded on one of", recorded_with={"world_size": 1, "nccl_kernels": 1}))
        self.assertTrue(warns("compiled backward: 1 of 2 gradients", recorded_with={"compiled_gradients": 1}))
        # A recording is bound by the host if more than half of its gradients waited for it.
        host = "the recording is bound by the host (2 of 2 gradients waited for it)"
        self.assertTrue(warns(host, host={"ready_us": [800, 2000]}))
        self.assertFalse(warns("bound by the host", host={"ready_us": [799, 2000]}))

    def test_a_measured_step_is_another_job_beyond_a_factor_of_two(self):
        predicted = answer("simulate", *self.job)["iteration_us"]
        for factor, asked in ((2.01, True), (1.99, False)):
            warnings = answer("simulate", *self.job, "--measured-step", f"{factor * predicted:.3f}us")["warnings"]
            self.assertEqual(any("another job, or another unit?" in one for one in warnings), asked, factor)

    def test_another_gpu_or_batch_widens_the_speed_by_past_errors(self):
        a100 = "node:1 gpu:2xA100 nvlink:6x25GBps:mesh"
        for cluster, options, text in (
            (a100, ["--gpu", "A100"], "from V100-32GB to A100, layer by layer (resnet50): "),
            (a100, ["--gpu", "A100"], ". Past errors say that its speed is 0.85 to 1.20 times that"),
            (CLUSTER, ["--batch", "64"], "from batch 32 to 64, layer by layer"),
            (CLUSTER, ["--batch", "64"], " times longer. Past errors say that its speed is 0.93 to 1.08 times that"),
            # exp(-hypot(ln 0.85, ln 0.93)) and exp(hypot(ln 1.2, ln 1.08))
            (
                a100,
                ["--gpu", "A100", "--batch", "64"],
                "from V100-32GB to A100 and from batch 32 to 64, layer by layer",
            ),
            (a100, ["--gpu", "A100", "--batch", "64"], ". Past errors say that its speed is 0.84 to 1.22 times that"),
        ):
            warnings = answer("simulate", "resnet50-v100-b32", cluster, *options)["warnings"]
            self.assertTrue(any(text in warning for warning in warnings), (options, text, warnings))
        same = answer("simulate", "resnet50-v100-b32", CLUSTER, "--batch", "32")["warnings"]
        self.assertFalse(any("carried over" in warning for warning in same))


class Echo(OnTheTinyJob):
    def next_command(self, command, *options):
        lines = [
            line
            for line in ddpsim(command, "w.json", CLUSTER, *options, cwd=self.folder).out.splitlines()
            if line.startswith("Next: ")
        ]
        self.assertEqual(len(lines), 1)
        return lines[0][len("Next: ") :]

    def test_exactly_the_given_options_are_repeated(self):
        job = f"ddpsim tune w.json '{CLUSTER}'"
        self.assertEqual(self.next_command("simulate"), job)
        self.assertEqual(self.next_command("simulate", *RUN, "--seed", "3", "--jitter", "1%", "--stagger", "1us"), job)
        # Compatible options in the order of --help.
        given = [
            ["--bucket-cap-mb", "3"],
            ["--first-bucket-mb", "2"],
            ["--torch", "2.4"],
            ["--find-unused-parameters"],
            ["--static-graph"],
            ["--gradient-as-bucket-view"],
            ["--no-broadcast-buffers"],
            ["--comm-hook", "fp16"],
            ["--accumulate", "2"],
            ["--nccl", "2.20.5"],
            ["--algorithm", "ring"],
            ["--protocol", "Simple,LL"],
            ["--min-channels", "1"],
            ["--max-channels", "4"],
            ["--buffer-size", "1MiB"],
            ["--no-nvls"],
            ["--collnet"],
            ["--nodes", "1"],
            ["--gpus-per-node", "2"],
            ["--network", "flow"],
            ["--interference", "sm:0.5 nccl:0.9"],
            ["--model", "resnet18"],
            ["--timing", "recorded"],
            ["--measured-step", "3ms"],
            ["--gpu", "V100"],
            ["--batch", "4"],
            ["--compute-scale", "2"],
            ["--straggler", "1:1.2"],
            ["--straggler", "0:1.1"],
            ["--rank-slowdown", "3%"],
        ]
        in_order = sum(given, [])
        backwards = sum([*reversed(given[:-3]), *given[-3:]], [])  # except the stragglers
        for typed in (in_order, backwards):
            with self.subTest(typed=typed):
                offered = shlex.split(self.next_command("simulate", *typed))
                self.assertEqual(offered, [*shlex.split(job), *in_order])
                self.assertEqual(ddpsim(*offered[1:], cwd=self.folder).code, 0)

    def test_words_are_quoted_for_a_shell_where_they_must_be(self):
        job = f"ddpsim tune w.json '{CLUSTER}'"
        for model, quoted in (
            ("plain-1.5_x", "plain-1.5_x"),
            ("it's two", "'it'\\''s two'"),
            ("a*b", "'a*b'"),
            ("", "''"),
        ):
            self.assertEqual(self.next_command("simulate", "--model", model), f"{job} --model {quoted}")

    def test_a_typed_default_is_repeated(self):
        defaults = [
            "--torch",
            "2.8",
            "--process-groups",
            "1",
            "--comm-hook",
            "none",
            "--accumulate",
            "1",
            "--backend",
            "nccl",
            "--network",
            "analytic",
            "--timing",
            "recorded",
        ]
        self.assertEqual(
            self.next_command("simulate", *defaults), f"ddpsim tune w.json '{CLUSTER}' {' '.join(defaults)}"
        )

    def test_options_of_output_are_not_repeated(self):
        self.assertEqual(
            self.next_command("simulate", "--csv", "step.csv", "--timeline", "step.json"),
            f"ddpsim tune w.json '{CLUSTER}'",
        )
        self.assertEqual(
            self.next_command("tune", "--threads", "1", "--csv", "curve.csv", "--accumulate", "2"),
            f"ddpsim advise w.json '{CLUSTER}' --accumulate 2",
        )

    def test_other_backends_and_groups(self):
        self.assertEqual(
            self.next_command("simulate", *OLD, "--process-groups", "3", *GLOO, "--gloo", "step:9us"),
            f"ddpsim tune w.json '{CLUSTER}' --torch 1.13 --process-groups 3 --backend gloo --gloo step:9us",
        )

    def test_tune_refuses_a_list_of_caps(self):
        self.assertEqual(
            self.next_command("simulate", "--bucket-cap-mb-list", "1,2", "--torch", "2.11"),
            f"ddpsim tune w.json '{CLUSTER}' --torch 2.11",
        )

    def test_tune_that_keeps_the_cap_offers_every_other_setting(self):
        self.assertEqual(
            self.next_command("tune", "--bucket-cap-mb", "7", "--accumulate", "2"),
            f"ddpsim advise w.json '{CLUSTER}' --bucket-cap-mb 7 --accumulate 2",
        )

    def test_tune_offers_a_step_with_the_cap_it_sets(self):
        told = ddpsim("tune", "resnet50-v100-b32", "dgx1v-1xedr@2", "--torch", "2.8", cwd=self.folder).out
        self.assertIn(
            "Next: ddpsim simulate resnet50-v100-b32 dgx1v-1xedr@2 --bucket-cap-mb 5 --torch 2.8 "
            "--timeline step.pftrace\n",
            told,
        )

    def test_compare_offers_the_fastest_cluster_with_the_options_for_its_gpu(self):
        outcome = ddpsim(
            "compare",
            "w.json",
            CLUSTER,
            "node:1 gpu:2xA100 nvlink:6x25GBps:mesh",
            "--accumulate",
            "2",
            "--compute-scale",
            "A100:2±0.1",
            "--gpu",
            "A100",
            cwd=self.folder,
        )
        self.assertIn(
            "Next: ddpsim tune w.json 'node:1 gpu:2xA100 nvlink:6x25GBps:mesh' --accumulate 2 --gpu A100 "
            "--compute-scale '2±0.1'\n",
            outcome.out,
        )


class Releases(OnTheTinyJob):
    def test_a_version_that_was_never_released_is_refused_with_its_neighbours(self):
        for option, version, said in (
            ("--torch", "1.14", "PyTorch 1.14 was never released: 2.0 followed 1.13"),
            ("--torch", "0.5.1", "PyTorch 0.5 was never released: 1.0 followed 0.4"),
            ("--nccl", "1.4", "NCCL 1.4 was never released: 2.0 followed 1.3"),
        ):
            outcome = ddpsim("simulate", *self.job, option, version)
            self.assertEqual(outcome.code, 2)
            self.assertIn(said, outcome.err)
        # NVIDIA shipped a pre-release of 2.0.
        self.assertEqual(answer("simulate", *self.job, "--torch", "1.14.0a0+44dac51")["nccl"], "2.14.3")
        warnings = answer("simulate", self.variant(torch="1.14.0"), CLUSTER)["warnings"]
        self.assertTrue(
            any('the workload\'s torch, "1.14.0", is not a version; 2.8 is assumed' in warning for warning in warnings),
            warnings,
        )

    def test_a_version_newer_than_the_rules_is_named(self):
        for option, version in (("--torch", "2.99"), ("--nccl", "2.99")):
            warnings = answer("simulate", *self.job, option, version)["warnings"]
            self.assertTrue(any("is newer than the rules known here" in warning for warning in warnings), warnings)


class Decisive(unittest.TestCase):
    """Facts that can change the answer are in the output of every command, however short it is."""

    def test_rates_of_both_ways_and_the_order_of_ranks(self):
        twice = "node:2 gpu:8xH100-SXM nvswitch:900GBps nic:8x400Gbps"
        narrow = "node:16 gpu:8xH100-SXM nvswitch:450GBps nic:8x400Gbps leaf:4 oversubscription:4"
        for cluster, said in ((twice, "Was nvswitch:450GBps meant?"), (narrow, "write placement:ordered")):
            for command in ("simulate", "tune", "advise", "compare"):
                text = " ".join(ddpsim(command, "resnet50@H100-SXM", cluster).out.split())
                self.assertIn(said, text, command)
            self.assertIn(said, " ".join(ddpsim("allreduce", cluster).out.replace("\n#", " ").split()))
        text = ddpsim("tune", "resnet50@H100-SXM", narrow + " placement:scattered").out
        self.assertNotIn("placement: is not stated", text)


class Nccl(OnTheTinyJob):
    OPTIONS = [
        ["--nccl", "2.20.5"],
        ["--algorithm", "ring"],
        ["--protocol", "LL"],
        ["--min-channels", "1"],
        ["--max-channels", "1"],
        ["--buffer-size", "1MiB"],
        ["--no-nvls"],
        ["--collnet"],
    ]

    def test_no_option_of_nccl_is_accepted_with_gloo(self):
        for option in self.OPTIONS:
            outcome = ddpsim("simulate", *self.job, *GLOO, *option)
            self.assertEqual(
                (outcome.code, outcome.err),
                (2, f"ddpsim: {option[0]}: this option sets NCCL, which --backend gloo does not use\n"),
            )


class ExitCodes(OnTheTinyJob):
    def test_each_kind_of_end_has_its_exit_code(self):
        for code, arguments in (
            (0, ["simulate", *self.job]),
            (2, ["simulate", *self.job, "--torch", "x"]),
            (2, ["simulate"]),
            (3, ["simulate", self.folder / "absent.json", CLUSTER]),
            (3, ["simulate", self.job[0], "nowhere"]),
            (1, ["simulate", *self.job, "--csv", self.folder / "no" / "such.csv"]),
            (0, ["validate", "105us", "100us", "--max-error", "5%"]),
            (4, ["validate", "105us", "100us", "--max-error", "4.99"]),
        ):
            outcome = ddpsim(*arguments)
            self.assertEqual(outcome.code, code, (arguments, outcome.err))
            self.assertEqual(outcome.err == "", code == 0)

    def test_the_allowed_error_may_have_a_percent_sign(self):
        for text in ("5", "5%", "5 %"):
            self.assertEqual(ddpsim("validate", "104us", "100us", "--max-error", text).code, 0)
            self.assertEqual(ddpsim("validate", "106us", "100us", "--max-error", text).code, 4)
        self.assertEqual(ddpsim("validate", "96us", "100us", "--max-error", "3").code, 4)  # on either side
        outcome = ddpsim("validate", "103us", "100us", "--max-error", "2", "--statistic", "median")
        self.assertEqual(outcome.err, "ddpsim: the median error, 3.00 %, is above --max-error 2\n")


if __name__ == "__main__":
    unittest.main()
