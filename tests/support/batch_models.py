"""Models as users write them, with data for a batch of twelve, whose losses are shares of one sum."""

import torch
from torch import nn
from torch.nn import functional as F

ITEMS = 12


def cnn():
    layers = [
        nn.Conv2d(3, 8, 3, padding=1),
        nn.GroupNorm(2, 8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, groups=2, bias=False),
    ]
    model = nn.Sequential(*layers, nn.GELU(), nn.Flatten(), nn.Linear(8 * 5 * 5, 16), nn.LayerNorm(16), nn.Linear(16, 5))
    data = torch.randn(ITEMS, 3, 12, 12), torch.randint(0, 5, (ITEMS,))
    return model, data, lambda model, x, y: F.cross_entropy(model(x), y, reduction="sum") / ITEMS


def batch_norm():
    """Its statistics and its dropout are those of the whole batch."""
    layers = [nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(0.3), nn.Dropout2d(0.2), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(6 * 36, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 5))
    data = torch.randn(ITEMS, 3, 8, 8), torch.randint(0, 5, (ITEMS,))
    return model, data, lambda model, x, y: F.cross_entropy(model(x), y, reduction="sum") / ITEMS


def gpt2(checkpointing=False, dropout=0.0):
    """Its output layer has the weights of its embedding."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})

    def loss(model, ids):
        logits = model(input_ids=ids).logits[:, :-1]
        return F.cross_entropy(logits.reshape(-1, 64), ids[:, 1:].reshape(-1), reduction="sum") / (15 * ITEMS)

    return model, (torch.randint(0, 64, (ITEMS, 16)),), loss


class Positions(nn.Module):
    """Attention with positions that are a parameter, and a norm by the root mean square."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(20, 8, padding_idx=0), nn.Parameter(torch.randn(1, 6, 8))
        self.attention, self.norm, self.scale = (
            nn.MultiheadAttention(8, 2, batch_first=True),
            nn.RMSNorm(8),
            nn.Parameter(torch.ones(8)),
        )
        self.out = nn.Linear(8, 3, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.positions
        x = x + self.attention(x, x, x, need_weights=False)[0] * self.scale
        return self.out(self.norm(x))


def positions():
    model = Positions()
    data = torch.randint(0, 20, (ITEMS, 6)), torch.randn(ITEMS, 6, 3)
    return model, data, lambda model, ids, y: F.mse_loss(model(ids), y, reduction="sum")


def padded():
    """GPT-2 with dropout, and texts of several lengths: the mean is over the places of the whole batch that are not padded."""
    model, (ids,), _ = gpt2(dropout=0.1)
    labels = torch.where(torch.arange(16) < 6 + torch.arange(ITEMS)[:, None] % 9, ids, -100)
    count = int((labels[:, 1:] != -100).sum())

    def loss(model, ids, labels):
        logits = model(input_ids=ids).logits[:, :-1]
        total = F.cross_entropy(logits.reshape(-1, 64), labels[:, 1:].reshape(-1), ignore_index=-100, reduction="sum")
        return total / count

    return model, (ids, labels), loss


# What depends on a sample's place in the whole batch, or on its other samples.
GLOBAL_MODELS = {"batch norm": batch_norm, "dropout": padded}
MODELS = {"cnn": cnn, "gpt2": gpt2, "positions": positions}
