"""Measures the memory of small transformers models in forward and backward, for test_model_configs.py.

    python3 hugging_face_memory.py CONFIG:none|full|selective…

Prints a line of JSON for each: the bytes kept after forward, and the most bytes in backward of three kinds (kept by
forward, gradients in flight, written gradients). Also the number of matrix products in backward. A dispatch mode sees
every storage that is made, on a CPU in fp32."""

import collections
import json
import sys
import weakref

import hugging_face_models
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

BATCH, TOKENS = 4, 128
PRODUCT = torch.ops.aten.mm.default
ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


class Live(TorchDispatchMode):
    """Counts the bytes of live storages without those of weights."""

    def __init__(self, model):
        super().__init__()
        self.now = self.most = self.products = 0
        self.seen = {weight.untyped_storage()._cdata for weight in model.parameters()}

    def gone(self, key, size):
        self.now -= size
        self.seen.discard(key)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.products += function is PRODUCT
        made = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                key, size = storage._cdata, storage.nbytes()
                if key not in self.seen:
                    self.seen.add(key)
                    self.now += size
                    weakref.finalize(storage, self.gone, key, size)
        self.most = max(self.most, self.now)
        return made


def every_other_product():
    """The checkpointing policy of torchtitan's selective_ac_option "op"."""
    seen = collections.Counter()

    def policy(context, function, *_, **__):
        if function is PRODUCT:
            seen[context.is_recompute] += 1
        saved = function is ATTENTION or (function is PRODUCT and seen[context.is_recompute] % 2 == 1)
        return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


CHECKPOINTING = {
    "none": None,
    "full": {"use_reentrant": False},
    "selective": {"use_reentrant": False, "context_fn": every_other_product},
}


def holds(path, checkpointing):
    torch.manual_seed(0)
    model = hugging_face_models.model_of(path)
    model.config.use_cache = False
    model.train()
    if CHECKPOINTING[checkpointing]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=CHECKPOINTING[checkpointing])
    tokens = torch.randint(3, 50, (BATCH, TOKENS))
    with Live(model) as live:
        logits = model(input_ids=tokens).logits
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        kept = live.most = live.now
        forward = live.products
        loss.backward()
    return {"kept": kept, "most": live.most, "products": live.products - forward}


if __name__ == "__main__":
    torch.set_num_threads(1)
    for text in sys.argv[1:]:
        one, policy = text.rsplit(":", 1)
        print(json.dumps(holds(one, policy)), flush=True)
