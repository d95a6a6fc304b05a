"""What a trace asks of tensors: which memory they lie in, and whether an operator writes any."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

import torch


def storage_of(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in tensors_in(one)]
    if isinstance(value, dict):
        return [tensor for one in value.values() for tensor in tensors_in(one)]
    return []


def is_view(operator: Any, ins: list[Any], outs: list[Any]) -> bool:
    """Whether the operator has run without writing memory: its outputs lie in that of its inputs."""
    storages = {storage_of(tensor) for tensor in ins}
    return not operator._schema.is_mutable and all(storage_of(tensor) in storages for tensor in outs)


def counts_a_batch(packet: str, args: Any, buffers: set[int]) -> bool:
    """Whether BatchNorm adds one to its count of batches. The program knows that, so a trace leaves it out."""
    return packet == "add_" and not args[0].dim() and storage_of(args[0]) in buffers
