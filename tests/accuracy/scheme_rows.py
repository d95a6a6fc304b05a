"""Turns a row of published measurements of other schemes (data/schemes/schemes.csv) into a job for the command line.

A job has a cluster and a scheme. If a row cannot be predicted, NotPredicted tells why. The rules read only the inputs
of a row, never its result or identity. If the library of a stack decides something that a row leaves open, the rule
names it.
"""

import dataclasses
import re

import model_dimensions
from own_scripts import script_of

# Rows with these flags do not measure a training step, or do not state enough to repeat it.
FLAGS_NOT_PREDICTED = (
    "context-missing",
    "do-not-score",
    "microbenchmark",
    "hybrid-parallel",
    "input-pipeline",
    "ci-threshold",
    "ci-golden",
    "startup",
    "fault-tolerance",
    "upper-bound",
    "mfu-only",
    "efficiency-only",
)

# Names of GPUs in the rows, and in `ddpsim list`.
GPUS = (
    ("B200", "B200"),
    ("H200", "H200"),
    ("GH200", "GH200"),
    ("H100", "H100"),
    ("A100", "A100"),
    ("V100", "V100"),
    ("P100", "P100"),
    ("T4", "T4"),
    ("A40", "A40"),
    ("A10G", "A10G"),
    ("RTX 4090", "RTX4090"),
    ("RTX 3090", "RTX3090"),
    ("RTX 2080 Ti", "RTX2080Ti"),
    ("TITAN RTX", "TITANRTX"),
)

# GPUs that are not in the list. If a step time is given, the estimate of a newer GPU is scaled to it. The shares of
# forward and backward are then those of that GPU.
STAND_INS = {"K80": "P100"}
STAND_IN = "forward's share of a step, as of a newer GPU"

# Schemes as rows spell them without remarks in brackets, and as --scheme does.
SCHEMES = (
    (r"single GPU", "none"),
    (r"DDP( gradient accumulation| \+ PowerSGD hook)?", "ddp"),
    (r"Horovod all-reduce", "ddp"),
    (r"replicated all-reduce", "naive"),
    (r"FSDP1?", "fsdp1"),
    (r"FSDP1 (FULL_SHARD|SHARD_GRAD_OP|NO_SHARD|HYBRID_SHARD|_HYBRID_SHARD_ZERO2)", "fsdp1"),
    (r"FSDP2", "fsdp2"),
    (r"(DeepSpeed )?ZeRO[- ](stage )?([123])( \+ CPU offload| Offload)?", "zero"),
    (r"(DeepSpeed )?ZeRO-Offload", "zero"),
    (r"ZeroRedundancyOptimizer", "zero_redundancy"),
    (r"DataParallel", "data_parallel"),
    (r"parameter server( in one process| synchronous)", "parameter_server"),
    (r"(BytePS|plain) (sync PS|PS sync)", "parameter_server"),
)

SCHEMES_TO_COME = (  # not simulated yet
    (r"variables on GPU", "parameter server on GPUs"),
    (r"^BytePS$|BytePS async|BytePS push", "BytePS, how it ran not stated"),
    (r"async|ByteScheduler|\bPS\b(?! sync)(?<!sync PS)", "parameter server"),
    (r"ZenFlow", "updates a step late"),
    (r"\bCP\b|\+TP|\bTP\d|\bEP\d|\+PP|Megatron", "tensor, pipeline, context or expert parallel inside"),
    (r"all-reduce \(no NCCL\)", "all-reduce by copies"),
    (r"ZeRO-1/2|ZeRO \(|ZeRO$", "stage of ZeRO not stated"),
    (r"compression|1-bit|ByteGrad|low-precision|QAdam", "compression"),
    (r"lm_head dropped|removed", "model changed"),
)

# Words in scheme_settings or precision that change a step, but have no option.
NOT_MODELLED = (
    (r"\bCP[2-9]|\bTP\d|\bPP\d", "tensor, pipeline, context or expert parallel inside"),
    (r"per-layer act ckpt", "checkpointing of every other layer"),
    (r"frozen", "frozen parameters"),
    (r"multi-rank bucket", "several owners' all-reduce in one"),
    (r"camera", "inputs not stated"),
    (r"CUDA graph", "CUDA graphs"),
)

# Words that make compute faster, but have no option. Rows that share them are compared with each other, because they
# change both sides of a ratio equally. The step of one of them is given.
SHARED_WORDS = (
    ("compile", r"(?<!no )\bcompile|torch\.compile"),
    ("fp8", r"fp8|float8"),
    ("CUDA graphs", r"CUDA graphs"),
)

DTYPES = {"bf16": "bf16", "fp16": "fp16", "amp": "fp16"}


@dataclasses.dataclass
class Job:
    """A row in the words of the command line. `cluster` has all nodes, and `options` are the options without
    --scheme."""

    model: str
    gpu: str
    batch: int
    sequence: "int | None"
    precision: str
    checkpointing: str
    scheme: str  # a name of --scheme, or "none"
    scheme_options: dict
    options: list
    cluster: str
    nodes: int
    gpus: int
    micro_batches: int
    # Each micro-batch is reduced; there is no no_sync() around all but the last.
    syncs_each: bool
    words: tuple  # from SHARED_WORDS
    assumed: list  # facts that the row does not state
    # The script loads parameters in bfloat16 under any scheme.
    bf16_parameters: bool = False
    # A word of the estimate; "": the usual one.
    optimizer: str = ""

    @property
    def guesses_links(self):
        """Whether the links inside a node or between nodes are assumed."""
        return bool({PCIE, NVLINK, BRIDGE, PORTS} & set(self.assumed))

    @property
    def stands_in(self):
        """Whether another GPU stands in. The predicted step then means nothing until it is scaled to a given one."""
        return STAND_IN in self.assumed

    @property
    def samples(self):
        """Samples of all GPUs in one step."""
        return self.batch * self.gpus * self.micro_batches

    @property
    def arrives_in_bf16(self):
        """Whether modules get their parameters in bfloat16. FSDP gathers them so, and DeepSpeed keeps them so.

        Otherwise autocast casts them.
        """
        deepspeed = self.scheme.startswith("zero") and self.scheme != "zero_redundancy"
        return self.precision == "bf16" and (
            deepspeed or self.bf16_parameters or self.scheme_options.get("param_dtype") == "bf16"
        )

    @property
    def arrives_in_fp16(self):
        """Whether parameters and gradients are in fp16, as with DeepSpeed's fp16."""
        return self.precision == "amp" and self.scheme.startswith("zero") and self.scheme != "zero_redundancy"

    def scheme_text(self):
        options = ",".join(f"{name}={value}" for name, value in self.scheme_options.items())
        return self.scheme + (":" + options if options else "")


class NotPredicted(Exception):
    """A row cannot be predicted. The message is one that several rows may share."""


def gpu_of(row):
    stated = row["gpu"].upper()
    if not stated:
        raise NotPredicted("GPU not stated")
    for spelt, name in GPUS:
        if re.search(rf"\b{spelt.upper()}\b", stated):
            return name
    for spelt, name in STAND_INS.items():
        if re.search(rf"\b{spelt}\b", stated):
            return name
    raise NotPredicted("GPU not in `ddpsim list`")


def size_of(row, gpus=None):
    """Nodes, GPUs per node and GPUs of the row, or of its baseline if `gpus` is given."""
    if not row["n_gpus"].isdigit():
        raise NotPredicted("number of GPUs not stated")
    gpus = int(gpus or row["n_gpus"])
    if row["nodes"].isdigit() and not row["gpus_per_node"].isdigit():
        per_node = int(row["n_gpus"]) // int(row["nodes"])
    elif row["gpus_per_node"].isdigit():
        per_node = int(row["gpus_per_node"])
    else:
        per_node = int(row["n_gpus"])  # taken for one machine
        if per_node > 8:
            raise NotPredicted("number of nodes not stated")
    return max(1, -(-gpus // per_node)), per_node, gpus


# The usual links inside a node.
NODES = {
    "B200": "nvswitch:900GBps",
    "H200": "nvswitch:450GBps",
    "H100": "nvswitch:450GBps",
    "A100": "nvswitch:300GBps",
    "T4": "pcie:15.75GBps",
    "A40": "pcie:31.5GBps",
    "A10G": "pcie:31.5GBps",
    "RTX4090": "pcie:31.5GBps",
    "RTX3090": "pcie:31.5GBps",
    "RTX2080Ti": "pcie:15.75GBps",
    "TITANRTX": "pcie:15.75GBps",
}
PCIE, NVLINK, PORTS = "PCIe in the node", "NVLink in the node", "a port for each GPU, as its generation's nodes have"
BRIDGE = "an NVLink bridge, as the authors' documentation has it of such a pair"
BRIDGES = {"TITANRTX": "nvlink:2x25GBps", "RTX2080Ti": "nvlink:2x25GBps"}  # sold separately, for a pair
USUAL_NICS = {"B200": "8x400Gbps:ib", "H200": "8x400Gbps:ib", "H100": "8x400Gbps:ib", "A100": "8x200Gbps:ib"}


def inside(row, gpu, per_node, assumed):
    """The links inside a node, in the words of a cluster line."""
    stated = row["network"]
    if per_node == 1:
        return ""
    if STAND_IN in assumed:  # Kepler has only PCIe
        return "pcie:15.75GBps"
    if gpu in ("V100", "P100"):
        links = {"V100": "6x25GBps", "P100": "4x20GBps"}[gpu]
        if "PCIe" in stated or "PCIe" in row["gpu"] or "no NVLink" in stated:
            return "pcie:15.75GBps"
        if "slowest link" in stated:
            # Machines with two cards each; the link between machines has 3 Gb/s.
            assumed.append(PCIE)
            return "pcie:15.75GBps"
        if gpu == "V100" and int(row["gpus_per_node"] or per_node) == 16:
            return "nvswitch:150GBps"
        if "NVLink" not in stated and "p3" not in row["gpu"]:
            assumed.append(NVLINK)
        return f"nvlink:{links}" + (":cube" if per_node == 8 else "")
    if "PCIe" in row["gpu"] or "no NVLink" in stated:
        return "pcie:31.5GBps"
    if gpu == "A100" and int(row["gpus_per_node"] or per_node) == 4:
        assumed.append(NVLINK)
        return "nvlink:12x25GBps:mesh"
    if "NVLink" not in stated and NODES[gpu].startswith("nvswitch") and row["nodes"] == "1":
        assumed.append("NVSwitch in the node")
    if NODES[gpu].startswith("pcie"):
        links = script_of(row).links
        assumed.append(BRIDGE if links else PCIE)
        return links or NODES[gpu]
    return NODES[gpu]


def nics_of(row, gpu, assumed):
    """The network between nodes, in the words of a cluster line."""
    stated = row["network"]
    kind = (
        "roce"
        if "RoCE" in stated
        else "efa"
        if "EFA" in stated
        else "slingshot"
        if "Slingshot" in stated
        else "tcp"
        if re.search(r"TCP|Ethernet|slowest link|AWS p[23]\.", stated)
        else "ib"
    )
    each = re.search(r"(\d+) ?x (\d+(?:\.\d+)?) Gb/s", stated) or re.search(
        r"(\d+(?:\.\d+)?) Gb/s [A-Za-z0-9-]+ per GPU|"
        r"one (\d+) Gb/s \S+ per GPU",
        stated,
    )
    if each and " x " in each.group(0):
        return f"{each.group(1)}x{each.group(2)}Gbps:{kind}"
    if each:
        return f"{row['gpus_per_node']}x{each.group(1) or each.group(2)}Gbps:{kind}"
    rate = re.search(r"(\d+(?:\.\d+)?)(?:-\d+)? Gb/s", stated)
    if rate:
        whole = float(rate.group(1))
        if "p3.16xlarge" not in row["gpu"] and whole >= 800:
            # The rate is that of all ports of a node, such as 1600 Gb/s, and each GPU has a port.
            per_node = int(row["gpus_per_node"])
            return f"{per_node}x{whole / per_node:g}Gbps:{kind}"
        return f"1x{whole:g}Gbps:{kind}"
    if "p3.16xlarge" in row["gpu"]:
        return "1x25Gbps:tcp"
    if gpu in USUAL_NICS and row["gpus_per_node"] == "8":
        assumed.append(PORTS)
        return USUAL_NICS[gpu]
    raise NotPredicted("network between nodes not stated")


def cluster_of(row, assumed):
    """The GPU, the links inside a node and those between nodes, in the words of a cluster line."""
    gpu = gpu_of(row)
    nodes, per_node, _ = size_of(row)
    if not row["gpus_per_node"].isdigit() or "gpn-assumed" in row["flags"]:
        assumed.append("GPUs of a node")
    if not re.search(rf"\b{gpu.upper()}\b", row["gpu"].upper().replace(" ", "")) and any(
        re.search(rf"\b{spelt}\b", row["gpu"]) for spelt in STAND_INS
    ):
        assumed.append(STAND_IN)
    words = inside(row, gpu, per_node, assumed)
    nics = "nic:" + nics_of(row, gpu, assumed) if nodes > 1 else ""
    return gpu, words, nics


def line_of(gpu, words, nics, nodes, per_node):
    """A cluster line of whole nodes, because the links of a part of a node depend on the whole node."""
    return " ".join(
        part for part in (f"node:{nodes}", f"gpu:{per_node}x{gpu}", words, nics if nodes > 1 else "") if part
    )


def precision_of(row, gpu, scheme, assumed):
    script, stated = script_of(row), row["precision"].lower()
    if scheme.startswith("fsdp") and script.sharded_precision:
        return script.sharded_precision
    if not stated and script.precision:
        return script.precision
    if stated.startswith(("bf16", "amp_bf16", "amp_fp8")):  # fp8 is in SHARED_WORDS
        return "bf16"
    if stated.startswith(("fp16", "amp", "mixed")):
        return "amp"
    if stated == "fp32":
        return "fp32"
    if stated == "tf32":
        return "tf32"
    if stated.startswith("fp8"):
        raise NotPredicted("precision: fp8 alone")
    assumed.append("precision")
    if not model_dimensions.has_tokens(model_dimensions.stem(row["model"])):
        return "fp32"
    return "amp" if gpu in ("V100", "P100", "T4", "RTX2080Ti", "TITANRTX") else "bf16"


def sequence_of(row, name):
    stated = re.search(r"\bseq=(\d+)", row["scheme_settings"])
    if stated:
        return int(stated.group(1))
    step = re.search(r"\bstep (\d+(?:\.\d+)?) s\b", row["notes"])
    if step and row["metric"] == "tokens/s per GPU":
        # Speed and time of the same step, both printed to three digits, give its tokens.
        tokens = float(row["value_ngpu"]) * float(step.group(1)) / int(row["per_gpu_batch"])
        return 256 * round(tokens / 256)
    return script_of(row).sequence or model_dimensions.SEQUENCES.get(name)


def number(text):
    """The number in texts such as 1M, 2K, 2e8 or 100000."""
    scale = {"K": 1e3, "M": 1e6, "B": 1e9}.get(text[-1].upper(), 1)
    return int(float(text.rstrip("KMBkmb")) * scale)


def checkpointing_of(settings, usual="none"):
    """Checkpointing in the words of an estimate: none, full, selective, or a number of blocks; `usual` if not
    stated."""
    some = re.search(r"layers with act ckpt=([1-9]\d*)", settings)
    if some:
        return some.group(1)
    if re.search(r"act_ckpt=False|no act ckpt|act ckpt=0\b|no ckpt", settings):
        return "none"
    if re.search(r"selective( per-op)? act ckpt", settings):
        return "selective"
    return "full" if re.search(r"act_ckpt=True|\bact ckpt|full act ckpt", settings) else usual


def micro_batches_of(settings, usual=1):
    stated = re.search(r"grad_accum=(\d+)|accumulation=(\d+)|\baccum (\d+)", settings)
    if stated:
        return int(next(group for group in stated.groups() if group))
    return usual


def syncs_each_micro_batch(row, scheme):
    """Whether each micro-batch is reduced. DDP and FSDP do so unless a loop uses no_sync().

    Composer uses it only for DDP (ddp_sync_context returns early for FSDP), and torchtitan never. Trainer's and
    accelerate's accumulate() use it.
    """
    settings = row["scheme_settings"]
    if re.search(r"every micro-batch synced|no_sync written wrongly", settings):
        return True
    if re.search(r"no_sync/accumulate correct|grad_sync_mode=batch", settings):
        return False
    return "Composer" in row["framework"] or scheme == "fsdp2"


def fsdp_options(row, scheme, precision):
    """Options of FSDP: those that the row states, and those that its stack passes otherwise."""
    settings, framework = row["scheme_settings"], row["framework"]
    options = {}
    if scheme == "fsdp1":
        strategy = re.search(r"FULL_SHARD|SHARD_GRAD_OP|NO_SHARD|_HYBRID_SHARD_ZERO2|HYBRID_SHARD", row["scheme"])
        if strategy and strategy.group(0) != "FULL_SHARD":
            options["strategy"] = strategy.group(0).lstrip("_").lower()
    least = re.search(r"min_num_params=(\w+)", settings)
    if least:
        options |= {"wrap": "size", "min_num_params": number(least.group(1))}
    elif re.search(r"wrapping=null", settings):
        options["wrap"] = "none"
    half = DTYPES.get(precision)
    if "Composer" in framework:
        # In get_mixed_precision, DEFAULT reduces in fp32. backward_prefetch is BACKWARD_POST.
        if half:
            options["param_dtype"] = half
            if "mp=DEFAULT" in settings:
                options["reduce_dtype"] = "fp32"
        options["backward_prefetch"] = "post"
    elif "torchtitan" in framework or "fp32 reduce-scatter" in row["precision"]:  # its mixed_precision_reduce
        options |= {"param_dtype": half, "reduce_dtype": "fp32"} if half else {}
    elif "(2022)" in framework:
        # PyTorch 1.11 and 1.12 have no backward_prefetch and no limiter. accelerate 0.7 uses only autocast, and units
        # by size. They have 1e8 parameters unless its question is answered otherwise.
        options = {"wrap": "size"} | options | {"backward_prefetch": "none", "limit_all_gathers": "false"}
    elif half:
        options["param_dtype"] = half
    if scheme == "fsdp2" and "torchtitan" in framework:
        options["reshard_root"] = "true"
    if micro_batches_of(settings) > 1 and syncs_each_micro_batch(row, scheme):
        options["no_sync"] = "false"
    return options


def zero_options(row, scheme):
    settings = row["scheme_settings"]
    options = dict(next((passed for stage, passed in script_of(row).zero_options if scheme == f"zero{stage}"), {}))
    overlap = re.search(r"overlap_comm=(true|false)", settings)
    if overlap:
        options["overlap_comm"] = overlap.group(1)
    both = re.search(r"reduce_bucket=allgather_bucket=(\w+)", settings)
    if both:
        options |= {"reduce_bucket_size": number(both.group(1)), "allgather_bucket_size": number(both.group(1))}
    return options


def server_options(row):
    settings, nodes = row["scheme_settings"], size_of(row)[0]
    # In variable_mgr.py of tf_cnn_benchmarks, distributed_replicated assigns the copies of a variable in the same step.
    # It does so as soon as every worker has applied its gradient of that variable, and does not wait for other
    # variables.
    if "in one process" in row["scheme"]:  # a step's graph reads its variables
        return {"servers": "host", "pull": "forward"}
    if nodes == 1 and "Byte" in row["scheme"]:
        raise NotPredicted("BytePS within one machine has no servers")
    options = {}
    stated = re.search(r"(\d+) CPU server VMs|(\d+) x \S+ servers|workers? \+ (\d+) servers?", row["scheme"] + settings)
    if stated:
        options["servers"] = next(int(group) for group in stated.groups() if group)
    fewer = re.search(r"as many PS as workers except (\d+) instances(?: \((\d+) PS\))?", settings)
    if fewer and nodes == int(fewer.group(1)):
        if not fewer.group(2):
            raise NotPredicted("number of servers not stated")
        options["servers"] = int(fewer.group(2))
    if re.search(r"CPU server VMs|c5n", row["scheme"]):
        options["colocated"] = "false"
    if "Byte" in row["scheme"]:  # push_pull of parts, then torch's optimizer
        options |= {"placement": "partitioned", "update": "worker"}
    return options


def offloads(row):
    """Whether parameters and optimizer are on the host, or with ZeRO-Offload the optimizer."""
    return (
        re.search(r"\boffload\b", row["scheme"], re.IGNORECASE) is not None
        or re.search(r"\bcpu[ _]offload(?!=False)", row["scheme_settings"]) is not None
    )


def bare_scheme(row):
    """The scheme without versions and remarks in brackets."""
    return re.sub(r" \([^)]*\)", "", row["scheme"]).strip()


def scheme_of(row):
    """A name of --scheme, or "none" for one GPU without a scheme."""
    for pattern, reason in SCHEMES_TO_COME:
        if re.search(pattern, row["scheme"], re.IGNORECASE):
            raise NotPredicted(f"scheme not modelled: {reason}")
    bare = bare_scheme(row)
    name = next((name for pattern, name in SCHEMES if re.fullmatch(pattern, bare)), None)
    if name is None:
        raise NotPredicted(f"scheme not modelled: {bare}")
    stage = re.search(r"[123]", bare)
    return name + (stage.group(0) if stage else "2") if name == "zero" else name  # ZeRO-Offload is stage 2


def scheme_options_of(row, scheme, precision):
    if scheme in ("fsdp1", "fsdp2"):
        return fsdp_options(row, scheme, precision) | ({"cpu_offload": "true"} if offloads(row) else {})
    if scheme.startswith("zero") and scheme != "zero_redundancy":
        to_host = {"offload_optimizer": "cpu"} | ({"offload_param": "cpu"} if scheme == "zero3" else {})
        return zero_options(row, scheme) | (to_host if offloads(row) else {})
    if scheme == "parameter_server":
        return server_options(row)
    # tf_cnn_benchmarks all-reduces the gradient of each variable by itself, unless it is told to repack gradients.
    return {"when": "gradient"} if scheme == "naive" else {}


def options_of(row, scheme, micro_batches):
    """The options of the command line without --scheme."""
    settings, bare = row["scheme_settings"], bare_scheme(row)
    options = []
    if "PowerSGD" in bare:
        options += ["--comm-hook", "powersgd"]
    if bare.startswith("Horovod"):  # default HOROVOD_FUSION_THRESHOLD
        options += ["--bucket-cap-mb", "64", "--no-broadcast-buffers"]
    if scheme == "naive":  # TensorFlow had NCCL 1.3 with one ring
        options += ["--nccl", "2.0.5", "--max-channels", "1"]
    if re.search(r"\bgloo\b", row["scheme"] + " " + settings, re.IGNORECASE):
        options += ["--backend", "gloo"]
    if "gradient_as_bucket_view=true" in settings:
        options.append("--gradient-as-bucket-view")
    if micro_batches > 1 and not (scheme == "ddp" and syncs_each_micro_batch(row, scheme)):
        options += ["--accumulate", str(micro_batches)]
    if torch_of(row):
        options += ["--torch", torch_of(row)]
    return options


def torch_of(row):
    stated = (
        re.search(r"\b[Tt]orch (\d+\.\d+)", row["framework"])
        or re.search(r"\btorch (\d+\.\d+)", row["scheme"])
        or re.search(r"PyTorch (\d+\.\d+)", row["framework"])
    )
    return stated.group(1) if stated else None


def flag_reason(row):
    flags = row["flags"].split()
    for flag in FLAGS_NOT_PREDICTED:
        if flag in flags:
            return f"flag {flag}"
    return None


def job_of(row, baseline=False):
    """The job of a row, or of its baseline. Raises NotPredicted if there is none."""
    reason = flag_reason(row)
    if reason:
        raise NotPredicted(reason)
    base = scheme_of(row)
    model = model_dimensions.stem(row["model"])
    if model is None:
        raise NotPredicted("model's dimensions not stated")
    settings = row["scheme_settings"]
    for pattern, what in NOT_MODELLED:
        if re.search(pattern, settings, re.IGNORECASE):
            raise NotPredicted(f"not modelled: {what}")
    if not row["per_gpu_batch"].isdigit():
        raise NotPredicted("batch not stated")
    sequence = sequence_of(row, model)
    if model_dimensions.has_tokens(model) and sequence is None:
        raise NotPredicted("sequence length not stated")
    assumed = []
    gpu, words, nics = cluster_of(row, assumed)
    nodes, per_node, gpus = size_of(row, row["baseline_gpus"] if baseline else None)
    scheme = "none" if gpus == 1 and not offloads(row) else base
    script = script_of(row)
    precision = precision_of(row, gpu, scheme, assumed)
    micro_batches = micro_batches_of(settings, script.accumulation)
    return Job(
        model=model,
        gpu=gpu,
        batch=int(row["per_gpu_batch"]),
        sequence=sequence,
        precision=precision,
        checkpointing=checkpointing_of(settings, script.checkpointing),
        scheme=scheme,
        scheme_options=scheme_options_of(row, scheme, precision),
        syncs_each=micro_batches > 1 and syncs_each_micro_batch(row, scheme),
        options=[]
        if scheme == "none"
        else options_of(row, scheme, micro_batches) + (["--gpus-per-node", str(gpus)] if gpus < per_node else []),
        cluster=line_of(gpu, words, nics, nodes, per_node),
        nodes=nodes,
        gpus=gpus,
        micro_batches=micro_batches,
        words=tuple(
            word
            for word, pattern in SHARED_WORDS
            if re.search(pattern, settings + " " + row["precision"], re.IGNORECASE)
        ),
        assumed=assumed,
        bf16_parameters=script.bf16_parameters,
        # Its default (benchmark_cnn.py).
        optimizer="sgd" if "tf_cnn_benchmarks" in row["framework"] else "",
    )


def with_other_links(job):
    """Other jobs that the row may mean, with other links inside a node."""
    if PCIE not in job.assumed or job.gpu not in BRIDGES or not re.search(r"gpu:2x", job.cluster):
        return []
    return [dataclasses.replace(job, cluster=re.sub(r"pcie:\S+", BRIDGES[job.gpu], job.cluster))]


def machine_of(row):
    """The key of a machine. Rows of one page with the same GPUs ran on the same machine."""
    return row["source_ref"], row["gpu"], row["gpus_per_node"], row["nodes"]


def group_of(row):
    stated = re.search(r"\bgroup=(\S+)", row["flags"])
    return stated.group(1) if stated else None
