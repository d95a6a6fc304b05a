"""Logs the collectives of SyncBatchNorm's layers and of DDP's buckets, for test_loader_trainings.py.

    main(FOLDER, RANK, RANKS)

One of RANKS ranks, in a Python with torch. The module refuses CPU tensors, but its autograd function does not. So these
trainings use PyTorch's own function (torch.nn.modules._functions.SyncBatchNorm), and implement the four kernels that
CPUs lack. Rank 0 prints a line of JSON: parameters, the order of gradients, and the collectives of a settled step in
forward and in backward."""

import json

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules._functions import SyncBatchNorm
from torch.nn.parallel import DistributedDataParallel

from collective_log import CollectiveLog

KIB = 1024


def along(x):
    return [0, *range(2, x.dim())]


def spread(values, x):
    return values.view(1, -1, *[1] * (x.dim() - 2))


def stats(x, eps):
    return x.mean(along(x)), (x.var(along(x), unbiased=False) + eps).rsqrt()


def gather(x, means, deviations, running_mean, running_var, momentum, eps, counts):
    share = (counts / counts.sum()).unsqueeze(1)
    mean = (means * share).sum(0)
    variance = ((deviations.pow(-2) - eps + (means - mean).pow(2)) * share).sum(0)
    return mean, (variance + eps).rsqrt()


def normalised(x, weight, bias, mean, deviation, eps):
    return (x - spread(mean, x)) * spread(deviation * weight, x) + spread(bias, x)


def reduced(gradient, x, mean, deviation, weight, *wanted):
    centred = (gradient * (x - spread(mean, x))).sum(along(x))
    return gradient.sum(along(x)), centred, centred * deviation, gradient.sum(along(x))


def gradient_of(gradient, x, mean, deviation, weight, sums, centred, counts):
    n = counts.sum()
    return (
        gradient - spread(sums / n, x) - (x - spread(mean, x)) * spread(deviation.pow(2) * centred / n, x)
    ) * spread(deviation * weight, x)


class Synced(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return SyncBatchNorm.apply(
            x, self.weight, self.bias, None, None, 1e-5, 0.1, dist.group.WORLD, dist.get_world_size()
        )


def main(folder, rank, ranks):
    torch.batch_norm_stats, torch.batch_norm_gather_stats_with_counts, torch.batch_norm_elemt = (
        stats,
        gather,
        normalised,
    )
    torch.batch_norm_backward_reduce, torch.batch_norm_backward_elemt = reduced, gradient_of
    rank, ranks = int(rank), int(ranks)
    torch.set_num_threads(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = KIB
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3), Synced(6), nn.ReLU(), nn.Conv2d(6, 20, 3), Synced(20), nn.Flatten(), nn.Linear(80, 7)
    )
    ddp = DistributedDataParallel(model, bucket_cap_mb=1 / KIB)
    log = CollectiveLog()
    for _ in range(4):
        with log:
            log.enter("forward")
            loss = ddp(torch.rand(4, 3, 6, 6)).pow(2).mean()
            log.enter("backward")
            loss.backward()
        taken = log.taken()
    order = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    if rank == 0:
        print(
            json.dumps(
                {
                    "ranks": ranks,
                    "parameters": [[name, list(tensor.shape)] for name, tensor in model.named_parameters()],
                    "normed": [name for name, _ in model.named_parameters() if name in ("1.weight", "4.weight")],
                    "order": [int(index) for index in order.replace(",", " ").split()],
                    "log": taken,
                }
            ),
            flush=True,
        )
