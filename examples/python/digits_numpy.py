"""A convolutional network on scikit-learn's digits, in NumPy and repmath. digits_torch.py is the same in PyTorch: the same digests.

python digits_numpy.py [epochs]
"""

import math
import sys

import numpy as np

import repmath
import repmath.nn as nn
import repmath.optim as optim

BATCH = 64


def data():
    """Images and labels; the pixels are sixteenths."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.images / 16).astype(np.float32)[:, None], digits.target.astype(np.int64)


def orders(epochs, n):
    """A permutation of the images for each epoch."""
    return [repmath.random.permutation(1, n, stream=1 + epoch) for epoch in range(epochs)]


def initial():
    """Weights and biases as torch.nn's layers draw them, one after the other from one stream; four numbers are a block."""
    shapes = {"0": (8, 1, 3, 3), "3": (16, 8, 3, 3), "7": (10, 64)}
    params, place = {}, 0
    for name, shape in shapes.items():
        params[f"{name}.weight"] = repmath.init.kaiming_uniform(1, shape, a=math.sqrt(5), offset=place)
        place += -(-math.prod(shape) // 4) * 4
        bound = 1 / math.sqrt(repmath.init.fans(shape)[0])
        params[f"{name}.bias"] = repmath.random.uniform(1, shape[0], -bound, bound, dtype=np.float32, offset=place)
        place += -(-shape[0] // 4) * 4
    return params


def relu(x):
    return np.where(x <= 0, np.float32(0), x)


def gradients(p, x, target):
    """The loss and its gradients."""
    y1 = relu(repmath.conv2d(x, p["0.weight"], p["0.bias"], padding=1))
    z1, i1 = nn.max_pool2d(y1, 2, return_indices=True)
    y2 = relu(repmath.conv2d(z1, p["3.weight"], p["3.bias"], padding=1))
    z2, i2 = nn.max_pool2d(y2, 2, return_indices=True)
    flat = z2.reshape(len(x), -1)
    scores = repmath.matmul(flat, p["7.weight"].T, bias=p["7.bias"])
    loss = nn.cross_entropy(scores, target)

    g = nn.cross_entropy_backward(np.float32(1), scores, target)
    grads = {"7.weight": repmath.matmul(g.T, flat), "7.bias": repmath.sum(g, axis=0)}
    g = repmath.matmul(g, p["7.weight"]).reshape(z2.shape)
    g = np.where(y2 > 0, nn.max_pool2d_backward(g, y2.shape, i2), np.float32(0))
    grads["3.weight"] = repmath.conv2d_grad_weight(z1, p["3.weight"].shape, g, padding=1)
    grads["3.bias"] = repmath.sum(g, axis=(0, 2, 3))
    g = repmath.conv2d_grad_input(z1.shape, p["3.weight"], g, padding=1)
    g = np.where(y1 > 0, nn.max_pool2d_backward(g, y1.shape, i1), np.float32(0))
    grads["0.weight"] = repmath.conv2d_grad_weight(x, p["0.weight"].shape, g, padding=1)
    grads["0.bias"] = repmath.sum(g, axis=(0, 2, 3))
    return loss, grads


def train(epochs, images, labels):
    """Parameters after training, by name, and the losses."""
    params, losses = initial(), []
    optimizer = optim.SGD(params, lr=0.05, momentum=0.9)
    for order in orders(epochs, len(images)):
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            loss, grads = gradients(params, images[rows], labels[rows])
            optimizer.step(grads)
            losses.append(float(loss))
    return params, losses


if __name__ == "__main__":
    trained, losses = train(int(sys.argv[1]) if len(sys.argv) > 1 else 4, *data())
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(repmath.digest(*trained.values()))
