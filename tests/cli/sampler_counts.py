"""Prints how many samples and batches DistributedSampler and DataLoader make, for test_loader_trainings.py.

The Python must have torch. The output is one JSON object: cases by the number of ranks."""

import json

from torch.utils.data import DataLoader, DistributedSampler


def counted(size, ranks, batch, drop):
    sampled = [
        DistributedSampler(range(size), ranks, rank, drop_last=drop in ("sampler", "both")) for rank in range(ranks)
    ]
    batches = [
        [len(each) for each in DataLoader(range(size), batch, sampler=sampler, drop_last=drop in ("loader", "both"))]
        for sampler in sampled
    ]
    assert all(each == batches[0] for each in batches)
    return {"size": size, "batch": batch, "drop": drop, "samples": len(list(sampled[0])), "batches": batches[0]}


def main():
    print(
        json.dumps(
            {
                ranks: [
                    counted(size, ranks, batch, drop)
                    for size in (1, 2, 3, 7, 8, 16, 17, 23, 64, 101)
                    for batch in (1, 4)
                    for drop in ("none", "sampler", "loader", "both")
                ]
                for ranks in (1, 2, 3, 4, 7)
            }
        )
    )
