"""Small trainings with every combination of DDP's options, for test_real_ddp.py; one of two ranks.

    main(FOLDER, RANK, EVERY)

The Python must have torch. Rank 0 prints one line of JSON per EVERY-th case. It has DDP's log of its buckets, the
events of torch.profiler in the same steps, and the file that the recorder wrote of the last one. FOLDER/ddp-log.json
has all that DDP logs of a ResNet-18."""

import contextlib
import io
import itertools
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "traces" / "recorder"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

from ddpsim_recorder import Recorder, torch_release  # noqa: E402
from torch_resnet import resnet  # noqa: E402

WARMUP, RECORDED = 2, 1
ITERATIONS = WARMUP + 2 * RECORDED
MIB = 1 << 20


class Use(torch.autograd.Function):
    """Passes its input through. Backward gives the weight a gradient of its dtype, in few operations for the slow
    profiler."""

    @staticmethod
    def forward(context, x, weight):
        context.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        return gradient, context.weight.detach()


class Chain(torch.nn.Module):
    """A model whose parameters are used in another order than defined. Each has a unique shape."""

    def __init__(self, elements, dtypes, unused=()):
        super().__init__()
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(torch.full((count + k,), 0.5).to(dtypes[k % len(dtypes)]))
            for k, count in enumerate(elements)
        )
        used = [k for k in range(len(elements)) if k not in unused]
        self.order = used[1::2] + used[0::2]
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        for k in self.order:
            x = Use.apply(x, self.weights[k])
        return x


SMALL = [700, 20, 300, 1500, 40, 40, 900, 10, 2500, 60, 5, 800, 3000, 30, 1200, 7, 400, 90]  # 45 kB
LARGE = [600_000, 2_000_000, 50, 1_500_000, 3_000_000, 200_000, 4_000_000, 1000, 2_500_000, 100_000]  # 53 MiB
MIXED = [torch.float32, torch.float16, torch.float32, torch.float64]


def flags():
    for static, find in itertools.product((False, True), repeat=2):
        yield {"static_graph": static, "find_unused_parameters": find}


def cases():
    """The cases: elements, dtypes, unused parameters, micro-batches, first bucket in MiB, and options of DDP."""
    release = torch_release()
    caps = [{}, *({"bucket_cap_mb": cap} for cap in (0, 0.002, 0.01))]
    if release >= (2, 11):
        caps += [{"bucket_cap_mb_list": caps} for caps in ([0.01], [0.002, 0.01, 0.005], [0.01, 0])]
    # Taken in turns, so that each is combined with different dtypes.
    views_and_parts = [(False, 1), (True, 2), (True, 1), (False, 2)]
    combinations = itertools.product(caps, flags(), (None, 0.004), ([torch.float32], MIXED))
    for k, (cap, flag, first, dtypes) in enumerate(combinations):
        if first and "bucket_cap_mb_list" in cap:
            continue
        view, parts = views_and_parts[(k + k // 4) % 4]
        yield SMALL, dtypes, (), parts, first, {**cap, **flag, "gradient_as_bucket_view": view}
    for cap in caps:
        for static in (False, True):
            yield SMALL, MIXED, (3, 8, 17), 1, None, {**cap, "find_unused_parameters": True, "static_graph": static}
        if release >= (2, 12):
            yield SMALL, MIXED, (), 1, None, {**cap, "gradient_as_bucket_view": True, "batched_grad_copy": True}
        yield SMALL, MIXED, (), 1, None, {**cap, "broadcast_buffers": False}
    for flag in flags():
        for cap, first in ((None, None), (25, None), (10, None), (2.5, None), (None, 3), (None, 30)):
            yield LARGE, [torch.float32], (), 1, first, {**flag, **({} if cap is None else {"bucket_cap_mb": cap})}


def integers(text):
    return [int(word) for word in text.replace(",", " ").split()]


def span(event):
    """The start and end of an event in the profiler's unit. PyTorch 1.13 has whole microseconds."""
    if hasattr(event, "start_ns"):
        return event.start_ns(), event.start_ns() + event.duration_ns()
    return event.start_us(), event.start_us() + event.duration_us()


def seen_by_profiler(profiler):
    """For each iteration: shapes in the order of AccumulateGrad, elements of each all-reduce, and shapes copied out by
    bucket."""
    events = profiler.profiler.kineto_results.events()  # profiler.events() would be too slow
    steps = [span(event) for event in events if event.name() == "an iteration"]
    wanted = {
        "torch::autograd::AccumulateGrad": "gradients",
        "gloo:all_reduce": "reduced",
        "torch.distributed.ddp.reducer::copy_bucket_to_grad": "copied",
    }
    seen = [{name: [] for name in wanted.values()} for _ in steps]
    # Several copies may begin in the same microsecond. Their ids tell the order.
    for event in sorted(
        (event for event in events if event.name() in wanted),
        key=lambda event: (span(event)[0], event.correlation_id()),
    ):
        for step, (begin, end) in zip(seen, steps):
            if begin <= span(event)[0] <= end:
                step[wanted[event.name()]].append(event.shapes()[0][0])
    return seen


def train(path, elements, dtypes, unused, parts, first, options):
    standard = dist._DEFAULT_FIRST_BUCKET_BYTES
    dist._DEFAULT_FIRST_BUCKET_BYTES = standard if first is None else int(first * MIB)
    model = torch.nn.parallel.DistributedDataParallel(Chain(elements, dtypes, unused), **options)
    built = integers(model._get_ddp_logging_data()["bucket_sizes"])
    said, ones = io.StringIO(), torch.ones(2)
    with contextlib.redirect_stderr(said), Recorder(model, path, warmup=WARMUP, steps=RECORDED) as recorder:
        with (
            profile(activities=[ProfilerActivity.CPU], record_shapes=True)
            if dist.get_rank() == 0
            else contextlib.nullcontext() as profiler
        ):
            for iteration in range(ITERATIONS):
                with record_function("an iteration"):
                    model.zero_grad()
                    # The first backwards of a static graph must be synchronised: two in PyTorch 1.13, one in 2.13.
                    begin = parts - 1 if options.get("static_graph") and iteration < 2 else 0
                    for part in range(begin, parts):
                        with model.no_sync() if part < parts - 1 else contextlib.nullcontext():
                            model(ones).sum().backward()
                recorder.step()
            dist.barrier()  # gloo's threads may end their events late
    model(ones)  # DDP logs the step before the last forward
    log = model._get_ddp_logging_data()
    dist._DEFAULT_FIRST_BUCKET_BYTES = standard
    return {
        "options": {"first_bucket_mb": first, "no_sync": parts - 1, **options},
        "unused": list(unused),
        "said": said.getvalue(),
        "problem": recorder.problem,
        "parameters": len(elements),
        "built": built,
        "rebuilt": integers(log.get("rebuilt_bucket_sizes", "")),
        "order": integers(log.get("prev_iteration_grad_ready_order_indices", "")),
        "iterations": seen_by_profiler(profiler) if profiler else None,
    }


def log_of_resnet18():
    """All that DDP logs of a model that `import` recognises by its size."""
    model = torch.nn.parallel.DistributedDataParallel(resnet(18), bucket_cap_mb=5)
    for _ in range(3):
        model(torch.rand(2, 3, 32, 32)).sum().backward()
    return model._get_ddp_logging_data()


def main(folder, rank, every):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=int(rank), world_size=2)
    for number, case in itertools.islice(enumerate(cases()), None, None, int(every)):
        facts = train(f"{folder}/{number}.json", *case)
        if dist.get_rank() == 0:
            print(json.dumps({"file": f"{number}-rank0.json", **facts}), flush=True)
    log = log_of_resnet18()
    if dist.get_rank() == 0:
        pathlib.Path(folder, "ddp-log.json").write_text(json.dumps(log))
    dist.barrier()
    dist.destroy_process_group()
