"""Local SGD in small trainings, for test_local_sgd.py; one of four ranks, two per node.

    main(FOLDER, RANK)

Rank 0 prints one line of JSON per training: parameters, the order of their gradients, options, and every all-reduce in
each step of the last two periods as [elements, ranks]. Also the most memory that the profiler saw in the last step that
averaged."""

import contextlib
import gc
import json
import pathlib
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, post_localSGD_hook
from torch.distributed.algorithms.model_averaging import averagers, utils
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function

from profiled_memory import allocated

START = 3  # steps until buckets are rebuilt
MEMORY = int(torch.__version__.split(".")[0]) >= 2  # its profiler reports memory


class Layers(torch.nn.Module):
    def __init__(self, types, unused):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(300, 300, dtype=dtype) for dtype in types)
        self.unused = torch.nn.Linear(300, 100) if unused else None

    def forward(self, x):
        for layer in self.layers:
            x = layer(x.to(layer.weight.dtype))
        return x


def layers(dtype):
    return [getattr(torch, dtype)] * 6


MODELS = {
    "float32": lambda: Layers(layers("float32"), False),
    "bfloat16": lambda: Layers(layers("bfloat16"), False),
    "mixed": lambda: Layers(layers("float32") + layers("float64"), False),
    "unused": lambda: Layers(layers("float32"), True),
}
# Model, period, post_local_gradient_allreduce, gradient_as_bucket_view and bucket_cap_mb of each case.
CASES = [
    ("float32", 4, True, False, 25),
    ("float32", 2, True, True, 1),
    ("float32", 3, False, True, 25),
    ("mixed", 2, True, True, 25),
    ("unused", 2, True, False, 25),
]
if MEMORY:  # gloo in PyTorch 1.13 refuses bfloat16
    CASES.append(("bfloat16", 3, True, True, 25))


class Heard:
    """Stands in for torch.distributed, and logs every all-reduce."""

    def __init__(self, all_reduces):
        self.all_reduces = all_reduces

    def __getattr__(self, name):
        return getattr(dist, name)

    def all_reduce(self, tensor, group=None, **arguments):
        self.all_reduces.append([tensor.numel(), dist.get_world_size(group)])
        return dist.all_reduce(tensor, group=group, **arguments)


def train(folder, node, name, period, gradients, view, cap):
    gc.collect()  # frees the previous training
    torch.manual_seed(0)
    default_hooks.dist = utils.dist = heard = Heard([])
    watched = profile(activities=[ProfilerActivity.CPU], profile_memory=True) if MEMORY else contextlib.nullcontext()
    last = START + 3 * period
    with watched as profiler:
        model = MODELS[name]()
        ddp = DistributedDataParallel(
            model,
            bucket_cap_mb=cap,
            gradient_as_bucket_view=view,
            broadcast_buffers=False,
            find_unused_parameters=name == "unused",
        )
        state = post_localSGD_hook.PostLocalSGDState(None, node, START, post_local_gradient_allreduce=gradients)
        ddp.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        averager = averagers.PeriodicModelAverager(period, START)
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
        parameters = list(model.parameters())
        order, steps = [], []
        for index, parameter in enumerate(parameters):
            parameter.register_hook(lambda _, index=index: order.append(index))
        for number in range(last + 1):
            heard.all_reduces, order[:] = [], []
            # If a worker of gloo still held a bucket, the profiler would not see it freed.
            time.sleep(0.2)
            with record_function(f"step {number}"):
                optimizer.zero_grad(set_to_none=True)
                ddp(torch.rand(2, 300)).float().pow(2).mean().backward()
                optimizer.step()
                averager.average_parameters(ddp.parameters())
            steps.append(heard.all_reduces)
    if MEMORY:
        profiler.export_chrome_trace(str(folder / "trace.json"))
    return {
        "model": name,
        "period": period,
        "gradients": gradients,
        "view": view,
        "cap": cap,
        "parameters": [[list(parameter.shape), str(parameter.dtype).split(".")[1]] for parameter in parameters],
        "order": order,
        "steps": steps[START:],
        "allocated": allocated(folder / "trace.json", f"step {last}") if MEMORY else None,
    }


def main(folder, rank):
    rank = int(rank)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=4)
    node = [dist.new_group([first, first + 1]) for first in (0, 2)][rank // 2]  # new_subgroups() of 1.13 needs a GPU
    own = pathlib.Path(folder, str(rank))
    own.mkdir()
    for case in CASES:
        told = train(own, node, *case)
        if rank == 0:
            print(json.dumps(told), flush=True)
    dist.barrier()
