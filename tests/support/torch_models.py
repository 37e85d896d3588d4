"""Small models as users write them, and a program that trains some: python torch_models.py NAME ... prints a digest each."""

import pathlib
import sys

import torch
from torch import nn

import repmath.torch


def gpt2():
    import transformers

    config = transformers.GPT2Config(
        vocab_size=256, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0, attn_pdrop=0.1
    )
    model, ids = transformers.GPT2LMHeadModel(config), torch.randint(0, 256, (2, 24))
    return model, lambda: model(input_ids=ids, labels=ids).loss


def bert():
    import transformers

    config = transformers.BertConfig(
        vocab_size=256, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    model, ids = transformers.BertForMaskedLM(config), torch.randint(0, 256, (2, 24))
    mask = torch.ones_like(ids)
    mask[1, 20:] = 0
    return model, lambda: model(input_ids=ids, attention_mask=mask, labels=ids).loss


def llama():
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=256,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=64,
    )
    model, ids = transformers.LlamaForCausalLM(config), torch.randint(0, 256, (2, 24))
    return model, lambda: model(input_ids=ids, labels=ids).loss


def vit():
    import transformers

    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        num_labels=10,
    )
    model, x, y = transformers.ViTForImageClassification(config), torch.rand(2, 3, 32, 32), torch.tensor([1, 2])
    return model, lambda: model(pixel_values=x, labels=y).loss


def whisper():
    import transformers

    sizes = {
        f"{part}_{name}": n
        for part in ("encoder", "decoder")
        for name, n in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 64))
    }
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = transformers.WhisperConfig(
        vocab_size=256, d_model=32, num_mel_bins=8, max_source_positions=20, max_target_positions=32, **sizes, **tokens
    )
    model, x = transformers.WhisperForConditionalGeneration(config), torch.rand(2, 8, 40)
    ids = torch.randint(0, 256, (2, 10))
    return model, lambda: model(input_features=x, labels=ids).loss


def lstm():
    model, x = nn.LSTM(8, 16, 2, dropout=0.1, bidirectional=True), torch.randn(7, 3, 8)
    return model, lambda: model(x)[0].pow(2).mean()


def gru():
    model, x = nn.GRU(8, 16), torch.randn(7, 3, 8)
    return model, lambda: model(x)[0].pow(2).mean()


class Autoencoder(nn.Module):
    """Variational, of Bernoulli variables."""

    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.spread = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 20))

    def forward(self, x):
        h = torch.relu(self.encoder(x))
        mean, spread = self.mean(h), self.spread(h)
        logits = self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * spread))
        divergence = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
        return nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") + divergence


def vae():
    model, x = Autoencoder(), torch.rand(5, 20)
    return model, lambda: model(x)


class Block(nn.Module):
    """Two convolutions and what they are added to, as ResNet has them."""

    def __init__(self, n):
        super().__init__()
        layers = [nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n))

    def forward(self, x):
        return torch.relu(x + self.layers(x))


def convolutions():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), Block(8), nn.Hardswish(),
        nn.Conv2d(8, 8, 3, groups=8, stride=2, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.MaxPool2d(2),
        nn.ConvTranspose2d(8, 8, 2, stride=2), nn.LeakyReLU(0.1), nn.Upsample(scale_factor=2), nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip
    x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))
    return model, lambda: nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)


def encoder():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
    x = torch.randn(2, 5, 16)
    return model, lambda: model(x).square().mean()


def vision(name):
    """A network of examples/python/vision_torch.py, small."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
    try:
        import vision_torch
    finally:
        del sys.path[0]
    return lambda: vision_torch.task(name, batch=2, size=16, width=8)


resnet18, resnet50, mobilenet, unet = map(vision, ("resnet18", "resnet50", "mobilenet", "unet"))


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, 1e-3),
    "AdamW": lambda p: torch.optim.AdamW(p, 1e-3, amsgrad=True, foreach=True),
    "fused": lambda p: torch.optim.AdamW(p, 1e-3, fused=True),
}


def train(name, optimizer="Adam", steps=2, autocast=False, mode=None):
    """The digest of the model and its optimiser after some steps under the mode; strict, when none is given."""
    torch.manual_seed(1)
    with repmath.torch.reproducible() if mode is None else mode:
        model, loss = globals()[name]()
        model.train()
        update = OPTIMIZERS[optimizer](model.parameters())
        for _ in range(steps):
            update.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                value = loss()
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            update.step()
    assert torch.isfinite(value)
    return repmath.torch.digest(model, update)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(given, train(given))
