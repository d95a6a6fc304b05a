"""Trains a small network on every rank and tunes its bucket cap: on GPUs over NCCL, else on CPUs over gloo.

torchrun --nproc-per-node 2 examples/torchrun_autotune.py
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ddpsim


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument(
        "--horizon", type=int, default=100_000, help="steps of the whole training; tuning may cost 1 %% of their time"
    )
    arguments = parser.parse_args()

    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    torch.manual_seed(dist.get_rank())

    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index] if on_gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    tuner = ddpsim.autotune(model, horizon=arguments.horizon)
    for step in range(arguments.steps):
        inputs, targets = torch.rand(64, 256, device=device), torch.randint(10, (64,), device=device)
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        model = tuner.step()  # call this wrapper from the next step on
        if step % 100 == 99 and dist.get_rank() == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    tuner.close()  # prints if training was too short
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
