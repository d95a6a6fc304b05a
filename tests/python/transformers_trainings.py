"""One rank of trainings by the Trainer of Hugging Face transformers, for test_integrations.py.

    transformers_trainings.py CASE…

Each training runs with AutotuneCallback and without. Prints one line of JSON per case."""

import pathlib
import tempfile

import torch
from forced import OPTIONS, copied, force, run, told
from safetensors.torch import load_file
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

from ddpsim.integrations.transformers import AutotuneCallback

CONFIGURATION = BertConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=16,
    num_labels=3,
)


def samples(count):
    torch.manual_seed(1)
    return [{"input_ids": torch.randint(64, (12,)), "labels": torch.randint(3, ())} for _ in range(count)]


def trained(folder, *, tuned, steps=90, resume=None, twice=False, **options):
    """The trainer and its callback, if any, after `steps` steps. The last batch of every second epoch is smaller."""
    set_seed(5)
    trainer = Trainer(
        BertForSequenceClassification(CONFIGURATION),
        TrainingArguments(
            output_dir=str(folder),
            max_steps=steps,
            per_device_train_batch_size=4,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            logging_steps=50,
            learning_rate=1e-3,
            **{"save_strategy": "no", **options},
        ),
        train_dataset=samples(106),
        eval_dataset=samples(8),
    )
    callback = None
    if tuned:
        callback = AutotuneCallback(trainer, **OPTIONS)
        trainer.add_callback(callback)
    trainer.train(resume_from_checkpoint=resume)
    if twice:
        trainer.train()
    return trainer, callback


def compared(case, share=0.3, **options):
    with tempfile.TemporaryDirectory() as folder:
        force(share)
        plain, _ = trained(folder, tuned=False, **options)
        trainer, callback = trained(folder, tuned=True, **options)
        told(
            case,
            copied(plain.model),
            copied(trainer.model),
            callback.tuner,
            held=trainer.model_wrapped is callback.tuner.model,
            steps=[plain.state.global_step, trainer.state.global_step],
        )


def case_set(case):
    """Evaluation runs between steps. By default, the Trainer clips gradients and looks for unused parameters."""
    compared(case, eval_strategy="steps", eval_steps=10)


def case_kept(case):
    compared(case, share=-0.1)


def case_accumulated(case):
    compared(case, gradient_accumulation_steps=3)


def case_half(case):
    compared(case, bf16=True, ddp_find_unused_parameters=False, ddp_bucket_cap_mb=1)


def case_static(case):
    compared(case, ddp_find_unused_parameters=False, ddp_static_graph=True)


def case_twice(case):
    """Trains twice with one callback. Both times, training ends before tuning does."""
    compared(case, steps=40, twice=True)


def case_checkpoints(case):
    """Checkpoints are written while wrappers change, and training resumes from one."""

    def resumed(tuned):
        place = pathlib.Path(f"checkpoints-{tuned}")  # in the shared working folder
        trained(place, tuned=tuned, steps=60, save_strategy="steps", save_steps=15)
        trainer, callback = trained("resumed", tuned=tuned, steps=140, resume=str(place / "checkpoint-45"))
        return trainer, callback, load_file(place / "checkpoint-45" / "model.safetensors")

    force(0.3)
    plain, _, before = resumed(False)
    trainer, callback, after = resumed(True)
    told(
        case,
        copied(plain.model),
        copied(trainer.model),
        callback.tuner,
        saved_same=list(before) == list(after) and all(torch.equal(before[name], after[name]) for name in before),
    )


def case_early(case):
    """Training ends while two settings are tried in turn."""
    compared(case, steps=25)


if __name__ == "__main__":
    run(globals())
