"""Writes tests/data/hardcases/f32/<function>.txt from the undecided inputs of a whole run.

    exhaustive_f32 <function> 1 <file>;  python tests/exhaustive/hard_f32.py <function> <file> [<least>]

Inputs below `least` in magnitude are left out: where x/2 is subnormal, every other result of silu and gelu_tanh is a hair from a
midpoint. Every input whose result lies very close to the midpoint of two f32 numbers is undecided, so the hardest of all 2^32 inputs are
among them: the file gets the COUNT nearest, nearest first, measured in ulps with MPFR."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import definitions  # noqa: E402
import gmpy2  # noqa: E402
import numpy as np  # noqa: E402
import oracle  # noqa: E402

COUNT = 800


def distance(function, x):
    """From the midpoint, in ulps."""
    try:
        y = abs(definitions.value(function, gmpy2.mpfr(x)))
    except definitions.Exact as e:
        y = abs(e.value)
    quantum = max(gmpy2.get_exp(y) - 24, -149)
    return abs(gmpy2.frac(y / gmpy2.exp2(quantum)) - 0.5)


def main(function, file, least="0"):
    x = np.fromfile(file, dtype="<f4").reshape(-1, 2)[:, 0]
    x = x[np.abs(x) >= float.fromhex(least)]
    with definitions.wide():
        cases = sorted((float(distance(function, float(v))), float(v).hex()) for v in set(x.tolist()))[:COUNT]
    lines = [
        f"# The {len(cases)} hardest binary32 inputs for {function}(x), nearest to a midpoint first, one hexadecimal float a line.",
        f"# Source: tests/exhaustive/hard_f32.py over all 2^32 inputs{f' of magnitude {least} up' * (least != '0')}; the nearest is {cases[0][0]:.3g} ulp from a midpoint.",
        *(text for _, text in cases),
    ]
    path = oracle.ROOT / f"tests/data/hardcases/f32/{function}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
