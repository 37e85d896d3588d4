"""Small programs for `repmath study`, which need PyTorch and no data. `train`, for `arms`: two noisy rings, a network of two layers, 60 steps.
`step`, for `variability`: a step of training of a small transformer; with `broken` for `localize`, which finds its one unstable layer."""

from typing import Any


def train(seed: int) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(12)
    angle = torch.rand(600, generator=generator) * 6.2831853
    label = (torch.arange(600) % 2).long()
    radius = 1.0 + 0.6 * label + 0.35 * torch.randn(600, generator=generator)
    x = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    order = torch.Generator().manual_seed(seed)
    for _ in range(60):
        batch = torch.randperm(400, generator=order)[:64]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[batch]), label[batch]).backward()
        optimizer.step()
    with torch.no_grad():
        found = model(x[400:]).argmax(1)
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    return {"predictions": found, "labels": label[400:], "weights": weights, "groups": (x[400:, 0] > 0).long()}


def step() -> dict[str, Any]:
    import torch

    import repmath.torch

    class Far(torch.nn.Module):  # type: ignore[misc]
        """Keeps its input beside a large number: 14 bits of it are lost."""

        def forward(self, x: Any) -> Any:
            return (x + 2.0**14) - 2.0**14

    with repmath.torch.reproducible():
        torch.manual_seed(1)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        model = torch.nn.Sequential(torch.nn.Embedding(20, 16), layer, Far(), torch.nn.Linear(16, 20))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    words = torch.arange(24).reshape(2, 12) * 7 % 20
    logits = model(words)
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 20), words.roll(-1, 1).reshape(-1))
    loss.backward()
    optimizer.step()
    gradients = {f"gradient of {name}": p.grad for name, p in model.named_parameters()}
    return {"logits": logits, "loss": loss, **gradients, **dict(model.named_parameters())}


def broken(found: dict[str, Any]) -> bool:
    """Whether the logits are off by more than 2^-13 somewhere."""
    import repmath.torch

    with repmath.torch.reproducible():
        plain = step()["logits"]
    return float((found["logits"] - plain).abs().max()) > 2.0**-13
