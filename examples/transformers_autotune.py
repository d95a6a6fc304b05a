"""Tunes the bucket cap in the Trainer of Hugging Face transformers, on two CPUs. Without use_cpu it runs on GPUs.

torchrun --nproc-per-node 2 examples/transformers_autotune.py
"""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from ddpsim.integrations.transformers import AutotuneCallback


def main():
    configuration = BertConfig(
        vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256
    )
    data = [{"input_ids": torch.randint(512, (32,)), "labels": torch.randint(2, ())} for _ in range(512)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=150,
            per_device_train_batch_size=4,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            ddp_find_unused_parameters=False,
        )
        trainer = Trainer(BertForSequenceClassification(configuration), arguments, train_dataset=data)
        # Without horizon, it is the number of remaining steps.
        trainer.add_callback(AutotuneCallback(trainer, horizon=100_000))
        trainer.train()


if __name__ == "__main__":
    main()
