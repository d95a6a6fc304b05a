"""Small real trainings with the recorder, for test_recorder.py, in a Python with torch.

    main(FOLDER, RANK, RANKS, CASE…)

The recorder writes FOLDER/CASE.json. Prints one line of JSON per case with facts from torch itself."""

import contextlib
import copy
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "traces" / "recorder"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook  # noqa: E402
from ddpsim_recorder import HostClock, Recorder  # noqa: E402
from torch_resnet import resnet  # noqa: E402

DDP = nn.parallel.DistributedDataParallel
WARMUP, STEPS = 2, 1


class Transformer(nn.Module):
    """Token and position embeddings, two encoder layers, an output tied to the token embedding."""

    def __init__(self, width=256, words=1000):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(16, width)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 512, batch_first=True), 2)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        return self.head(self.layers(self.words(tokens) + self.places(torch.arange(tokens.shape[1]))))


class Branches(nn.Module):
    """A model with a branch that is never used, and a parameter at the root."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.used, self.unused, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.used(x * self.scale))


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.reentrant = reentrant

    def forward(self, x):
        x = self.first(x)
        # The same module runs twice, so reentrant checkpoints write its gradients twice.
        for _ in range(2):
            x = checkpoint(self.middle, x, use_reentrant=self.reentrant)
        return self.last(x)


class WallClock:
    now = staticmethod(time.perf_counter_ns)

    def wait_until(self, instant):
        while self.now() < instant:
            pass


class VirtualClock:
    """A clock that moves only while somebody waits."""

    def __init__(self):
        self.instant = 1_000_000_000

    def now(self):
        return self.instant

    def wait_until(self, instant):
        self.instant = max(self.instant, instant)


class Waiting(torch.autograd.Function):
    """Passes its input through. Backward waits until a set time after its start, and notes when it was done."""

    @staticmethod
    def forward(context, x, parameter, clock, done, at_us):
        context.shape, context.clock, context.done, context.at_us = parameter.shape, clock, done, at_us
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        clock, done = context.clock, context.done
        written = torch.ones(context.shape)
        if not done:
            done.append(clock.now())
        clock.wait_until(done[0] + 1000 * context.at_us)
        done.append(clock.now())
        return gradient, written, None, None, None


class Deadlines(nn.Module):
    """A model with a forward of 5 ms and gradients at set times: the last parameter 20 ms after backward starts, others
    later."""

    FORWARD_US = 5000
    AT_US = [20000, 20500, 22000, 30000, 34000, 50000]

    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        # One list per forward: the start of backward, then the time of each gradient.
        self.done = []
        self.weights = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in self.AT_US)

    def forward(self, x):
        self.done.append([])
        self.clock.wait_until(self.clock.now() + 1000 * self.FORWARD_US)
        for weight, at_us in zip(self.weights, reversed(self.AT_US)):
            x = Waiting.apply(x, weight, self.clock, self.done[-1], at_us)
        return x


IMAGES = torch.rand(2, 3, 32, 32)
TOKENS = torch.arange(24).reshape(2, 12)
ROWS = torch.rand(6, 4)


def train(
    model,
    inputs,
    folder,
    case,
    *,
    steps=STEPS,
    backwards=1,
    in_no_sync="both",
    between=lambda k: None,
    autocast=False,
    **recording,
):
    """Trains with the recorder. `in_no_sync`: the part of all but the last micro-batch under no_sync, "both" or
    "backward"."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    with Recorder(model, folder / f"{case}.json", warmup=WARMUP, steps=steps, **recording) as recorder:
        for k in range(WARMUP + 2 * steps):
            between(k)
            optimizer.zero_grad()
            for part in range(backwards):

                def quiet(of):
                    return (
                        model.no_sync()
                        if part < backwards - 1 and isinstance(model, DDP) and of
                        else contextlib.nullcontext()
                    )

                with torch.autocast("cpu", torch.bfloat16, enabled=autocast), quiet(in_no_sync == "both"):
                    loss = model(inputs).float().pow(2).mean()
                    with quiet(in_no_sync == "backward"):
                        loss.backward()
            optimizer.step()
            recorder.step()
        facts = {
            "case": case,
            "finished": recorder.finished,
            "problem": recorder.problem,
            "restored": torch.autograd.backward.__module__ == "torch.autograd",
            "hooks": sum(len(module._forward_pre_hooks) + len(module._forward_hooks) for module in model.modules())
            + sum(len(p._backward_hooks or ()) for p in model.parameters()),
        }
    if isinstance(model, DDP):
        model(inputs)  # DDP logs the step before the last forward
        log = model._get_ddp_logging_data()
        facts["order"] = [
            int(i) for i in log.get("prev_iteration_grad_ready_order_indices", "").replace(",", " ").split()
        ]
        facts["buckets"] = [int(size) for size in log.get("rebuilt_bucket_sizes", "").replace(",", " ").split()]
    return facts


def alone(make, inputs, **options):
    return lambda folder, case: train(make(), inputs, folder, case, **options)


def under_ddp(make, inputs, ddp=None, **options):
    return lambda folder, case: train(DDP(make(), **(ddp or {})), inputs, folder, case, **options)


def frozen():
    model = Transformer()
    for parameter in [model.words.weight, *model.layers.layers[0].parameters()]:
        parameter.requires_grad = False
    return model


def ignoring():
    model = Branches()
    model.unused = nn.Linear(4, 4)
    for parameter in model.unused.parameters():
        parameter.requires_grad = False
    DDP._set_params_and_buffers_to_ignore_for_model(model, ["used.bias"])
    return model


def sparse():
    return nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Linear(8, 4))


def same_numbers(folder, case):
    """Trains twice from the same weights, with and without the recorder, and compares the results."""
    first = resnet(18)
    second = copy.deepcopy(first)
    facts = train(first, IMAGES, folder, case)
    optimizer = torch.optim.SGD(second.parameters(), lr=1e-3)
    for _ in range(WARMUP + 2 * STEPS):
        optimizer.zero_grad()
        second(IMAGES).float().pow(2).mean().backward()
        optimizer.step()
    return {
        **facts,
        "same": all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values())),
    }


def seeing_all_reduces(before=lambda ddp: None, **ddp):
    """Trains twice from the same weights, with and without the recorder's communication hook. Ranks have different
    rows."""

    def run(folder, case):
        rows = ROWS * (1 + torch.distributed.get_rank())
        first = nn.Sequential(nn.Linear(4, 600), nn.Tanh(), nn.Linear(600, 600), nn.Linear(600, 600), nn.Linear(600, 2))
        models = [DDP(model, bucket_cap_mb=0.1, **ddp) for model in (first, copy.deepcopy(first))]
        before(models[0])
        facts = train(models[0], rows, folder, case, steps=3, collectives=True)
        optimizer = torch.optim.SGD(models[1].parameters(), lr=1e-3)
        for _ in range(WARMUP + 6):
            optimizer.zero_grad()
            models[1](rows).float().pow(2).mean().backward()
            optimizer.step()
        return {**facts, "same": all(torch.equal(a, b) for a, b in zip(models[0].parameters(), models[1].parameters()))}

    return run


def with_a_hook(ddp):
    ddp.register_comm_hook(None, allreduce_hook)


def hooked_by_its_script(folder, case):
    model = DDP(Branches().used)
    with_a_hook(model)
    return train(model, ROWS, folder, case)


def stolen_gradients(folder, case):
    """If .grad is None, AccumulateGrad keeps the given tensor instead of copying it. Hooks must not change that."""
    kept = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(context, weight):
            return weight.clone()

        @staticmethod
        def backward(context, gradient):
            fresh = gradient * 1
            kept.append(fresh.data_ptr())
            return fresh

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1000))

        def forward(self, x):
            return Keep.apply(self.weight) * x.sum()

    model = Model()
    stolen = []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    recorder = Recorder(model, folder / f"{case}.json", warmup=WARMUP, steps=STEPS)
    while not recorder.finished:
        optimizer.zero_grad(set_to_none=True)
        model(ROWS).sum().backward()
        stolen.append(model.weight.grad.data_ptr() == kept[-1])
        optimizer.step()
        recorder.step()
    return {"case": case, "stolen": stolen}


def with_evaluation(folder, case):
    """An evaluation between steps, and a forward without gradients inside, are not part of a step."""
    model = Branches()

    def evaluate(k):
        with torch.no_grad():
            model(ROWS)

    return train(model, ROWS, folder, case, between=evaluate)


def deadlines(folder, case):
    """Uses a virtual clock that other processes do not affect, so the times in hooks are exact."""
    clock, mark = VirtualClock(), HostClock.mark
    HostClock.mark = staticmethod(clock.now)
    try:
        return train(Deadlines(clock), ROWS, folder, case)
    finally:
        HostClock.mark = mark


class Sleeping(torch.utils.data.Dataset):
    """A data set whose batches take 20 ms."""

    def __len__(self):
        return 100

    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.zeros(4)


def loaded(folder, case, workers=0, steps=3):
    """Trains with a DataLoader, in the training thread or in workers."""
    model = nn.Linear(4, 2)
    recorder = Recorder(model, folder / f"{case}.json", warmup=2, steps=steps, name=case)
    before = torch.utils.data.dataloader._BaseDataLoaderIter.__next__
    for batch in torch.utils.data.DataLoader(Sleeping(), batch_size=1, num_workers=workers):
        model(batch).sum().backward()
        recorder.step()
        if recorder.finished:
            break
    return {
        "case": case,
        "finished": recorder.finished,
        "problem": recorder.problem,
        "restored": torch.autograd.backward.__module__ == "torch.autograd",
        "hooks": len(model._forward_pre_hooks) + len(model._forward_hooks),
        "order": [],
        "buckets": [],
        "left_as_it_was": torch.utils.data.dataloader._BaseDataLoaderIter.__next__ is before,
    }


def loaded_by_two(folder, case):
    """Two workers deliver two batches at once, then none for the time of one batch."""
    return loaded(folder, case, workers=2, steps=12)


def unwritable(folder, case):
    return train(Branches(), ROWS, folder / "no such folder", case)


CASES = {
    "resnet18": under_ddp(lambda: resnet(18), IMAGES, steps=2),
    "resnet50": under_ddp(lambda: resnet(50), IMAGES, ddp={"bucket_cap_mb": 10}),
    "frozen": under_ddp(frozen, TOKENS),
    "transformer": under_ddp(Transformer, TOKENS, ddp={"bucket_cap_mb": 1.5, "gradient_as_bucket_view": True}),
    "unused": under_ddp(Branches, ROWS, ddp={"find_unused_parameters": True}),
    "ignored": under_ddp(ignoring, ROWS),
    "sparse": under_ddp(sparse, TOKENS),
    "accumulated": under_ddp(Transformer, TOKENS, backwards=3),
    "misplaced": under_ddp(Transformer, TOKENS, backwards=3, in_no_sync="backward"),
    "own-hook": hooked_by_its_script,
    "plain": alone(lambda: resnet(18), IMAGES),
    "reentrant": alone(lambda: Checkpointed(True), ROWS),
    "checkpointed": alone(lambda: Checkpointed(False), ROWS),
    "autocast": alone(lambda: nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), ROWS, autocast=True),
    "deadlines": deadlines,
    "evaluated": with_evaluation,
    "numbers": same_numbers,
    "hooked": seeing_all_reduces(),
    "viewed": seeing_all_reduces(gradient_as_bucket_view=True),
    "taken": seeing_all_reduces(with_a_hook),
    "accumulated-hooked": under_ddp(lambda: resnet(18), IMAGES, backwards=2, collectives=True),
    "stolen": stolen_gradients,
    "loaded": loaded,
    "loaded_by_two": loaded_by_two,
    "unwritable": unwritable,
}


def main(folder, rank, world, *cases):
    rank, world = int(rank), int(world)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    for case in cases:
        print(json.dumps(CASES[case](pathlib.Path(folder), case)), flush=True)
    torch.distributed.destroy_process_group()
