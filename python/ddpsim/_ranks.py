"""What the ranks of a running job tell each other between two steps, over the process group of its gradients.

Every function is a collective: all ranks call the same ones in the same order, whatever befell one of them."""

# Seen without torch and its frameworks, whose types are incomplete.
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
    """group: of the wrapper; device: of its parameters."""

    def __init__(self, group: Any, device: torch.device) -> None:
        self.group, self.device = group, device
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.backend = str(dist.get_backend(group))
        self._first = dist.get_global_rank(group, 0) if hasattr(dist, "get_global_rank") else 0

    def agree(self, yes: bool) -> bool:
        """Whether all say yes."""
        vote = torch.tensor([int(yes)], device=self.device)
        dist.all_reduce(vote, dist.ReduceOp.MIN, group=self.group)
        return bool(vote.item())

    def slowest(self, values: list[float]) -> list[float]:
        """Of each value the largest of all ranks."""
        table = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(table, dist.ReduceOp.MAX, group=self.group)
        return [float(value) for value in table.tolist()]

    def gathered(self, value: Any) -> list[Any]:
        """What each rank holds, by rank."""
        packed = self._packed(value)
        sizes = [int(size) for size in self._all(torch.tensor([packed.numel()], device=self.device))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8, device=self.device)
        padded[: packed.numel()] = packed
        return [_unpacked(one[:size]) for one, size in zip(self._all(padded), sizes)]

    def told(self, value: Any) -> Any:
        """What rank 0 holds."""
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
        """Nodes, and ranks on each; nodes with several numbers of ranks count as if each rank had its own."""
        names = self.gathered(socket.gethostname())
        counts = {names.count(name) for name in names}
        return (len(set(names)), counts.pop()) if len(counts) == 1 else (self.size, 1)

    def all_reduce_us(self, size: int, repetitions: int) -> list[float]:
        """Of an all-reduce of so many bytes of float32, each on its slowest rank, in microseconds; two more go unmeasured. None at all
        where a rank has no memory for it."""
        try:
            tensor = torch.zeros(max(1, size // 4), device=self.device)
        except (RuntimeError, MemoryError):
            tensor = None
        if not self.agree(tensor is not None):
            return []
        times = []
        for _ in range(repetitions + 2):
            self.agree(True)  # a barrier that every backend has
            begin = self._now()
            dist.all_reduce(tensor, group=self.group)
            times.append((self._now() - begin) * 1e6)
        return self.slowest(times[2:])

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def _unpacked(tensor: torch.Tensor) -> Any:
    """torch's own collectives of objects need NumPy for this, which not every job has."""
    held = tensor.cpu().contiguous()
    return pickle.loads(ctypes.string_at(held.data_ptr(), held.numel()))
