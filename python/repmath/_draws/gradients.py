"""Derivatives of gamma and Dirichlet numbers by their parameters, at a fixed value of the distribution function: g = -(dF/da)/f.

Of a gamma number x, F(x) f(x)^-1 = x S(x), S = t_0 + t_1 + ... with t_0 = 1/a, t_n = t_(n-1) x/(a + n); the derivative of the logarithm of t_n x^a/Gamma(a),
by a, gives
    g = x sum t_n (psi(a + 1) - log x + A_n),  A_n = 1/(a + 1) + ... + 1/(a + n).
PyTorch's _dirichlet_grad is -(dI/da)/((1 - x) f) of I = I_x(a, b), a + b = c. In the same way, with t_n = t_(n-1) x (c + n - 1)/(a + n) and B_n = 1/c + ... +
1/(c + n - 1),
    g = x sum t_n (psi(a + 1) - psi(c) - log x + A_n - B_n),
and with I_x(a, b) = 1 - I_y(b, a), y = 1 - x, t_0 = 1/b and t_n = t_(n-1) y (c + n - 1)/(b + n),
    g = x sum t_n (psi(c) - psi(a) + log x + B_n),
which serves x > 1/2. So all are x (k S + S_A - S_B) or x (k S + S_B). All terms but k are positive.

The terms fall from some n on, by a factor of at most r = t_(n+1)/t_n from there, if r < 1 falls itself or, in the second case, tends to x from below: r is replaced
by max(r, x) there. What is left out then is below t_n r/(1 - r) of S and t_n (r/(1 - r) H + r/((1 - r)^2 q)) of S_A or S_B, where H is A_n or B_n and 1/q the next
term of it."""

import decimal
import functools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .. import _core
from .._dtypes import F64
from . import pairs
from .counts import _bernoulli
from .enclosures import Arithmetic, Enclosure, round_enclosure
from .gamma import _test
from .pairs import Pair
from .sequences import CHUNK

_A = np.ndarray[Any, Any]

MOST = 1 << 14
"""Terms of a series, beyond which a derivative is not computed."""


class TooLong(ValueError):
    """More terms than that would be needed."""


# ---------------------------------------------------------------------------------------------------------------- in digits


def _digamma_within(y: Fraction, by: Arithmetic) -> Enclosure:
    """psi(y) = log Y - 1/(2Y) - sum B_2k/(2k Y^2k) - sum 1/(y + j), Y = y + m; what the first sum leaves out is less than its next term."""
    digits = by.near.prec
    least = digits
    m = max(least - int(y), 0)
    total = by.of(0)
    for j in range(m):
        total = total - by.of(1 / (y + j))
    far = y + m
    square = by.of(far) * by.of(far)
    total = total + by.of(far).ln() - by.of(1 / (2 * far))
    power, limit = by.of(1), Decimal(10) ** -(digits + 2)
    for k in range(1, 2 * digits):
        power = power * square
        term = by.of(_bernoulli(2 * k) / (2 * k)) / power
        size = max(abs(term.low), abs(term.high))
        if size < limit:
            return Enclosure(by, by.down.subtract(total.low, size), by.up.add(total.high, size))
        total = total - term
    raise ArithmeticError("Stirling's series ends at a term that is not small")


def _sums_within(
    divisor: Fraction, w: Fraction, c: Fraction | None, digits: int
) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """S, S_A, S_B and a bound on the relative error of each: to the nearest, a term takes four roundings more than the one before, and so do sums."""
    near = decimal.Context(
        digits, decimal.ROUND_HALF_EVEN, decimal.MIN_EMIN, decimal.MAX_EMAX, 1, 0, [], [decimal.InvalidOperation]
    )
    d, x, start = (
        near.divide(Decimal(v.numerator), Decimal(v.denominator)) for v in (divisor, w, c if c is not None else Fraction(1))
    )
    one, zero = Decimal(1), Decimal(0)
    term = near.divide(one, d)
    s, a, b, sa, sb, n = term, zero, zero, zero, zero, 0
    small = Decimal(10) ** -digits
    while True:
        n += 1
        below = near.add(d, Decimal(n))
        ratio = near.divide(x, below)
        a = near.add(a, near.divide(one, below))
        if c is not None:
            above = near.add(start, Decimal(n - 1))
            ratio = near.multiply(ratio, above)
            b = near.add(b, near.divide(one, above))
        term = near.multiply(term, ratio)
        s, sa, sb = near.add(s, term), near.add(sa, near.multiply(term, a)), near.add(sb, near.multiply(term, b))
        r = max(ratio, x) if c is not None else ratio
        if n % 8 == 0 and r < Decimal("0.999") and term < small * s:
            tail = r / (1 - r) / (1 - r) * 2
            rest = term * tail
            if all(
                rest * (h + 1 / q) <= small * v for h, q, v in ((a, d + n, sa), (b, start + n, sb if c is not None else one))
            ):
                break
        if n > 40 * MOST:
            raise TooLong(f"the derivative takes more than {40 * MOST} terms")
    return s, sa, sb, Decimal(8 * n + 32) * Decimal(10) ** (1 - digits)


def _within(kind: str, a: float, x: float, c: float, by: Arithmetic) -> Enclosure:
    """g."""
    shape, number, total = Fraction(a), Fraction(x), Fraction(c)
    log = by.of(number).ln()
    if kind == "gamma":
        sums = _sums_within(shape, number, None, by.near.prec)
        k = _digamma_within(shape + 1, by) - log
    elif kind == "low":
        sums = _sums_within(shape, number, total, by.near.prec)
        k = _digamma_within(shape + 1, by) - _digamma_within(total, by) - log
    else:
        sums = _sums_within(total - shape, 1 - number, total, by.near.prec)
        k = _digamma_within(total, by) - _digamma_within(shape, by) + log
    error = sums[3]
    s, sa, sb = (Enclosure(by, by.down.multiply(v, 1 - error), by.up.multiply(v, 1 + error)) for v in sums[:3])
    inner = k * s + sb if kind == "high" else k * s + sa - sb
    return by.of(number) * inner


# --------------------------------------------------------------------------------------------------------------- in vectors


def _sums(divisor: Pair, w: _A, c: _A | None, close: bool) -> tuple[Pair, Pair, Pair, _A]:
    """S, S_A, S_B, and how many terms were added. What is left out is below 2^-60 of the sums, or 2^-110. Rows that are not decided so are NaN."""
    size = w.size
    out = np.full((6, size), np.nan)
    counts = np.zeros(size)
    nothing = np.zeros(size)
    state: list[_A] = []
    if close:
        first = pairs.over((nothing + 1.0, nothing), divisor)
    else:
        first = 1.0 / divisor[0], nothing
    # the sums S, S_A, S_B, A, B, the term; in two parts each
    state = [v.copy() for v in (*first, nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing, *first)]
    given = [*divisor, w, nothing if c is None else c]
    at = np.arange(size)
    limit = 2.0**-110 if close else 2.0**-60
    n = 0
    with np.errstate(all="ignore"):
        while at.size and n <= MOST:
            n += 1
            d, e, x, total = given
            state, ratio = (_step_closely if close else _step)(state, d, e, x, total, n, c is not None)
            if n % 8:
                continue
            r = ratio if c is None else np.maximum(ratio, x)
            tail = state[10] * np.where(r < 1.0, 2.0 * r / (1.0 - r) / (1.0 - r), np.inf)
            done = tail <= limit * state[0]
            done &= tail * (state[6] + 1.0 / (d + n)) <= limit * state[2]
            if c is not None:
                done &= tail * (state[8] + 1.0 / (total + n)) <= limit * state[4]
            broken = ~np.isfinite(state[0])
            if done.any() or broken.any():
                for k in range(6):
                    out[k, at[done]] = state[k][done]
                counts[at[done]] = n
                keep = ~(done | broken)
                state, given, at = [v[keep] for v in state], [v[keep] for v in given], at[keep]
    if at.size and n > MOST:
        raise TooLong(f"the derivative takes more than {MOST} terms")
    return (out[0], out[1]), (out[2], out[3]), (out[4], out[5]), counts


def _step(state: list[_A], d: _A, e: _A, x: _A, total: _A, n: int, both: bool) -> tuple[list[_A], _A]:
    below = d + n
    ratio = x / below
    state[6] = state[6] + 1.0 / below
    if both:
        above = total + (n - 1)
        ratio = ratio * above
        state[8] = state[8] + 1.0 / above
    term = state[10] * ratio
    state[10] = term
    state[0], state[2] = state[0] + term, state[2] + term * state[6]
    if both:
        state[4] = state[4] + term * state[8]
    return state, ratio


def _step_closely(state: list[_A], d: _A, e: _A, x: _A, total: _A, n: int, both: bool) -> tuple[list[_A], _A]:
    nothing, one = np.zeros_like(d), np.ones_like(d)
    below = pairs.plus((d, e), (nothing + n, nothing))
    inverse = pairs.over((one, nothing), below)
    ratio = pairs.times((x, nothing), inverse)
    sums = pairs.plus((state[6], state[7]), inverse)
    other: Pair = (state[8], state[9])
    if both:
        above = pairs.two_sum(total, nothing + (n - 1))
        ratio = pairs.times(ratio, above)
        other = pairs.plus(other, pairs.over((one, nothing), above))
    term = pairs.times((state[10], state[11]), ratio)
    made = [*pairs.plus((state[0], state[1]), term), *pairs.plus((state[2], state[3]), pairs.times(term, sums))]
    made += [*pairs.plus((state[4], state[5]), pairs.times(term, other))] if both else [state[4], state[5]]
    return [*made, *sums, *other, *term], ratio[0]


def _log(x: _A) -> Pair:
    """log x in two parts, within 2^-85 and 2^-95 of itself."""
    m, e = np.frexp(x)
    (first, second, third), _ = pairs._constants()
    p, q = pairs.two_product(e * 1.0, np.full_like(x, second))
    rest = pairs.plus((e * first, np.zeros_like(x)), pairs.fast_two_sum(p, q + e * third))
    return pairs.plus(rest, pairs.log((m, np.zeros_like(x))))


def _digammas(high: _A, low: Any = 0.0) -> Pair:
    """psi of sums in two parts, each different one by its digits: within 2^-100."""
    keys = np.stack([high, np.zeros_like(high) + low], axis=1)
    different, inverse = np.unique(keys, axis=0, return_inverse=True)
    made = np.array([_digamma_pair(float(h), float(v)) for h, v in different]).reshape(-1, 2)
    return made[inverse.ravel(), 0], made[inverse.ravel(), 1]


@functools.lru_cache(4096)
def _digamma_pair(high: float, low: float) -> tuple[float, float]:
    by = Arithmetic(40)
    with decimal.localcontext(by.near):
        return pairs.constant(_digamma_within(Fraction(high) + Fraction(low), by).low)


def _kernel(kind: str, a: _A, x: _A, c: _A, close: bool) -> tuple[_A, _A, _A]:
    """g in two parts, and a bound on its relative error.

    Sums have the relative error that their roundings add up to, at most five for a term beside those of the one before and one for each addition: (8n + 32) 2^-53,
    or 2^-97, of n terms. k has those of its parts: each is within 2^-52 of itself, or of 1 where the argument was rounded; in two parts within 2^-84 and 2^-94 of
    itself."""
    nothing = np.zeros_like(x)
    if kind == "gamma":
        series = _sums((a, nothing), x, None, close)
    elif kind == "low":
        series = _sums((a, nothing), x, c, close)
    else:
        series = _sums(pairs.two_sum(c, -a), 1.0 - x, c, close)
    s, sa, sb, n = series
    signs = (1.0, -1.0, -1.0) if kind != "high" else (-1.0, 1.0, 1.0)  # of psi(a + 1 or a), psi(c), log x
    with np.errstate(all="ignore"):
        if close:
            psi = _digammas(*pairs.two_sum(a, nothing + (kind != "high")))
            other = (nothing, nothing) if kind == "gamma" else _digammas(c)
            parts = [pairs.scaled(v, sign) for v, sign in zip((psi, other, _log(x)), signs, strict=True)]
            k = pairs.plus(pairs.plus(parts[0], parts[1]), parts[2])
            size = sum(np.abs(p[0]) for p in parts)
            total = pairs.plus(pairs.times(k, s), sb if kind == "high" else pairs.plus(sa, pairs.scaled(sb, -1.0)))
            terms = np.abs(k[0]) * s[0] + sb[0] + (0.0 if kind == "high" else sa[0])
            bound = terms * (8.0 * n + 32.0) * 2.0**-97 + s[0] * (size * 2.0**-94 + 2.0**-84)
            value = pairs.times((x, nothing), total)
        else:
            digamma = _core.ufuncs["digamma"]
            rough, size = nothing, nothing
            of_c = nothing if kind == "gamma" else digamma(c)
            for sign, part in zip(
                signs, (digamma(a + 1.0 if kind != "high" else a), of_c, _core.ufuncs["log"](x)), strict=True
            ):
                rough, size = rough + sign * part, size + np.abs(part)
            whole = rough * s[0] + (sb[0] if kind == "high" else sa[0] - sb[0])
            terms = np.abs(rough) * s[0] + sb[0] + (0.0 if kind == "high" else sa[0])
            bound = terms * (8.0 * n + 32.0) * 2.0**-53 + s[0] * (size + 2.0) * 2.0**-51
            total, value = (whole, nothing), (x * whole, nothing)
        return value[0], value[1], bound * (1.0 + 2.0**-10) / np.abs(total[0]) + (2.0**-96 if close else 2.0**-52)


def _fill(out: _A, a: _A, x: _A, c: _A, kind_of: Callable[[_A], list[tuple[str, _A]]]) -> None:
    close = out.dtype == F64
    for start in range(0, out.size, CHUNK):
        chunk = np.arange(start, min(start + CHUNK, out.size))
        for kind, at in kind_of(chunk):
            high, low, error = _kernel(kind, a[at], x[at], c[at], close)
            made, undecided = _test(high, low, np.where(np.isnan(error), 1.0, error), out.dtype)
            for k in np.nonzero(undecided)[0].tolist():
                i = at[k]
                made[k] = round_enclosure(functools.partial(_within, kind, float(a[i]), float(x[i]), float(c[i])), out.dtype)
            out[at] = made


def _check(name: str, values: _A, good: _A, limits: str) -> None:
    if not good.all():
        raise ValueError(f"{name} must be {limits}, not {values[~good][0]}")


def gamma_gradient(a: _A, x: _A, out: _A) -> None:
    """Fills out, one axis: RN(g), of shapes and gamma numbers; of the number 0 it is +0."""
    _check("a", a, (a >= 2.0**-50) & (a <= 2.0**500), "from 2**-50 to 2**500")
    _check("x", x, (x >= 0.0) & (x < np.inf), "finite and not negative")
    zero = x == 0.0
    out[zero] = 0

    def kinds(chunk: _A) -> list[tuple[str, _A]]:
        return [("gamma", chunk[~zero[chunk]])]

    _fill(out, a, x, a, kinds)


def dirichlet_gradient(a: _A, x: _A, c: _A, out: _A) -> None:
    """Fills out, one axis: RN(g) of PyTorch's _dirichlet_grad; of the number 0 it is +0."""
    _check("alpha", a, (a >= 2.0**-50) & (a <= 2.0**500), "from 2**-50 to 2**500")
    _check("x", x, (x >= 0.0) & (x <= 1.0), "from 0 to 1")
    _check("total", c, (c > a) & (c <= 2.0**501), "greater than alpha and at most 2**501")
    zero = x == 0.0
    out[zero] = 0

    def kinds(chunk: _A) -> list[tuple[str, _A]]:
        low = x[chunk] <= 0.5
        return [("low", chunk[low & ~zero[chunk]]), ("high", chunk[~low])]

    _fill(out, a, x, c, kinds)
