"""What forward keeps in memory for backward, by operator, as the module runs in fp32, under autocast and in bfloat16.

Forward runs once in each precision, on tensors without memory. Autograd says what it saves, and each piece of memory
counts once. The types of the tensors are PyTorch's own, so casts and promotions are counted as they happen.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import dataclasses
from typing import Any, Iterable

from torch.utils._python_dispatch import TorchDispatchMode

from ._operators import CASTS, FREE
from ._tensors import counts_a_batch, is_view, storage_of, tensors_in


@dataclasses.dataclass
class Kept:
    """Bytes that an operator's outputs hold until backward, with their casts."""

    floating: int = 0
    # Indices and masks, which have the same size in every precision.
    others: int = 0


class Keeping(TorchDispatchMode):
    """Notes which operator wrote what autograd saves. `kept` has an entry for each operator that is no cast.

    A cast belongs to the operator before it."""

    def __init__(self, parameters: Iterable[Any], buffers: Iterable[Any]) -> None:
        super().__init__()
        self.kept: list[Kept] = []
        self._weights = {storage_of(tensor) for tensor in parameters}
        self._outside = {storage_of(tensor) for tensor in buffers}
        self._producers: dict[int, int] = {}
        self._saved: set[int] = set()
        # Keeps every storage, so that no other one gets its address.
        self._alive: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        packet = func.overloadpacket.__name__
        ins, outs = tensors_in((args, kwargs or {})), tensors_in(out)
        if packet in FREE or is_view(func, ins, outs) or counts_a_batch(packet, args, self._outside):
            return out
        if packet not in CASTS:
            self.kept.append(Kept())
        elif ins and storage_of(ins[0]) in self._weights:
            # The program counts the casts of weights itself.
            self._weights.update(map(storage_of, outs))
        for tensor in outs:
            self._producers.setdefault(storage_of(tensor), len(self.kept) - 1)
            self._alive.append(tensor.untyped_storage())
        return out

    def save(self, tensor: Any) -> Any:
        storage = storage_of(tensor)
        # The script holds its inputs anyway, and they have no producer.
        producer = self._producers.get(storage, -1)
        if producer < 0 or storage in self._weights or storage in self._outside or storage in self._saved:
            return tensor
        self._saved.add(storage)
        kept = self.kept[producer]
        bytes = tensor.untyped_storage().nbytes()
        if tensor.is_floating_point():
            kept.floating += bytes
        else:
            kept.others += bytes
        return tensor
