"""Converts published figures of other schemes to quantities: samples per second, step time, bytes.

The figures are in data/schemes/schemes.csv."""

import dataclasses
import re

GIB, GB = 2**30, 10**9

SECONDS = {"ms": 1e-3, "s": 1, "minutes": 60, "hours": 3600}


@dataclasses.dataclass
class Speed:
    """A speed. `value` grows with speed, and only values of the same `unit` can be compared.

    `step_s` is the step time if the figure tells it.
    """

    value: float
    unit: str
    step_s: "float | None"


def speed_of(metric, value, job):
    """The speed of a published value, by its metric; None if it is not a speed. The job tells samples and tokens per
    step."""
    value = float(value)
    tokens = re.match(r"(k )?tokens/s", metric)
    samples = re.match(r"(images|examples|samples)/s", metric)
    if tokens or samples:
        total = value * (1000 if tokens and tokens.group(1) else 1) * (job.gpus if "per GPU" in metric else 1)
        per_step = job.samples * (job.sequence or 1) if tokens else job.samples
        return Speed(total / (job.sequence or 1) if tokens else total, "samples/s", per_step / total)
    step = re.match(r"(s|ms)/iter", metric)
    if step:
        seconds = value * SECONDS[step.group(1)]
        return Speed(job.samples / seconds, "samples/s", seconds)
    if metric == "s per micro-batch":
        seconds = value * job.micro_batches
        return Speed(job.samples / seconds, "samples/s", seconds)
    if metric == "it/s":
        return Speed(job.samples * value, "samples/s", 1 / value)
    if metric == "batches/s":  # micro-batches from the loader
        seconds = job.micro_batches / value
        return Speed(job.samples / seconds, "samples/s", seconds)
    items = re.match(r"s per (\d+) training items", metric)
    if items:
        rate = int(items.group(1)) / value
        return Speed(rate, "samples/s", job.samples / rate)
    whole = re.match(r"(s|minutes|hours)( total| per|/| \()", metric) or re.match(r"(minutes|hours) total", metric)
    if whole and not re.search(r"failure|failures|all-gather", metric):
        return Speed(1 / (value * SECONDS[whole.group(1)]), "runs/s", None)
    return None


@dataclasses.dataclass
class Memory:
    """A peak of one GPU. `reserved` is the memory that the allocator holds, `allocated` the part that tensors take."""

    bytes: float
    counter: str


def memory_of(row):
    """The memory peaks of a row: from its metric, else from its notes. The list may be empty."""
    metric, notes = row["metric"], row["notes"]
    counter = "reserved" if "reserved" in metric else "allocated" if "allocated" in metric else "peak"
    stated = re.match(r"(?:peak )?(GB|GiB|MB|MiB) per GPU", metric)
    if stated:
        return [
            Memory(
                float(row["value_ngpu"]) * {"GB": GB, "GiB": GIB, "MB": 10**6, "MiB": 2**20}[stated.group(1)], counter
            )
        ]
    found = []
    both = re.search(r"allocated/reserved (\d+(?:\.\d+)?)/(\d+(?:\.\d+)?) GB", notes)
    if both:
        found += [Memory(float(both.group(1)) * GB, "allocated"), Memory(float(both.group(2)) * GB, "reserved")]
    percent = re.search(r"memory of (\d+(?:\.\d+)?) GiB: active (\d+(?:\.\d+)?) % reserved (\d+(?:\.\d+)?) %", notes)
    if percent:
        whole, active, reserved = (float(part) for part in percent.groups())
        found += [Memory(whole * active / 100 * GIB, "allocated"), Memory(whole * reserved / 100 * GIB, "reserved")]
    alone = re.search(r"(\d+(?:\.\d+)?) GiB reserved", notes)
    if alone:
        found.append(Memory(float(alone.group(1)) * GIB, "reserved"))
    peak = re.search(r"peak memory (\d+(?:\.\d+)?) (GiB|GB)", notes)  # torchtitan prints reserved memory
    if peak:
        found.append(Memory(float(peak.group(1)) * {"GiB": GIB, "GB": GB}[peak.group(2)], "reserved"))
    return found
