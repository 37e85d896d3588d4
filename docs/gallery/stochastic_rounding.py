"""A sum that stalls

In float16, 0.0004 is less than half of what lies between 1 and the next number: added to 1 and rounded to the nearest it is lost, however often it is added.
Rounded at random, up with the probability that keeps the mean, the sums follow the exact line. The random words are functions of the seed, the stream and
the place, so the eight paths are the same on every machine.
"""

import matplotlib.pyplot as plt
import numpy as np

import repmath

STEPS = 2000
step = np.float16(4e-4)
nearest = np.ones(1, np.float16)
paths = np.ones(8, np.float16)
seen = []
for n in range(STEPS):
    nearest = repmath.add(nearest, step)
    paths = repmath.rounding.add(paths, step, "stochastic", seed=1, stream=n)
    seen.append((nearest, paths))

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot([p for _, p in seen], color="C1", linewidth=0.8, label=["rounded at random"] + [None] * 7)
axes.plot(1 + float(step) * np.arange(STEPS), "k--", label="exact")
axes.plot([n for n, _ in seen], color="C0", label="rounded to the nearest")
axes.set(xlabel="additions", ylabel="sum in float16")
axes.legend()
figure.savefig("stochastic_rounding.png", dpi=120)
