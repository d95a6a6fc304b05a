"""Builds a model of the catalogue in PyTorch, runs one backward, and prints what DDP would see.

    main(NAME…)     one JSON line each: names, shapes, ready order

Image models come from torchvision. Text models are built here from torch.nn, with the structure, names and definition
order of the libraries that the catalogue follows (Hugging Face's BertModel and GPT2LMHeadModel, fairseq's Transformer).
They are narrow. So shapes are printed as multiples of the width, and tests/cli/test_torch_models.py restores it.
"""

import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


# The libraries use 0.1. With 0, gradients are reproducible.
DROPOUT = 0.0


def drop(x):
    # The kernel that GPUs use, with a mask of bytes.
    return torch.native_dropout(x, DROPOUT, True)[0] if DROPOUT else x


def attend(query, key, value, heads, causal=False):
    def split(x):
        return x.view(*x.shape[:2], heads, -1).transpose(1, 2)

    scores = split(query) @ split(key).transpose(-1, -2) / (query.shape[-1] / heads) ** 0.5
    if causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = torch.where(past, scores, torch.finfo(scores.dtype).min)
    return (drop(scores.softmax(-1)) @ split(value)).transpose(1, 2).reshape(query.shape)


def gelu_written_out(x):
    return 0.5 * x * (1 + torch.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3))))


def tree(**modules):
    node = nn.Module()
    for name, module in modules.items():
        setattr(node, name, module)
    return node


class BertLayer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.attention = tree(
            self=tree(query=nn.Linear(hidden, hidden), key=nn.Linear(hidden, hidden), value=nn.Linear(hidden, hidden)),
            output=tree(dense=nn.Linear(hidden, hidden), LayerNorm=nn.LayerNorm(hidden)),
        )
        self.intermediate = tree(dense=nn.Linear(hidden, 4 * hidden))
        self.output = tree(dense=nn.Linear(4 * hidden, hidden), LayerNorm=nn.LayerNorm(hidden))

    def forward(self, x):
        own = getattr(self.attention, "self")
        query = own.query(x)
        context = attend(query, own.key(x), own.value(x), self.heads)
        out = self.attention.output
        x = out.LayerNorm(drop(out.dense(context)) + x)
        return self.output.LayerNorm(drop(self.output.dense(F.gelu(self.intermediate.dense(x)))) + x)


class Bert(nn.Module):
    def __init__(self, layers, hidden, heads):
        super().__init__()
        self.embeddings = tree(
            word_embeddings=nn.Embedding(30522, hidden, padding_idx=0),
            position_embeddings=nn.Embedding(512, hidden),
            token_type_embeddings=nn.Embedding(2, hidden),
            LayerNorm=nn.LayerNorm(hidden),
        )
        self.encoder = tree(layer=nn.ModuleList(BertLayer(hidden, heads) for _ in range(layers)))
        self.pooler = tree(dense=nn.Linear(hidden, hidden))

    def forward(self, tokens):
        e = self.embeddings
        x = e.word_embeddings(tokens) + e.token_type_embeddings(torch.zeros_like(tokens))
        x = drop(e.LayerNorm(x + e.position_embeddings(torch.arange(tokens.shape[1])[None])))
        for layer in self.encoder.layer:
            x = layer(x)
        return torch.tanh(self.pooler.dense(x[:, 0]))


class Conv1D(nn.Module):
    """A Linear whose weight has the shape [in, out]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Gpt2Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(hidden)
        self.attn = tree(c_attn=Conv1D(hidden, 3 * hidden), c_proj=Conv1D(hidden, hidden))
        self.ln_2 = nn.LayerNorm(hidden)
        self.mlp = tree(c_fc=Conv1D(hidden, 4 * hidden), c_proj=Conv1D(4 * hidden, hidden))

    def forward(self, x):
        qkv = self.attn.c_attn(self.ln_1(x)).split(x.shape[-1], dim=-1)
        x = x + drop(self.attn.c_proj(attend(*qkv, self.heads, causal=True)))
        return x + drop(self.mlp.c_proj(gelu_written_out(self.mlp.c_fc(self.ln_2(x)))))


class Gpt2(nn.Module):
    def __init__(self, layers, hidden, heads):
        super().__init__()
        self.transformer = tree(
            wte=nn.Embedding(50257, hidden),
            wpe=nn.Embedding(1024, hidden),
            h=nn.ModuleList(Gpt2Block(hidden, heads) for _ in range(layers)),
            ln_f=nn.LayerNorm(hidden),
        )
        self.lm_head = nn.Linear(hidden, 50257, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, tokens):
        t = self.transformer
        x = drop(t.wte(tokens) + t.wpe(torch.arange(tokens.shape[1])[None]))
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x))


class FairseqAttention(nn.Module):
    """Attention with separate projections and concatenated biases, through PyTorch's own function."""

    def __init__(self, features, heads):
        super().__init__()
        self.features, self.heads = features, heads
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            setattr(self, name, nn.Linear(features, features))

    def forward(self, query, memory):
        biases = torch.cat((self.q_proj.bias, self.k_proj.bias, self.v_proj.bias))
        return F.multi_head_attention_forward(
            query,
            memory,
            memory,
            self.features,
            self.heads,
            torch.empty(0),
            biases,
            None,
            None,
            False,
            0.0,
            self.out_proj.weight,
            self.out_proj.bias,
            need_weights=False,
            use_separate_proj_weight=True,
            q_proj_weight=self.q_proj.weight,
            k_proj_weight=self.k_proj.weight,
            v_proj_weight=self.v_proj.weight,
        )[0]


class FairseqLayer(nn.Module):
    def __init__(self, features, feed_forward, heads, decodes):
        super().__init__()
        self.self_attn = FairseqAttention(features, heads)
        self.self_attn_layer_norm = nn.LayerNorm(features)
        if decodes:
            self.encoder_attn = FairseqAttention(features, heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(features)
        self.fc1 = nn.Linear(features, feed_forward)
        self.fc2 = nn.Linear(feed_forward, features)
        self.final_layer_norm = nn.LayerNorm(features)

    def forward(self, x, memory=None):
        x = self.self_attn_layer_norm(x + self.self_attn(x, x))
        if memory is not None:
            x = self.encoder_attn_layer_norm(x + self.encoder_attn(x, memory))
        return self.final_layer_norm(x + self.fc2(F.relu(self.fc1(x))))


class Transformer(nn.Module):
    def __init__(self, features, feed_forward, heads):
        super().__init__()
        words = nn.Embedding(32768, features)

        def layers(decodes):
            return nn.ModuleList(FairseqLayer(features, feed_forward, heads, decodes) for _ in range(6))

        self.encoder = tree(embed_tokens=words, layers=layers(False))
        self.decoder = tree(
            embed_tokens=words, layers=layers(True), output_projection=nn.Linear(features, 32768, bias=False)
        )
        self.decoder.output_projection.weight = words.weight

    def forward(self, tokens):
        memory = self.encoder.embed_tokens(tokens).transpose(0, 1)
        for layer in self.encoder.layers:
            memory = layer(memory)
        x = self.decoder.embed_tokens(tokens).transpose(0, 1)
        for layer in self.decoder.layers:
            x = layer(x, memory)
        return self.decoder.output_projection(x)


# Text models. Their width is divided by `narrow` here, and the reader restores it.
TEXT = {
    "bert-base": lambda: Bert(12, 768 // NARROW, 2),
    "bert-large": lambda: Bert(24, 1024 // NARROW, 2),
    "gpt2": lambda: Gpt2(12, 768 // NARROW, 2),
    "gpt2-medium": lambda: Gpt2(24, 1024 // NARROW, 2),
    "gpt2-large": lambda: Gpt2(36, 1280 // NARROW, 2),
    "gpt2-xl": lambda: Gpt2(48, 1600 // NARROW, 2),
    "transformer-base": lambda: Transformer(512 // NARROW, 2048 // NARROW, 2),
    "transformer-big": lambda: Transformer(1024 // NARROW, 4096 // NARROW, 2),
}
NARROW = 32


def image_model(name):
    import torchvision

    if name == "resnext101_32x4d":  # torchvision has only its parts
        return torchvision.models.ResNet(
            torchvision.models.resnet.Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=4
        )
    options = {"init_weights": False} if name == "inception_v3" else {}
    return getattr(torchvision.models, name)(**options)


def describe(name):
    torch.manual_seed(0)
    text = name in TEXT
    model = TEXT[name]() if text else image_model(name)
    model.train()
    names = [parameter for parameter, _ in model.named_parameters()]
    position = {parameter: index for index, parameter in enumerate(names)}
    order = []
    accumulators = []  # keeps autograd's nodes alive
    for parameter, tensor in model.named_parameters():
        accumulator = tensor.expand_as(tensor).grad_fn.next_functions[0][0]
        accumulator.register_hook(lambda *_, parameter=parameter: order.append(position[parameter]))
        accumulators.append(accumulator)
    size = {"inception_v3": 299, "alexnet": 64}.get(name, 32)  # the smallest image of each
    output = model(torch.randint(1, 100, (2, 5)) if text else torch.randn(2, 3, size, size))
    loss = output[0].sum() + output[1].sum() if isinstance(output, tuple) else output.sum()
    loss.backward()
    shapes = [list(tensor.shape) for _, tensor in model.named_parameters()]
    return {
        "name": name,
        "names": names,
        "shapes": shapes,
        "ready": order,
        "buffers": None if text else buffers_of(model),
        "narrow": NARROW if text else 1,
    }


def buffers_of(model):
    """The buffers that DDP broadcasts, by dtype: tensors and bytes. Text models here have no buffers."""
    groups = {}
    for buffer in model.buffers():
        group = groups.setdefault(str(buffer.dtype).removeprefix("torch."), [0, 0])
        group[0] += 1
        group[1] += buffer.numel() * buffer.element_size()
    return groups


def leave_weights_as_they_are():
    """Skips the initialisation of weights. Order and shapes do not depend on values, and drawing 100 million takes
    seconds."""
    for module in (nn.Linear, nn.Conv2d, nn.Embedding):
        module.reset_parameters = lambda self: self.weight.data.zero_()
    for fill in ("normal_", "trunc_normal_", "kaiming_normal_", "constant_"):
        setattr(nn.init, fill, lambda tensor, *_, **__: tensor)


def main(*models):
    torch.set_num_threads(1)
    leave_weights_as_they_are()
    for model_name in models:
        print(json.dumps(describe(model_name)), flush=True)
