"""A multilayer perceptron with softmax cross-entropy, trained by momentum SGD in float32.

Run as a program, since instruction sets are chosen when NumPy and repmath are imported:

    python -m repmath.demo.train {repmath,numpy} DATA.npz RESULT.npz

exp, log, tanh, sum and matmul come from the backend. Everything else is a basic IEEE operation on one element at a time
(+ - * /, comparison, maximum): its result is fixed by the standard.
"""

import sys
import time

import numpy as np

import repmath

HIDDEN = 128
EPOCHS = 24
BATCH = 64
RATE = np.float32(0.0625)
MOMENTUM = np.float32(0.875)


class WithRepmath:
    exp, log, tanh = repmath.exp, repmath.log, repmath.tanh  # type: ignore[attr-defined,unused-ignore]
    sum, matmul = staticmethod(repmath.sum), staticmethod(repmath.matmul)

    @staticmethod
    def affine(x, weight, bias):
        return repmath.matmul(x, weight, bias=bias)


class WithNumPy:
    exp, log, tanh = np.exp, np.log, np.tanh
    sum, matmul = staticmethod(np.sum), staticmethod(np.matmul)

    @staticmethod
    def affine(x, weight, bias):
        return np.matmul(x, weight) + bias


def initial_weights(features, classes):
    """Uniform in +-sqrt(3/n), about: from integers only, so that they too are the same everywhere."""
    rng = np.random.Generator(np.random.PCG64(1))

    def uniform(rows, columns, scale):
        return ((rng.integers(-(2**23), 2**23, (rows, columns)) * 2.0**-23) * scale).astype(np.float32)

    return [
        uniform(features, HIDDEN, 0.1875),
        np.zeros(HIDDEN, np.float32),
        uniform(HIDDEN, classes, 0.125),
        np.zeros(classes, np.float32),
    ]


def gradients(op, weights, x, target):
    """The loss and its gradients; target holds one row of 0 and 1 for each row of x."""
    w1, b1, w2, b2 = weights
    hidden = op.tanh(op.affine(x, w1, b1))
    scores = op.affine(hidden, w2, b2)
    scores = scores - scores.max(axis=1, keepdims=True)
    exps = op.exp(scores)
    total = op.sum(exps, axis=1, keepdims=True)
    count = np.float32(len(x))
    loss = op.sum((op.log(total) - scores) * target) / count
    d_scores = (exps / total - target) / count
    d_hidden = op.matmul(d_scores, w2.T) * (np.float32(1) - hidden * hidden)
    return loss, [
        op.matmul(x.T, d_hidden),
        op.sum(d_hidden, axis=0),
        op.matmul(hidden.T, d_scores),
        op.sum(d_scores, axis=0),
    ]


def accuracy(op, weights, x, labels):
    w1, b1, w2, b2 = weights
    scores = op.affine(op.tanh(op.affine(x, w1, b1)), w2, b2)
    return float(np.mean(scores.argmax(axis=1) == labels))


def train(op, data):
    """Train; returns the weights, their copies after each epoch, and the losses."""
    x, labels, orders = data["x_train"], data["y_train"], data["orders"]
    target = (labels[:, None] == np.arange(10)).astype(np.float32)
    weights = initial_weights(x.shape[1], 10)
    velocity = [np.zeros_like(w) for w in weights]
    history, losses = [], []
    for order in orders:
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            loss, grads = gradients(op, weights, x[rows], target[rows])
            for w, v, g in zip(weights, velocity, grads, strict=True):
                v *= MOMENTUM
                v -= RATE * g
                w += v
            losses.append(loss)
            history.append(np.concatenate([w.ravel() for w in weights]))
    return weights, np.array(history), np.array(losses)


def main(backend, data_path, result_path):
    op = {"repmath": WithRepmath, "numpy": WithNumPy}[backend]
    data = dict(np.load(data_path))
    started = time.perf_counter()
    weights, history, losses = train(op, data)
    seconds = time.perf_counter() - started
    np.savez(
        result_path,
        digest=repmath.digest(*weights),
        accuracy=accuracy(op, weights, data["x_test"], data["y_test"]),
        seconds=seconds,
        history=history,
        losses=losses,
        isa=repmath.config()["isa"],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
