"""Logs the collectives of a rank under Join, for test_data_loading.py.

    main(FOLDER, RANK, RANKS)

One of RANKS ranks, in a Python with torch. Rank 0 prints one line of JSON per training:

- the model: parameters, buffers, and the order of gradients
- DDP's and Join's options, and the inputs of each rank
- the collectives of rank 0 in order: of each iteration from the third on, of the time while others still have inputs,
  and of the end. (DDP rebuilds buckets in the second iteration.)
- whether it raised"""

import json

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from collective_log import CollectiveLog

KIB = 1024


class Normed(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(20, 30), nn.BatchNorm1d(30), nn.ReLU(), nn.Linear(30, 10), nn.Linear(10, 3))


class Plain(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(20, 30), nn.Linear(30, 10), nn.Linear(10, 3, bias=False))


def train(rank, ranks, make, inputs, ddp_options, join_options, parts=1):
    torch.manual_seed(0)
    model = make()
    ddp = DistributedDataParallel(model, bucket_cap_mb=1 / KIB, **ddp_options)
    log = CollectiveLog()
    raised = False
    # Before the third iteration no phase is open, so collectives are not logged.
    with log:
        try:
            with ddp.join(**join_options):
                for iteration in range(inputs[rank]):
                    if iteration >= 2:
                        log.enter("iteration")
                    for part in range(parts):
                        if part + 1 < parts:
                            with ddp.no_sync():
                                ddp(torch.rand(4, 20)).pow(2).mean().backward()
                        else:
                            ddp(torch.rand(4, 20)).pow(2).mean().backward()
                    ddp.zero_grad()
                log.enter("joined")
        except RuntimeError as error:
            raised = "exhausted" in str(error)
            if not raised:
                raise
    order = ddp._get_ddp_logging_data().get("rebuilt_per_bucket_param_indices", "")  # none with find_unused_parameters
    return {
        "ranks": ranks,
        "inputs": inputs,
        "ddp": ddp_options,
        "join": join_options,
        "parts": parts,
        "raised": raised,
        "first_bucket": dist._DEFAULT_FIRST_BUCKET_BYTES,
        "parameters": [[name, list(tensor.shape)] for name, tensor in model.named_parameters()],
        "order": [int(index) for index in order.replace(",", " ").split()],
        "buffers": [[str(tensor.dtype).removeprefix("torch."), tensor.numel()] for _, tensor in model.named_buffers()],
        "log": log.taken(),
    }


def cases(ranks):
    least_first = [4 + 2 * rank for rank in range(ranks)]
    most_first = least_first[::-1]
    for make in (Plain, Normed):
        for inputs in (least_first, most_first, [5] * ranks):
            for static in (True, False):
                yield make, inputs, {}, {"divide_by_initial_world_size": static}
            yield make, inputs, {}, {"throw_on_early_termination": True}
        yield make, least_first, {"find_unused_parameters": True}, {}
        yield make, most_first, {"find_unused_parameters": True}, {}
    yield Normed, least_first, {"broadcast_buffers": False}, {}


def main(folder, rank, ranks):
    rank, ranks = int(rank), int(ranks)
    torch.set_num_threads(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = KIB
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    for make, inputs, ddp_options, join_options in cases(ranks):
        told = train(rank, ranks, make, inputs, ddp_options, join_options)
        dist.barrier()
        if rank == 0:
            print(json.dumps(told), flush=True)
