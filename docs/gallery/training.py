"""Two trainings that should be one

A network with one hidden layer is trained twice from the same weights on the same batches. The second run takes the samples of each batch in another order, which
changes no sum but its rounding. With NumPy's products the weights part at the first steps, and the difference grows. With `repmath.matmul`
each sum is exact before it is rounded, so that both runs end with the same bits.
"""

import matplotlib.pyplot as plt
import numpy as np

import repmath

STEPS = 400
random = np.random.default_rng(0)
x = random.standard_normal((64, 8)).astype(np.float32)
y = np.sign(x[:, :1] * x[:, 1:2])
start = [(random.standard_normal(shape) / 4).astype(np.float32) for shape in ((8, 32), (32, 1))]


def train(matmul, tanh, shuffled):
    """The weights after each step."""
    order = np.random.default_rng(1)
    w, v = (a.copy() for a in start)
    for _ in range(STEPS):
        rows = order.permutation(64) if shuffled else np.arange(64)
        hidden = tanh(matmul(x[rows], w))
        error = (matmul(hidden, v) - y[rows]) / np.float32(64)
        back = matmul(error, v.T) * (1 - hidden * hidden)
        v = v - np.float32(0.5) * matmul(hidden.T, error)
        w = w - np.float32(0.5) * matmul(x[rows].T, back)
        yield np.concatenate([w.ravel(), v.ravel()])


figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name, functions in (("NumPy", (np.matmul, np.tanh)), ("repmath", (repmath.matmul, repmath.tanh))):
    apart = [np.abs(a - b).max() for a, b in zip(train(*functions, False), train(*functions, True), strict=True)]
    axes.plot(apart, label=f"{name}: {apart[-1]:.1g} apart at the end")
axes.set(xlabel="step", ylabel="largest difference of a weight")
axes.set_yscale("symlog", linthresh=1e-8)
axes.legend()
figure.savefig("training.png", dpi=120)
