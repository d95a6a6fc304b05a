#!/usr/bin/env python3
"""Measures how much compute kernels slow down while an NCCL kernel is on the GPU, from real profiler traces.

    tests/accuracy/measure_interference.py [TRACE.json.gz ...]

The same kernel is compared with itself in other steps. Kernels are the same if they have the same name, grid, block and
position among these in their step, which means the same layer on data of the same shape. Launches without an NCCL
kernel (alone) are compared with launches during which one ran all the time (beside). If all ranks of a job were traced,
the latter are split at the arrival of the last rank. Before it, NCCL kernels only hold SMs and spin (waiting). After it
they also move memory (transfer).

For the kernels of a class, with n launches beside,

    ratio = sum of n * median(beside) / sum of n * median(alone)

so that each kernel counts by the time that it would have taken alone. low..high is the middle half over kernels.
Without arguments, the open traces in ../shared/data/traces are used. The exit code is 77 without them.
"""

import bisect
import collections
import glob
import gzip
import json
import os
import statistics
import sys

TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data/traces")
JOBS = [
    ("r50-ddp-2xA100 (ResNet-50, rank 0)", ["r50-ddp-2xA100-rank0.json.gz"]),
    ("dlrm-ddp-2xV100 (DLRM, rank 1)", ["dlrm-ddp-2xV100-rank1.json.gz"]),
    ("dlrm-ddp-8xV100 (DLRM, 8 ranks)", [f"dlrm-ddp-8xV100-rank{r}.json.gz" for r in range(8)]),
    ("compiled-allreduce-2xV100 (rank 1)", ["compiled-allreduce-2xV100-rank1.json.gz"]),
]
CLASSES = [  # the first match counts
    (
        "convolution, matrix product",
        ("cudnn", "gemm", "conv", "wgrad", "dgrad", "cutlass", "xmma", "scudnn", "winograd", "sm80_", "sm70_"),
    ),
    ("batch norm", ("bn_", "batch_norm", "batchnorm", "bnfw", "bnbw")),
    ("embedding", ("embedding", "fbgemm", "split_embedding", "index")),
    ("copy, memset", ("Memcpy", "Memset", "CatArray", "copy")),
    ("elementwise, reduction", ("",)),
]
# Shorter kernels are left out: they are mostly clock resolution and launch overhead.
SHORT_US = 5


def kind(name):
    low = name.lower()
    return next(c for c, words in CLASSES if any(w.lower() in low for w in words))


def is_nccl(name):
    return name.startswith("nccl") and "kernel" in name.lower()


def read(path):
    with gzip.open(path) as stream:
        events = json.load(stream)["traceEvents"]
    steps = sorted({float(e["ts"]) for e in events if e.get("ph") == "X" and e["name"].startswith("ProfilerStep")})
    launched = {
        e["args"]["correlation"]: float(e["ts"])
        for e in events
        if e.get("cat", "").lower() in ("cuda_runtime", "runtime", "cuda_driver") and "correlation" in e.get("args", {})
    }
    kernels, nccl = [], []
    for event in events:
        if event.get("ph") != "X" or event.get("cat", "").lower() not in (
            "kernel",
            "gpu_memcpy",
            "gpu_memset",
            "memcpy",
        ):
            continue
        start, length = float(event["ts"]), float(event.get("dur", 0))
        name, args = event["name"], event.get("args", {})
        place = bisect.bisect(steps, launched.get(args.get("correlation"), start))
        (nccl if is_nccl(name) else kernels).append([start, start + length, name, args, place])
    kernels.sort(key=lambda k: k[0])
    seen = collections.Counter()
    for kernel in kernels:
        same = (kernel[4], shape_of(kernel))
        kernel[4] = seen[same]
        seen[same] += 1
    return kernels, sorted(nccl, key=lambda k: k[0])


def shape_of(kernel):
    name, args = kernel[2], kernel[3]
    return (name, str(args.get("grid")), str(args.get("block")), str(args.get("shared memory")), str(args.get("bytes")))


def merged(intervals):
    result = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        elif end > start:
            result.append([start, end])
    return result


class Cover:
    def __init__(self, intervals):
        self.parts = merged(intervals)
        self.starts = [p[0] for p in self.parts]

    def share(self, start, end):
        total, i = 0.0, max(0, bisect.bisect(self.starts, start) - 1)
        while i < len(self.parts) and self.parts[i][0] < end:
            total += max(0.0, min(end, self.parts[i][1]) - max(start, self.parts[i][0]))
            i += 1
        return total / max(end - start, 1e-9)


def last_arrivals(ranks):
    """For each position of an NCCL kernel, the start on the last rank. None if ranks have different numbers of them."""
    counts = {len(nccl) for _, nccl in ranks}
    if len(ranks) < 2 or len(counts) != 1:
        return None
    return [max(nccl[i][0] for _, nccl in ranks) for i in range(counts.pop())]


def key_of(kernel):
    return (*shape_of(kernel), kernel[4])


def measure(ranks):
    """The durations of each kernel by situation and key."""
    arrivals = last_arrivals(ranks)
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    channels = collections.Counter()
    for rank, (kernels, nccl) in enumerate(ranks):
        every = Cover([(s, e) for s, e, *_ in nccl])
        waiting = Cover([(s, min(e, arrivals[i])) for i, (s, e, *_) in enumerate(nccl)] if arrivals else [])
        moving = Cover([(max(s, arrivals[i]), e) for i, (s, e, *_) in enumerate(nccl)] if arrivals else [])
        for kernel in nccl:
            channels[str(kernel[3].get("grid"))] += 1
        for kernel in kernels:
            start, end = kernel[0], kernel[1]
            if end - start < SHORT_US:
                continue
            key = (rank, *key_of(kernel)) if len(ranks) > 1 else key_of(kernel)
            beside = every.share(start, end)
            if beside == 0:
                found["alone"][key].append(end - start)
            elif beside > 0.99:
                found["beside"][key].append(end - start)
                if arrivals and waiting.share(start, end) > 0.99:
                    found["waiting"][key].append(end - start)
                elif arrivals and moving.share(start, end) > 0.99:
                    found["transfer"][key].append(end - start)
    return found, channels


def table(found, situation):
    rows = collections.defaultdict(list)
    for key, beside in found[situation].items():
        alone = found["alone"].get(key)
        if not alone or len(beside) < 1:
            continue
        name = key[1] if isinstance(key[0], int) else key[0]
        rows[kind(name)].append((statistics.median(alone), statistics.median(beside), len(beside)))
    rows["all"] = [r for c in list(rows) for r in rows[c]]
    for name in [c for c, _ in CLASSES] + ["all"]:
        pairs = rows.get(name)
        if not pairs:
            continue
        alone = sum(a * n for a, _, n in pairs)
        beside = sum(b * n for _, b, n in pairs)
        ratios = sorted(b / a for a, b, _ in pairs)
        quarter = len(ratios) // 4
        print(
            f"  {situation:9} {name:28} {alone / 1e3:9.2f} {beside / 1e3:9.2f} {beside / alone:7.3f} "
            f"{ratios[quarter]:6.2f} ..{ratios[-1 - quarter]:5.2f} {len(pairs):8} "
            f"{sum(n for _, _, n in pairs):6}"
        )


def main():
    jobs = [(os.path.basename(p), [p]) for p in sys.argv[1:]]
    if not jobs:
        jobs = [(n, [os.path.join(TRACES, f) for f in files]) for n, files in JOBS]
        jobs = [(n, files) for n, files in jobs if all(os.path.exists(f) for f in files)]
        if not jobs:
            print("no traces beside the checkout: skipped")
            return 77
    for name, files in jobs:
        found, channels = measure([read(f) for f in files])
        print(f"{name}; NCCL grids {dict(channels.most_common(4))}")
        print(
            f"  {'':9} {'kernels':28} {'alone ms':>9} {'beside ms':>9} {'ratio':>7} {'middle half':>14} "
            f"{'kernels':>8} {'n':>6}"
        )
        for situation in ("beside", "waiting", "transfer"):
            table(found, situation)
    return 0


if __name__ == "__main__":
    sys.exit(main())
