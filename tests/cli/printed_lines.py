"""Runs lines of Python that ddpsim prints for pasting, for test_printed_lines.py; one of two ranks over gloo.

    main(FOLDER, RANK)

Reads FOLDER/lines.json, a list of lines. Rank 0 prints a JSON list with one entry for each line:

- "trained"
- "ran": training would need a GPU
- "resolved": the line itself needs a GPU, but its imports ran, and its names and arguments exist
- an error

A line can use the names of a user's script: torch, dist, DistributedDataParallel, `model` and `optimizer`. If the line
only adds a hook, `model` is already wrapped.

    printed_lines.py LINES.json

Prints for each line the names that it does not find if nothing else was imported. This matters because a line also
finds modules of torch that earlier lines imported."""

import ast
import contextlib
import importlib.util
import inspect
import json
import os
import pathlib
import sys
import types

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

OLD = torch.__version__.startswith("1.")
# Builds without CUDA refuse bf16_compress_hook. In PyTorch 1.13, FullyShardedDataParallel and groups need a GPU.
NEEDS_GPU = (
    "bf16_compress_hook",
    'init_device_mesh("cuda"',
    "FullyShardedDataParallel(",
    *(["new_subgroups("] if OLD else []),
)
TRAINS_ON_GPU = ("SyncBatchNorm(", "SyncBatchNorm.convert", "_apply_optimizer_in_backward")
OPTIMIZERS = (
    lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
    lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(40, 40) for _ in range(3))
        self.norm = torch.nn.BatchNorm1d(40)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.norm(x)


def resolve(tree, names, given=()):
    """Raises if a name, an attribute of a module or a keyword argument does not exist. Names in `given` may be
    anything."""
    bound = set(given) | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    bound |= {argument.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for argument in node.args.args}

    def value(node):
        if isinstance(node, ast.Name):
            if node.id in bound:
                raise LookupError
            return names[node.id] if node.id in names else vars(__import__("builtins"))[node.id]
        if isinstance(node, ast.Attribute):
            return getattr(value(node.value), node.attr)
        raise LookupError  # results of calls are unknown

    for node in ast.walk(tree):
        with contextlib.suppress(LookupError):
            if isinstance(node, (ast.Name, ast.Attribute)):
                try:
                    value(node)
                except KeyError as error:
                    raise NameError(f"name {error} is not defined") from error
            if isinstance(node, ast.Call):
                try:
                    parameters = inspect.signature(value(node.func)).parameters
                except ValueError:  # functions written in C
                    continue
                known = set(parameters) if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()) else None
                for keyword in node.keywords:
                    if known is not None and keyword.arg is not None and keyword.arg not in known:
                        raise TypeError(f"{ast.dump(node.func)} takes no {keyword.arg}")


@contextlib.contextmanager
def numpy_or_less():
    from power_sgd_state import Random

    missing = importlib.util.find_spec("numpy") is None
    if missing:
        sys.modules["numpy"] = types.SimpleNamespace(random=types.SimpleNamespace(RandomState=Random))
    try:
        yield
    finally:
        if missing:
            del sys.modules["numpy"]


def executed(line, names):
    """Runs the line and returns the values of its expressions. PowerSGDState needs numpy, which may be missing."""
    with numpy_or_less() if "PowerSGDState(" in line else contextlib.nullcontext():
        return values_of(line, names)


def values_of(line, names):
    found = []
    for statement in ast.parse(line).body:
        if isinstance(statement, ast.Expr):
            found.append(eval(compile(ast.Expression(statement.value), line, "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), line, "exec"), names)
    return found


def scaffold():
    return {"__name__": "__main__", "torch": torch, "dist": dist, "DistributedDataParallel": DistributedDataParallel}


def imports_and_names(line, names, given=()):
    tree = ast.parse(line)
    values_of("\n".join(ast.unparse(one) for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))), names)
    resolve(tree, names, given)


def lacks(line):
    """The error of the line in a process that has imported nothing else; empty if there is none."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            imports_and_names(line, scaffold(), ("model", "optimizer"))
        except Exception as error:
            os.write(write, f"{type(error).__name__}: {error}".encode()[:4000])
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, encoding="utf-8", errors="replace") as told:
        return told.read()


def run(line, make_optimizer):
    model = Model()
    names = {**scaffold(), "model": model}
    if ("model.register_comm_hook" in line or "model.no_sync" in line) and "DistributedDataParallel(" not in line:
        names["model"] = DistributedDataParallel(model)
    names["optimizer"] = make_optimizer(model.parameters())
    if any(mark in line for mark in NEEDS_GPU):
        imports_and_names(line, names)
        return "resolved"
    results = executed(line, names)
    model, optimizer = names["model"], names["optimizer"]
    if any(mark in line.split("#")[0] for mark in TRAINS_ON_GPU):
        return "ran"
    if "fully_shard(" in line:
        optimizer = make_optimizer(model.parameters())
    elif not isinstance(model, DistributedDataParallel):
        wrapped = [one for one in results if isinstance(one, DistributedDataParallel)]
        model = wrapped[0] if wrapped else DistributedDataParallel(model)
    for k in range(8 if "sync" in names else 2):
        with names["sync"](k) if "sync" in names else contextlib.nullcontext():
            model(torch.randn(4, 40)).sum().backward()
        if "sync" not in names or k % 2:
            optimizer.step()
            optimizer.zero_grad()
    return "trained"


def main(folder, rank):
    rank = int(rank)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    first_bucket, environment, found = dist._DEFAULT_FIRST_BUCKET_BYTES, dict(os.environ), []
    for number, line in enumerate(json.loads(pathlib.Path(folder, "lines.json").read_text(encoding="utf-8"))):
        try:
            how = run(line, OPTIMIZERS[number % len(OPTIMIZERS)])
            if "_apply_optimizer_in_backward" in line:
                for optimizer in OPTIMIZERS:
                    run(line, optimizer)
        except Exception as error:
            how = f"{type(error).__name__}: {error}"
        found.append(how)
        dist._DEFAULT_FIRST_BUCKET_BYTES = first_bucket
        os.environ.clear()
        os.environ.update(environment)
    if rank == 0:
        print(json.dumps(found))


def found_in_torch(line):
    """The attributes of torch in a line; modules that other lines imported are found there, too. Empty if it is not
    Python."""
    with contextlib.suppress(SyntaxError):
        return frozenset(
            ast.unparse(node)
            for node in ast.walk(ast.parse(line))
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith(("torch.", "dist."))
        )
    return frozenset()


if __name__ == "__main__":
    known = {frozenset(): ""}
    for each in (lines := json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))):
        if found_in_torch(each) not in known:
            known[found_in_torch(each)] = lacks(each)
    print(json.dumps([known[found_in_torch(each)] for each in lines]))
