"""Trains a small convolutional network with every kind of operator and prints the SHA-256 of its state (python/test_training.py)."""

import numpy as np

import repmath as rm
from repmath import nn, optim

STEPS, BATCH, RATE = 8, 128, 0.1

x = rm.random.normal(1, (BATCH, 1, 8, 8), dtype="f4")
target = rm.random.randint(2, BATCH, 10)
one, zero = np.ones(8, "f4"), np.zeros(8, "f4")
p = {
    "kernel": rm.init.kaiming_uniform(3, (8, 1, 3, 3)).astype("f4"),
    "scale": one.copy(),
    "shift": zero.copy(),
    "weight": rm.init.xavier_uniform(4, (10, 128)).astype("f4"),
    "bias": np.zeros(10, "f4"),
}
optimizer = optim.AdamW(p, lr=1e-2)
mean, variance, losses = zero.copy(), one.copy(), []

for step in range(STEPS):
    a = rm.conv2d(x, p["kernel"], padding=1)
    n = nn.batch_norm(a, mean, variance, p["scale"], p["shift"], training=True)
    s = rm.silu(n)
    pooled = nn.avg_pool2d(s, 2)
    dropped = rm.random.dropout(pooled, RATE, seed=5, stream=step)
    h = dropped.reshape(BATCH, -1)
    z = rm.matmul(h, p["weight"].T, bias=p["bias"])
    losses.append(nn.cross_entropy(z, target))

    gz = nn.cross_entropy_backward(np.float32(1), z, target)
    gh = rm.random.dropout_backward(rm.matmul(gz, p["weight"]).reshape(pooled.shape), RATE, seed=5, stream=step)
    gn = rm.silu_backward(nn.avg_pool2d_backward(gh, s.shape, 2), n)
    ga, gscale, gshift = nn.batch_norm_backward(gn, a, weight=p["scale"])
    gradients = {
        "kernel": rm.conv2d_grad_weight(x, p["kernel"].shape, ga, padding=1),
        "scale": gscale,
        "shift": gshift,
        "weight": rm.matmul(gz.T, h),
        "bias": rm.sum(gz, axis=0),
    }
    optim.clip_grad_norm(gradients, 1.0)
    optimizer.step(gradients)

assert losses[-1] < losses[0]
print(rm.digest(*p.values(), mean, variance, *losses))
