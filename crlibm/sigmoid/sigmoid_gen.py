"""Constants of the functions x sigmoid(t(x)). Usage: python crlibm/sigmoid/sigmoid_gen.py [--check]"""

import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from fit import double, hexa, mp, mpf, write

C = mp.sqrt(8 / mp.pi)
E = mpf("0.044715")


def derivative(t, slope):
    """(x sigmoid(t(x)))' up to a positive factor, x < 0."""
    return lambda x: 1 + mp.exp(t(x)) + x * slope(x)


def zero(t, slope, start):
    """The least number of binary64 above the negative zero of the derivative, which grows there."""
    f = derivative(t, slope)
    x = float(mp.findroot(f, start))
    while f(mpf(x)) > 0:
        x = math.nextafter(x, -math.inf)
    while f(mpf(x)) <= 0:
        x = math.nextafter(x, math.inf)
    return x


def main():
    out = []

    def parts(name, value, text):
        high = double(value)
        out.append(f"#define {name} {hexa(high)} /* RN({text}) */")
        out.append(f"#define {name}_LO {hexa(value - high)} /* RN({text} - {name}) */")

    out.append("/* gelu_tanh: the argument c x + c e x^3 of the sigmoid, c = sqrt(8/pi), e = 0.044715. */")
    parts("RM_SIGMOID_CUBIC_C", C, "c")
    parts("RM_SIGMOID_CUBIC_CE", C * E, "c e")
    step = mp.log(2) / 16
    for name, value, text in (
        ("3CE", 3 * C * E, "3 c e"),
        ("C16", C / step, "c 16/ln2"),
        ("CE16", C * E / step, "c e 16/ln2"),
    ):
        out.append(f"#define RM_SIGMOID_CUBIC_{name} {hexa(value)} /* RN({text}) */")
    out.append("")
    silu = zero(lambda x: x, lambda x: 1, -1.28)
    gelu = zero(lambda x: C * (x + E * x**3), lambda x: C * (1 + 3 * E * x * x), -0.75)
    out.append(
        "/* The derivatives of silu and gelu_tanh are negative below, positive from here on; no number of binary64 is a zero. */"
    )
    out.append(f"#define RM_SIGMOID_SILU_ZERO {hexa(silu)}")
    out.append(f"#define RM_SIGMOID_GELU_TANH_ZERO {hexa(gelu)}")
    write(__file__, "sigmoid_tables.h", "\n".join(out) + "\n")


if __name__ == "__main__":
    main()
