"""Tunes the bucket cap in PyTorch Lightning, on two CPUs.

On GPUs, use Trainer(accelerator="gpu", devices=…, strategy="ddp").

torchrun --nproc-per-node 2 examples/lightning_autotune.py
"""

import pytorch_lightning as pl
import torch
from torch import nn

from ddpsim.integrations.lightning import AutotuneCallback


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def training_step(self, batch, index):
        inputs, targets = batch
        return nn.functional.cross_entropy(self.layers(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    data = torch.utils.data.TensorDataset(torch.rand(2048, 64), torch.randint(10, (2048,)))
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_steps=200,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        # Without horizon, it is the number of remaining steps.
        callbacks=[AutotuneCallback(horizon=100_000)],
    )
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=16))


if __name__ == "__main__":
    main()
