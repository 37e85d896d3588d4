"""Elementwise functions at random numbers against MPFR: every function and format, under every rounding mode, the random ones too, on every instruction set
that the CPU has."""

import elementwise_library
import numpy as np
import oracle
import ranges
import rounding_oracle
from convolution_library import dtype_of

from repmath import rounding

EACH, FEW = 150, 12  # numbers a round
OF_NUMPY = {
    name: getattr(np, {"pow": "power"}.get(name, name))
    for name in ("exp", "log", "sin", "tanh", "exp2", "log1p", "pow", "cbrt")
}


def scattered(rng, function, fmt, n):
    """Tuples of the format's numbers: of one of the function's intervals, of all its exponents, or any bits."""
    arity, kind, uint = oracle.ARITY[function], int(rng.integers(4)), oracle.FORMATS[fmt][2]
    if kind == 3:
        return tuple(
            oracle.to_double(rng.integers(0, 256**uint.itemsize, n, np.uint64).astype(uint), fmt) for _ in range(arity)
        )
    boxes, found = ranges.RANGES[function], []
    box = boxes[int(rng.integers(len(boxes)))]
    for low, high in box if arity > 1 else [box]:
        x = rng.uniform(low, high, n)
        if kind == 2:
            largest = int(np.frexp(max(abs(low), abs(high)))[1]) - 1
            x = np.ldexp(np.copysign(rng.uniform(1, 2, n), x), largest - rng.integers(0, int(rng.choice([8, 60, 1060])), n))
        found.append(x if fmt == "f64" else oracle.to_double(oracle.narrow(x, fmt), fmt))
    return tuple(found)


def cases(attack, least):
    """Every function in turn."""
    for k, rng in enumerate(attack.rounds(least)):
        yield oracle.FUNCTIONS[(attack.seed + k) % len(oracle.FUNCTIONS)], str(rng.choice(["f64", "f32", "f16", "bf16"])), rng


def check(got, want, x, *what):
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), (*what, len(wrong), [[float(v[i]).hex() for v in x] for i in wrong[:5]])


def test_functions(attack):
    others = 0
    for function, fmt, rng in cases(attack, len(oracle.FUNCTIONS)):
        fmt = fmt if rng.random() < 0.5 else "f64"
        x, rule = scattered(rng, function, fmt, EACH), str(rng.choice(list(oracle.RULES)))
        bits = tuple(oracle.to_bits(v, fmt) for v in x)
        want = oracle.values(function, x if len(x) > 1 else x[0], fmt, rule)
        for isa, library in elementwise_library.libraries().items():
            check(library.array(function, bits, fmt, rule), want, x, isa, function, fmt, rule)
            if rule == "nearest":
                check(library.array(function, bits, fmt), want, x, isa, function, fmt)
        if function in OF_NUMPY and fmt == "f64":
            with np.errstate(all="ignore"):
                others += int(np.sum(oracle.to_bits(OF_NUMPY[function](*x), fmt) != want))
    assert others > 0  # the control: NumPy's are not all rounded so


def test_functions_rounded_at_random(attack):
    for function, fmt, rng in cases(attack, len(oracle.FUNCTIONS)):
        mode, seed = str(rng.choice(rounding.RANDOM_MODES)), int(rng.integers(2**63))
        if function in ("erfinv", "ndtri"):
            continue  # elementwise/test_random_modes.py has them: the definition at so many digits is slow
        x = scattered(rng, function, fmt, FEW)
        columns = [oracle.to_bits(v, fmt).view(dtype_of(fmt)) for v in x]
        rows = list(zip(*[v.tolist() for v in x], strict=True))
        want = rounding_oracle.array_of(function, rows, fmt, mode, rounding_oracle.words(seed, 5, 0, FEW))
        with np.errstate(all="ignore"):
            got = getattr(rounding, function)(*columns, mode, seed=seed, stream=5)
        check(got.view(oracle.FORMATS[fmt][2]), want, x, function, fmt, mode, seed)
