"""A small training for `repmath study arms`: two noisy rings, a network of two layers, 60 steps. It needs PyTorch and no data."""

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
