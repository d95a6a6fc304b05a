"""A predictor without simulation: compute, and the bytes that a scheme sends over the narrowest link they cross.

Communication is all exposed or all hidden by compute. Compute is that of the estimate, with checkpointing."""

import math
import re


def sent_bytes(job, row):
    """Bytes that each GPU sends in a step, by the formulas of the schemes; 0 if the row does not state its
    parameters."""
    if not row["params_M"] or job.gpus == 1:
        return 0.0
    elements = float(row["params_M"]) * 1e6
    size = {"bf16": 2, "fp16": 2, "fp32": 4}
    held = size[job.scheme_options.get("param_dtype", "fp32")]
    reduced = size[job.scheme_options.get("reduce_dtype", job.scheme_options.get("param_dtype", "fp32"))]
    if job.scheme.startswith("zero"):
        held = reduced = 4 if job.precision in ("fp32", "tf32") else 2
    gathers = {"fsdp1": 2, "fsdp2": 2, "zero3": 2}.get(job.scheme, 1)
    if job.scheme_options.get("strategy") == "shard_grad_op":
        gathers = 1
    times = job.micro_batches if job.syncs_each else 1
    if job.scheme == "parameter_server":
        return 2 * 4 * elements
    if job.scheme in ("ddp", "naive"):
        return times * 2 * 4 * elements * (job.gpus - 1) / job.gpus
    return times * elements * (gathers * held + reduced) * (job.gpus - 1) / job.gpus


def link_rate(job):
    """The rate of the narrowest link of a ring over all GPUs in bytes/s: all ports of a node, else the links of a
    GPU."""
    if job.scheme_options.get("servers") == "host":
        return 15.75e9  # PCIe 3 x16
    nics = re.search(r"nic:(\d+)x([\d.]+)Gbps", job.cluster)
    if nics:
        return int(nics.group(1)) * float(nics.group(2)) * 1e9 / 8
    links = re.search(r"(?:nvswitch|pcie):([\d.]+)GBps", job.cluster)
    if links:
        return float(links.group(1)) * 1e9
    links = re.search(r"nvlink:(\d+)x([\d.]+)GBps", job.cluster)
    return int(links.group(1)) * float(links.group(2)) * 1e9 if links else math.inf


def simple_step(predictor, row, job, exposed, factor=1.0):
    compute, wire = predictor.compute_s(job) * factor, sent_bytes(job, row) / link_rate(job)
    return compute + wire if exposed else max(compute, wire)


def simple_factor(predictor, row, job, seconds, exposed):
    """The factor on compute with which the simple step takes `seconds`; 1 if the wire alone takes longer."""
    wire = sent_bytes(job, row) / link_rate(job) if exposed else 0
    return (seconds - wire) / predictor.compute_s(job) if seconds > wire else 1.0
