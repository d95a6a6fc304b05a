"""Logs where torch.compile cuts a model in DDP (DDPOptimizer), and when the all-reduces of its buckets start.

    main(FOLDER, RANK, EVERY)

One of two ranks, in a Python with torch. No C++ compiler is needed, because models are cut the same for every backend.
test_scheme_trainings.py stores the output in tests/fixtures/schemes. Rank 0 prints one line of JSON per training:

- the model, and caps in bytes
- the parameters of each piece as DDPOptimizer counts them: from the model's end, which is the order of backward; a
  parameter that is used twice counts twice
- the order in which DDP saw gradients; within a piece it depends on autograd's heap
- the buckets' all-reduces in a settled step, among the backward of pieces"""

import itertools
import json

import torch
import torch.distributed as dist
from torch._dynamo.backends import distributed as cuts
from torch._dynamo.backends.common import aot_autograd
from torch.nn.parallel import DistributedDataParallel

from scheme_models import COMPILED

STEPS = 4
KIB = 1024


CAPS = [(256, 1 * KIB), (1 * KIB, 2 * KIB), (1 * KIB, 4 * KIB), (2 * KIB, 2 * KIB), (16 * KIB, 16 * KIB)]


def mangled(name):
    *path, leaf = name.split(".")
    return "L_self_" + "".join(f"modules_{module}_" for module in path) + f"parameters_{leaf}_"


def train(name, first, cap, optimize):
    torch._dynamo.reset()
    torch._dynamo.config.optimize_ddp = optimize
    torch.manual_seed(0)
    make, data = COMPILED[name]
    model = make()
    names = [path for path, _ in model.named_parameters()]
    dist._DEFAULT_FIRST_BUCKET_BYTES = first
    ddp = DistributedDataParallel(model, bucket_cap_mb=cap / KIB / KIB, broadcast_buffers=False)
    pieces, lines, compiled = [], [], 0

    class Watched(cuts.DDPOptimizer):
        def compile_fn(self, *arguments, **keywords):
            outcome = super().compile_fn(*arguments, **keywords)
            spelled = {mangled(path): path for path in names}
            pieces.extend([spelled[parameter] for parameter in bucket.params] for bucket in reversed(self.buckets))
            return outcome

    def piece(graph, inputs):
        nonlocal compiled
        number, compiled = compiled, compiled + 1

        def backward(graph, inputs):
            def run(*arguments):
                lines.append(f"<piece {number}")
                outcome = graph(*arguments)
                lines.append(f"piece {number}>")
                return outcome

            return run

        return aot_autograd(fw_compiler=lambda graph, inputs: graph, bw_compiler=backward)(graph, inputs)

    def hook(_, bucket):
        lines.append(f"all-reduce {bucket.buffer().numel() * bucket.buffer().element_size()}")
        future = torch.futures.Future()
        dist.all_reduce(bucket.buffer())
        future.set_result(bucket.buffer())
        return future

    ddp.register_comm_hook(None, hook)
    whole, cuts.DDPOptimizer = cuts.DDPOptimizer, Watched
    try:
        run = torch.compile(ddp, backend=piece)
        for _ in range(STEPS):
            lines.clear()
            run(data()).float().pow(2).mean().backward()
            ddp.zero_grad()
    finally:
        cuts.DDPOptimizer = whole
    order = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    return {
        "model": name,
        "first_bucket": first,
        "cap": cap,
        "optimize_ddp": optimize,
        "pieces": pieces,
        "compiled": compiled,
        "order": [names[int(index)] for index in order.replace(",", " ").split()],
        "backward": list(lines),
    }


def main(folder, rank, every):
    rank = int(rank)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    for name, (first, cap), optimize in itertools.islice(
        itertools.product(COMPILED, CAPS, (True, False)), None, None, int(every)
    ):
        told = train(name, first, cap, optimize)
        if rank == 0:
            print(json.dumps(told), flush=True)
