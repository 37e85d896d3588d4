"""Tables of lgamma and digamma. Usage: python crlibm/lgamma/lgamma_gen.py [--check]

T(t) = lgamma(2 + t) = (1 - gamma) t + sum over k >= 2 of (-1)^k (zeta(k) - 1) t^k/k and its derivative D(t) = digamma(2 + t), |t| <= 1/2. With
zeta(k) - 1 <= 2^(1-k) for k >= 3, what is left out of T/t and D from t^n on is below n 2^(2-2n). The asymptotic series are those of Stirling: for
positive arguments what is left out is below the first term left out, since Binet's integral of e^(-x t) times the sum over k of 2/(t^2 + 4 pi^2 k^2) is
cut term by term, each rest having the sign and a part of the size of the next term."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from fit import array, double, fit, hexa, log2, mp, mpf, write

mp.prec = 800

DEGREES = 15, 16  # T/t and D in binary64
DEGREE_TURN = 8  # sin(pi r)/(pi r) and cos(pi r) in r^2
SERIES = 8  # terms of the asymptotic series in binary64, from NEAR on
TERMS = 48  # of T/t and D in double-double
SERIES_DD = 14  # of the asymptotic series in double-double
TURN_DD = 17  # of sin and cos in double-double
LIMBS, SERIES_MP, BASE = 9, 50, 7  # of the asymptotic series in multiprecision, in (2^BASE/y)^2


def zeta_less_one(k):
    return mp.zeta(k) - 1 if k < 300 else mp.zeta(k, 2)


def taylor(terms):
    """The coefficients of T/t and of D."""
    ratio = [1 - mp.euler] + [(-1) ** k * zeta_less_one(k) / k for k in range(2, terms + 1)]
    slope = [1 - mp.euler] + [(-1) ** k * zeta_less_one(k) for k in range(2, terms + 1)]
    return ratio, slope


def turn(terms):
    """The coefficients of sin(pi r)/(pi r) and cos(pi r) in r^2."""
    sine = [(-1) ** k * mp.pi ** (2 * k) / mp.factorial(2 * k + 1) for k in range(terms)]
    cosine = [(-1) ** k * mp.pi ** (2 * k) / mp.factorial(2 * k) for k in range(terms)]
    return sine, cosine


def two_parts(values):
    """RN and RN of the rest, alternately."""
    return [part for v in values for part in (double(v), double(v - double(v)))]


def limbs(value):
    """The first LIMBS limbs of the fraction, rounded down, least significant first."""
    scaled = int(mp.floor(value * mpf(2) ** (64 * LIMBS)))
    return [scaled >> 64 * i & (2**64 - 1) for i in range(LIMBS)]


def wide(name, values):
    """A table of fractions, by limbs."""
    words = [f"0x{limb:016x}" for v in values for limb in limbs(v)]
    lines = [", ".join(words[i : i + 5]) for i in range(0, len(words), 5)]
    return f"RM_TABLE uint64_t {name}[{len(words)}] = {{\n  " + ",\n  ".join(lines) + "};\n"


def main():
    half = mpf(1) / 2
    series = taylor(220)
    sine, cosine = turn(60)
    bernoulli = [mp.bernoulli(2 * k) for k in range(1, SERIES_MP + 2)]
    stirling = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(bernoulli, 1)]
    digamma = [b / (2 * k) for k, b in enumerate(bernoulli, 1)]

    (t, t_error), (d, d_error) = (fit(a, half, degree, mpf(2) ** -400) for a, degree in zip(series, DEGREES, strict=True))
    quarter = mpf(1) / 8  # r^2 = 1/8 + q, |q| <= 1/8

    def at_eighth(series):
        n = len(series)
        return [sum(series[i] * mp.binomial(i, k) * quarter ** (i - k) for i in range(k, n)) for k in range(n)]

    s, s_error = fit(at_eighth(sine), quarter, DEGREE_TURN, mpf(2) ** -200)
    c, c_error = fit(at_eighth(cosine), quarter, DEGREE_TURN, mpf(2) ** -200)
    rest = abs(digamma[SERIES_MP]) * mpf(2) ** (-2 * BASE * (SERIES_MP + 1)) / 4 ** (SERIES_MP + 1)
    assert rest < mpf(2) ** -520
    out = [
        f"/* lgamma(2 + t)/t, |t| <= 1/2, within 2^{log2(t_error)}; digamma(2 + t), within 2^{log2(d_error)}. */",
        array("rm_lgamma_t64", t),
        array("rm_digamma_t64", d),
        f"/* sin(pi r)/(pi r), within 2^{log2(s_error)}, and cos(pi r), within 2^{log2(c_error)}, in r^2 - 1/8, |r| <= 1/2. */",
        array("rm_gamma_sine64", s),
        array("rm_gamma_cosine64", c),
        "/* Bernoulli's numbers B_2k over 2k (2k - 1), and over 2k. */",
        array("rm_lgamma_stirling", [double(v) for v in stirling[:SERIES]]),
        array("rm_digamma_stirling", [double(v) for v in digamma[:SERIES]]),
        f"#define RM_LGAMMA_HALF_LOG_2PI {hexa(double(mp.log(2 * mp.pi) / 2))} /* RN(log(2 pi)/2) */",
        f"#define RM_LGAMMA_HALF_LOG_2PI_LO {hexa(double(mp.log(2 * mp.pi) / 2 - double(mp.log(2 * mp.pi) / 2)))} /* RN(the rest) */",
        "",
        "/* The same in two parts each, RN and RN of the rest: Taylor coefficients of lgamma(2 + t)/t and digamma(2 + t), of",
        " * sin(pi r)/(pi r) and cos(pi r) in r^2, of the asymptotic series. */",
        f"#define RM_LGAMMA_TERMS {TERMS}",
        *(array(f"rm_{name}_taylor", two_parts(a[:TERMS])) for name, a in zip(("lgamma", "digamma"), series, strict=True)),
        f"#define RM_GAMMA_TURN_TERMS {TURN_DD}",
        array("rm_gamma_sine", two_parts(sine[:TURN_DD])),
        array("rm_gamma_cosine", two_parts(cosine[:TURN_DD])),
        f"#define RM_GAMMA_SERIES_TERMS {SERIES_DD}",
        f"#define RM_GAMMA_SERIES_NEXT 0x1p{int(mp.ceil(mp.log(abs(digamma[SERIES_DD]), 2)))} /* more than the next numbers */",
        array("rm_lgamma_series", two_parts(stirling[:SERIES_DD])),
        array("rm_digamma_series", two_parts(digamma[:SERIES_DD])),
    ]
    write(__file__, "lgamma_tables.h", "\n".join(out) + "\n")
    body = [
        f"#define RM_GAMMA_MP_LIMBS {LIMBS} /* of each number, a fraction, the least significant first, rounded down */",
        f"#define RM_GAMMA_MP_TERMS {SERIES_MP}",
        f"#define RM_GAMMA_MP_BASE {BASE}",
        "",
        f"/* |B_2k|/(2k) 2^(-{2 * BASE} k), k = 1 ... {SERIES_MP}; the signs alternate, the first one is positive. */",
        wide("rm_gamma_mp_series_table", [abs(v) * mpf(2) ** (-2 * BASE * k) for k, v in enumerate(digamma[:SERIES_MP], 1)]),
        "/* log(2 pi)/2 */",
        wide("rm_gamma_mp_half_log_2pi", [mp.log(2 * mp.pi) / 2]),
    ]
    write(__file__, "lgamma_mp_tables.h", "\n".join(body) + "\n")


if __name__ == "__main__":
    main()
