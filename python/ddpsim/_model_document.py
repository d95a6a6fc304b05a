"""Writes the step of a module as a document ddpsim.model/1: parameters in DDP's order, buffers, layers and blocks.

Sizes of the batch are divided by the number of samples."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any, Iterable, Mapping

import torch

from ._fake_step import Run, Step
from ._operators import CASTS, Operator

SCHEMA = "ddpsim.model/1"


def document_of(module: Any, step: Step, batch: int, more: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the document. `more` holds its keys about the samples and the optimizer."""
    parameters = list(module.named_parameters())
    norms = {id(one.weight) for one in module.modules() if isinstance(one, torch.nn.modules.batchnorm._BatchNorm)}
    blocks, checkpointed = blocks_of(module, step)
    gradients = gradients_by_layer(step, [parameter.requires_grad for _, parameter in parameters])
    kept = kept_by_layer(step)
    document: dict[str, Any] = {"schema": SCHEMA, "name": type(module).__name__, **more, "batch": batch}
    document["parameters"] = [_parameter(name, parameter, id(parameter) in norms) for name, parameter in parameters]
    document["buffers"] = _buffers(module.buffers())
    document["layers"] = [
        _layer(op, index in step.reached, gradients[index], kept[index], batch)
        for index, op in enumerate(step.operators)
    ]
    document["blocks"] = [{"first": first, "last": last} for first, last in blocks]
    if checkpointed:
        document["checkpointed"] = True
    return document


def _parameter(name: str, parameter: Any, batch_norm: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "shape": list(parameter.shape), "dtype": _dtype(parameter)}
    if batch_norm:
        entry["batch_norm"] = True
    if not parameter.requires_grad:
        entry["frozen"] = True
    return entry


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).partition(".")[2]


def _buffers(buffers: Iterable[Any]) -> list[dict[str, Any]]:
    groups: dict[str, dict[str, Any]] = {}
    for buffer in buffers:
        group = groups.setdefault(_dtype(buffer), {"dtype": _dtype(buffer), "bytes": 0, "tensors": 0})
        group["bytes"] += buffer.numel() * buffer.element_size()
        group["tensors"] += 1
    return list(groups.values())


def gradients_by_layer(step: Step, trains: list[bool]) -> list[list[int]]:
    """For each operator, the parameters whose gradients its backward adds to, in the order of real backward.

    An operator that reads frozen parameters alone lists those.
    """
    readers: dict[int, list[int]] = {}
    for index, op in enumerate(step.operators):
        for parameter in op.reads:
            readers.setdefault(parameter, []).append(index)
    lists: list[list[int]] = [[] for _ in step.operators]
    latest = len(step.operators) - 1
    for parameter, layer in step.ready:
        # Backward runs from the last operator to the first.
        latest = min(latest, layer)
        earlier = {one for one in readers.get(parameter, ()) if one > latest and one in step.reached}
        for one in earlier:
            lists[one].insert(0, parameter)
        lists[latest].append(parameter)
    for index, op in enumerate(step.operators):
        frozen = [parameter for parameter in op.reads if not trains[parameter]]
        if not lists[index] and len(frozen) == len(op.reads):
            lists[index] = frozen
    return lists


def kept_by_layer(step: Step) -> list[dict[str, int]]:
    """For each operator, what stays until backward, in bytes for the batch: "fp32", "autocast" and "half" of its
    floating-point outputs, where known, and "others": indices and masks. Casts of an output count with it."""
    kept: list[dict[str, int]] = [{} for _ in step.operators]
    written = [index for index, op in enumerate(step.operators) if op.name not in CASTS]
    for precision, keeping in step.kept.items():
        if keeping is None or len(keeping.kept) != len(written):
            continue
        for index, one in zip(written, keeping.kept):
            kept[index][precision] = one.floating
            if precision == "fp32":
                kept[index]["others"] = one.others
    return kept


def blocks_of(module: Any, step: Step) -> tuple[list[tuple[int, int]], bool]:
    """The blocks of the module, and whether they are checkpointed.

    Blocks are the functions that the module checkpoints. If there are none, they are the outermost repeated modules."""
    if step.checkpointed:
        return _apart(step.checkpointed), True
    ran: dict[str, list[Run]] = {}
    for run in step.runs:
        ran.setdefault(run.name, []).append(run)
    chosen: list[Run] = []
    names: list[str] = []
    for name, container in module.named_modules():
        if not isinstance(container, (torch.nn.ModuleList, torch.nn.Sequential)):
            continue
        if any(name.startswith(f"{block}.") for block in names):
            continue
        children = [(f"{name}.{key}" if name else key, child) for key, child in container.named_children()]
        kinds = [type(child) for _, child in children]
        repeated = [
            (path, child)
            for path, child in children
            if kinds.count(type(child)) > 1 and any(True for _ in child.children()) and len(ran.get(path, ())) == 1
        ]
        if len(repeated) > 1:
            names += [path for path, _ in repeated]
            chosen += [ran[path][0] for path, _ in repeated]
    return _apart(chosen), False


def _apart(runs: Iterable[Run]) -> list[tuple[int, int]]:
    """The operators of each run, (first, end), in the order of forward. Runs inside another run are left out."""
    blocks: list[tuple[int, int]] = []
    for run in sorted(runs, key=lambda run: (run.first, -run.last)):
        if run.last > run.first and (not blocks or run.first >= blocks[-1][1]):
            blocks.append((run.first, run.last))
    return blocks


def _layer(op: Operator, reached: bool, parameters: list[int], kept: dict[str, int], batch: int) -> dict[str, Any]:
    def share(count: float) -> int:
        return round(count / batch)

    entry: dict[str, Any] = {"name": f"{op.module}:{op.name}" if op.module else op.name, "kind": op.kind}
    sizes = {
        "weights": op.weights,
        "inputs": share(op.inputs),
        "outputs": share(op.outputs),
        "forward_elements": share(op.forward_elements),
        "backward_elements": share(op.backward_elements) if reached else 0,
        "autocast_casts": share(op.autocast_casts),
        "half_casts": share(op.half_casts),
        "kept_elements": share(kept.get("fp32", 0) / 4),
        "kept_bytes": share(kept.get("others", 0)),
    }
    entry.update({name: size for name, size in sizes.items() if size})
    # Without these keys, the program takes four bytes an element in what autocast runs in fp32, and two elsewhere.
    for precision, size in (("autocast", 4 if op.single_precision else 2), ("half", 2)):
        usual = sizes["kept_elements"] * size
        bytes = share(kept.get(precision, usual))
        if bytes != usual:
            entry[f"kept_{precision}_bytes"] = bytes
    if op.forward_kernels != 1:
        entry["forward_kernels"] = op.forward_kernels
    kernels = op.backward_kernels if reached else 0
    if kernels != 1:
        entry["backward_kernels"] = kernels
    if parameters:
        entry["parameters"] = parameters
    if op.product:
        entry["product"] = _product(op, batch)
        if reached and not op.data_gradient:
            entry["data_gradient"] = False
        if reached and not op.weight_gradient:
            entry["trains"] = False
    if op.attention:
        entry["attention"] = op.attention
    if op.autocast_width and op.autocast_width != (4 if op.single_precision else 2):
        entry["autocast_width"] = round(op.autocast_width, 3)
    for flag in ("single_precision", "channels_last", "sums_branches"):
        if getattr(op, flag):
            entry[flag] = True
    if not reached:
        entry["reached"] = False
    return entry


def _product(op: Operator, batch: int) -> dict[str, Any]:
    """The product of one sample: attention's has fewer groups, a linear one fewer rows."""
    product = dict(op.product or {})
    if op.kind == "attention":
        product["groups"] = max(1, round(product["groups"] / batch))
    elif op.kind == "linear":
        for name in ("positions_in", "out_height"):
            product[name] = max(1, round(product[name] / batch))
    return {
        name: value
        for name, value in product.items()
        if value != 1 or name in ("in", "out", "positions_in", "out_height")
    }
