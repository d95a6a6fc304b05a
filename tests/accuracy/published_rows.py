"""Reads the facts in a row of published data-parallel scaling: whether it is scored, its cluster, and its rules.

data/published-scaling/scaling-shared.csv has the rows."""

import collections
import re

# For each model name in the data, the name of `ddpsim list`. Sequence lengths are those of the repositories' own
# scripts; the note of a row overrides them.
MODELS = {
    "resnet50": "resnet50",
    "ResNet50": "resnet50",
    "ResNet-50": "resnet50",
    "RN50v1.5": "resnet50",
    "resnet50v1.5": "resnet50",
    "ResNet50 v1.5": "resnet50",
    "ResNet50 v1b": "resnet50",
    "resnet152": "resnet152",
    "ResNet-101": "resnet101",
    "resnext101-32x4d": "resnext101_32x4d",
    "resnext101_32x8d": "resnext101_32x8d",
    "VGG-16": "vgg16",
    "Inception V3": "inception_v3",
    "BERT-base pretrain (seq 128)": "bert-base:s128",
    "biobert": "bert-base:s128",
    "BERT-large": "bert-large:s128",
    "BERT-large pretrain": "bert-large:s128",
    "BERT-large SQuAD finetune": "bert-large:s384",
    "GPT-2 small LM fine-tune (run_clm)": "gpt2",
}
PRECISIONS = {"FP32": "fp32", "TF32": "tf32", "AMP/FP16": "amp", "mixed": "amp", "FP16": "amp", "BF16": "bf16"}
NOT_SCORED_FLAGS = ("grad-accumulation", "input-pipeline", "batch-changes", "do-not-score")
MOST_SINGLE_NODE_LOSS = 0.15
ONE_PACK_MB = "100000"
FUSION_MB = "64"  # default of HOROVOD_FUSION_THRESHOLD
GROUPS = ("V100 single node", "V100 multi-node", "A100", "P100")


def cluster_of(row):
    """The cluster of a row in the words of the command line, without its size; None if the row does not state it."""
    gpu, network, per_node = row["gpu"], row["network"], row["gpus_per_node"]
    if row["source"] in ("Oneflow-Inc/DLPerf", "PaddleFleetX benchmark"):
        return "dgx1v-1xedr"
    if gpu.startswith(("V100-SXM2", "V100 (DGX)")):
        return "p3.16xlarge" if "p3.16xlarge" in gpu else "dgx1v"
    if gpu.startswith("V100-SXM3"):
        return "dgx2"
    if gpu.startswith("A100-SXM4"):
        return "dgxa100"
    if "Azure" in gpu:
        # NC24rs has four PCIe cards per VM, and 24 Gb/s for all flows of its network together.
        name = "V100" if gpu.startswith("V100") else "P100"
        return f"gpu:{per_node}x{name} pcie:12GBps nic:1x24Gbps:tcp-vm"
    return None


def assumed_cluster_of(row):
    """The assumed cluster of a row that does not state its machine, or None. Only the wide population admits such
    rows."""
    if row["source"].startswith("PaddleFleetX"):  # eight V100 as in its other benchmark
        return "dgx1v-1xedr"
    if row["gpu"].startswith("Pascal"):  # taken for P100
        kind = "tcp" if "TCP" in row["framework"] else "roce"
        rate = re.search(r"(\d+) Gb/s", row["network"]).group(1)
        return f"gpu:{row['gpus_per_node']}xP100 pcie:12GBps nic:1x{rate}Gbps:{kind}"
    return None


def precision_of(row):
    return PRECISIONS.get(row["precision"].split(" (")[0].split(" with")[0])


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
    stated = re.search(r"[Ss]equence [Ll]ength=(\d+)", row["notes"])
    return stated.group(1) if stated else None


def cap_of(row):
    stated = re.search(r"bucket_cap_mb=(\d+)", row["notes"])
    if stated:
        return stated.group(1)
    if is_apex_bert(row):
        return str(250_000_000 * (2 if has_half_gradients(row) else 4) / 2**20)
    if is_horovod(row):
        return FUSION_MB
    return ONE_PACK_MB if has_one_pack(row) else None


def is_horovod(row):
    """Whether Horovod made this row.

    Horovod fuses the gradients that the host has handed over, up to a threshold. It starts once the GPU has written the
    last of them (operations.cc, RunLoopOnce and PerformOperation). The host runs ahead of the GPU, so all-reduces are
    full, and not limited to the gradients of 5 ms of backward.
    """
    return "Horovod" in row["framework"]


def is_apex_bert(row):
    """Whether the row is NVIDIA's BERT pre-training: apex DDP with message_size=250000000, on a model in fp16 by amp's
    O2.

    Source: DeepLearningExamples, run_pretraining.py. DLPerf runs it from NGC's image.
    """
    return row["framework"].startswith("PyTorch") and "apex" in row["framework"] and "pretrain" in row["model"]


def has_one_pack(row):
    """Whether all gradients are packed into one all-reduce.

    TensorFlow's distribution strategies do so unless a size is set (NcclAllReduce's num_packs=1, group_by_size with
    bytes_per_pack=0).
    """
    return row["framework"].startswith("TensorFlow 2") and not is_horovod(row)


def broadcasts_buffers(row):
    """Whether buffers are broadcast at each forward. Among these stacks only PyTorch's own DDP does so.

    Its benchmark switches it off (benchmarks/distributed/ddp/benchmark.py: broadcast_buffers=False). Apex never
    broadcast them. In Horovod and other frameworks, each rank keeps its own statistics of batch norm.
    """
    return (
        row["framework"].startswith("PyTorch")
        and "apex" not in row["framework"]
        and not is_horovod(row)
        and "DDP benchmark" not in row["source"]
    )


def has_half_gradients(row):
    return is_apex_bert(row) and precision_of(row) == "amp"


def torch_of(row):
    stated = re.match(r"PyTorch (\d+\.\d+)", row["framework"])
    return stated.group(1) if stated else None


def nccl_of(row):
    """The NCCL version of a row, from Dockerfiles of its source or of that year, or from NVIDIA's image.

    If None, the version is the one that the stated PyTorch, or the default one, ships.
    """
    if "NGC 20.03" in row["framework"]:
        return "2.6.3"  # from its release notes
    if row["source"] == "Horovod README (2017)":
        return "2.0.5"
    return "2.2.12" if row["source"] == "msalvaris BatchAI Horovod benchmarks" else None


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
    if row["model"] not in MODELS:
        return "model not in `ddpsim list`"
    if not row["per_gpu_batch"].isdigit():
        return "batch not stated"
    if not row["value_1gpu"] or not row["value_ngpu"]:
        return "no published figure to start from"
    if step_seconds(row, 1.0, 1) is None:
        return "metric is no step time"
    if precision_of(row) is None:
        return "precision not stated"
    if "no NCCL" in row["framework"] or "allreduce on CPU" in row["framework"]:
        return "all-reduce not by NCCL"
    if "(PS)" in row["framework"]:
        return "parameter server"
    if cluster_of(row) is None and assumed_cluster_of(row) is None:
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
    if row["gpu"].startswith("A100"):
        return "A100"
    if not row["gpu"].startswith("V100"):
        return "P100"
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
