"""Which buckets a job might train faster with, by the simulator: rank 0 asks it, in a process of its own."""

# Seen without torch and its frameworks, whose types are incomplete.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import csv
import dataclasses
import math
import pathlib
import subprocess
from typing import Any, Literal, Mapping, Sequence

from ._arguments import temporary
from ._commands import calibrate, tune
from ._program import exit_codes_kept
from ._wrapper import MIB, Setting

MOST_CANDIDATES = 3
OTHER_KIND = 1.4  # times as many buckets, or as few: else two candidates are the same answer to what is not known
NEAR = 0.03  # of a step: candidates predicted further than that behind the best are not tried
WORTH_TRYING = 0.5  # of the least gain, predicted: what is measured before it counts may be tried on less


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What the job told of itself; times in microseconds, sizes in bytes."""

    workload: dict[str, Any]  # ddpsim.workload/1, of the rank whose compute takes longest
    all_reduces: dict[int, float]  # of the job's own process group, by size
    backend: str
    nodes: int
    ranks_per_node: int
    options: dict[str, Any]  # as `tune` is told of the job: torch, what DDP was told
    step_us: float  # today's, unrecorded
    first_follows_cap: bool  # 2.5 and later: a cap given is the first bucket's, too
    lists: bool  # 2.11 and later
    cluster: str | None = None  # as the user states it


@dataclasses.dataclass(frozen=True)
class Candidate:
    setting: Setting
    buckets: int
    predicted_us: float  # a step of it, to be compared with Proposal.today_us alone
    gain_us: tuple[float, float] | None = None  # least and most, of the one the simulator recommends


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Candidates, the one to try first first; none: nothing is predicted to gain enough to try."""

    today_us: float
    candidates: list[Candidate]
    confidence: str


def propose(evidence: Evidence, least_gain: float) -> Proposal:
    """Raises OSError or ddpsim.Error where it cannot be asked or has no answer."""
    with temporary() as name:
        folder = pathlib.Path(name)
        log = folder / "all-reduces.csv"
        with log.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["nodes", "gpus_per_node", "size_bytes", "time_us"])
            for size, taken in sorted(evidence.all_reduces.items()):
                rows.writerow([evidence.nodes, evidence.ranks_per_node, size, f"{taken:.3f}"])
        over_gloo = evidence.backend == "gloo"
        backend: Literal["nccl", "gloo"] = "gloo" if over_gloo else "nccl"
        cluster = calibrate(
            log, cluster=_specification(evidence, folder), backend=backend, output=folder / "cluster.json"
        )
        answer = tune(
            evidence.workload,
            f"{cluster.path}@{evidence.nodes}",
            backend=backend,
            gloo="tensors:host" if over_gloo else None,
            measured_step=f"{evidence.step_us:.3f}us",
            compute_scale="1",
            rank_slowdown="0%",  # recorded on the ranks it is asked for
            **evidence.options,
        )
        return _proposal(answer.document, evidence, least_gain)


def _specification(evidence: Evidence, folder: pathlib.Path) -> str:
    if evidence.cluster is not None:
        return evidence.cluster
    if evidence.backend == "gloo":  # the all-reduces say how fast; the rest is only there to be named
        ranks = evidence.nodes * evidence.ranks_per_node
        size, taken = max(evidence.all_reduces.items())
        gbps = 2 * (ranks - 1) / ranks * size * 8 / taken / 1000
        return (
            f"node:{evidence.nodes} gpu:{evidence.ranks_per_node}xV100 pcie:12GBps nic:1x{max(gbps, 0.001):.4g}Gbps:tcp"
        )
    matrix = folder / "topo.txt"
    with exit_codes_kept():
        shown = subprocess.run(
            ["nvidia-smi", "topo", "-m"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            timeout=20,
            check=True,
        ).stdout
    matrix.write_bytes(shown)
    return f"{matrix} gpu:{evidence.workload.get('gpu', '')} node:{evidence.nodes}"


def _proposal(answer: Mapping[str, Any], evidence: Evidence, least_gain: float) -> Proposal:
    today = answer["today"] or answer["default"]
    today_us, recommended = float(today["iteration_us"]), answer["recommended"]
    # What is advised only once it was measured is measured here.
    advised = recommended if recommended["action"] == "set" else recommended.get("measure_first")
    advised_cap = advised["bucket_cap_mb"] if advised is not None else None
    points = []
    for point in answer["curve"]:
        if _is_settable(point, answer["default"], evidence.first_follows_cap):
            low, high = point["cap_range_mb"]
            is_advised = advised_cap is not None and low <= advised_cap <= high
            points.append(
                Candidate(
                    Setting(bucket_cap_mb=_cap(advised_cap if is_advised else roundest(low, high))),
                    point["buckets"],
                    float(point["iteration_us"]),
                    (advised["gain_us"]["low"], advised["gain_us"]["high"]) if advised and is_advised else None,
                )
            )
    partition = answer["best_partition"]
    if evidence.lists and partition is not None:
        caps = tuple(_cap(size / MIB) for size in partition["bucket_bytes"])
        points.append(Candidate(Setting(bucket_cap_mb_list=caps), len(caps), float(partition["iteration_us"])))
    return Proposal(today_us, chosen(points, today_us, least_gain), answer["confidence"]["grade"])


def _cap(value: Any) -> float:
    """Raises ValueError for what DistributedDataParallel takes for no bucket cap: it would be raised on every rank, into the training."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value * MIB < 2**63:
        raise ValueError(f"the simulator answered with a bucket cap of {ascii(value):.40} MiB")
    return value


def _is_settable(point: Mapping[str, Any], default: Mapping[str, Any], first_follows_cap: bool) -> bool:
    """By bucket_cap_mb alone: a process-wide first bucket is left as it is."""
    return (
        bool(point["reachable"])
        and point["bucket_cap_mb"] is not None
        and (first_follows_cap or point["first_bucket_mb"] == default["first_bucket_mb"])
    )


def roundest(low: float, high: float) -> float:
    """The cap of fewest digits in a range of them that make the same buckets."""
    for digits in range(5):
        cap = math.ceil(round(low * 10**digits, 6)) / 10**digits
        if cap > 0 and low <= cap <= high:
            return int(cap) if digits == 0 else cap
    return high


def chosen(points: Sequence[Candidate], today_us: float, least_gain: float) -> list[Candidate]:
    """What is recommended, and what is predicted near it with many more or many fewer buckets: where a prediction errs, it errs
    by what a bucket costs."""
    found: list[Candidate] = []
    best_us = min((point.predicted_us for point in points), default=0.0)
    for point in sorted(points, key=lambda one: (one.gain_us is None, one.predicted_us, one.buckets)):
        gain = (today_us - point.predicted_us) / today_us
        if gain < WORTH_TRYING * least_gain or point.predicted_us - best_us > NEAR * today_us:
            continue
        if all(abs(math.log(point.buckets / one.buckets)) >= math.log(OTHER_KIND) for one in found):
            found.append(point)
        if len(found) == MOST_CANDIDATES:
            break
    return found
