"""Learning-rate schedules: real formulas of exact binary64 numbers and the number of the step, rounded once to binary64.

Everything is computed with rational numbers. Where a formula is not rational (the cosine), or its exact value would be very
long (a power), an enclosing interval is evaluated with growing precision until both ends round to the same number."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from ._inplace import check_count, check_number

_Interval = tuple[Fraction, Fraction]


def _exact(name: str, x: Any, minimum: float = 0.0) -> Fraction:
    return Fraction(check_number(name, x, minimum))


def _rounded(x: Fraction) -> float:
    """RN(x). The quotient of two integers is rounded once, subnormal numbers included."""
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def _decide(interval: Callable[[int], _Interval]) -> float:
    """The number to which both ends of interval(bits) round, for the smallest number of bits where they agree."""
    bits = 128
    while True:
        low, high = interval(bits)
        if _rounded(low) == _rounded(high):
            return _rounded(low)
        bits *= 2


def _power(base: Fraction, n: int, bits: int) -> _Interval:
    """An interval of relative width below 2^-bits that holds base^n, base >= 0: exact when that has at most 4 bits digits; or
    one that says that it is below 2^-60000 or above 2^60000.

    Binary powers of integers m 2^e, m cut to `kept` bits below and one more above: a relative error of 2^(1 - kept). An error of a
    square comes up in the result as often as the square does, n times in all; fewer than 4 n such errors add up."""
    if base == 0 or n == 0:
        return (Fraction(int(n == 0)),) * 2
    kept = bits + n.bit_length() + 8
    exact = base.numerator.bit_length() * n <= 4 * bits

    def times(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
        low, high, e = a[0] * b[0], a[1] * b[1], a[2] + b[2]
        cut = 0 if exact else max(high.bit_length() - kept, 0)
        return low >> cut, -(-high >> cut), e + cut

    e = -(base.denominator.bit_length() - 1)  # a power of two: base is a binary64 number
    square = (base.numerator, base.numerator, e)
    low, high, e = 1, 1, 0
    while n:
        if n & 1:
            low, high, e = times((low, high, e), square)
        n >>= 1
        if n:
            square = times(square, square)
    if e < -(1 << 16):
        return Fraction(0), Fraction(1, 1 << 60000)
    if e > 1 << 16:
        return (Fraction(1 << 60000),) * 2
    return low * Fraction(2) ** e, high * Fraction(2) ** e


def _scaled_power(lr: Fraction, gamma: Fraction, n: int) -> float:
    """RN(lr gamma^n). It ends: with gamma = a 2^k, a odd, the value is on a boundary of rounding only if lr a^n has at most 54 bits; then
    _power is exact."""

    def interval(bits: int) -> _Interval:
        low, high = _power(gamma, n, bits)
        return lr * low, lr * high

    return _decide(interval)


def _pi(bits: int) -> _Interval:
    """Machin: pi = 16 atan(1/5) - 4 atan(1/239), each series alternating with falling terms."""
    one = 1 << (bits + 16)

    def arctan_of_inverse(x: int) -> tuple[int, int]:
        total, power, k, terms = 0, one // x, 1, 0
        while power:
            total += (-1) ** terms * (power // k)
            power //= x * x
            k += 2
            terms += 1
        return total, 2 * terms + 2  # a unit for each division, and one for the rest

    a, a_err = arctan_of_inverse(5)
    b, b_err = arctan_of_inverse(239)
    middle, err = 16 * a - 4 * b, 16 * a_err + 4 * b_err
    return Fraction(middle - err, one), Fraction(middle + err, one)


def _cos_pi(x: Fraction, bits: int) -> _Interval:
    """An interval around cos(pi x), 0 <= x <= 1, exact where the cosine is rational (Niven): for x = 0, 1/3, 1/2, 2/3 and 1."""
    sixths = {0: Fraction(1), 2: Fraction(1, 2), 3: Fraction(0), 4: Fraction(-1, 2), 6: Fraction(-1)}
    if 6 * x in sixths:
        return (sixths[int(6 * x)],) * 2
    if x > Fraction(1, 2):
        low, high = _cos_pi(1 - x, bits)
        return -high, -low
    low, high = _pi(bits)
    one = 1 << (bits + 32)
    angle = (low + high) / 2 * x
    scaled = angle.numerator * one // angle.denominator
    square = scaled * scaled // one
    total, term, k = 0, one, 0
    while term:  # below pi/2 the terms from the second on fall, and alternate
        total += (-1) ** (k // 2) * term
        term = term * square // (one * (k + 1) * (k + 2))
        k += 2
    # The angle is off by half of pi's interval, which the cosine takes over, and one unit, the square then by 4.2 units; a term by one
    # unit, at most 2.1 for the square, and less than what the one before was off: below 8 units each.
    err = Fraction(8 * (k + 2), one) + (high - low)
    middle = Fraction(total, one)
    return middle - err, middle + err


def _annealed(start: Fraction, end: Fraction, x: Fraction) -> float:
    """RN(end + (start - end)(1 + cos(pi x))/2). A cosine that is not rational makes it irrational, and the intervals shrink."""

    def interval(bits: int) -> _Interval:
        ends = [end + (start - end) * (1 + c) / 2 for c in _cos_pi(x, bits)]
        return min(ends), max(ends)

    return _decide(interval)


def step_schedule(lr: float, step: int, step_size: int, gamma: float = 0.1) -> float:
    """``RN(lr*gamma**(step // step_size))``.

    Parameters
    ----------
    lr, gamma : float
        Finite and not negative; taken as exact.
    step : int
        How many steps have been made, from 0.
    step_size : int
        Steps between two changes, at least 1.

    Returns
    -------
    float
        The learning rate, rounded once.

    Raises
    ------
    TypeError, ValueError
        An argument is no number, or out of range.
    """
    lr_, gamma_ = _exact("lr", lr), _exact("gamma", gamma)
    return _scaled_power(lr_, gamma_, check_count("step", step) // check_count("step_size", step_size, 1))


def multistep_schedule(lr: float, step: int, milestones: Iterable[int], gamma: float = 0.1) -> float:
    """``RN(lr*gamma**k)``, where k is how many of the milestones are at most `step`.

    Parameters
    ----------
    lr, gamma, step
        As for `step_schedule`.
    milestones : iterable of int
        Steps at which the rate changes, in any order; one that is named twice counts twice.

    Returns
    -------
    float
        The learning rate, rounded once.

    Raises
    ------
    TypeError, ValueError
        An argument is no number, or out of range.
    """
    lr_, gamma_, at = _exact("lr", lr), _exact("gamma", gamma), check_count("step", step)
    return _scaled_power(lr_, gamma_, sum(check_count("milestones", m) <= at for m in milestones))


def exponential_schedule(lr: float, step: int, gamma: float) -> float:
    """``RN(lr*gamma**step)``. Parameters and errors are those of `step_schedule`."""
    return _scaled_power(_exact("lr", lr), _exact("gamma", gamma), check_count("step", step))


def cosine_schedule(lr: float, step: int, steps: int, eta_min: float = 0.0) -> float:
    """``RN(eta_min + (lr - eta_min)*(1 + cos(pi*step/steps))/2)``.

    Parameters
    ----------
    lr, eta_min : float
        The rate at step 0 and at `steps`; finite and not negative, taken as exact.
    step : int
        How many steps have been made, from 0. After `steps` the rate rises again, with
        the period ``2*steps``.
    steps : int
        At least 1.

    Returns
    -------
    float
        The learning rate, rounded once.

    Raises
    ------
    TypeError, ValueError
        An argument is no number, or out of range.
    """
    start, end, n = _exact("lr", lr), _exact("eta_min", eta_min), check_count("steps", steps, 1)
    at = check_count("step", step) % (2 * n)
    return _annealed(start, end, Fraction(min(at, 2 * n - at), n))


def linear_schedule(lr: float, step: int, steps: int, start: float = 1.0 / 3.0, end: float = 1.0) -> float:
    """``RN(lr*(start + (end - start)*min(step, steps)/steps))``.

    Parameters
    ----------
    lr, start, end : float
        The rate, and the factors of it at step 0 and from `steps` on; finite and not
        negative, taken as exact.
    step : int
        How many steps have been made, from 0.
    steps : int
        At least 1.

    Returns
    -------
    float
        The learning rate, rounded once.

    Raises
    ------
    TypeError, ValueError
        An argument is no number, or out of range.
    """
    rate, low, high = _exact("lr", lr), _exact("start", start), _exact("end", end)
    n, at = check_count("steps", steps, 1), check_count("step", step)
    return _rounded(rate * (low + (high - low) * min(at, n) / n))


def warm_up_schedule(lr: float, step: int, steps: int) -> float:
    """``RN(lr*min(step + 1, steps)/steps)``: `steps` steps of rising rates, the first not 0. Arguments as for `linear_schedule`."""
    n, at = check_count("steps", steps, 1), check_count("step", step)
    return _rounded(_exact("lr", lr) * min(at + 1, n) / n)


def one_cycle_schedule(
    max_lr: float,
    step: int,
    steps: int,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> float:
    """From a low rate up to max_lr and down to a lower one, along half cosines.

    With ``low = max_lr/div_factor``, ``last = low/final_div_factor`` and
    ``peak = pct_start*steps - 1``: from low to max_lr over steps 0 to peak, then to
    last over peak to steps - 1. Between two rates a and b, after the share x of the
    way, the rate is ``RN(b + (a - b)*(1 + cos(pi*x))/2)``; nothing else is rounded.

    Parameters
    ----------
    max_lr : float
        The largest rate; finite and not negative, taken as exact as the factors are.
    step : int
        How many steps have been made, from 0 to steps - 1.
    steps : int
        At least 1.
    pct_start : float, optional
        The share of rising steps, from 0 to 1.
    div_factor, final_div_factor : float, optional
        Greater than 0.

    Returns
    -------
    float
        The learning rate, rounded once.

    Raises
    ------
    TypeError, ValueError
        An argument is no number, or out of range.
    """
    top, share = _exact("max_lr", max_lr), _exact("pct_start", pct_start)
    first, second = _exact("div_factor", div_factor), _exact("final_div_factor", final_div_factor)
    at, n = check_count("step", step), check_count("steps", steps, 1)
    if at >= n:
        raise ValueError(f"step must be less than steps = {n}, not {at}")
    if share > 1:
        raise ValueError(f"pct_start must be at most 1, not {pct_start}")
    if first == 0 or second == 0:
        raise ValueError("div_factor and final_div_factor must be greater than 0")
    low = top / first
    peak = share * n - 1
    if at <= peak:
        return _annealed(low, top, at / peak) if peak else _rounded(top)
    begin = max(peak, Fraction(0))
    return _annealed(top, low / second, (at - begin) / (n - 1 - begin)) if n - 1 > begin else _rounded(low / second)
