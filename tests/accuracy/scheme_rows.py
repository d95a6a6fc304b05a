"""Turns a row of published measurements of any scheme into a job for the command line.

A job has a cluster and a scheme. If a row cannot be predicted, NotPredicted tells why. The rules read only the inputs
of a row, never its result or identity: row_words.py reads the words, scheme_options.py knows schemes and libraries.
"""

import dataclasses
import re

from row_machines import BRIDGE, NVLINK, PCIE, PORT_EACH, STAND_IN, Machine
from row_words import NotPredicted, Words, batches, model_stated, precision_of
from scheme_names import candidates, check_families, scheme_of
from scheme_options import options_of, scheme_options, syncs_each_micro_batch
from vocabulary.gpus import BRIDGES

# Rows with these flags do not measure a step, or their figure is no measurement: they have a job and are not judged.
FLAGS_NOT_JUDGED = (
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

# Words that make compute faster, but have no option. Rows that share them are compared with each other, because they
# change both sides of a ratio equally. The step of one of them is given.
SHARED_WORDS = ("compile", "fp8")


@dataclasses.dataclass
class Job:
    """A row in the words of the command line. `cluster` has all nodes, and `options` are the options without
    --scheme."""

    # MODEL of an estimate, a configuration, or the name of one in vocabulary.models.
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
    # Parameters are in bfloat16 under any scheme.
    bf16_parameters: bool = False
    # More words of the estimate: attention, optimizer, memory format.
    estimate: tuple = ()

    @property
    def guesses_links(self):
        """Whether the links inside a node or between nodes are assumed."""
        return bool({PCIE, NVLINK, BRIDGE, PORT_EACH} & set(self.assumed))

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


def checkpointing_of(words):
    """Checkpointing in the words of an estimate: none, full, selective, or a number of blocks."""
    blocks = words.get("checkpointed_blocks")
    if blocks is not None:
        return str(blocks) if blocks else "none"
    return words.get("checkpointing") or "none"


def estimate_words(words, assumed):
    """Attention, optimizer and memory format, as far as the row or its library's default states them."""
    said = []
    if words.get("attention"):
        said.append(f"attn={words.get('attention')}")
    optimizer = words.get("optimizer")
    if optimizer and optimizer.startswith("like "):
        assumed.append("optimizer, one of its kind")
    if optimizer:
        said.append(optimizer.removeprefix("like "))
    elif words.has("library", "tf_cnn"):  # its default (benchmark_cnn.py)
        said.append("sgd")
    if words.get("fused_optimizer"):
        said.append("fused")
    if words.get("channels_last"):
        said.append("channels_last")
    return tuple(said)


def job_of(row, baseline=False):
    """The job of a row, or of its baseline. Raises NotPredicted if there is none."""
    words, assumed = Words(row), []
    words.check()
    model, sequence = model_stated(row, assumed, words)
    machine = Machine(row, assumed, words)
    gpus = int(row["baseline_gpus"]) if baseline else machine.gpus
    nodes = machine.nodes_of(gpus)
    batch, micro_batches = batches(row, words, gpus, sequence)
    name = "none" if machine.gpus == 1 and not candidates(words) else scheme_of(words, machine.nodes)
    check_families(words, name)
    precision = precision_of(words, machine.gpu, bool(model.tokens), assumed)
    full = "bf16" if precision == "bf16-true" else precision
    sizes = {"nodes": nodes, "per_node": machine.per_node, "gpus": gpus, "micro_batches": micro_batches}
    scheme, options = scheme_options(row, words, name, full, sizes)
    offloads = any(name in options for name in ("cpu_offload", "offload_optimizer"))
    if name == "none" and gpus > 1:
        raise NotPredicted("scheme not stated")
    if gpus == 1 and not offloads:
        scheme = "none"
    line = machine.line()
    part = ["--gpus-per-node", str(gpus)] if gpus < machine.per_node else []
    return Job(
        model=model.config or model.name,
        gpu=machine.gpu,
        batch=batch,
        sequence=sequence,
        precision=full,
        checkpointing=checkpointing_of(words),
        scheme=scheme,
        scheme_options=options,
        syncs_each=micro_batches > 1 and syncs_each_micro_batch(words, scheme),
        options=[] if scheme == "none" else options_of(words, name, scheme, micro_batches) + part,
        cluster=line(nodes),
        nodes=nodes,
        gpus=gpus,
        micro_batches=micro_batches,
        words=tuple(word for word in SHARED_WORDS if words.get(word) or (word == "fp8" and words.get("amp_fp8"))),
        assumed=assumed,
        bf16_parameters=precision == "bf16-true",
        estimate=estimate_words(words, assumed),
    )


def not_judged(row):
    """The flag for which a row with a job is not judged, or None."""
    flags = (row.get("flags") or "").split()
    return next((f"flag {flag}" for flag in FLAGS_NOT_JUDGED if flag in flags), None)


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
