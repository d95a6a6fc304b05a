"""Trains with DDP over gloo and a DataLoader whose data set sleeps, for test_loader_steps.py.

    main(FOLDER, RANK, RANKS, STEP_MS, STEPS, CASE…)      a CASE is WORKERS:PREFETCH:BATCH_MS

runs one of RANKS ranks. A step waits until STEP_MS after its batch came, as a host waits for its GPU. Then it trains a
model of one small layer. A batch takes its worker BATCH_MS. Rank 0 prints one line of JSON per case with three times:

- the step, as the median of all whole rounds of the workers once their queues are full
- the first wait
- the step with batches that are ready at once, from a worker that does not sleep, or made by the trainer itself

With workers, the last also has the trainer's time to take a batch out of the queue."""

import ctypes
import gc
import json
import os
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Sleeping(Dataset):
    def __init__(self, seconds, count):
        self.seconds, self.count = seconds, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(8)


def exact_sleep():
    """Sets a timer slack of 1 ns, and real-time priority if it is allowed."""
    ctypes.CDLL(None).prctl(29, 1)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass


def step(ddp, batch, seconds):
    until = time.perf_counter() + seconds
    time.sleep(until - time.perf_counter())
    ddp(batch).sum().backward()
    ddp.zero_grad()


def steady(ddp, loader, workers, seconds):
    """The time of a step and the first wait."""
    rounds = max(workers, 1)
    ends, began = [], time.perf_counter()
    dist.barrier()
    first = None
    batches = iter(loader)
    for batch in batches:
        if first is None:
            first = time.perf_counter() - began
        step(ddp, batch, seconds)
        ends.append(time.perf_counter())
    begin = max(3 * rounds, 4)
    whole = sorted(later - earlier for earlier, later in zip(ends[begin:], ends[begin + rounds :]))
    del batches
    return whole[len(whole) // 2] / rounds, first


def loading(seconds, batches, workers, prefetch):
    return DataLoader(
        Sleeping(seconds, batches),
        batch_size=1,
        num_workers=workers,
        **({"prefetch_factor": prefetch} if workers else {}),
        worker_init_fn=lambda _: exact_sleep(),
    )


def without(ddp, seconds):
    times = []
    for _ in range(12):
        began = time.perf_counter()
        step(ddp, torch.zeros(1, 8), seconds)
        times.append(time.perf_counter() - began)
    return sorted(times[2:])[5]


def main(folder, rank, ranks, step_ms, steps, *cases):
    rank, ranks, seconds = int(rank), int(ranks), float(step_ms) / 1000
    exact_sleep()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    gc.disable()
    for case in cases:
        workers, prefetch, milliseconds = case.split(":")[:3]
        workers = int(workers)
        alone = steady(ddp, loading(0, 20, 1, 2), 1, seconds)[0] if workers else without(ddp, seconds)
        mean, first = steady(
            ddp,
            loading(float(milliseconds) / 1000, max(int(steps), 12 * workers + 1), workers, int(prefetch)),
            workers,
            seconds,
        )
        if rank == 0:
            print(
                json.dumps({"case": case, "ranks": ranks, "step": alone, "measured": mean, "first": first}), flush=True
            )
