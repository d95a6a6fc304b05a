"""How a rank of the lab's jobs begins."""

import os

import torch
import torch.distributed as dist


def begin_rank():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if os.sched_getscheduler(0) == os.SCHED_RR:  # compute alone goes down: gloo's threads keep what they began with
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
