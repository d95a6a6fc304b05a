"""Logs powerSGD_hook's all-reduces in small trainings, for test_power_sgd.py; one of two ranks.

    main(FOLDER, RANK)

Rank 0 prints one line of JSON per training. It has parameters, the order of their gradients, options, and the elements
of every all-reduce of a bucket in each of the last steps. Also the most memory that the profiler saw in a step.

gloo completes futures in its threads, where the hook's callbacks wait for each other. With several buckets it hangs, or
ranks mix up their all-reduces. NCCL's futures are complete once they are enqueued, and their callbacks run at once. The
hook's callbacks here do the same.

gloo sends a copy of each tensor. A worker of gloo releases it later. If that is the last reference to a bucket, the
profiler does not see it freed, because it watches the thread of the trainer."""

import contextlib
import gc
import json
import pathlib
import types

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power_sgd
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function

from power_sgd_state import new_state
from profiled_memory import allocated
from torch_models import Bert, Gpt2
from torch_resnet import resnet

START, COMPRESSED = 3, 3  # iterations
MEMORY = int(torch.__version__.split(".")[0]) >= 2  # its profiler reports memory
NOT_SENT = {"init_sync": False} if MEMORY else {}  # both ranks start equal


def images():
    return torch.rand(2, 3, 64, 64)


def tokens():
    return torch.randint(0, 1000, (2, 32))


MODELS = {
    "resnet18": (lambda: resnet(18), images),
    "bert": (lambda: Bert(3, 128, 2), tokens),
    "gpt2": (lambda: Gpt2(3, 128, 2), tokens),
    "layers": (lambda: torch.nn.Sequential(*(torch.nn.Linear(700, 700) for _ in range(8))), lambda: torch.rand(2, 700)),
}
# The rank, min_compression_rate, bucket_cap_mb and dtype of each setting.
SETTINGS = [
    (1, 2, 25, "float32"),
    (4, 2, 25, "float32"),
    (2, 2, 3, "float32"),
    (33, 2, 5, "float32"),
    (4, 0.5, 25, "float32"),
    (8, 3.5, 20, "float64"),
]


def cases():
    """The cases: the smallest model with every setting, the others with two settings each."""
    for k, name in enumerate(MODELS):
        for j, setting in enumerate(SETTINGS):
            if name == "layers" or j % 3 == k:
                yield name, setting


class Reduced:
    """Stands in for torch.distributed in the hook. An all-reduce is over when it returns, and nothing else holds its
    tensor."""

    sent = torch.empty(1 << 26, dtype=torch.uint8)  # more than any bucket here

    def __init__(self):
        self.elements = []

    def __getattr__(self, name):
        return getattr(dist, name)

    def all_reduce(self, tensor, group=None, async_op=False):
        assert async_op
        self.elements.append(tensor.numel())
        sent = self.sent.view(tensor.dtype)[: tensor.numel()].view_as(tensor)
        sent.copy_(tensor)
        dist.all_reduce(sent, group=group)
        tensor.copy_(sent)
        future = torch.futures.Future()
        future.set_result([tensor])
        return types.SimpleNamespace(get_future=lambda: future)


def train(folder, name, rank, rate, cap, dtype):
    gc.collect()  # frees the previous training
    make, data = MODELS[name]
    torch.manual_seed(0)
    watched = profile(activities=[ProfilerActivity.CPU], profile_memory=True) if MEMORY else contextlib.nullcontext()
    with watched as profiler:
        model = make().to(getattr(torch, dtype))
        ddp = DistributedDataParallel(model, bucket_cap_mb=cap, broadcast_buffers=False, **NOT_SENT)
        state = new_state(START, matrix_approximation_rank=rank, min_compression_rate=rate)
        seen = []

        def hook(state, bucket):
            power_sgd.dist = power_sgd.default.dist = reduced = Reduced()
            plain = state.iter < state.start_powerSGD_iter
            future = power_sgd.powerSGD_hook(state, bucket)
            if not plain:
                seen.append(reduced.elements)
            return future

        ddp.register_comm_hook(state, hook)
        for number in range(START + COMPRESSED):
            batch = data()
            with record_function(f"step {number}"):
                out = ddp(batch if batch.dtype == torch.int64 else batch.to(getattr(torch, dtype)))
                out.float().pow(2).mean().backward()
                model.zero_grad(set_to_none=True)
            seen, last = [], seen
    if MEMORY:
        profiler.export_chrome_trace(str(folder / "trace.json"))
    order = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    return {
        "model": name,
        "rank": rank,
        "rate": rate,
        "cap": cap,
        "dtype": dtype,
        "all_reduces": last,
        "shapes": [list(parameter.shape) for parameter in model.parameters()],
        "buffers": sum(buffer.numel() * buffer.element_size() for buffer in model.buffers()),
        "order": [int(index) for index in order.replace(",", " ").split()],
        "allocated": allocated(folder / "trace.json", f"step {START + COMPRESSED - 1}") if MEMORY else None,
    }


def main(folder, rank):
    rank = int(rank)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    own = pathlib.Path(folder, str(rank))
    own.mkdir()
    for name, setting in cases():
        told = train(own, name, *setting)
        if rank == 0:
            print(json.dumps(told), flush=True)
