"""What is known of a chaotic sequence

The logistic map x -> 4x (1 - x) doubles an error at each step. Two formulas of the same polynomial part after some fifty steps in float64, and neither says so.
Rounded down and up, the same operations give an interval that holds the exact value: it says when nothing is known any more.
"""

import matplotlib.pyplot as plt
import numpy as np

import repmath
from repmath import rounding

STEPS = 70
a = b = low = high = np.array([0.3])
points = []
for _ in range(STEPS):
    points.append([float(v[0]) for v in (a, b, low, high)])
    a = repmath.multiply(4 * a, repmath.subtract(1.0, a))
    b = repmath.subtract(4 * b, repmath.multiply(4 * b, b))
    # 4x (1 - x) rises up to 1/2 and falls afterwards; a product with 4 is exact.
    ends = [
        (rounding.multiply(4 * x, rounding.subtract(1.0, x, "down"), "down"),
         rounding.multiply(4 * x, rounding.subtract(1.0, x, "up"), "up"))
        for x in (low, high)
    ]  # fmt: skip
    inside = bool(low[0] <= 0.5 <= high[0])
    low, high = np.minimum(ends[0][0], ends[1][0]), np.array([1.0]) if inside else np.maximum(ends[0][1], ends[1][1])

points = np.array(points)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.fill_between(range(STEPS), points[:, 2], points[:, 3], color="0.85", label="holds the exact value")
axes.plot(points[:, 0], ".-", linewidth=0.6, label="4x (1 - x)")
axes.plot(points[:, 1], ".-", linewidth=0.6, label="4x - 4x²")
axes.set(xlabel="step", ylabel="x", xlim=(30, STEPS))
axes.legend(loc="lower left")
figure.savefig("intervals.png", dpi=120)
