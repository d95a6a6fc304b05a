"""Asks the simulator which bucket caps might make a job faster. Rank 0 runs the simulator in a separate process."""

# Type checkers read this without torch, whose types are incomplete.
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
# Candidates differ in their number of buckets by this factor at least. Closer ones would be wrong or right together.
OTHER_KIND = 1.4
# Candidates that are predicted to be slower than the best by more than this fraction of a step are not tried.
NEAR = 0.03
# A candidate is tried if it is predicted to gain this fraction of the least gain. Less than the whole suffices: it is
# measured before it is kept.
WORTH_TRYING = 0.5


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known about the job. Times are in microseconds, sizes in bytes."""

    # The ddpsim.workload/1 of the rank whose compute takes longest.
    workload: dict[str, Any]
    # Time of an all-reduce in the job's own process group, by size.
    all_reduces: dict[int, float]
    backend: str
    nodes: int
    ranks_per_node: int
    # Options of `tune`: the version of PyTorch and the arguments of DDP.
    options: dict[str, Any]
    # Time of the current step without the recorder.
    step_us: float
    # Whether a given cap also holds for the first bucket (PyTorch 2.5 and later).
    first_follows_cap: bool
    # Whether bucket_cap_mb_list exists (PyTorch 2.11 and later).
    lists: bool
    # The cluster as the user named it.
    cluster: str | None = None


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A setting to try, with its number of buckets."""

    setting: Setting
    buckets: int
    # Predicted time of a step. Compare it with Proposal.today_us only.
    predicted_us: float
    # Interval of the predicted gain; known only for the candidate that the simulator recommends.
    gain_us: tuple[float, float] | None = None


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Candidates in the order in which to try them. There are none if nothing is predicted to gain enough."""

    today_us: float
    candidates: list[Candidate]
    confidence: str


def propose(evidence: Evidence, least_gain: float) -> Proposal:
    """The candidates that the simulator predicts to gain enough. Raises OSError or ddpsim.Error if it fails."""
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
            rank_slowdown="0%",  # recorded in this very job
            **evidence.options,
        )
        return _proposal(answer.document, evidence, least_gain)


def _specification(evidence: Evidence, folder: pathlib.Path) -> str:
    if evidence.cluster is not None:
        return evidence.cluster
    if evidence.backend == "gloo":
        # Only the rate matters, and it comes from the all-reduces. The other words complete the description.
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
    # Advice that holds only after a measurement also counts: the measurement follows here.
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
    """Returns `value`. Raises ValueError if DistributedDataParallel would refuse it as a bucket cap.

    DistributedDataParallel would raise its own error on every rank and end the training.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value * MIB < 2**63:
        raise ValueError(f"the simulator answered with a bucket cap of {ascii(value):.40} MiB")
    return value


def _is_settable(point: Mapping[str, Any], default: Mapping[str, Any], first_follows_cap: bool) -> bool:
    """Whether bucket_cap_mb alone makes the buckets of `point`. The process-wide size of the first bucket is left as it
    is."""
    return (
        bool(point["reachable"])
        and point["bucket_cap_mb"] is not None
        and (first_follows_cap or point["first_bucket_mb"] == default["first_bucket_mb"])
    )


def roundest(low: float, high: float) -> float:
    """The cap with the fewest digits between `low` and `high`; all caps between them make the same buckets."""
    for digits in range(5):
        cap = math.ceil(round(low * 10**digits, 6)) / 10**digits
        if cap > 0 and low <= cap <= high:
            return int(cap) if digits == 0 else cap
    return high


def chosen(points: Sequence[Candidate], today_us: float, least_gain: float) -> list[Candidate]:
    """The recommended candidate, and others predicted near the best with many more or many fewer buckets.

    The number of buckets matters because the cost of a bucket is what predictions get wrong most.
    """
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
