"""Modules of published memory figures that the program does not know by name. Each function returns a module, its inputs
and the function that makes a loss of its outputs. Needs PyTorch."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderDecoder(nn.Module):
    """A language model around torch.nn.Transformer, with embeddings for both sides and a head of its own."""

    def __init__(self, words, features, heads, feed_forward, layers, dropout):
        super().__init__()
        self.embedding = nn.Embedding(words, features)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            features, heads, layers, layers, feed_forward, dropout=dropout, batch_first=True
        )
        self.decoder = nn.Linear(features, words)
        self.scale = features**0.5

    def forward(self, source, target, mask):
        source, target = (self.dropout(self.embedding(words) * self.scale) for words in (source, target))
        out = self.transformer(source, target, tgt_mask=mask, tgt_is_causal=False)
        return F.log_softmax(self.decoder(out), dim=-1)


def encoder_decoder(tokens=35):
    with torch.device("meta"):
        module = EncoderDecoder(33278, features=1024, heads=64, feed_forward=4096, layers=32, dropout=0.2)
    words = torch.zeros(1, tokens, dtype=torch.long)
    return (
        module,
        (words, words, torch.zeros(tokens, tokens)),
        lambda out: F.nll_loss(out.flatten(0, 1), words.view(-1)),
    )
