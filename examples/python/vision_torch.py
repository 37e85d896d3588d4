"""Convolutional networks as people write them in PyTorch, trained under repmath.torch.reproducible().

python vision_torch.py [resnet18|resnet50|mobilenet|unet] [--steps N]

Nothing in the networks knows of repmath. Prints the loss of each step and the SHA-256 of weights, buffers and optimiser, which is the
same on every machine.
"""

import argparse

import torch
from torch import nn

import repmath.torch


def convolution(n: int, m: int, size: int, stride: int = 1, groups: int = 1, activation: type[nn.Module] | None = nn.ReLU):
    """With its normalisation, and what follows."""
    layers = [nn.Conv2d(n, m, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(m)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Residual(nn.Module):
    """Layers, and the way beside them."""

    def __init__(self, n: int, m: int, stride: int, *layers: nn.Module):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.beside = convolution(n, m, 1, stride, activation=None) if stride > 1 or n != m else nn.Identity()

    def forward(self, x):
        return torch.relu(self.layers(x) + self.beside(x))


def basic(n: int, width: int, stride: int) -> tuple[nn.Module, int]:
    return Residual(n, width, stride, convolution(n, width, 3, stride), convolution(width, width, 3, activation=None)), width


def bottleneck(n: int, width: int, stride: int) -> tuple[nn.Module, int]:
    inner = convolution(n, width, 1), convolution(width, width, 3, stride), convolution(width, 4 * width, 1, activation=None)
    return Residual(n, 4 * width, stride, *inner), 4 * width


def resnet(block, depths, classes: int = 10, width: int = 64) -> nn.Sequential:
    """He, Zhang, Ren and Sun 2015, with the first layer of their networks for small images."""
    parts: list[nn.Module] = [convolution(3, width, 3)]
    n = width
    for stage, depth in enumerate(depths):
        for i in range(depth):
            part, n = block(n, width << stage, 2 if stage and i == 0 else 1)
            parts.append(part)
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, classes))


def resnet18(width: int = 64) -> nn.Sequential:
    return resnet(basic, (2, 2, 2, 2), width=width)


def resnet50(width: int = 64) -> nn.Sequential:
    return resnet(bottleneck, (3, 4, 6, 3), width=width)


class Inverted(nn.Module):
    """A depthwise convolution between two of single points."""

    def __init__(self, n: int, m: int, stride: int, wider: int = 4):
        super().__init__()
        inner = n * wider
        self.layers = nn.Sequential(
            convolution(n, inner, 1, activation=nn.Hardswish),
            convolution(inner, inner, 3, stride, groups=inner, activation=nn.Hardswish),
            convolution(inner, m, 1, activation=None),
        )
        self.adds = stride == 1 and n == m

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


def mobilenet(width: int = 16) -> nn.Sequential:
    """In the manner of Howard et al. 2019."""
    blocks = [
        Inverted(width, width, 1),
        Inverted(width, 2 * width, 2),
        Inverted(2 * width, 2 * width, 1),
        Inverted(2 * width, 4 * width, 2),
    ]
    head = [
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 64),
        nn.Hardswish(),
        nn.Dropout(0.2),
        nn.Linear(64, 10),
    ]
    return nn.Sequential(convolution(3, width, 3, 2, activation=nn.Hardswish), *blocks, *head)


class UNet(nn.Module):
    """Ronneberger, Fischer and Brox 2015: a label for each pixel."""

    def __init__(self, width: int = 16, levels: int = 3, classes: int = 10):
        super().__init__()
        sizes = [width << level for level in range(levels)]
        twice = lambda n, m: nn.Sequential(convolution(n, m, 3), convolution(m, m, 3))  # noqa: E731
        self.down = nn.ModuleList(twice(n, m) for n, m in zip([3, *sizes], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, 2) for n in sizes[-2::-1])
        self.join = nn.ModuleList(twice(2 * n, n) for n in sizes[-2::-1])
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        seen = []
        for i, part in enumerate(self.down):
            x = part(x if i == 0 else nn.functional.max_pool2d(x, 2))
            seen.append(x)
        for up, join, beside in zip(self.up, self.join, seen[-2::-1]):
            x = join(torch.cat([beside, up(x)], 1))
        return self.last(x)


NETWORKS = {"resnet18": resnet18, "resnet50": resnet50, "mobilenet": mobilenet, "unet": UNet}


def task(name: str, batch: int = 8, size: int = 32, width: int | None = None):
    """A network and its loss on random images: the optimiser's work is the same as on others."""
    model = NETWORKS[name]() if width is None else NETWORKS[name](width)
    x = torch.randn(batch, 3, size, size)
    y = torch.randint(0, 10, (batch, size, size) if name == "unet" else (batch,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", nargs="?", choices=NETWORKS, default="resnet18")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(1)
    with repmath.torch.reproducible():
        model, loss = task(options.network)
        optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
        for step in range(options.steps):
            optimizer.zero_grad()
            value = loss()
            value.backward()
            optimizer.step()
            print(f"step {step}: loss {value.item():.6f}", flush=True)
    print(repmath.torch.digest(model, optimizer))


if __name__ == "__main__":
    main()
