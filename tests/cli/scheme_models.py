"""Small models for trainings under other schemes. Their sizes are odd, so that padding shows.

    main()

Prints the facts for a workload as one line of JSON: parameters and shapes in the order of definition, and the order in
which a plain backward finishes their gradients. A parameter that is used twice appears once, when its gradient is
complete."""

import json

import torch
from torch import nn

from collective_log import CollectiveLog, Mark

ROWS, WIDTH = 23, 13


class Block(nn.Module):
    """A norm and two linear layers with a residual connection."""

    def __init__(self, log, name, hidden):
        super().__init__()
        self.log, self.name = log, name
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, hidden)
        self.down = nn.Linear(hidden, WIDTH)

    def forward(self, x):
        x = Mark.apply(x, self.log, self.name, True)
        x = x + self.down(torch.relu(self.up(self.norm(x))))
        return Mark.apply(x, self.log, self.name, False)


class Numbered(nn.Module):
    """A model with an embedding, numbered blocks, a norm and a head."""

    def __init__(self, log, tied=False):
        super().__init__()
        self.log = log
        self.embedding = nn.Embedding(ROWS, WIDTH)
        self.layers = nn.ModuleList(Block(log, f"layers.{k}", 17 if k % 2 else 31) for k in range(4))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, ROWS, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, indices):
        x = self.embedding(indices)
        for layer in self.layers:
            x = layer(x)
        x = Mark.apply(x, self.log, "head", True)
        return Mark.apply(self.head(self.norm(x)), self.log, "head", False)


class Silent(nn.Module):
    """The model Numbered without marks, because a compiler would have to trace through them."""

    def __init__(self, tied):
        super().__init__()
        self.embedding = nn.Embedding(ROWS, WIDTH)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, WIDTH))
            for hidden in (31, 17, 31, 17)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, ROWS, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, indices):
        x = self.embedding(indices)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(self.norm(x))


class Nested(nn.Module):
    """Numbered stages of numbered blocks, as in image models, with a Sequential and a list."""

    def __init__(self, log):
        super().__init__()
        self.log = log
        self.stem = nn.Linear(WIDTH, WIDTH)
        self.stages = nn.ModuleList(
            nn.Sequential(*(Block(log, f"stages.{s}.{b}", 19 + 10 * s + b) for b in range(2))) for s in range(3)
        )
        self.tail = nn.Sequential(nn.Linear(WIDTH, 37), nn.ReLU(), nn.Linear(37, 5))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.tail(x) * self.scale.sum()


class Tiny(nn.Module):
    """A model whose parameters have fewer elements than there are ranks."""

    def __init__(self, log):
        super().__init__()
        self.log = log
        self.layers = nn.ModuleList(Bent(log, f"layers.{k}") for k in range(3))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x + self.bias


class Bent(nn.Module):
    def __init__(self, log, name):
        super().__init__()
        self.log, self.name = log, name
        self.first = nn.Linear(3, 1)
        self.second = nn.Linear(1, 3)
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        x = Mark.apply(x, self.log, self.name, True)
        return Mark.apply(self.second(self.first(x)) * self.gain, self.log, self.name, False)


def freeze(module, options):
    """Freezes the modules that `frozen` names, joined by '+'."""
    for path in options.get("frozen", "").split("+"):
        if path:
            module.get_submodule(path).requires_grad_(False)


def indices():
    return torch.randint(0, ROWS, (2, 5))


class Branches(nn.Module):
    """Two branches that join again. A piece may not begin inside one of them."""

    def __init__(self):
        super().__init__()
        self.first, self.left, self.right, self.last = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.last(torch.relu(self.left(x)) + self.right(x) * self.scale)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            *(
                layer
                for k in range(3)
                for layer in (
                    nn.Conv2d(3 if k == 0 else 8 + k - 1, 8 + k, 3, padding=1, bias=False),
                    nn.BatchNorm2d(8 + k),
                    nn.ReLU(),
                )
            )
        )
        self.head = nn.Linear(10, 7)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


# For each model, how to make it with a log of its compute, and a batch of its inputs.
MODELS = {
    "numbered": (Numbered, indices),
    "tied": (lambda log: Numbered(log, tied=True), indices),
    "nested": (Nested, lambda: torch.rand(4, WIDTH)),
    "tiny": (Tiny, lambda: torch.rand(4, 3)),
}
# Models for a compiler, which would have to trace through a log.
COMPILED = {
    "silent": (lambda: Silent(tied=False), indices),
    "silent tied": (lambda: Silent(tied=True), indices),
    "branches": (Branches, lambda: torch.rand(2, WIDTH)),
    "convolutions": (Convolutions, lambda: torch.rand(2, 3, 8, 8)),
}


def described(make, data):
    torch.manual_seed(0)
    model, ready = make(), []
    for path, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda _, path=path: ready.append(path))
    model(data()).pow(2).mean().backward()
    return {"parameters": {path: list(parameter.shape) for path, parameter in model.named_parameters()}, "ready": ready}


def main():
    print(
        json.dumps(
            {
                **{
                    name: described(lambda make=make: make(CollectiveLog()), data)
                    for name, (make, data) in MODELS.items()
                },
                **{name: described(make, data) for name, (make, data) in COMPILED.items()},
            }
        )
    )
