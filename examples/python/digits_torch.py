"""A convolutional network on scikit-learn's digits, in PyTorch. digits_numpy.py is the same in NumPy: the same digests.

python digits_torch.py [epochs]
"""

import sys

import torch
from digits_numpy import BATCH, data, orders

import repmath
import repmath.torch.functional as F
from repmath.torch import nn, optim


def network():
    nn.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def train(epochs, images, labels):
    """Parameters after training, by name, and the losses."""
    model, losses = network(), []
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images, labels = torch.from_numpy(images), torch.from_numpy(labels)
    for order in orders(epochs, len(images)):
        for rows in torch.from_numpy(order).split(BATCH):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images[rows]), labels[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return model.state_dict(), losses


if __name__ == "__main__":
    trained, losses = train(int(sys.argv[1]) if len(sys.argv) > 1 else 4, *data())
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(repmath.digest(*(t.numpy() for t in trained.values())))
