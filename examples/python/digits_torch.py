"""The network of digits_numpy.py in PyTorch: its gradients are autograd's, its weights end with the same SHA-256."""

import digits
import torch

import repmath.torch.functional as F
from repmath.torch import nn, optim

NAMES = ("conv1", "conv1_bias", "conv2", "conv2_bias", "linear", "linear_bias")  # of the network's parameters, in their order


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def main():
    options = digits.arguments()
    (x, y), (x_test, y_test) = (tuple(map(torch.from_numpy, pair)) for pair in digits.data(options.images, options.generated))
    model, initial = network(), digits.weights()
    with torch.no_grad():
        for name, p in zip(NAMES, model.parameters(), strict=True):
            p.copy_(torch.from_numpy(initial[name]))
    optimizer = optim.SGD(model.parameters(), lr=digits.RATE, momentum=digits.MOMENTUM)

    def trained():
        return {name: p.detach().numpy() for name, p in zip(NAMES, model.parameters(), strict=True)}

    for step in range(options.steps):
        digits.mark(step, trained)
        rows = torch.from_numpy(digits.batch(step, options.images))
        optimizer.param_groups[0]["lr"] = float(digits.rate(step, options.steps))
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows].long()).backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean()
    digits.report(trained(), float(accuracy))


if __name__ == "__main__":
    main()
