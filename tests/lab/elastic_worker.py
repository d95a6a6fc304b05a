"""A worker that torchrun starts in test_elastic_restarts.py.

It writes a line to the file in MARKS when its process has started, when its process group exists, and when its first
step is done. Then it continues in small steps."""

import os
import sys
import time


def mark(what):
    with open(os.environ["MARKS"], "a") as marks:
        marks.write(f"{time.time():.4f} {what} {os.environ['RANK']} {os.getpid()} {os.environ['WORLD_SIZE']}\n")


mark("process")
import torch  # noqa: E402 (its import is part of a start)
import torch.distributed as dist  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo")
mark("group")
step = torch.zeros(1)
first = True
while os.getppid() != 1:  # ends if its agent is gone
    try:
        dist.all_reduce(step)
    except RuntimeError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    if first:
        mark("step")
    first = False
    time.sleep(0.02)
