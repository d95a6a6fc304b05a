"""What a row of published data-parallel scaling states: whether it is scored, on which cluster,
under whose rules. data/published-scaling/scaling-shared.csv holds the rows."""

import collections
import re

# Names of the data on the left, of `ddpsim list` on the right. Sequence lengths are those of the
# repositories' own scripts; a row's note overrides them.
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
FUSION_MB = "64"  # HOROVOD_FUSION_THRESHOLD where nobody sets it
GROUPS = ("V100 single node", "V100 multi-node", "A100", "P100")


def cluster_of(row):
    """The cluster a row states, in the words of the command line, without its size; or None."""
    gpu, network, per_node = row["gpu"], row["network"], row["gpus_per_node"]
    if row["source"] in ("Oneflow-Inc/DLPerf", "PaddleFleetX benchmark"):
        return "dgx1v-1xedr"
    if gpu.startswith(("V100-SXM2", "V100 (DGX)")):
        return "p3.16xlarge" if "p3.16xlarge" in gpu else "dgx1v"
    if gpu.startswith("V100-SXM3"):
        return "dgx2"
    if gpu.startswith("A100-SXM4"):
        return "dgxa100"
    if "Azure" in gpu:  # NC24rs: four PCIe cards a VM; of its network 24 Gb/s for all flows together
        name = "V100" if gpu.startswith("V100") else "P100"
        return f"gpu:{per_node}x{name} pcie:12GBps nic:1x24Gbps:tcp-vm"
    return None


def assumed_cluster_of(row):
    """For rows that leave their machine open, admitted by the wide population alone; or None."""
    if row["source"].startswith("PaddleFleetX"):  # eight V100s a machine, as its other benchmark has
        return "dgx1v-1xedr"
    if row["gpu"].startswith("Pascal"):  # taken for P100; the rate of the network is stated
        kind = "tcp" if "TCP" in row["framework"] else "roce"
        rate = re.search(r"(\d+) Gb/s", row["network"]).group(1)
        return f"gpu:{row['gpus_per_node']}xP100 pcie:12GBps nic:1x{rate}Gbps:{kind}"
    return None


def precision_of(row):
    return PRECISIONS.get(row["precision"].split(" (")[0].split(" with")[0])


def series(row):
    """Rows of one series differ in the number of GPUs alone."""
    return tuple(
        row[key]
        for key in ("source", "model", "framework", "gpu", "precision", "per_gpu_batch", "value_1gpu", "baseline_gpus")
    ) + (row["network"], sequence_of(row), cap_of(row))


def run_of(row):
    """Rows of one run differ in the percentile alone, where a source prints several."""
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
    """Horovod fuses what the host has handed over, up to a threshold, and starts it once the GPU
    has written the last gradient of it (operations.cc, RunLoopOnce and PerformOperation). The host
    runs ahead of the GPU, so its all-reduces are full, not what 5 ms of backward made ready."""
    return "Horovod" in row["framework"]


def is_apex_bert(row):
    """NVIDIA's BERT pre-training (DeepLearningExamples, run_pretraining.py; DLPerf runs it from
    NGC's image): apex DDP with message_size=250000000, on a model that amp's O2 makes fp16."""
    return row["framework"].startswith("PyTorch") and "apex" in row["framework"] and "pretrain" in row["model"]


def has_one_pack(row):
    """TensorFlow's distribution strategies pack all gradients into one all-reduce unless told a
    size (NcclAllReduce's num_packs=1, group_by_size with bytes_per_pack=0)."""
    return row["framework"].startswith("TensorFlow 2") and not is_horovod(row)


def broadcasts_buffers(row):
    """Of all these stacks PyTorch's own DDP alone does, at each forward. Its benchmark asks it not to
    (benchmarks/distributed/ddp/benchmark.py: broadcast_buffers=False); apex' never did, Horovod and the
    strategies of other frameworks leave batch norm's statistics to each rank."""
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
    """As in the Dockerfiles of that source's repositories, or of that year, or in NVIDIA's image; elsewhere
    what the PyTorch stated, or today's, ships."""
    if "NGC 20.03" in row["framework"]:
        return "2.6.3"  # its release notes
    if row["source"] == "Horovod README (2017)":
        return "2.0.5"
    return "2.2.12" if row["source"] == "msalvaris BatchAI Horovod benchmarks" else None


def step_seconds(row, value, gpus):
    """Of a published value, whichever metric it counts in; None where the metric says no time."""
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
    """What no prediction can be asked for, by what the row states and not by its result."""
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
    """Its stack loses more than 15 % within one node, where no network is in the way: something nobody
    states (input, a host) holds it back. That is known from the result alone."""
    return any(
        gpus <= int(row["n_gpus"]) and loss > MOST_SINGLE_NODE_LOSS for gpus, loss in single_node_losses[series(row)]
    )


def wide_because(row, lowest_percentile):
    """Admitted by the words, but twice in the table or on a machine somebody must assume."""
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
    """(scored rows, rows of stacks that lose much, rows of the wide population alone, count of the rows
    not scored by reason). The first two are what inputs alone admit."""
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
