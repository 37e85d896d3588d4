"""What the attacks share: how long they go on, and the seed that repeats one.

A sample runs in `make test`, always the same. `make fuzz SECONDS=600` shares so many seconds among the attacks, with another seed each
time; REPMATH_FUZZ_SEED gives the seed that a failure has printed."""

import os
import time

import numpy as np

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
