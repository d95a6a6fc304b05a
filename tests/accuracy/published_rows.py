"""Reads the facts in a row of published data-parallel scaling: whether it is scored, its cluster, and its rules.

data/published-scaling/scaling-shared.csv has the rows."""

import collections
import functools
import re

from row_machines import STAND_IN, Machine
from row_words import PRECISIONS, NotPredicted, Words, whole
from vocabulary.gpus import gpu_of as gpu_named
from vocabulary.models import model_of

NOT_SCORED_FLAGS = ("grad-accumulation", "input-pipeline", "batch-changes", "do-not-score")
MOST_SINGLE_NODE_LOSS = 0.15
ONE_PACK_MB = "100000"
FUSION_MB = "64"  # default of HOROVOD_FUSION_THRESHOLD
GROUPS = ("V100 single node", "V100 multi-node", "A100", "P100")
# Clusters of `ddpsim list` by their GPU, links and ports. Rows on one node state no ports.
BUNDLED = {
    ("V100", "nvlink:6x25GBps:cube", "4x100Gbps:ib"): "dgx1v",
    ("V100", "nvlink:6x25GBps:cube", ""): "dgx1v",
    ("V100", "nvlink:6x25GBps:cube", "1x100Gbps:ib"): "dgx1v-1xedr",
    ("V100", "nvlink:6x25GBps:cube", "1x25Gbps:tcp"): "p3.16xlarge",
    ("V100", "nvswitch:150GBps", "8x100Gbps:ib"): "dgx2",
    ("A100", "nvswitch:300GBps", "8x200Gbps:ib"): "dgxa100",
}


COLUMNS = ("framework", "precision", "notes", "scheme_settings")


@functools.lru_cache(None)
def words_of_columns(*texts):
    return Words(dict(zip(COLUMNS, texts)))


def words_of(row):
    return words_of_columns(*(row.get(name) or "" for name in COLUMNS))


@functools.lru_cache(None)
def model_named(text):
    return model_of(text)[:2]


def workload_of(row):
    """The model of a row and the tokens of a sample, as an estimate has them; None if the model has no such name."""
    model, tokens = model_named(row["model"])
    if model is None or model.sized or model.config:
        return None
    stated = sequence_of(row) or tokens
    return model.name + (f":s{stated}" if stated and model.tokens else "")


def machine_of(row):
    """The cluster of a row in the words of the command line, without its size, and whether it is assumed.

    Compute is scaled to a given step, so only the GPU's model counts. None if the row does not state it.
    """
    assumed = []
    try:
        machine = Machine(row | {"baseline_gpus": row["baseline_gpus"] or "1"}, assumed, words_of(row))
        links = machine.inside()
        ports = machine.ports() if int(row["nodes"] or 1) > 1 else machine.stated_ports()
    except NotPredicted:
        return None
    doubtful = STAND_IN in assumed or "links-assumed" in row["flags"]
    name = BUNDLED.get((machine.model, links, ports))
    return name or f"gpu:{row['gpus_per_node']}x{machine.model} {links}" + (f" nic:{ports}" if ports else ""), doubtful


def gpu_of(row):
    """The model of a row's GPU, or of the newer one that stands in for it."""
    return (gpu_named(row["gpu"])[0] or "").split("-")[0]


def cluster_of(row):
    """The cluster of a row that states it, or None."""
    machine = machine_of(row)
    return machine[0] if machine and not machine[1] else None


def assumed_cluster_of(row):
    """The assumed cluster of a row that does not state its machine, or None. Only the wide population admits such
    rows."""
    machine = machine_of(row)
    return machine[0] if machine and machine[1] else None


def precision_of(row):
    stated = words_of(row).precision.facts.get("precision", [])
    found = next((one for one in PRECISIONS if one in stated), None)
    return "amp" if found == "mixed" or (not found and words_of(row).get("half_gradients")) else found


def series(row):
    """The key of a series. Its rows differ only in the number of GPUs."""
    return tuple(
        row[key]
        for key in ("source", "model", "framework", "gpu", "precision", "per_gpu_batch", "value_1gpu", "baseline_gpus")
    ) + (row["network"], sequence_of(row), cap_of(row))


def run_of(row):
    """The key of a run. Its rows differ only in the percentile, if a source prints several."""
    if not row["metric"].startswith("s/iter"):
        return row["row_id"]
    return tuple(row[key] for key in ("source", "model", "framework", "gpu", "n_gpus")) + (cap_of(row),)


def sequence_of(row):
    stated = words_of(row).get("sequence")
    return str(stated) if stated else None


def cap_of(row):
    """The bucket cap in MiB that the row, its script or its library sets; None for PyTorch's own."""
    words = words_of(row)
    stated = words.get("bucket_mb")
    if stated:
        return f"{stated:g}"
    if words.get("bucket_elements"):
        return str(words.get("bucket_elements") * (2 if has_half_gradients(row) else 4) / 2**20)
    if is_horovod(row):
        return FUSION_MB
    return ONE_PACK_MB if has_one_pack(row) else None


def is_horovod(row):
    """Whether Horovod made this row.

    Horovod fuses the gradients that the host has handed over, up to a threshold. It starts once the GPU has written the
    last of them (operations.cc, RunLoopOnce and PerformOperation). The host runs ahead of the GPU, so all-reduces are
    full, and not limited to the gradients of 5 ms of backward.
    """
    return words_of(row).has("scheme", "horovod")


def has_one_pack(row):
    """Whether all gradients are packed into one all-reduce.

    TensorFlow's distribution strategies do so unless a size is set (NcclAllReduce's num_packs=1, group_by_size with
    bytes_per_pack=0).
    """
    return row["framework"].startswith("TensorFlow 2") and not is_horovod(row)


def broadcasts_buffers(row):
    """Whether buffers are broadcast at each forward. Among these stacks only PyTorch's own DDP does so.

    Apex never broadcast them. In Horovod and other frameworks, each rank keeps its own statistics of batch norm.
    """
    words = words_of(row)
    own = words.get("torch") or row["framework"].startswith("PyTorch")
    foreign = any(words.has(concept, name) for concept in ("library", "scheme") for name in ("apex", "horovod"))
    return bool(own) and not foreign and words.get("broadcast_buffers") is not False


def has_half_gradients(row):
    return bool(words_of(row).get("half_gradients")) and precision_of(row) == "amp"


def torch_of(row):
    return words_of(row).get("torch") if row["framework"].startswith("PyTorch") else None


def nccl_of(row):
    """The NCCL version of a row, from a Dockerfile of its source or of that year, or from NVIDIA's image.

    If None, the version is the one that the stated PyTorch, or the default one, ships.
    """
    return words_of(row).get("nccl")


def step_seconds(row, value, gpus):
    """The step time of a published value in seconds, for any metric; None if the metric does not tell a time."""
    batch = int(row["per_gpu_batch"])
    if row["metric"].startswith("s/iter"):
        return value
    if "total" in row["metric"]:
        return batch * gpus / value
    if "per GPU" in row["metric"]:
        return batch / value
    return None


def percentile(row):
    stated = re.search(r"p(\d+)$", row["metric"])
    return int(stated.group(1)) if stated else 50


def left_out_because(row):
    """The reason why a row cannot be predicted, from its inputs and not from its result; None if it can."""
    flags = row["flags"].split()
    for flag in NOT_SCORED_FLAGS:
        if flag in flags:
            return f"flag {flag}"
    if workload_of(row) is None:
        return "model not in `ddpsim list`"
    if whole(row["per_gpu_batch"]) is None:
        return "batch not stated"
    if not row["value_1gpu"] or not row["value_ngpu"]:
        return "no published figure to start from"
    if step_seconds(row, 1.0, 1) is None:
        return "metric is no step time"
    if precision_of(row) is None:
        return "precision not stated"
    if any(reason.startswith("all-reduce") for reason in words_of(row).framework.refused):
        return "all-reduce not by NCCL"
    if words_of(row).has("scheme", "parameter_server"):
        return "parameter server"
    if machine_of(row) is None:
        return "GPU not stated"
    return None


def loses_much(row, single_node_losses):
    """Whether the stack of a row loses more than 15 % within one node, where there is no network.

    Then something that the source does not state holds it back, such as input or the host. Only the result shows this.
    """
    return any(
        gpus <= int(row["n_gpus"]) and loss > MOST_SINGLE_NODE_LOSS for gpus, loss in single_node_losses[series(row)]
    )


def wide_because(row, lowest_percentile):
    """The reason why only the wide population admits a row: it is in the table twice, or its machine must be
    assumed."""
    if cluster_of(row) is None:
        return "GPU or wiring not stated"
    if percentile(row) != lowest_percentile[run_of(row)]:
        return "another percentile of a scored run"
    return None


def group_of(row):
    if gpu_of(row) != "V100":
        return gpu_of(row)
    return "V100 multi-node" if int(row["nodes"]) > 1 else "V100 single node"


def select(rows):
    """Sorts rows: scored ones, those of stacks that lose much, those of the wide population only, and counts of others
    by reason.

    The first two are admitted by their inputs alone.
    """
    losses, lowest = collections.defaultdict(list), {}
    for row in rows:
        lowest[run_of(row)] = min(lowest.get(run_of(row), 100), percentile(row))
        if int(row["nodes"]) == 1 and row["scaling_efficiency"]:
            losses[series(row)].append((int(row["n_gpus"]), 1 - float(row["scaling_efficiency"])))
    scored, lossy, wide, others = [], [], [], collections.Counter()
    for row in rows:
        reason = left_out_because(row)
        doubt = None if reason else wide_because(row, lowest)
        if doubt:
            wide.append(row)
        if reason or doubt:
            others[reason or doubt] += 1
        elif loses_much(row, losses):
            lossy.append(row)
        else:
            scored.append(row)
    return scored, lossy, wide, others
