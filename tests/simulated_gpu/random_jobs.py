"""Jobs drawn from a seed, on a calibrated cluster, for both ddpsim and ddpsim-real."""

import dataclasses
import random

RANKS = range(1, 9)
CAPS = ("0.005", "0.02", "0.1", "25")
ELEMENTS = (1, 7, 1000, 4000, 20_000)


@dataclasses.dataclass
class Job:
    workload: dict
    cluster: dict
    ranks: int
    cap: str
    hook: str
    options: list
    unused: set

    def __str__(self):
        return (
            f"{self.ranks} ranks, cap {self.cap}, hook {self.hook} {' '.join(self.options)}, {len(self.unused)} unused"
        )


def parameters(draw):
    return [
        {"name": f"p{i}", "shape": [draw.choice(ELEMENTS) + draw.randrange(50)], "dtype": "float32"}
        for i in range(draw.randrange(2, 14))
    ]


def workload(draw, unused, accumulate):
    named = parameters(draw)
    order = list(range(len(named)))[::-1]
    if draw.random() < 0.5:
        draw.shuffle(order)
    left_out = set(draw.sample(order, draw.randrange(len(order) // 2 + 1))) if unused else set()
    at, ready = 0, []
    for parameter in order:
        if parameter not in left_out:
            at += draw.choice((20, 90, 400))
            ready.append({"parameter": parameter, "at_us": at})
    # A workload file counts no kernels after the last gradient.
    tail = draw.randrange(0, 50) if accumulate == 1 else 0
    job = {
        "schema": "ddpsim.workload/1",
        "name": "random",
        "gpu": "V100",
        "torch": "2.8",
        "parameters": named,
        "forward": {"duration_us": 200 + draw.randrange(3000)},
        "backward": {"duration_us": at + tail, "ready": ready},
        "optimizer": {"duration_us": draw.randrange(1, 400)},
        "host": host(draw, len(ready)),
    }
    return job, left_out


def us(draw, least, most):
    """Rounds to the nanosecond, the unit of the simulated GPU."""
    return draw.randrange(round(least * 1000), round(most * 1000)) / 1000


def host(draw, gradients):
    """A host like ddpsim-real's. All launches take the same time. A hook is one launch, a compression hook three. The
    host is one step ahead of its GPU."""
    launch = us(draw, 0.2, 8)
    return {
        "launches": {"forward": 1, "backward": [1] * gradients, "optimizer": 1},
        "launch_cost": {f"{part}_us": launch for part in ("forward", "backward", "optimizer")},
        "steps_ahead": 1,
        "costs": {
            "hook_us": launch,
            "copy_us": launch,
            "comm_hook_us": round(3 * launch, 3),
            "collective_us": us(draw, 20, 60),
            "search_us": 0,
        },
    }


def cluster(draw, ranks):
    """A node whose calibration is drawn around the measured one of docs/reference/formats.md."""
    node = {"gpus": ranks, "gpu": "V100"}
    if ranks > 1:
        node["interconnect"] = {"kind": "nvlink", "links_per_gpu": ranks - 1, "per_link": "25GBps", "layout": "mesh"}
    constants = {
        "launch_us": draw.uniform(5, 15),
        "start_us": [0, draw.uniform(5, 15), draw.uniform(10, 20)],
        "local_us": [draw.uniform(0.5, 2), draw.uniform(1, 3), draw.uniform(2, 5)],
        "hop_us": [6, 12.3, 30],
        "rendezvous_us": 0,
        "channel_us": draw.uniform(0, 1),
        "local_share": draw.uniform(0.6, 0.95),
        "nic_share": 0.697,
        "single_gpu_per_node": 0.66,
        "ll_gbps": 5.69,
        "ll128_gbps": 7.23,
        "nvls_start_us": 31,
        "nvls_wave_us": 2.3,
        "nvls_share": 0.707,
        "overlap": 2.52,
        "per_channel_start_us": 0.218,
        "ring_ends": 0.49,
        "tree_share": 1,
        "ll_share": 0.35,
        "hop_growth": [0.11, 0.057, 0.02],
    }
    spread = {"small": 0.1, "middle": 0.1, "large": 0.1}
    log = {
        "source": "drawn",
        "nodes": 1,
        "gpus_per_node": ranks,
        "nccl": "2.18.3",
        "smallest_bytes": 8,
        "largest_bytes": 1 << 30,
        "left_out_error_percent": 5,
    }
    gpu = {
        "copy_us": us(draw, 1, 3),
        "gap_us": us(draw, 0, 2),
        "copy_gbps": draw.randrange(200, 2000),
        "launch_latency_us": us(draw, 3, 15),
        "event_latency_us": us(draw, 0.5, 4),
    }
    return {
        "schema": "ddpsim.cluster/1",
        "name": "drawn",
        "nodes": 1,
        "node": node,
        "gpu_costs": gpu,
        "calibration": {
            "constants": constants,
            "residual_deviation": spread,
            "repeatability": spread,
            "logs": [log],
            "correction": [],
        },
    }


def job(seed):
    draw = random.Random(seed)
    mode = draw.choice(("", "", "--static-graph", "--find-unused-parameters", "--find-unused-parameters"))
    accumulate = draw.choice((1, 1, 2, 3))
    ranks = draw.choice(RANKS)
    timed, left_out = workload(draw, bool(mode) and draw.random() < 0.6, accumulate)
    options = ([mode] if mode else []) + (["--accumulate", str(accumulate)] if accumulate > 1 else [])
    return Job(
        timed,
        cluster(draw, ranks),
        ranks,
        draw.choice(CAPS),
        draw.choice(("none", "none", "fp16", "bf16")),
        options,
        left_out,
    )
