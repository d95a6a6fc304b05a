"""Errors in a command line or an input give one line that says what is wrong and where.

The exit code tells whose fault it is. Nothing is printed on stdout, and no file is left behind."""

import contextlib
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from command import BINARY, ROOT, ddpsim, workload, write_json

FAILURE, USAGE, BAD_INPUT = 1, 2, 3

JOB = ["resnet50-v100-b32", "2xv100-nvlink"]
SIMULATE = ["simulate", *JOB]
TUNE = ["tune", *JOB]
COMPARE = ["compare", JOB[0], "dgx1v", "p3dn", "--no-tune"]
MIX = ["compare", "--workload", JOB[0], "--workload", "resnet18@V100", "dgx1v", "p3dn", "--no-tune"]
A100 = "node:1 gpu:8xA100 nvswitch:300GBps"
WEIGHT = {"name": "w", "shape": [10], "dtype": "float32"}
FIXTURE = ROOT / "tests" / "fixtures" / "tiny-ddp-trace.json"

# The arguments, and fragments of the message.
USAGE_ERRORS = [
    ([], ["which command", "--help"]),
    (["--frobnicate"], ["--frobnicate: ", "--help"]),
    ([*SIMULATE, "--torch", "2.7", "--torch", "2.8"], ["--torch", "given 2 times"]),
    (["validate", "104ms", "105ms", "--max-error", "nan"], ["--max-error", '"nan"', "from 0"]),
    (["allreduce", "dgx1v", "-f", "nan"], ["--factor", '"nan"']),
    (["topo", "dgx1v", "--nodes", "0"], ["--nodes"]),
    (["simulat", *JOB], ['"simulat"', 'Did you mean "simulate"?']),
    (["tume"], ['"tume"', 'Did you mean "tune"?']),
    (["frobnicate"], ['"frobnicate"', "--help"]),
    (["simulate"], ["WORKLOAD"]),
    (["tune", "resnet50-v100-b32"], ["CLUSTER"]),
    (["buckets"], ["WORKLOAD"]),
    (["import"], ["INPUT"]),
    ([*SIMULATE, "more"], ["more"]),
    (["list", "everything"], ["everything"]),
    ([*SIMULATE, "--jsn"], ["--jsn: ", 'Did you mean "--json"?']),
    ([*TUNE, "--bucket-cap", "25"], ["--bucket-cap: ", 'Did you mean "--bucket-cap-mb"?']),
    ([*TUNE, "--trch=2.8"], ["--trch: ", 'Did you mean "--torch"?']),
    ([*SIMULATE, "--threads", "2"], ["--threads: ", "simulate"]),
    ([*SIMULATE, "--torch"], ["--torch"]),
    ([*SIMULATE, "--torch", "abc"], ["--torch", '"abc"', "2.8"]),
    ([*SIMULATE, "--torch", "2."], ["--torch", '"2."']),
    (["buckets", "resnet18", "--torch", "0.3"], ["0.3", "older"]),
    (["buckets", "resnet18", "--torch", "1.7", "--static-graph"], ["1.7", "static_graph", "1.9"]),
    ([*SIMULATE, "--torch", "1.6", "--gradient-as-bucket-view"], ["gradient_as_bucket_view", "1.7"]),
    (["buckets", "resnet18", "--bucket-cap-mb-list", "1,2"], ["bucket_cap_mb_list", "2.11"]),
    (["buckets", "resnet18", "--torch", "1.7", "--first-bucket-mb", "2"], ["first", "1.10"]),
    (["buckets", "resnet18", "--bucket-cap-mb", "nan"], ["--bucket-cap-mb", '"nan"']),
    (["buckets", "resnet18", "--bucket-cap-mb", "-1"], ["--bucket-cap-mb", '"-1"']),
    (["buckets", "resnet18", "--bucket-cap-mb", "inf"], ["--bucket-cap-mb", '"inf"']),
    (["buckets", "resnet18", "--bucket-cap-mb", "25MiB"], ["--bucket-cap-mb", '"25MiB"']),
    (["buckets", "resnet18", "--bucket-cap-mb", ""], ["--bucket-cap-mb"]),
    (["buckets", "resnet18", "--bucket-limits", "1,,2"], ["--bucket-limits"]),
    (["buckets", "resnet18", "--bucket-limits", "9223372036854775808"], ["--bucket-limits", "2^63"]),
    (["buckets", "resnet18", "--order", "random"], ["--order", '"random"', "ready"]),
    ([*TUNE, "--caps", "1,x"], ["--caps", '"x"']),
    ([*TUNE, "--threads", "0"], ["--threads"]),
    ([*SIMULATE, "--iterations", "0"], ["--iterations"]),
    ([*SIMULATE, "--iterations", "many"], ["--iterations", "many"]),
    ([*SIMULATE, "--accumulate", "-2"], ["--accumulate"]),
    ([*SIMULATE, "--straggler", "3"], ["--straggler", '"3"', "3:1.2"]),
    ([*SIMULATE, "--straggler", "1:0"], ["--straggler", '"1:0"']),
    ([*SIMULATE, "--straggler", "1:nan"], ["--straggler", '"1:nan"']),
    ([*SIMULATE, "--straggler", "2:1.2"], ["--straggler", "0 to 1", "no rank 2"]),
    ([*SIMULATE, "--straggler", "1:1.2", "--straggler", "1:1.3"], ["rank 1", "twice"]),
    ([*SIMULATE, "--jitter", "0.02", "--iterations", "9"], ["--jitter", '"0.02"', "2%"]),
    ([*SIMULATE, "--jitter", "-2%", "--iterations", "9"], ["--jitter", '"-2%"']),
    ([*SIMULATE, "--jitter", "2%"], ["--jitter", "--iterations 200"]),
    ([*SIMULATE, "--rank-slowdown", "0.05"], ["--rank-slowdown", '"0.05"', "2%"]),
    ([*SIMULATE, "--rank-slowdown", "-5%"], ["--rank-slowdown", '"-5%"']),
    ([*TUNE, "--jitter", "2%"], ["--jitter", "simulate --iterations"]),
    ([*SIMULATE, "--interference", "sm:1 sm:0"], ["--interference", "sm is given twice"]),
    ([*SIMULATE, "--interference", "smm:1"], ["--interference", '"smm"', 'Did you mean "sm"?']),
    ([*SIMULATE, "--interference", ""], ["--interference", "sm, memory, nccl"]),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "fill:2 fill:3"], ["--gloo", "fill is given twice"]),
    ([*SIMULATE, "--network", "flaw"], ["--network", 'Did you mean "flow"?']),
    (["buckets", "resnet18", "--order", "redy"], ["--order", 'Did you mean "ready"?']),
    ([*SIMULATE, "--stagger", "5", "--iterations", "9"], ["--stagger", "ms"]),
    ([*SIMULATE, "--stagger", "5ms"], ["--stagger", "--iterations 10"]),
    ([*SIMULATE, "--seed", "-1"], ["--seed"]),
    ([*SIMULATE, "--nodes", "0"], ["--nodes"]),
    ([*SIMULATE, "--nccl", "two"], ["--nccl", '"two"']),
    ([*SIMULATE, "--algorithm", "rings"], ["--algorithm", '"rings"', "ring, tree"]),
    ([*SIMULATE, "--protocol", "LL64"], ["--protocol", '"LL64"', "LL128"]),
    ([*SIMULATE, "--network", "torus"], ["--network", '"torus"', "analytic, flow"]),
    (
        ["simulate", "resnet50@GB200", "node:18 domain:18 gpu:4xGB200 nvswitch:900GBps", "--backend", "gloo"],
        ["--backend gloo", "the cluster states none", "nic:1x100Gbps:ib"],
    ),
    ([*SIMULATE, "--backend", "mpi"], ['--backend: "mpi" is not one of nccl, gloo']),
    ([*SIMULATE, "--backend", "1"], ['--backend: "1" is not one of nccl, gloo']),
    ([*SIMULATE, "--timing", "0"], ['--timing: "0" is not one of recorded, compacted']),
    ([*SIMULATE, "--backend", "gloo", "--interference", "sm:0"], ["--interference", "--backend gloo"]),
    ([*TUNE, "--seed", "7"], ["--seed: ddpsim tune has no such option"]),
    ([*SIMULATE, "--gloo", "step:9us"], ["--gloo", "--backend gloo"]),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "stp:9us"], ['"stp"', 'Did you mean "step"?']),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "process:3"], ["--gloo", "process", '"3"']),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "fresh:0GBps"], ["--gloo", "fresh", "too slow"]),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "process:1Bps"], ["--gloo", "units"]),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "threads:0"], ["--gloo", "threads", "1 to"]),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "fill:0.5"], ["--gloo", "fill", "1 to"]),
    ([*SIMULATE, "--backend", "gloo", "--gloo", "tensors:disk"], ["--gloo", '"disk"', "host"]),
    ([*SIMULATE, "--backend", "gloo", "--algorithm", "ring"], ["--algorithm", "--backend gloo"]),
    ([*SIMULATE, "--backend", "gloo", "--network", "flow"], ["--network flow", "NCCL"]),
    ([*SIMULATE, "--process-groups", "3"], ["PyTorch 2.8", "round-robin", "1.13"]),
    ([*SIMULATE, "--process-groups", "2", "--torch", "1.13", "--network", "flow"], ["--process-groups", "flow"]),
    ([*SIMULATE, "--comm-hook", "bf16", "--nccl", "2.7.8"], ["--comm-hook bf16", "2.10"]),
    ([*SIMULATE, "--interference", "sm:x"], ["--interference", '"x"']),
    ([*SIMULATE, "--interference", "nccl:0"], ["--interference", "nccl"]),
    ([*SIMULATE, "--interference", "sms:1"], ["--interference", '"sms"', "sm, memory, nccl"]),
    ([*SIMULATE, "--csv", ""], ["--csv", "name of the file is empty"]),
    ([*SIMULATE, "--timeline", ""], ["--timeline", "name of the file is empty"]),
    (["tune", *SIMULATE[1:], "--plot", ""], ["--plot", "name of the file is empty"]),
    (["tune", *SIMULATE[1:], "--plot", "curve.png"], ["--plot", '"curve.png"', "FILE.svg"]),
    ([*SIMULATE, "--report", ""], ["--report", "name of the file is empty"]),
    ([*SIMULATE, "--report", "step.pdf"], ["--report", '"step.pdf"', "FILE.html"]),
    (["allreduce", "2xv100-nvlink", "--measured", "log.txt"], ["--measured", "--plot", "--report"]),
    (
        ["allreduce", "2xv100-nvlink", "--measured", "log.txt", "--plot", "p.svg", "--collective", "broadcast"],
        ["--measured", "all_reduce_perf"],
    ),
    (["import", "resnet50-v100-b32", "-o", ""], ["--output", "name of the file is empty"]),
    ([*SIMULATE, "--measured-step", "104"], ["--measured-step", '"104"', "unit"]),
    ([*SIMULATE, "--measured-step", "0ms"], ["--measured-step", "zero"]),
    ([*SIMULATE, "--measured-step=-4ms"], ["--measured-step", "-4ms"]),
    ([*SIMULATE, "--measured-step", "0ps"], ["--measured-step", "zero"]),
    ([*SIMULATE, "--measured-step", "90000s"], ["--measured-step", "day", "unit"]),
    (["compare", *SIMULATE[1:], "--measured-step", "100ms"], ["--measured-step", "100ms", "the candidates are"]),
    (["compare", *SIMULATE[1:], "--measured-step", f"{SIMULATE[2]}=100"], ["--measured-step", "unit"]),
    (
        ["compare", *SIMULATE[1:], "--measured-step", f"{SIMULATE[2]}=100ms", "--measured-step", f"{SIMULATE[2]}=99ms"],
        ["--measured-step", "twice"],
    ),
    ([*SIMULATE, "--compute-scale", "0"], ["--compute-scale", '"0"']),
    ([*SIMULATE, "--compute-scale", "abc"], ["--compute-scale", '"abc"']),
    ([*SIMULATE, "--compute-scale", "1±2"], ["--compute-scale"]),
    (["simulate", "resnet50-v100-b32", A100, "--gpu", "H100"], ["--gpu", "H100", "A100"]),
    ([*SIMULATE, "--min-channels", "8", "--max-channels", "4"], ["--min-channels 8 is more than --max-channels 4"]),
    # Keys of a data loader that conflict, or need each other.
    *(
        ([*SIMULATE, "--data-loader", keys], ["--data-loader: ", says])
        for keys, says in [
            ("batch=9ms,sample=1ms", "for one sample. Leave one of them out"),
            ("num_workers=2", "the time to load a batch is missing"),
            ("batch=9ms,storage=2GBps", "sample_bytes=SIZE belong together"),
            ("batch=9ms,sample_bytes=110KB", "sample_bytes=SIZE belong together"),
            ("batch=9ms,prefetch_factor=2", "refuses it unless num_workers is 1 or more"),
            ("batch=9ms,worker_start=1s", "with num_workers=0 there are no workers to start"),
            ("batch=9ms,cores=4", "with num_workers=0 there are no workers to share them"),
            ("batch=9ms,non_blocking=true", "Add pin_memory=true"),
            ("batch=9ms,pcie=12GBps", "nothing is copied without batch_bytes=SIZE"),
            ("batch=9ms,pin_memory=true", "depends on batch_bytes=SIZE. Add it"),
        ]
    ),
    # Uneven inputs.
    *(
        ([*SIMULATE, "--uneven-inputs", "inputs=10+9", *more], ["--uneven-inputs: ", says])
        for more, says in [
            (["--dataset-size", "1000"], "gives every rank the same number of batches. Leave one out"),
            (["--sync-batchnorm"], "does not shadow what --sync-batchnorm sends"),
            (["--static-graph"], "does not shadow what --static-graph sends"),
            (["--process-groups", "2", "--torch", "1.13"], "does not shadow what --process-groups sends"),
            (["--comm-hook", "powersgd"], "does not shadow what --comm-hook powersgd sends"),
            (["--comm-hook", "post_localSGD"], "does not shadow what --comm-hook post_localSGD sends"),
            (["--scheme", "fsdp2"], "DistributedDataParallel's join()"),
        ]
    ),
    ([*SIMULATE, "--uneven-inputs", "throw_on_early_termination=true"], ["--uneven-inputs: inputs is missing"]),
    ([*SIMULATE, "--drop-last", "loader"], ["--drop-last", "Add --dataset-size"]),
    # Options that need a single workload.
    *(
        ([*MIX, *more], [says])
        for more, says in [
            (["--plot", "a.svg"], "--plot: this option plots the speed of one workload"),
            (["--report", "a.html"], "--report: a report shows one workload"),
            (["--nnodes", "1:2", "--mtbf", "1000h"], "--nnodes: this option simulates runs of one workload"),
            (["--samples", "1e6"], "--samples, --steps: these options are for one workload"),
        ]
    ),
    (
        [*COMPARE, "--samples", "1e6"],
        ["--samples, --steps, --mtbf: costs need a price", "--price list"],
    ),
    ([*COMPARE, "--mtbf", "5h"], ["--samples, --steps, --mtbf: costs need a price"]),
    ([*COMPARE, "--compute-scale", "2", "--compute-scale", "3"], ["--compute-scale: given twice", "A100:2.3"]),
    ([*COMPARE, "--compute-scale", "A100:2", "--compute-scale", "A100:3"], ["--compute-scale: A100 is given twice"]),
    ([*COMPARE, "--compute-scale", "2"], ["--compute-scale: every cluster has the recorded GPU"]),
    ([*COMPARE, "--compute-scale", "A100:2"], ["--compute-scale A100: no cluster has that GPU"]),
    ([*COMPARE, "--gpu", "A100"], ["--gpu A100: no cluster has that GPU, only V100"]),
    ([*COMPARE, "dgxa100", "dgxh100", "--compute-scale", "2"], ["--compute-scale 2: the clusters have A100 and H100"]),
    ([*COMPARE, "--node-power", "3kW"], ["--node-power and --energy-price", "Give both"]),
    ([*COMPARE, "--energy-price", "0.2"], ["--node-power and --energy-price", "Give both"]),
    ([*COMPARE, "--energy-price=-1", "--node-power", "3kW"], ["--energy-price: expected the price of a kWh in USD"]),
    ([*COMPARE, "--scheme", "ddp", "--scheme", "ddp"], ["--scheme", "given twice"]),
    ([*COMPARE, "dgx1v@[8..2]", "--until", "efficiency<90%"], ["[8..2]: expected two numbers, the larger one last"]),
    (
        [*COMPARE, "dgx1v@[1..2000000]", "--until", "efficiency<90%"],
        ["values. Use fewer decimals, or a shorter range"],
    ),
    (["import", "resnet50-v100-b32", "--iteration", "1"], ["--iteration: only a trace has iterations"]),
    (["import", "a.json", "b.json", "--timing", "compacted"], ["--timing compacted: several ranks"]),
    ([*SIMULATE, "--background", "b.json"], ["--background: only --network flow"]),
    ([*SIMULATE, "--backend", "gloo", "--cuda-graph"], ["--cuda-graph", "--backend gloo"]),
    ([*SIMULATE, "--backend", "gloo", "--sync-batchnorm"], ["--sync-batchnorm", "--backend gloo"]),
    ([*SIMULATE, "--network", "flow", "--comm-hook", "post_localSGD"], ["--comm-hook post_localSGD", "--network flow"]),
    (["sweep"], ["which STUDY?", "--join"]),
    (["allreduce", "dgx1v", "-b", "1M", "-e", "8"], ["-e 8 is less than -b 1M"]),
    (["allreduce", "dgx1v", "-b", "many"], ['"many" is not a size such as']),
    (["allreduce", "dgx1v", "-i", "3"], ["-i: the step must be at least 4 bytes"]),
    (["allreduce", "dgx1v", "-b", "8", "-e", "1G", "-i", "8"], ["sizes. Take a larger -i or -f"]),
    (["diff", "104ms", "105ms", "--max-slowdown", "x"], ["--max-slowdown", '"x"']),
    # The recording and the cluster have the same GPU. A GPU that neither has is still refused.
    *(
        (
            [command, "resnet50-v100-b32", "p3dn@2", "--gpu", "H100", *more],
            ["--gpu H100", "V100", "--gpu names" if command == "compare" else "--gpu must name"],
        )
        for command in ("simulate", "tune", "advise", "compare")
        for more in ([], ["--compute-scale", "2"] if command != "compare" else ["--threads", "1"])
    ),
]

# The text of a workload, and fragments of the message. The text is written to bad.json and read by `simulate bad.json
# 2xv100-nvlink`.
BAD_WORKLOADS = [
    (b"", ["empty file"]),
    (b"\n  \n", []),
    (b"{", []),
    (b'{"schema": "ddpsim.workload/1", "parameters": [{"name": "w", "sh', []),
    (bytes(range(256)), []),
    (b"\x1f\x8b\x08", []),
    (b"\xff\xfe{\x00}\x00", []),
    (b"null", []),
    (b"[]", []),
    (b"{}", []),
    (b'{"schema": "ddpsim.workload/2", "parameters": []}', ["ddpsim.workload/"]),
    (b'{"schema": "ddpsim.cluster/1"}', []),
    (b'{"schema": "ddpsim.workload/1"}', ["parameters"]),
    (b'{"schema": "ddpsim.workload/1", "paramters": []}', ["paramters", "Did you mean"]),
    (b'{"schema": "ddpsim.workload/1", "parameters": {}}', ["/parameters"]),
    (b"layer,parameters,forward_us,backward_us\nconv,-1,2,3\n", ["line 2"]),
    (b"layer,parameters,forward_us,backward_us\nconv,1,2\n", ["line 2"]),
    (b"layer,parameters,forward_us\nconv,1,2\n", []),
    (b'{"traceEvents": []}', []),
    (b'{"traceEvents": [{"ph": "X", "name": "ProfilerStep#1", "ts": 0, "dur": 1}]}', []),
]

# A change to a good parameter or document, and fragments of the message.
BAD_FIELDS = [
    ({"parameters": [{**WEIGHT, "shape": [-1]}]}, ["/parameters/0/shape"]),
    ({"parameters": [{**WEIGHT, "shape": [1.5]}]}, ["/parameters/0/shape"]),
    ({"parameters": [{**WEIGHT, "shape": "10"}]}, ["/parameters/0/shape"]),
    ({"parameters": [{**WEIGHT, "shape": [2**40, 2**40]}]}, ["/parameters/0", "2^63"]),
    ({"parameters": [{**WEIGHT, "dtype": "flot32"}]}, ["/parameters/0/dtype", "float32"]),
    ({"parameters": [{**WEIGHT, "dtypo": "float32"}]}, ["dtypo", "Did you mean"]),
    ({"parameters": [{**WEIGHT, "sparse_gradient": "yes"}]}, ["/parameters/0/sparse_gradient"]),
    ({"parameter_order": "random"}, ["/parameter_order", "definition"]),
    ({"batch_per_gpu": 0}, ["/batch_per_gpu"]),
    ({"forward": {"duration_us": -5}}, ["/forward/duration_us"]),
    ({"forward": {"duration_us": "5"}}, ["/forward/duration_us"]),
    ({"backward": {"duration_us": 10, "ready": [{"parameter": 1, "at_us": 1}]}}, ["/backward/ready/0"]),
    (
        {"backward": {"duration_us": 10, "ready": [{"parameter": 0, "at_us": 1}, {"parameter": 0, "at_us": 2}]}},
        ["/backward/ready/1"],
    ),
    ({"optimizer": {"duration_us": 1e300}}, ["/optimizer/duration_us"]),
]

BAD_CLUSTERS = [
    ("2xv100-nvlnk", ["2xv100-nvlnk", "2xv100-nvlink"]),
    ("alps", ['Did you mean "alps-gh200"?']),
    ("nowhere.json", ["nowhere.json"]),
    ("node:2", ["gpu"]),
    ("node:0 gpu:8xV100 nvswitch:150GBps", ["node:0"]),
    ("node:two gpu:8xV100 nvswitch:150GBps", ["node:two"]),
    ("node:1 gpu:V100 nvswitch:150GBps", ["gpu:V100"]),
    ("node:1 gpu:8xV101 nvswitch:150GBps", ["V101", "Similar names: V100."]),
    ("node:1 gpu:8xV100 nvswitch:150", ["nvswitch:150", "unit"]),
    ("node:1 gpu:8xV100 nvswitch:0GBps", ["nvswitch:0GBps"]),
    ("node:1 gpu:8xV100 nvswich:150GBps", ["nvswich", "nvswitch"]),
    ("node:1 gpu:8xV100 nvlink:6x25GBps:ring", ["ring", "cube"]),
    ("node:1 node:1 gpu:8xV100 nvswitch:150GBps", ["node"]),
    ("node:2 gpu:8xV100 nvswitch:150GBps", ["network", "nic:"]),
    ("node:2 gpu:8xV100 nvswitch:150GBps nic:1x100Gbps:wifi", ["wifi", "roce"]),
    ("node:2 gpu:8xV100 nvswitch:150GBps nic:1x100Gbps:ib oversubscription:0.5", ["oversubscription"]),
    ("node:2 gpu:8xV100 nvswitch:150GBps nic:1x100Gbps:ib latency:5", ["latency:5", "unit"]),
    ("node:99999999999999999999 gpu:8xV100 nvswitch:150GBps", ["node:"]),
    ("dgx1v@0", ["dgx1v"]),
    ("dgx1v@many", ["many"]),
]


@contextlib.contextmanager
def empty_folder():
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


class BadInput(unittest.TestCase):
    def refused(self, arguments, code, fragments, cwd):
        """Runs in `cwd`, and expects one line on stderr and no other output."""
        before = sorted(os.listdir(cwd))
        outcome = ddpsim(*arguments, cwd=cwd)
        with self.subTest(arguments=arguments):
            self.assertEqual(outcome.code, code, outcome.err)
            self.assertEqual(outcome.out, "")
            self.assertRegex(outcome.err, r"\Addpsim: [^\n]+\n\Z")
            for fragment in fragments:
                self.assertIn(fragment, outcome.err)
            self.assertEqual(sorted(os.listdir(cwd)), before)

    def test_command_lines(self):
        with empty_folder() as folder:
            for arguments, fragments in USAGE_ERRORS:
                self.refused(arguments, USAGE, fragments, folder)

    def test_workload_files(self):
        for text, fragments in BAD_WORKLOADS:
            with empty_folder() as folder:
                (folder / "bad.json").write_bytes(text)
                outputs = ["--timeline", "t.pftrace", "--csv", "t.csv"]
                self.refused(
                    ["simulate", "bad.json", "2xv100-nvlink", *outputs], BAD_INPUT, ["bad.json", *fragments], folder
                )
                self.refused(["import", "bad.json", "-o", "w.json"], BAD_INPUT, ["bad.json"], folder)

    def test_workload_fields(self):
        good = {**workload([WEIGHT], [0]), "forward": {"duration_us": 5}, "optimizer": {"duration_us": 1}}
        with empty_folder() as folder:
            path = write_json(folder / "good.json", good)
            self.assertEqual(ddpsim("simulate", path, "2xv100-nvlink").code, 0)
            for change, fragments in BAD_FIELDS:
                write_json(folder / "bad.json", {**good, **change})
                self.refused(["simulate", "bad.json", "2xv100-nvlink"], BAD_INPUT, ["bad.json", *fragments], folder)

    def test_workloads_by_name(self):
        with empty_folder() as folder:
            for name, fragments in [
                ("resnet50-v100-b3", ['Did you mean "resnet50-v100-b32"?']),
                ("missing.json", ["no such file"]),
                ("resnet50@V10", ["Similar names: A10, V100."]),
                ("resnet5@V100", ['Did you mean "resnet50"?']),
                ("resnet50", ["resnet50@V100"]),
                (".", ["folder"]),
            ]:
                self.refused(["simulate", name, "2xv100-nvlink"], BAD_INPUT, [name, *fragments], folder)

    def test_clusters(self):
        with empty_folder() as folder:
            for cluster, fragments in BAD_CLUSTERS:
                self.refused(["simulate", "resnet50-v100-b32", cluster], BAD_INPUT, fragments, folder)

    def test_cluster_files(self):
        good = json.loads((ROOT / "topologies" / "data" / "dgx1v.json").read_text())
        with empty_folder() as folder:
            for text, fragments in [
                ("", ["empty"]),
                ("{", []),
                ('{"schema": "ddpsim.workload/1"}', []),
                (json.dumps({**good, "nodes": -1}), ["/nodes"]),
                (json.dumps({**good, "nods": 1}), ["nods", "Did you mean"]),
            ]:
                (folder / "bad.json").write_text(text)
                self.refused(["tune", "resnet50-v100-b32", "bad.json"], BAD_INPUT, ["bad.json", *fragments], folder)
            self.refused(["tune", "resnet50-v100-b32", "."], BAD_INPUT, ["directory"], folder)

    def test_another_gpu_needs_a_scale(self):
        with empty_folder() as folder:
            self.refused(
                ["simulate", "resnet50-v100-b32", A100],
                BAD_INPUT,
                ["V100", "A100", "--compute-scale", "--gpu A100"],
                folder,
            )

    def test_more_gpus_than_exist(self):
        with empty_folder() as folder:
            self.refused([*SIMULATE, "--gpus-per-node", "3"], BAD_INPUT, ["2"], folder)

    def test_a_bad_gzip_stream(self):
        whole = gzip.compress(FIXTURE.read_bytes())
        with empty_folder() as folder:
            for damaged in (whole[: len(whole) // 2], whole[:-8] + b"\0" * 8, whole[:12]):
                (folder / "trace.json.gz").write_bytes(damaged)
                self.refused(["import", "trace.json.gz", "-o", "w.json"], BAD_INPUT, ["trace.json.gz"], folder)

    def test_an_iteration_the_trace_lacks(self):
        with empty_folder() as folder:
            self.refused(["import", FIXTURE, "--iteration", "99"], BAD_INPUT, ["99"], folder)

    def test_shapes_that_are_not_known(self):
        document = {
            **workload([{**WEIGHT, "shape": None}], [0]),
            "forward": {"duration_us": 5},
            "optimizer": {"duration_us": 1},
        }
        with empty_folder() as folder:
            write_json(folder / "bare.json", document)
            for command in (["simulate", "bare.json", "2xv100-nvlink"], ["buckets", "bare.json"]):
                self.refused(command, BAD_INPUT, ["bare.json", "--model"], folder)

    def test_names_that_no_file_can_have(self):
        """A name that is too long, a link to itself, and a file in place of a folder."""
        with empty_folder() as folder:
            os.symlink("loop", os.path.join(folder, "loop"))
            pathlib.Path(folder, "file").write_text("x")
            pathlib.Path(folder, "steps.csv").write_text("step_time_ms\n1\n2\n3\n")
            for name in ("x" * 300, "x" * 5000, "loop", "loop/x", "file/x"):
                for command in (
                    ["simulate", name, "dgx1v"],
                    ["simulate", "resnet18", name],
                    ["simulate", f"{name}@V100", "dgx1v"],
                    ["topo", name],
                    ["topo", f"dgx1v switches:{name}"],
                    ["buckets", name],
                    ["tune", name, "dgx1v"],
                    ["advise", name, "dgx1v"],
                    ["import", name],
                    ["import", name, name],
                    ["diff", name, "steps.csv"],
                    ["diff", "steps.csv", f"{name}:step_time_ms"],
                    ["validate", name, "104ms"],
                    ["validate", "104ms", name],
                    ["calibrate", name, "--cluster", "dgx1v", "-o", "c.json"],
                    ["calibrate", f"{name}@2x8", "--cluster", "dgx1v", "-o", "c.json"],
                    ["calibrate", "steps.csv", "--cluster", name, "-o", "c.json"],
                    ["compare", "resnet18", name, "dgx1v"],
                    ["compare", "--study", name],
                    ["sweep", name],
                    ["sweep", "--join", name],
                    [*SIMULATE, "--network", "flow", "--background", name],
                    [*SIMULATE, "--measured-step", name],
                ):
                    outcome = ddpsim(*command, cwd=folder)
                    with self.subTest(command=command):
                        self.assertIn(outcome.code, (USAGE, BAD_INPUT), outcome.err)
                        self.assertRegex(outcome.err, r"\Addpsim: [^\n]+\n\Z")
                        self.assertNotIn("filesystem error", outcome.err)


STUDY = {"schema": "ddpsim.study/1", "workload": "resnet18@V100", "candidates": ["dgx1v"]}
BOTH = ["compare", "sweep"]
# The commands, the changes of STUDY (None removes a key), and the message after "ddpsim: study.json:".
STUDIES = [
    (BOTH, {"options": {"--torch": "2.8"}}, '/options/--torch: options are written without dashes here. Write "torch"'),
    (BOTH, {"options": {"trch": "2.8"}}, '/options/trch: `ddpsim compare` has no option --trch. Did you mean "torch"?'),
    (BOTH, {"options": {"torch": True}}, "/options/torch: --torch takes a value. Write the value instead of true"),
    (
        BOTH,
        {"options": {"static-graph": 1}},
        "/options/static-graph: --static-graph takes no value. Write true or false",
    ),
    (BOTH, {"workloads": [], "workload": None}, "/workloads: is empty. Name at least one workload"),
    (BOTH, {"workloads": ["resnet50@V100"]}, "/workloads: is given in addition to /workload. Give one of the two"),
    (BOTH, {"candidates": [{"label": "a"}]}, '/candidates/0: missing "cluster"'),
    (
        BOTH,
        {"workloads": [{"workload": "resnet18@V100", "share": -1}], "workload": None},
        "/workloads/0/share: -1 is out of range; expected a number from 0 to 1000000000",
    ),
    (BOTH, {"workloads": [{"share": 1}], "workload": None}, '/workloads/0: missing "workload"'),
    (
        BOTH,
        {"schema": "ddpsim.result/1"},
        '/schema: "ddpsim.result/1" is not known; expected one of: ddpsim.study/1. Did you mean "ddpsim.study/1"?',
    ),
    (BOTH, {"about": 3}, "/about: 3 is not a string; expected text in quotes"),
    (BOTH, {"options": {"torch": {}}}, "/options/torch: an object is not true or false"),
    (["sweep"], {"candidates": []}, "/candidates: is empty. Name at least one cluster"),
    (["sweep"], {"workload": None}, ' missing "workload"'),
    (
        ["compare"],
        {"options": {"csv": "a.csv"}},
        "/options/csv: --csv names a file to write, which a study cannot do. Leave it out, and type --csv on the command line",
    ),
    (
        ["compare"],
        {"options": {"json": True}},
        "/options/json: --json sets how the answer is shown, but a study only states the question. Leave it out, and type --json on the command line",
    ),
    (
        ["compare"],
        {"options": {"quiet": True}},
        "/options/quiet: --quiet sets how the answer is shown, but a study only states the question. Leave it out, and type --quiet on the command line",
    ),
    (
        ["compare"],
        {"grid": {"bucket-cap-mb": [5]}},
        "/grid: is for a sweep; `ddpsim compare` does not take it. Run `ddpsim sweep` with this file, or leave it out",
    ),
    (
        ["compare"],
        {"measured_with": {}},
        "/measured_with: is for a sweep; `ddpsim compare` does not take it. Run `ddpsim sweep` with this file, or leave it out",
    ),
    (
        ["sweep"],
        {"grid": {"bucket-cap-mb": 5}},
        "/grid/bucket-cap-mb: varies, so it must be a list. Write [value, …], or move it to /options",
    ),
    (["sweep"], {"grid": {"bucket-cap-mb": []}}, "/grid/bucket-cap-mb: is empty. Give at least one value"),
    (
        ["sweep"],
        {"grid": {"bucket-cap-mb": [5]}, "options": {"bucket-cap-mb": 5}},
        "/grid/bucket-cap-mb: is also in /options. Give it in one of the two",
    ),
    (
        ["sweep"],
        {"grid": {"measured-step": ["dgx1v=100ms"]}},
        "/grid/measured-step: cannot vary, because it belongs to the current job. Give it in /options",
    ),
    (
        ["sweep"],
        {"grid": {"trch": ["2.8"]}},
        '/grid/trch: `ddpsim compare` has no option --trch. Did you mean "torch"?',
    ),
    (
        ["sweep"],
        {"grid": {"static-graph": ["yes"]}},
        "/grid/static-graph/0: --static-graph takes no value. Write true or false",
    ),
    (
        ["sweep"],
        {"grid": {"bucket-cap-mb": [5]}, "measured_with": {"bucket-cap-mb": 5}},
        "/measured_with: no step was measured. Leave it out",
    ),
    (
        ["sweep"],
        {"candidates": [{"cluster": "dgx1v", "measured_step": "100ms"}], "grid": {"bucket-cap-mb": [5]}},
        ' a step was measured; state which value each option of "grid" had. Add "measured_with": {"bucket-cap-mb": …}',
    ),
    (
        ["sweep"],
        {
            "candidates": [{"cluster": "dgx1v", "measured_step": "100ms"}],
            "grid": {"bucket-cap-mb": [5], "torch": ["2.8"]},
            "measured_with": {"bucket-cap-mb": 5},
        },
        '/measured_with: misses torch: a step was measured; state which value each option of "grid" had',
    ),
    (
        ["sweep"],
        {
            "candidates": [{"cluster": "dgx1v", "measured_step": "100ms"}],
            "grid": {"bucket-cap-mb": [5]},
            "measured_with": {"bucket-cap-mb": 5, "torch": "2.8"},
        },
        '/measured_with/torch: does not vary. Name only options of "grid"',
    ),
    (
        ["sweep"],
        {
            "candidates": [{"cluster": "dgx1v", "measured_step": "100ms"}],
            "workloads": ["resnet18@V100", "resnet50@V100"],
            "workload": None,
        },
        "/workloads: a measured step belongs to one workload. Sweep this workload by itself",
    ),
    (
        ["sweep"],
        {
            "grid": {"bucket-cap-mb": list(range(1, 1002)), "accumulate": list(range(1, 1002))},
            "candidates": ["dgx1v@1..10"],
        },
        " has more than 10000000 points. Split it into several studies",
    ),
    (
        ["sweep"],
        {"grid": {"scheme": [["ddp", "fsdp2"]]}},
        "/grid/scheme/0: --scheme: a point of a sweep has one scheme; put several into the grid",
    ),
    (
        ["sweep"],
        {"candidates": ["dgx1v@4..2"], "grid": {"bucket-cap-mb": [5]}},
        '/candidates: "dgx1v@4..2": the range ends below its start.'
        " Expected items such as {1,2,4} or {1..16*2}, in a name's size also dgxa100@1..16*2: whole numbers from 1 to 1000000, at most 10000 clusters",
    ),
    (
        ["sweep"],
        {"candidates": ["a=dgx1v", "a=p3dn"], "grid": {"bucket-cap-mb": [5]}},
        "/candidates: a: two candidates have this label. Give each candidate its own label",
    ),
]


class Studies(unittest.TestCase):
    def test_each_error_has_its_place_and_a_remedy(self):
        with empty_folder() as folder:
            path = pathlib.Path(folder, "study.json")
            for commands, changed, said in STUDIES:
                write_json(path, {key: value for key, value in {**STUDY, **changed}.items() if value is not None})
                for command in commands:
                    outcome = ddpsim(command, *(["--study"] if command == "compare" else []), "study.json", cwd=folder)
                    with self.subTest(command=command, changed=changed):
                        self.assertEqual((outcome.code, outcome.out), (BAD_INPUT, ""))
                        self.assertEqual(outcome.err, f"ddpsim: study.json:{said}\n")


class FailingMachine(unittest.TestCase):
    def test_outputs_that_cannot_be_written(self):
        with empty_folder() as folder:
            for option in ("--timeline", "--csv"):
                for path in ("nowhere/out", "."):
                    outcome = ddpsim(*SIMULATE, option, path, cwd=folder)
                    with self.subTest(option=option, path=path):
                        self.assertEqual(outcome.code, FAILURE, outcome.err)
                        self.assertEqual(outcome.out, "")
                        self.assertRegex(outcome.err, r"\Addpsim: [^\n]+: cannot be written: [^\n]+\n\Z")
                        self.assertEqual(os.listdir(folder), [])

    def test_figures_that_cannot_be_written(self):
        with empty_folder() as folder:
            for path in ("nowhere/out.svg", ".", *(["/dev/full"] if os.path.exists("/dev/full") else [])):
                outcome = ddpsim("allreduce", "2xv100-nvlink", "--plot", path, cwd=folder)
                with self.subTest(path=path):
                    self.assertEqual(outcome.code, FAILURE, outcome.err)
                    self.assertEqual(outcome.out, "")
                    self.assertRegex(outcome.err, r"\Addpsim: [^\n]+: cannot be written: [^\n]+\n\Z")
                    self.assertEqual(os.listdir(folder), [])

    def test_reports_that_cannot_be_written(self):
        with empty_folder() as folder:
            for path in ("nowhere/step.html", "."):
                outcome = ddpsim(*SIMULATE, "--report", path, cwd=folder)
                with self.subTest(path=path):
                    self.assertEqual(outcome.code, FAILURE, outcome.err)
                    self.assertEqual(outcome.out, "")
                    self.assertRegex(outcome.err, r"\Addpsim: [^\n]+: cannot be written: [^\n]+\n\Z")
                    self.assertEqual(os.listdir(folder), [])

    @unittest.skipUnless(os.path.exists("/dev/full"), "this system has no /dev/full")
    def test_a_full_standard_output(self):
        for arguments in ([*SIMULATE], [*SIMULATE, "--json"], ["list"], ["buckets", "resnet18"]):
            with open("/dev/full", "w") as full:
                process = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            with self.subTest(arguments=arguments):
                self.assertEqual(process.returncode, FAILURE)
                self.assertRegex(process.stderr, r"\Addpsim: cannot write[^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
