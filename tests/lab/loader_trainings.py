"""DDP over gloo behind a DataLoader whose data set sleeps, for test_loader_steps.py.

    loader_trainings.py FOLDER RANK RANKS STEP_MS STEPS CASE…      a CASE is WORKERS:PREFETCH:BATCH_MS

one of RANKS ranks. A step waits, as a host waits for its GPU, until STEP_MS after its batch came, then trains a model of one small
layer; a batch takes its worker BATCH_MS. Prints one line of JSON a case on rank 0: the step, in the median of all whole rounds of the
workers once their queues are full; the first wait; and the step with batches that are there at once: behind a worker that does not
sleep, as taking a batch out of its queue takes the trainer time, too, or made on the spot."""

import ctypes
import gc
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

FOLDER, RANK, RANKS = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
STEP, STEPS = float(sys.argv[4]) / 1000, int(sys.argv[5])


class Sleeping(Dataset):
    def __init__(self, seconds, count):
        self.seconds, self.count = seconds, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(8)


def exact_sleep():
    """Timers of 1 ns slack, and before all other load, where that is allowed."""
    ctypes.CDLL(None).prctl(29, 1)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass


def step(ddp, batch):
    until = time.perf_counter() + STEP
    time.sleep(until - time.perf_counter())
    ddp(batch).sum().backward()
    ddp.zero_grad()


def steady(ddp, loader, workers):
    """A step, first wait."""
    rounds = max(workers, 1)
    ends, began = [], time.perf_counter()
    dist.barrier()
    first = None
    batches = iter(loader)
    for batch in batches:
        if first is None:
            first = time.perf_counter() - began
        step(ddp, batch)
        ends.append(time.perf_counter())
    begin = max(3 * rounds, 4)
    whole = sorted(later - earlier for earlier, later in zip(ends[begin:], ends[begin + rounds:]))
    del batches
    return whole[len(whole) // 2] / rounds, first


def loading(seconds, batches, workers, prefetch):
    return DataLoader(Sleeping(seconds, batches), batch_size=1, num_workers=workers, **({"prefetch_factor": prefetch} if workers else {}),
                      worker_init_fn=lambda _: exact_sleep())


def without(ddp):
    times = []
    for _ in range(12):
        began = time.perf_counter()
        step(ddp, torch.zeros(1, 8))
        times.append(time.perf_counter() - began)
    return sorted(times[2:])[5]


def main():
    exact_sleep()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{FOLDER}/store", rank=RANK, world_size=RANKS)
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    gc.disable()
    for case in sys.argv[6:]:
        workers, prefetch, milliseconds = case.split(":")[:3]
        workers = int(workers)
        alone = steady(ddp, loading(0, 20, 1, 2), 1)[0] if workers else without(ddp)
        mean, first = steady(ddp, loading(float(milliseconds) / 1000, max(STEPS, 12 * workers + 1), workers, int(prefetch)), workers)
        if RANK == 0:
            print(json.dumps({"case": case, "ranks": RANKS, "step": alone, "measured": mean, "first": first}), flush=True)


main()
