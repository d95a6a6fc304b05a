"""One rank of trainings by PyTorch Lightning, for test_integrations.py.

lightning_trainings.py CASE…

Each training runs with AutotuneCallback and without. Prints one line of JSON per case."""

import pathlib

import pytorch_lightning as pl
import torch
from forced import OPTIONS, copied, force, run, told
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.strategies import DDPStrategy
from torch import nn

from ddpsim.integrations.lightning import AutotuneCallback


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
        )

    def loss(self, batch):
        return nn.functional.mse_loss(self.layers(batch[0]), batch[1])

    def training_step(self, batch, index):
        return self.loss(batch)

    def validation_step(self, batch, index):
        self.log("val_loss", self.loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.05, momentum=0.9)


class Watched(AutotuneCallback):
    """Notes at the end of training whether Lightning holds the wrapper of the tuner."""

    def on_train_end(self, trainer, module):
        super().on_train_end(trainer, module)
        self.held = trainer.strategy.model is self.tuner.model


class Manual(Model):
    """Calls the optimizer itself, after every second batch."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, index):
        optimizer = self.optimizers()
        self.manual_backward(self.loss(batch))
        if index % 2:
            optimizer.step()
            optimizer.zero_grad()


class Failing(Model):
    def training_step(self, batch, index):
        if self.global_step == 30:
            raise ArithmeticError("of the user's own")
        return super().training_step(batch, index)


def batches(samples=206):
    """Batches of 8 samples. The last one is smaller unless 8 divides `samples`."""
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.rand(samples, 16), torch.rand(samples, 4))
    return torch.utils.data.DataLoader(data, batch_size=8)


def trained(model=Model, *, tuned, steps=90, resume=None, strategy=None, callbacks=(), **options):
    """The trainer and its callback, if any, after `steps` steps."""
    pl.seed_everything(5, verbose=False)
    module = model()
    callback = Watched(**OPTIONS) if tuned else None
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=2,
        strategy=DDPStrategy(process_group_backend="gloo", **(strategy or {})),
        max_steps=steps,
        max_epochs=-1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **{"enable_checkpointing": False, **options},
        callbacks=[*callbacks, *([callback] if callback else [])],
    )
    trainer.fit(module, batches(), batches(32) if model is Model else None, ckpt_path=resume)
    return trainer, callback


def compared(case, share=0.3, model=Model, **options):
    force(share)
    plain, _ = trained(model, tuned=False, **options)
    trainer, callback = trained(model, tuned=True, **options)
    told(
        case,
        copied(plain.lightning_module),
        copied(trainer.lightning_module),
        callback.tuner,
        held=callback.held,
        steps=[plain.global_step, trainer.global_step],
    )


def case_set(case):
    """Validation runs between steps, and gradients are clipped."""
    compared(case, val_check_interval=10, gradient_clip_val=0.1)


def case_kept(case):
    compared(case, share=-0.1)


def case_accumulated(case):
    compared(case, accumulate_grad_batches=3)


def case_manual(case):
    compared(case, model=Manual)


def case_static_manual(case):
    compared(case, model=Manual, strategy={"static_graph": True})


def case_views(case):
    compared(case, strategy={"gradient_as_bucket_view": True, "find_unused_parameters": True}, precision="bf16-mixed")


def case_checkpoints(case):
    """Checkpoints are written while wrappers change, and training resumes from one."""

    def resumed(tuned):
        place = pathlib.Path(f"checkpoints-{tuned}")  # in the shared working folder
        keep = ModelCheckpoint(place, every_n_train_steps=15, save_top_k=-1, filename="{step}")
        trained(tuned=tuned, steps=60, callbacks=[keep], enable_checkpointing=True)
        trainer, callback = trained(tuned=tuned, steps=140, resume=place / "step=45.ckpt")
        return trainer, callback, torch.load(place / "step=45.ckpt", weights_only=False)["state_dict"]

    force(0.3)
    plain, _, before = resumed(False)
    trainer, callback, after = resumed(True)
    told(
        case,
        copied(plain.lightning_module),
        copied(trainer.lightning_module),
        callback.tuner,
        saved_same=list(before) == list(after) and all(torch.equal(before[name], after[name]) for name in before),
    )


def case_early(case):
    """Training ends while two settings are tried in turn."""
    compared(case, steps=25)


def case_fails(case):
    force(0.3)
    callback = AutotuneCallback(**OPTIONS)
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_steps=90,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        callbacks=[callback],
    )
    try:
        trainer.fit(Failing(), batches())
    except ArithmeticError as error:
        told(case, {}, {}, callback.tuner, error=str(error))


if __name__ == "__main__":
    run(globals())
