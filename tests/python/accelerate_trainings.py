"""One rank of trainings with Hugging Face Accelerate, for test_integrations.py.

accelerate_trainings.py CASE…

Each training runs with autotune and without. Prints one line of JSON per case."""

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from accelerate.utils import set_seed
from forced import CAPS, OPTIONS, copied, force, run, told
from torch import nn

from ddpsim import _wrapper
from ddpsim._wrapper import Setting
from ddpsim.integrations.accelerate import as_accelerate_takes, autotune, spelled


def trained(*, tuned, steps=90, accumulate=1, precision="no", state=None, end=True, **options):
    """The accelerator, the wrapped model and its tuner, if any.

    `state`: a folder. In the middle of the training, the state is saved to it, and later loaded from it."""
    set_seed(5)
    # Without this, every case would use the precision of the first one.
    AcceleratorState._reset_state()
    accelerator = Accelerator(
        cpu=True,
        gradient_accumulation_steps=accumulate,
        mixed_precision=precision,
        kwargs_handlers=[DistributedDataParallelKwargs(**options)],
    )
    model = nn.Sequential(
        nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.rand(206, 16), torch.rand(206, 4))
    model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data, batch_size=8))
    tuner = autotune(accelerator, model, **OPTIONS) if tuned else None

    done = 0
    while done < steps:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                accelerator.backward(nn.functional.mse_loss(model(inputs), targets))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
                optimizer.zero_grad()
            done += accelerator.sync_gradients
            if tuner is not None:
                model = tuner.step()
            if state is not None and done == steps // 2:
                accelerator.save_state(state)
            if state is not None and done == steps // 2 + 15:
                accelerator.load_state(state)
    if tuner is not None and end:
        tuner.close()
    return accelerator, model, tuner


def compared(case, share=0.3, **options):
    force(share)
    accelerator, plain, _ = trained(tuned=False, **options)
    plain = copied(accelerator.unwrap_model(plain))
    accelerator.free_memory()
    accelerator, model, tuner = trained(tuned=True, **options)
    told(
        case,
        plain,
        copied(accelerator.unwrap_model(model)),
        tuner,
        held=accelerator._models == [model.module],
        again=accelerator.prepare_model(model) is model,
    )
    accelerator.free_memory()


def case_set(case):
    compared(case)


def case_kept(case):
    compared(case, share=-0.1)


def case_accumulated(case):
    compared(case, accumulate=3, gradient_as_bucket_view=True)


def case_half(case):
    compared(case, precision="bf16", static_graph=True)


def case_states(case):
    compared(case, state="state")  # relative to the shared working folder


def case_early(case):
    """Training ends early, and nobody calls close()."""
    compared(case, steps=26, end=False)


def case_unwrapped(case):
    """A model without a wrapper, as on one GPU."""
    AcceleratorState._reset_state()
    model = nn.Linear(4, 4)
    tuner = autotune(Accelerator(cpu=True), model, **OPTIONS)
    told(case, {}, {}, tuner, stepped=tuner.step() is model)
    tuner.close()


def case_spelled(case):
    """The argument that `spelled` prints makes Accelerate build the buckets of the setting."""
    for cap in (*CAPS, 25, 8):
        accelerator = Accelerator(
            cpu=True,
            kwargs_handlers=[
                DistributedDataParallelKwargs(
                    bucket_cap_mb=as_accelerate_takes(Setting(bucket_cap_mb=cap)).bucket_cap_mb
                )
            ],
        )
        told(
            f"{case} {cap}",
            {},
            {},
            None,
            line=spelled(Setting(bucket_cap_mb=cap)),
            bytes=accelerator.prepare(nn.Linear(4, 4)).bucket_bytes_cap,
            explicit=_wrapper.setting_of(accelerator.prepare(nn.Linear(4, 4))) != Setting(),
        )
        accelerator.free_memory()


if __name__ == "__main__":
    run(globals())
