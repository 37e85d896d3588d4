"""Training steps of unmodified PyTorch models under repmath.torch.reproducible(), beside PyTorch's own, which are not deterministic.

python bench/training.py prints the table alone.
"""

from timing import compare

import repmath


def lenet(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x, y = torch.randn(100, 1, 28, 28), torch.randint(0, 10, (100,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)


def resnet18(torch):
    """He et al. 2015, with the first layer of their networks for small images."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, n, m, stride):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(),
                nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m),
            )  # fmt: skip
            beside = [nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m)] if stride > 1 or n != m else []
            self.beside = nn.Sequential(*beside)

        def forward(self, x):
            return torch.relu(self.layers(x) + self.beside(x))

    parts = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    for n, m, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        parts += [Block(n, m, stride), Block(m, m, 1)]
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)


def gpt2(torch):
    import transformers

    config = transformers.GPT2Config(
        vocab_size=256, n_positions=128, n_embd=256, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0
    )
    model, ids = transformers.GPT2LMHeadModel(config), torch.randint(0, 256, (8, 128))
    return model, lambda: model(input_ids=ids, labels=ids).loss, torch.optim.AdamW(model.parameters(), 1e-3)


CASES = {"LeNet 100x1x28x28": lenet, "ResNet-18 32x3x32x32": resnet18, "GPT-2 4 layers of 256, 8x128": gpt2}


def steps(torch, make):
    """A training step under the mode, and PyTorch's."""
    model, loss, optimizer = make(torch)

    def plain():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    def exact():
        with repmath.torch.reproducible():
            plain()

    return {"repmath": exact, "PyTorch": plain}


def overhead(torch):
    """A call on one element: what the mode adds to an operator."""
    x = torch.ones(1)

    def exact():
        with repmath.torch.reproducible():
            for _ in range(1000):
                x.neg()

    def plain():
        for _ in range(1000):
            x.neg()

    return {"repmath": exact, "PyTorch": plain}


def training(quick=False):
    try:
        import torch

        import repmath.torch  # noqa: F401
    except ImportError:
        return
    for threads in (1, 2):
        torch.set_num_threads(threads)
        repmath.set_num_threads(threads)
        label = f"{threads} thread" + "s" * (threads > 1)
        for name, make in CASES.items():
            try:
                calls = steps(torch, make)
            except ImportError:
                continue  # transformers
            yield {"case": f"training step, {name}, {label}", **compare(calls, batches=3 if quick else 7, seconds=0.01)}
    timing = compare(overhead(torch), batches=5, seconds=0.01)
    added = (timing["seconds"]["repmath"] - timing["seconds"]["PyTorch"]) / 1000
    yield {"case": "reproducible(), an operator's overhead", "seconds": {"repmath": added}, "ratio": {}}


if __name__ == "__main__":
    for result in training():
        ratio = "".join(f"{value:6.2f} x {name}" for name, value in result["ratio"].items())
        print(f"{result['case']:50} {1e6 * result['seconds']['repmath']:12.1f} us {ratio}", flush=True)
