#!/usr/bin/env python3
"""Measures two constants of gloo's cost model (GlooLinks) on this machine's processor.

    tests/lab/gloo_threads.py

to_fill  Two ranks all-reduce over a loopback. One thread of each rank moves bytes through the sockets, and the workers
         add up. At worst, the bytes of one all-reduce pass through both, one after the other. Two in flight keep the
         socket threads busy. So together they send at most (sockets + workers) / sockets times as much. The CPU seconds
         of the threads give this ratio. Unlike rates, they are also valid on a busy machine with too few cores.

cache    One core copies and adds one segment of 1 MiB after another, from buffers of growing size.

The medians are printed, and nothing is judged. Two times 24 runs on two shared cores of an EPYC gave to_fill 1.55 and
1.59, the same from 4 to 64 MiB. The middle halves were 1.51 to 1.65. Copying reached 20 to 37 GB/s within the cache
and 12 to 15 beyond, adding 20 to 38 and 12 to 16. Exit code 77: no torch."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402

MIB = 1 << 20
SIZES = (4, 8, 25, 64)  # MiB
ROUNDS = 3


def cpu_seconds():
    """CPU seconds of each thread of this process."""
    ticks = os.sysconf("SC_CLK_TCK")
    seconds = {}
    for thread in os.listdir("/proc/self/task"):
        fields = pathlib.Path(f"/proc/self/task/{thread}/stat").read_text().rsplit(")", 1)[1].split()
        seconds[thread] = (int(fields[11]) + int(fields[12])) / ticks
    return seconds


def rank(number, store):
    """One of two ranks. Rank 0 prints the size, the number in flight, and seconds per GB of its busiest threads."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)

    def all_reduce(tensors):
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()

    for size in SIZES * ROUNDS:
        for in_flight in (1, 2):
            tensors = [torch.ones(size * MIB // 4) for _ in range(in_flight)]
            repeats = max(4, 3000 // (size * in_flight))
            all_reduce(tensors)
            dist.barrier()
            before = cpu_seconds()
            for _ in range(repeats):
                all_reduce(tensors)
            after = cpu_seconds()
            gigabytes = size * MIB * in_flight * repeats / 1e9
            used = sorted((seconds - before.get(thread, 0) for thread, seconds in after.items()), reverse=True)
            if number == 0:
                print(size, in_flight, *(f"{seconds / gigabytes:.4f}" for seconds in used[:3]), flush=True)


def core():
    """Prints the size in MiB, and the rates of copying and adding in GB/s."""
    import torch

    torch.set_num_threads(1)
    for size in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        source, target = torch.ones(size * MIB // 4), torch.ones(size * MIB // 4)
        segments = list(zip(target.split(MIB // 4), source.split(MIB // 4)))
        rates = []
        for move in (lambda to, of: to.copy_(of), lambda to, of: to.add_(of)):
            start = time.process_time()
            for _ in range(max(3, 2000 // size)):
                for to, of in segments:
                    move(to, of)
            rates.append(size * MIB * max(3, 2000 // size) / (time.process_time() - start) / 1e9)
        print(f"{size:4} MiB  copy {rates[0]:5.1f} GB/s  add {rates[1]:5.1f} GB/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--role", choices=("rank", "core"), help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "rank":
        return rank(options.rank, options.store)
    if options.role == "core":
        return core()

    import tempfile
    from torch_python import python_with_torch

    python = python_with_torch()
    if not python:
        print("no Python with torch; skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--role", "rank", "--store", f"{folder}/store", "--rank"]
        other = subprocess.Popen([*command, "1"])
        try:
            output = subprocess.run(
                [*command, "0"], capture_output=True, text=True, check=True, timeout=patience.seconds(600)
            ).stdout
        finally:
            other.kill()
            other.wait()
    fills = []
    for line in output.splitlines():
        size, in_flight, sockets, *workers = line.split()
        fills.append((float(sockets) + sum(map(float, workers))) / float(sockets))
        print(
            f"{size:>4} MiB  {in_flight} in flight  sockets {sockets} s/GB  workers {' '.join(workers)}  "
            f"to_fill at most {fills[-1]:.2f}"
        )
    low, middle, high = statistics.quantiles(fills)
    print(f"to_fill {middle:.2f}, middle half {low:.2f} to {high:.2f}, {len(fills)} runs")
    return subprocess.run([python, __file__, "--role", "core"], check=True).returncode


if __name__ == "__main__":
    sys.exit(main())
