"""What the attacks share: how long they go on, the seed that repeats one, and random numbers.

A sample runs in `make test`, always the same. `make fuzz SECONDS=600` shares so many seconds among the attacks, with another seed each
time; REPMATH_FUZZ_SEED gives the seed that a failure has printed."""

import os
import time

import numpy as np
from exact_oracle import FORMATS

SECONDS = float(os.environ.get("REPMATH_FUZZ_SECONDS", "0"))


def first_seed():
    given = os.environ.get("REPMATH_FUZZ_SEED")
    return int(given) if given else time.time_ns() % 10**9 if SECONDS else 1


class Attack:
    """Rounds of random cases: at least so many, then until the time is over."""

    def __init__(self, seconds):
        self.seconds, self.seed = seconds, first_seed()

    def rounds(self, least):
        """Generators of random numbers, each of a seed that is printed when the round fails."""
        start, done = time.monotonic(), 0
        while done < least or time.monotonic() - start < self.seconds:
            seed = self.seed + done
            try:
                yield np.random.default_rng(seed)
            finally:
                self.last = seed
            done += 1
        self.done = done
        print(f"{done} rounds from seed {self.seed}")


def numbers(rng, fmt, shape):
    """Finite numbers of the format: of one size, of all sizes, or with pairs that cancel; some zeros."""
    kind = FORMATS[fmt][0]
    spread = {"f16": 8, "bf16": 60, "f32": 60, "f64": 500}[fmt]
    exponents = rng.integers(-spread, spread + 1, shape) if rng.random() < 0.6 else rng.integers(-2, 3, shape)
    x = rng.choice([-1.0, 1.0], shape) * rng.uniform(1, 2, shape) * 2.0**exponents
    if rng.random() < 0.2:  # subnormal sizes
        x = x * 2.0 ** {"f16": -20, "bf16": -110, "f32": -110, "f64": -560}[fmt]
    x = np.where(rng.random(shape) < 0.05, 0.0, x)
    with np.errstate(all="ignore"):
        x = x.astype(kind)
    x[~np.isfinite(x)] = kind(1)
    if rng.random() < 0.4 and x.size > 2:
        flat = x.reshape(-1)
        half = flat.size // 2
        flat[half : 2 * half] = -flat[:half]
        flat[rng.integers(flat.size)] = kind(2.0 ** -int(rng.integers(0, 8)))
    return x
