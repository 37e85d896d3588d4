"""A convolutional network on scikit-learn's digits, with repmath's functions of NumPy arrays; its gradients are written out."""

import digits
import numpy as np

import repmath
from repmath import nn


def forward(p, x, where=np.where):
    """Scores, and what the gradients need. `where` is that of the arrays' library."""
    a = repmath.conv2d(x, p["conv1"], p["conv1_bias"], padding=1)
    b, at_b = nn.max_pool2d(where(a > 0, a, 0.0), 2, return_indices=True)
    c = repmath.conv2d(b, p["conv2"], p["conv2_bias"], padding=1)
    d, at_d = nn.max_pool2d(where(c > 0, c, 0.0), 2, return_indices=True)
    h = d.reshape(len(x), -1)
    return repmath.matmul(h, p["linear"].T, bias=p["linear_bias"]), (x, a, b, at_b, c, d, at_d, h)


def gradients(p, x, target, where=np.where):
    z, (x, a, b, at_b, c, d, at_d, h) = forward(p, x, where)
    gz = nn.cross_entropy_backward(np.float32(1), z, target)
    gd = repmath.matmul(gz, p["linear"]).reshape(d.shape)
    gc = where(c > 0, nn.max_pool2d_backward(gd, c.shape, at_d), 0.0)
    gb = repmath.conv2d_grad_input(b.shape, p["conv2"], gc, padding=1)
    ga = where(a > 0, nn.max_pool2d_backward(gb, a.shape, at_b), 0.0)
    return {
        "conv1": repmath.conv2d_grad_weight(x, p["conv1"].shape, ga, padding=1),
        "conv1_bias": repmath.sum(ga, axis=(0, 2, 3)),
        "conv2": repmath.conv2d_grad_weight(b, p["conv2"].shape, gc, padding=1),
        "conv2_bias": repmath.sum(gc, axis=(0, 2, 3)),
        "linear": repmath.matmul(gz.T, h),
        "linear_bias": repmath.sum(gz, axis=0),
    }


def main():
    options = digits.arguments()
    (x, y), (x_test, y_test) = digits.data(options.images, options.generated)
    params = digits.weights()
    optimizer = repmath.optim.SGD(params, lr=digits.RATE, momentum=digits.MOMENTUM)
    for step in range(options.steps):
        digits.mark(step, lambda: params)
        rows = digits.batch(step, options.images)
        optimizer.lr = float(digits.rate(step, options.steps))
        optimizer.step(gradients(params, x[rows], y[rows]))
    scores, _ = forward(params, x_test)
    digits.report(params, np.mean(scores.argmax(axis=1) == y_test))


if __name__ == "__main__":
    main()
