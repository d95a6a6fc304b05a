"""The models to train: code of torchvision and transformers with random weights, in the sizes that ddpsim can estimate.

Without a GPU they are shrunk."""

import dataclasses
import importlib.util
import typing


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    # (torch, device, batch, tiny) -> (module, function that runs it and returns the loss, inputs)
    make: typing.Callable
    batch: int
    small_batch: int  # limited by kernel launches
    optimizer: str
    # The MODEL of ddpsim's estimate, and the words of the estimate that follow the GPU.
    estimate: typing.Optional[str] = None
    words: str = ""
    # The 32-bit format in which it is trained.
    precise: str = "tf32"
    convolutions: bool = False

    def package(self):
        """The Python package with the code of the model; None if PyTorch suffices."""
        return {"vision": "torchvision", "language": "transformers"}.get(self.make.__qualname__.partition(".")[0])

    def can_be_made(self):
        return self.package() is None or importlib.util.find_spec(self.package()) is not None


def vision(name, knows_size=False):
    def make(torch, device, batch, tiny):
        import torchvision

        side = 64 if tiny else 224
        module = getattr(torchvision.models, name)(**({"image_size": side} if knows_size else {})).to(device).train()
        images = torch.rand(batch, 3, side, side, device=device)
        labels = torch.randint(0, 1000, (batch,), device=device)

        def loss(run):
            return torch.nn.functional.cross_entropy(run(images), labels)

        return module, loss, images

    return make


LLAMA_SHRUNK = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
}
SHRUNK = {
    "BertConfig": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 128,
    },
    "GPT2Config": {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 128, "bos_token_id": 0, "eos_token_id": 0},
    "LlamaConfig": LLAMA_SHRUNK,
    "MixtralConfig": LLAMA_SHRUNK,
}


def language(config_name, model_name, tokens, **size):
    def make(torch, device, batch, tiny):
        import transformers

        config = getattr(transformers, config_name)(**{**size, **(SHRUNK[config_name] if tiny else {})})
        config.use_cache = False
        with torch.device(device):
            module = getattr(transformers, model_name)(config)
        module = module.to(device).train()
        length = 16 if tiny else tokens
        words = torch.randint(0, config.vocab_size, (batch, length), device=device)

        def loss(run):
            return run(input_ids=words, labels=words).loss

        return module, loss, words

    return make


def perceptron(torch, device, batch, tiny):
    """A model that needs PyTorch only, so that a rehearsal needs no other package."""
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)
    images, labels = torch.rand(batch, 64, device=device), torch.zeros(batch, dtype=torch.long, device=device)
    return module, lambda run: torch.nn.functional.cross_entropy(run(images), labels), images


MODELS = [
    Model("resnet50", vision("resnet50"), 128, 2, "sgd", "resnet50", precise="fp32", convolutions=True),
    Model("bert-base", language("BertConfig", "BertForMaskedLM", 128), 32, 1, "adamw", "bert-base", ":s128:attn=sdpa"),
    Model("gpt2", language("GPT2Config", "GPT2LMHeadModel", 1024), 8, 1, "adamw", "gpt2", ":s1024:attn=sdpa"),
    Model("vit_b_16", vision("vit_b_16", knows_size=True), 64, 1, "adamw"),
    Model(
        "tinyllama-1.1b",
        language(
            "LlamaConfig",
            "LlamaForCausalLM",
            2048,
            hidden_size=2048,
            intermediate_size=5632,
            num_hidden_layers=22,
            num_attention_heads=32,
            num_key_value_heads=4,
            vocab_size=32000,
        ),
        2,
        1,
        "adamw",
        "tinyllama-1.1b",
        ":s2048:attn=sdpa",
    ),
    Model(
        "mixture-of-experts",
        language(
            "MixtralConfig",
            "MixtralForCausalLM",
            1024,
            hidden_size=768,
            intermediate_size=2048,
            num_hidden_layers=8,
            num_attention_heads=12,
            num_key_value_heads=4,
            vocab_size=32000,
            num_local_experts=8,
        ),
        4,
        1,
        "adamw",
    ),
    Model("convnext_tiny", vision("convnext_tiny"), 64, 1, "adamw", convolutions=True),
    Model(
        "bert-large",
        language(
            "BertConfig",
            "BertForMaskedLM",
            128,
            hidden_size=1024,
            num_hidden_layers=24,
            num_attention_heads=16,
            intermediate_size=4096,
        ),
        16,
        1,
        "adamw",
        "bert-large",
        ":s128:attn=sdpa",
    ),
    Model("resnet152", vision("resnet152"), 64, 1, "sgd", "resnet152", precise="fp32", convolutions=True),
    Model(
        "gpt2-medium",
        language("GPT2Config", "GPT2LMHeadModel", 1024, n_embd=1024, n_layer=24, n_head=16),
        4,
        1,
        "adamw",
        "gpt2-medium",
        ":s1024:attn=sdpa",
    ),
]
# A rehearsal leaves out image models that cannot be shrunk, and models whose package is not installed.
REHEARSED = [
    Model("perceptron", perceptron, 8, 1, "sgd"),
    *(
        model
        for model in MODELS
        if model.can_be_made() and (model.package() == "transformers" or model.name == "resnet50")
    ),
]


def optimizer_of(torch, model, parameters):
    if model.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=1e-5)
