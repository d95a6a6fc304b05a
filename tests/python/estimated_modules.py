"""Modules of test_estimate.py, for a Python that has PyTorch: main(NAME) prints one line of JSON about the module of that name."""

import json
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import ddpsim
from autocast_operators import operators_of_step


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)), inplace=True)
        return self.head(self.second(x).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, eager, checkpointed):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(64), nn.Linear(64, 192), nn.Linear(64, 64)
        self.eager, self.checkpointed = eager, checkpointed

    def forward(self, x):
        return checkpoint(self.work, x, use_reentrant=False) if self.checkpointed else self.work(x)

    def work(self, x):
        q, k, v = (t.unflatten(-1, (4, 16)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        if self.eager:
            out = (q @ k.transpose(-1, -2) / 4).softmax(-1) @ v
        else:
            out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return x + F.dropout(self.out(out.transpose(1, 2).flatten(2)))


class Words(nn.Module):
    """Its output layer is tied to its embedding."""

    def __init__(self, eager=False, checkpointed=False):
        super().__init__()
        self.words = nn.Embedding(1000, 64)
        self.blocks = nn.ModuleList(Block(eager, checkpointed) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 1000, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), ids.flatten())


class Branches(nn.Module):
    """Uses its modules in another order than it defines them, one of them never, and one whose weight it computes."""

    def __init__(self):
        super().__init__()
        self.last, self.never, self.first = nn.Linear(32, 1), nn.Linear(32, 32), nn.Linear(16, 32)
        self.scale, self.shift = nn.Parameter(torch.ones(32)), nn.Parameter(torch.zeros(32))
        self.frozen = nn.Linear(32, 32)
        self.frozen.requires_grad_(False)

    def forward(self, x):
        x = F.linear(x, self.first.weight * 2, self.first.bias)
        for _ in range(3):  # plain Python
            x = torch.tanh(self.frozen(x)) + self.shift
        return {"loss": self.last(x * self.scale).sum()}


class Asks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) if x.sum().item() > 0 else x


class Experts(nn.Module):
    """Two of four experts for each row."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(32, 4, bias=False)
        self.weight = nn.Parameter(torch.empty(4, 32, 48))
        self.back = nn.Parameter(torch.empty(4, 48, 32))

    def forward(self, x):
        weight, expert = self.router(x).softmax(-1).topk(2)
        ends = torch.arange(4, dtype=torch.int32, device=x.device)
        rows = x.repeat_interleave(2, 0)
        out = torch._grouped_mm(torch._grouped_mm(rows, self.weight, offs=ends), self.back, offs=ends)
        return (out * weight.reshape(-1, 1)).sum()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.norm = nn.LSTM(32, 64, batch_first=True), nn.RMSNorm(64)

    def forward(self, x):
        return self.norm(self.cells(x)[0])


class SharedKeys(nn.Module):
    """Two query heads use each head of keys."""

    def __init__(self):
        super().__init__()
        self.query, self.keys = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        q = self.query(x).unflatten(-1, (4, 16)).transpose(1, 2)
        k, v = (t.unflatten(-1, (2, 16)).transpose(1, 2) for t in self.keys(x).chunk(2, -1))
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


IDS = torch.zeros(4, 128, dtype=torch.long)
MODULES = {
    "convolutions": (Convolutions, torch.empty(4, 3, 32, 32)),
    "many_convolutions": (Convolutions, torch.empty(32, 3, 32, 32)),
    "shared_keys": (SharedKeys, torch.empty(4, 8, 64)),
    "words": (Words, IDS),
    "eager": (lambda: Words(eager=True), IDS),
    "checkpointed": (lambda: Words(checkpointed=True), IDS),
    "branches": (Branches, {"x": torch.empty(8, 16)}),
    "asks": (Asks, torch.empty(2, 4)),
    "narrow": (lambda: nn.Linear(8, 4).bfloat16(), torch.empty(4, 8, dtype=torch.bfloat16)),
    "recurrent": (Recurrent, torch.empty(4, 10, 32)),
    "sparse": (lambda: nn.Embedding(100, 8, sparse=True), torch.zeros(4, 5, dtype=torch.long)),
    "evaluated": (lambda: Convolutions().eval(), torch.empty(4, 3, 32, 32)),
    "frozen": (lambda: nn.Linear(4, 4).requires_grad_(False), torch.empty(4, 4)),
    "experts": (Experts, torch.empty(64, 32)),
}


def real_order(module, inputs):
    """In which order one real backward finishes the gradients."""
    order = []
    for index, parameter in enumerate(module.parameters()):
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda _, index=index: order.append(index))
    outputs = module(**inputs) if isinstance(inputs, dict) else module(inputs)
    (outputs["loss"] if isinstance(outputs, dict) else outputs.sum()).backward()
    return order


def facts(name, **options):
    make, inputs = MODULES[name]
    try:
        document = ddpsim.trace_model(make(), inputs, **options)
    except ddpsim.Error as error:
        return {"error": str(error)}
    more = {"order": None if name == "experts" else real_order(make(), inputs)}
    with torch.device("meta"):
        more["meta"] = (
            ddpsim.trace_model(make(), inputs.to("meta") if torch.is_tensor(inputs) else inputs, **options) == document
        )
    workload = ddpsim.estimate(make(), inputs, gpu="A100", **options)
    answer = ddpsim.simulate(workload, "dgxa100", find_unused_parameters=name == "branches")
    return {
        **more,
        "document": document,
        "ready": [event.parameter for event in workload.backward.ready],
        "name": workload.name,
        "iteration_us": answer.iteration_us,
        "provenance": dict(workload.provenance),
    }


def operators(name, precision):
    """Operators of forward and backward: those that the estimate counts, and those that really run."""
    make, inputs = MODULES[name]
    launches = dict(ddpsim.estimate(make(), inputs, gpu="A100", precision=precision).provenance)["launches"]
    return {"counted": int(launches.partition(" ")[0]), "real": operators_of_step(make, inputs, precision)}


def main(name, options="{}"):
    given = json.loads(options)
    print(json.dumps(operators(name, given["operators_in"]) if "operators_in" in given else facts(name, **given)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory():
        main(*sys.argv[1:])
