"""One sum, many orders

The same 10,000 numbers are summed in 300 orders. Each addition of `numpy.sum` rounds, so that each order may have a sum of its own, as each number of threads and
each width of a vector has an order of its own. `repmath.sum` is the exact sum, rounded once: it has one value.
"""

import matplotlib.pyplot as plt
import numpy as np

import repmath

random = np.random.default_rng(0)
x = random.standard_normal(10_000).astype(np.float32)
orders = [random.permutation(x) for _ in range(300)]
plain = np.array([np.sum(a) for a in orders])
exact = {repmath.sum(a).item() for a in orders}
assert len(exact) == 1

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.hist(plain - exact.pop(), bins=41, label=f"numpy.sum: {len(set(plain))} values")
axes.axvline(0, color="C1", label="repmath.sum: 1 value")
axes.set(xlabel="difference from the exact sum, rounded", ylabel="orders")
axes.legend()
figure.savefig("sum_order.png", dpi=120)
