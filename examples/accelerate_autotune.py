"""Tunes the bucket cap in Hugging Face Accelerate, on two CPUs. Without cpu=True it runs on GPUs.

torchrun --nproc-per-node 2 examples/accelerate_autotune.py
"""

import torch
from accelerate import Accelerator
from torch import nn

from ddpsim.integrations.accelerate import autotune


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    data = torch.utils.data.TensorDataset(torch.rand(4096, 64), torch.randint(10, (4096,)))
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=0.01), torch.utils.data.DataLoader(data, batch_size=16)
    )
    tuner = autotune(accelerator, model, horizon=100_000)
    for _ in range(3):
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                accelerator.backward(nn.functional.cross_entropy(model(inputs), targets))
                optimizer.step()
                optimizer.zero_grad()
            model = tuner.step()  # call this wrapper from the next step on
    tuner.close()  # prints if training was too short
    accelerator.end_training()


if __name__ == "__main__":
    main()
