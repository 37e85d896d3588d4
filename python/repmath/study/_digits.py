"""Significant digits of results that vary: three estimates, each with what it does not know.

parker: -log10(s/|m|), s the standard deviation with n - 1 in its denominator (Parker 1997), with the interval that the distribution of
s gives for normal errors. cnh: the digits that a new sample has with probability p (Sohier, de Oliveira Castro, Févotte, Lathuilière,
Petit, Jamond, 2021, for normal centred errors): -log10(s/|r|) less a margin; s has n - 1 in its denominator because the margin's
quantile is that of n - 1 degrees of freedom. general: the digits that all samples have; with enough of them a new one has these with
probability p, whatever the distribution is.

Samples that are all alike say nothing about digits beyond the format's own: these are censored values, at least the format's digits."""

import math
import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np

import repmath

from ._needs import need

METHODS = ("cnh", "general", "parker")
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def samples_needed(probability: float, confidence: float) -> int:
    """How many samples the estimate `general` needs: p^n ≤ 1 - confidence."""
    return math.ceil(math.log(1 - confidence) / math.log(probability))


@dataclass
class Digits:
    """Decimal digits of each element: an estimate, the ends of its interval, and whether it is only a lower bound.

    A censored value is that of the format, which the samples do not tell apart from more."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    censored: np.ndarray
    method: str
    samples: int
    accuracy: bool  # against a reference, not the samples' own mean

    def summary(self) -> dict[str, Any]:
        """Least, median and mean digits, the medians of the intervals' ends, and the share that is censored."""
        value = self.value.reshape(-1)
        known = value[np.isfinite(value)]
        ends = {}
        for name, end in (("low", self.low.reshape(-1)), ("high", self.high.reshape(-1))):
            held = end[~np.isnan(end)]  # cnh and general have a lower end alone
            ends[name] = float(np.median(held)) if held.size else math.nan
        return ends | {
            "least": float(known.min()) if known.size else math.nan,
            "median": float(np.median(known)) if known.size else math.nan,
            "mean": float(repmath.mean(known)) if known.size else math.nan,
            "censored": float(self.censored.mean()) if value.size else 0.0,
            "elements": int(value.size),
        }


def _share(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, not {value}")
    return float(value)


def check_samples(n: int, method: str = "cnh", probability: float = 0.95, confidence: float = 0.95) -> tuple[float, float]:
    """Whether so many samples suffice for an estimate; ValueError names the argument that is wrong."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    p, c = _share("probability", probability), _share("confidence", confidence)
    if method == "general" and n < samples_needed(p, c):
        raise ValueError(
            f"samples are {n}; {samples_needed(p, c)} are needed for probability {p} with confidence {c} without a distribution"
        )
    return p, c


def digits(
    samples: Any,
    reference: Any = None,
    method: str = "cnh",
    *,
    probability: float = 0.95,
    confidence: float = 0.95,
    precision: int | None = None,
) -> Digits:
    """Significant decimal digits of each element.

    Parameters
    ----------
    samples : array_like
        Along the first axis, two or more.
    reference : array_like, optional
        The exact values: then the digits are those of accuracy. By default the samples' mean: those of precision.
    method : {"cnh", "general", "parker"}
    probability, confidence : float
        Of cnh and general: what a new sample has, and how sure that is. Of parker: confidence of the interval.
    precision : int, optional
        Bits of the format's significand; by default those of the samples' dtype.

    Raises
    ------
    ValueError
        There are too few samples; an option is out of its range.
    """
    x = np.asarray(samples)
    if x.ndim == 0 or x.shape[0] < 2:
        raise ValueError("samples must be at least 2, along the first axis")
    n = x.shape[0]
    p, c = check_samples(n, method, probability, confidence)
    bits = PRECISION.get(str(x.dtype), 53) if precision is None else int(precision)
    most = bits * math.log10(2)
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(x).all(axis=0)
        safe = np.where(finite, x, 0.0)
        mean = np.asarray(repmath.mean(safe, axis=0))
        center = mean if reference is None else np.broadcast_to(np.asarray(reference, np.float64), mean.shape)
        alike = (safe == safe[:1]).all(axis=0)
        exact = alike & (True if reference is None else safe[0] == center)
        # Of accuracy the spread is that around the reference, of which nothing was estimated.
        if reference is None:
            spread = np.asarray(repmath.std(safe, axis=0, ddof=1))
        else:
            spread = np.asarray(repmath.norm(safe - center, axis=0)) / math.sqrt(n)
        ratio = spread / np.abs(center)
        base = -np.asarray(repmath.log10(ratio))
        freedom = n - 1 if reference is None else n
        if method == "general":
            worst = np.abs(safe - center).max(axis=0) / np.abs(center)
            value = -np.asarray(repmath.log10(worst))
            low, high = value.copy(), np.full_like(value, np.nan)
        else:
            chi2 = need("scipy.stats", "an interval of a standard deviation").chi2
            lower, upper = (freedom / chi2.ppf(q, freedom) for q in ((1 - c) / 2, (1 + c) / 2))
            low, high = base - math.log10(lower) / 2, base - math.log10(upper) / 2
            value = base
            if method == "cnh":
                quantile = statistics.NormalDist().inv_cdf((p + 1) / 2)
                value = base - math.log10(freedom / chi2.ppf(1 - c, freedom)) / 2 - math.log10(quantile)
                low, high = value.copy(), np.full_like(value, np.nan)  # the value is a lower bound with this confidence
    censored = exact & finite
    value, low, high = (np.where(finite, np.where(np.isnan(v) & ~alike, v, v), np.nan) for v in (value, low, high))
    value, low = np.where(censored, most, value), np.where(censored, most, low)
    high = np.where(censored, np.inf, high)
    beyond = finite & (value > most)  # the estimate is not more than the format can show
    value, censored = np.where(beyond, most, value), censored | beyond
    value, low = (np.where(finite, np.maximum(v, 0.0), v) for v in (value, low))
    return Digits(value, np.minimum(low, value), high, censored, method, n, reference is not None)
