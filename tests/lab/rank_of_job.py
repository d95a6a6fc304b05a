"""Starts a rank of the lab's jobs."""

import os

import torch
import torch.distributed as dist


def begin_rank():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if os.sched_getscheduler(0) == os.SCHED_RR:  # gloo's threads keep their priority
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
