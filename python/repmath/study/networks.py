"""Trainings for `repmath study arms`, and a step for `variability` and `cost`, which need PyTorch and no data from elsewhere: a convolutional network on scikit-learn's
digits, a network on its breast cancer table, and a GPT-2 of transformers on the text of Python's own documentation."""

from typing import Any


def _weights(model: Any) -> Any:
    import torch

    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def _train(model: Any, x: Any, y: Any, seed: int, steps: int, rate: float, size: int = 64) -> None:
    """AdamW over batches that the seed draws."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), rate)
    order = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        batch = torch.randperm(len(x), generator=order)[:size]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()


def digits(seed: int) -> dict[str, Any]:
    """Images of 8 by 8: 1,300 to train with, 497 of the test."""
    import sklearn.datasets
    import torch

    data = sklearn.datasets.load_digits()
    x, y = torch.tensor(data.images).float().unsqueeze(1) / 16, torch.tensor(data.target).long()
    torch.manual_seed(seed)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(256, 10),
    )  # fmt: skip
    _train(model, x[:1300], y[:1300], seed, 40, 5e-3)
    model.eval()
    with torch.no_grad():
        found = model(x[1300:]).argmax(1)
    return {"predictions": found, "labels": y[1300:], "weights": _weights(model)}


def tabular(seed: int) -> dict[str, Any]:
    """Breast cancer: 30 numbers of 569 tumours, 369 to train with; the groups are tumours below and above the median of mean texture."""
    import sklearn.datasets
    import torch

    data = sklearn.datasets.load_breast_cancer()
    x, y = torch.tensor(data.data).float(), torch.tensor(data.target).long()
    x = (x - x[:369].mean(0)) / x[:369].std(0)
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(30, 32), torch.nn.GELU(), torch.nn.Linear(32, 2))
    _train(model, x[:369], y[:369], seed, 80, 1e-2)
    with torch.no_grad():
        found = model(x[369:]).argmax(1)
    groups = (x[369:, 1] > x[369:, 1].median()).long()
    return {"predictions": found, "labels": y[369:], "weights": _weights(model), "groups": groups}


def _text(length: int) -> Any:
    """Bytes of Python's documentation below 128, as numbers."""
    import pydoc

    import torch

    text = "".join(pydoc.plain(pydoc.render_doc(kind)) for kind in (str, dict, list, int))
    return torch.tensor([b for b in text.encode() if b < 128][:length])


def _gpt2(layers: int, size: int) -> Any:
    import torch
    import transformers

    ends = {"bos_token_id": 0, "eos_token_id": 0}
    config = transformers.GPT2Config(
        vocab_size=128,
        n_positions=64,
        n_embd=size,
        n_layer=layers,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        **ends,
    )

    class Logits(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.GPT2LMHeadModel(config)

        def forward(self, ids: Any) -> Any:
            return self.model(ids).logits.transpose(1, 2)

    return Logits()


def gpt2(seed: int) -> dict[str, Any]:
    """A GPT-2 of one layer of 32, 12 steps on 16 lines of 48 bytes; the test is the next byte of other text."""
    import torch

    text = _text(600 * 48 + 1)
    lines, following = text[:-1].reshape(-1, 48), text[1:].reshape(-1, 48)
    torch.manual_seed(seed)
    model = _gpt2(1, 32)
    _train(model, lines[:-20], following[:-20], seed, 12, 1e-2, 16)
    with torch.no_grad():
        found = model(lines[-20:]).argmax(1)
    return {"predictions": found.reshape(-1), "labels": following[-20:].reshape(-1), "weights": _weights(model)}


def step() -> dict[str, Any]:
    """A step of training of a GPT-2 of two layers of 64, from weights of one seed."""
    import torch

    import repmath.torch

    text = _text(4 * 48 + 1)
    with repmath.torch.reproducible():
        torch.manual_seed(1)
        model = _gpt2(2, 64)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    logits = model(text[:-1].reshape(4, 48))
    loss = torch.nn.functional.cross_entropy(logits, text[1:].reshape(4, 48))
    loss.backward()
    optimizer.step()
    gradients = {f"gradient of {name}": p.grad for name, p in model.named_parameters()}
    return {"logits": logits, "loss": loss, **gradients}
