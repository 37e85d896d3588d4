"""How far a result is from the right one

The error of the sine in float32, in units in the last place. A correctly rounded result is never more than half a unit away, and no other number is as near. NumPy's
are often the neighbour.
"""

import matplotlib.pyplot as plt
import numpy as np

import repmath

x = np.sort(np.random.default_rng(0).uniform(0.1, 20, 4000).astype(np.float32))
exact = repmath.sin(x.astype(np.float64))  # beside a unit of float32 its own error is nothing
unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for name, sine in (("numpy.sin", np.sin), ("repmath.sin", repmath.sin)):
    axes.plot(x, (sine(x) - exact) / unit, ".", markersize=2, label=name)
axes.set(xlabel="x", ylabel="error in units in the last place")
axes.axhspan(-0.5, 0.5, color="0.9", zorder=0)
axes.legend(loc="upper right")
figure.savefig("errors.png", dpi=120)
