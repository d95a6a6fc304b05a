"""Communication between the ranks of a running job, between two steps, over the process group of its gradients.

Every method is a collective: all ranks call the same methods in the same order, even if one of them failed."""

# Type checkers read this without torch, whose types are incomplete.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import ctypes
import pickle
import socket
import time
from typing import Any

import torch
import torch.distributed as dist


class Ranks:
    """All ranks of a process group.

    `group`: the process group of the DistributedDataParallel wrapper.
    `device`: the device of the wrapper's parameters.
    """

    def __init__(self, group: Any, device: torch.device) -> None:
        self.group, self.device = group, device
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.backend = str(dist.get_backend(group))
        self._first = dist.get_global_rank(group, 0) if hasattr(dist, "get_global_rank") else 0

    def agree(self, yes: bool) -> bool:
        """Whether all ranks pass True."""
        vote = torch.tensor([int(yes)], device=self.device)
        dist.all_reduce(vote, dist.ReduceOp.MIN, group=self.group)
        return bool(vote.item())

    def slowest(self, values: list[float]) -> list[float]:
        """The maximum over all ranks of each value."""
        table = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(table, dist.ReduceOp.MAX, group=self.group)
        return [float(value) for value in table.tolist()]

    def gathered(self, value: Any) -> list[Any]:
        """The values of all ranks, in rank order."""
        packed = self._packed(value)
        sizes = [int(size) for size in self._all(torch.tensor([packed.numel()], device=self.device))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8, device=self.device)
        padded[: packed.numel()] = packed
        return [_unpacked(one[:size]) for one, size in zip(self._all(padded), sizes)]

    def told(self, value: Any) -> Any:
        """The value of rank 0."""
        packed = self._packed(value)
        size = torch.tensor([packed.numel()], device=self.device)
        dist.broadcast(size, self._first, group=self.group)
        if self.rank != 0:
            packed = torch.zeros(int(size.item()), dtype=torch.uint8, device=self.device)
        dist.broadcast(packed, self._first, group=self.group)
        return _unpacked(packed)

    def _all(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        found = [torch.zeros_like(tensor) for _ in range(self.size)]
        dist.all_gather(found, tensor, group=self.group)
        return found

    def _packed(self, value: Any) -> torch.Tensor:
        return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8).to(self.device)

    def nodes(self) -> tuple[int, int]:
        """The number of nodes, and of ranks on each node. If nodes have different numbers of ranks, each rank counts as
        a node of its own."""
        names = self.gathered(socket.gethostname())
        counts = {names.count(name) for name in names}
        return (len(set(names)), counts.pop()) if len(counts) == 1 else (self.size, 1)

    def all_reduce_us(self, size: int, repetitions: int) -> list[float]:
        """Times of `repetitions` all-reduces of `size` bytes of float32, each on its slowest rank, in microseconds.

        Two more all-reduces run first and are not measured. Returns an empty list if a rank has no memory for the
        tensor.
        """
        try:
            tensor = torch.zeros(max(1, size // 4), device=self.device)
        except (RuntimeError, MemoryError):
            tensor = None
        if not self.agree(tensor is not None):
            return []
        times = []
        for _ in range(repetitions + 2):
            self.agree(True)  # a barrier on every backend
            begin = self._now()
            dist.all_reduce(tensor, group=self.group)
            times.append((self._now() - begin) * 1e6)
        return self.slowest(times[2:])

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def _unpacked(tensor: torch.Tensor) -> Any:
    """The object in a tensor of bytes. Does without torch's object collectives: they need NumPy, which may be
    missing."""
    held = tensor.cpu().contiguous()
    return pickle.loads(ctypes.string_at(held.data_ptr(), held.numel()))
