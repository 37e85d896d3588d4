"""Inputs and the bits that docs/spec.md asks for, from the oracles of tests/support: MPFR through gmpy2, fractions, whole numbers.

A group is one operation in one format: an elementwise function has an array for each argument; the others have one case after the
other. Where a group's cases come from is told by `sources`, so that a report can say of which kind the wrong ones are. The published
hard cases are those of tests/data."""

import dataclasses
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .formats import FORMATS, unsigned

ROOT = Path(__file__).resolve().parents[1]
REDUCTIONS = ("sum", "mean", "norm", "var", "std", "cumsum")
PRODUCTS = ("dot", "matmul")
RANDOM = ("block", "words32", "words64", "uniform", "normal", "truncated_normal", "bernoulli", "integers", "permutation")
RESULTS = {"block": "u32", "words32": "u32", "words64": "u64", "bernoulli": "u8", "integers": "i64", "permutation": "i64"}
HALF = 1 << 16


@dataclasses.dataclass
class Case:
    """One call that is no elementwise function: numbers given as bits, sizes and parameters, and the bits of all results."""

    arrays: tuple[np.ndarray, ...]
    parameters: dict[str, Any]
    want: np.ndarray


@dataclasses.dataclass
class Group:
    """An operation in a format. `arguments` and `want` are of elementwise functions and powers, `calls` of the others; `sources` has the first
    result of each kind of case and its name."""

    operation: str
    format: str
    family: str
    result: str  # the format of the results, or the kind of integers
    arguments: tuple[np.ndarray, ...] = ()
    want: np.ndarray = dataclasses.field(default_factory=lambda: np.empty(0, np.uint64))
    calls: list[Case] = dataclasses.field(default_factory=list)
    sources: list[tuple[int, str]] = dataclasses.field(default_factory=list)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of each argument: the format, or the kind of integers."""
        return (self.format, "i64") if self.family == "power" else (self.format,) * len(self.arguments)

    @property
    def expected(self) -> np.ndarray:
        """The bits of all results, one after the other."""
        return np.concatenate([c.want for c in self.calls]) if self.calls else self.want


@functools.cache
def oracles() -> Any:
    """The modules of tests/support, which need gmpy2, mpmath and ml_dtypes."""
    folder = str(ROOT / "tests/support")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import definitions
    import exact_oracle
    import oracle
    import powers
    import random_oracle
    import ranges

    class Found:
        elementwise, exact, random, boxes, mpfr = oracle, exact_oracle, random_oracle, ranges.RANGES, definitions
        integer_powers = powers

    return Found


def operations() -> dict[str, str]:
    """Every operation of the suite and its family."""
    return {
        **dict.fromkeys(oracles().elementwise.FUNCTIONS, "function"),
        **dict.fromkeys(oracles().integer_powers.KINDS, "power"),
        **dict.fromkeys(REDUCTIONS, "sum"),
        **dict.fromkeys(PRODUCTS, "product"),
        **dict.fromkeys(RANDOM, "random"),
    }


def groups(wanted: Callable[[str, str], bool], count: int, seed: int) -> Iterator[Group]:
    """The groups that are wanted; each is made when its turn comes."""
    for operation, family in operations().items():
        formats = [RESULTS[operation]] if operation in RESULTS else list(FORMATS)
        for fmt in formats:
            if wanted(operation, fmt):
                yield {"function": function, "power": power, "sum": sums, "product": products, "random": random}[family](
                    operation, fmt, count, seed
                )


# --- elementwise functions


def function(operation: str, fmt: str, count: int, seed: int) -> Group:
    """Special values, the published hard cases, random ones; all 65,536 inputs of a 16-bit format where so many are asked for."""
    o = oracles().elementwise
    arity = o.ARITY[operation]
    parts: list[tuple[str, tuple[np.ndarray, ...]]] = []
    if arity == 1 and FORMATS[fmt][0].itemsize == 2 and count >= HALF:
        parts.append(("all", (o.to_double(np.arange(HALF, dtype=np.uint16), fmt),)))
    else:
        parts.append(("special", (o.special_values(fmt),) if arity == 1 else o.special_tuples(fmt, arity)))
        parts.append(("hard", hard(operation, fmt, count)))
        parts.append(("random", spread(operation, fmt, count, seed)))
    parts = [p for p in parts if len(p[1][0])]
    sizes = [len(p[1][0]) for p in parts]
    x = tuple(np.concatenate([p[1][k] for p in parts]) for k in range(arity))
    bits = tuple(o.to_bits(v, fmt) for v in x)
    want = o.values(operation, x if arity > 1 else x[0], fmt)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return Group(operation, fmt, "function", fmt, bits, want, sources=list(zip(starts, [p[0] for p in parts], strict=True)))


def hard(operation: str, fmt: str, count: int) -> tuple[np.ndarray, ...]:
    """The lines of tests/data/hardcases, evenly spaced ones where there are more than count."""
    o = oracles().elementwise
    path = ROOT / f"tests/data/hardcases/{fmt}/{operation}.txt"
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and line[0] != "#":
            rows.append([float.fromhex(word) for word in line.replace(",", " ").split()[: o.ARITY[operation]]])
    step = max(1, math.ceil(len(rows) / max(count, 1)))
    return tuple(np.array([row[k] for row in rows[::step]]) for k in range(o.ARITY[operation]))


def spread(operation: str, fmt: str, count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Half of them of any exponent, half where the function is neither saturated nor nearly the identity."""
    import ml_dtypes

    o = oracles().elementwise
    rng = np.random.default_rng(seed)
    arity = o.ARITY[operation]
    kind = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[fmt]
    some = (o.random_values(fmt, count // 2, seed),) if arity == 1 else o.random_tuples(fmt, arity, count // 2, seed)
    boxes = oracles().boxes[operation]
    boxes = [(b,) for b in boxes] if arity == 1 else boxes
    each = math.ceil((count - count // 2) / len(boxes))
    columns = []
    with np.errstate(all="ignore"):
        for k in range(arity):
            drawn = [rng.uniform(*box[k], each) for box in boxes]
            inside = np.concatenate(drawn)[: count - count // 2].astype(kind).astype(np.float64)
            columns.append(np.concatenate([some[k], inside]))
    return tuple(columns)


# --- powers with an integer


def power(operation: str, fmt: str, count: int, seed: int) -> Group:
    """Every combination of special numbers and integers; random pairs, results in range, and powers of numbers of few digits."""
    o, p = oracles().elementwise, oracles().integer_powers
    parts = [p.specials(fmt), p.samples(operation, fmt, count, seed)]
    x, n = (np.concatenate([part[k] for part in parts]) for k in range(2))
    want = p.values(operation, x, n, fmt)[0]
    sources = [(0, "special"), (len(parts[0][0]), "random")]
    return Group(operation, fmt, "power", fmt, (o.to_bits(x, fmt), n.view(np.uint64)), want, sources=sources)


# --- sums


def constants(fmt: str) -> dict[str, float]:
    _, fraction, sign = FORMATS[fmt]
    emax = (1 << (sign - fraction - 1)) - 1
    return {
        "greatest": (2.0 - 2.0**-fraction) * 2.0**emax,
        "normal": 2.0 ** (1 - emax),
        "least": 2.0 ** (1 - emax - fraction),
        "half": 2.0 ** -(fraction + 1),  # half a place of 1
        "place": 2.0**-fraction,
    }


def chosen_rows(fmt: str) -> list[list[float]]:
    """Rows at the edges of what the specification says of sums: zeros, ties, cancellation, overflow on the way, terms that are not finite."""
    c = constants(fmt)
    inf, nan, g, h, p, least = math.inf, math.nan, c["greatest"], c["half"], c["place"], c["least"]
    rows = [[], [0.0], [-0.0], [-0.0, -0.0], [1.0], [-1.0, 1.0], [inf], [-inf, 1.0], [inf, -inf], [nan], [nan, inf], [g, inf]]
    rows += [[1.0, h], [1.0, h, least], [1.0, h, -least], [1.0 + p, h], [1.0 + p, h, least], [1.0 + p, h, -least]]
    rows += [[1.0, -h / 2], [1.0, -h / 2, -least], [1.0, -h / 2, least]]
    rows += [[g, g, -g], [g, g], [-g, -g], [g, g, -g, -g], [g, g, -g, -g, least], [g, least], [g, 1.0, -g]]
    rows += [[least, least], [least, -least], [c["normal"], -least], [least] * 7, [-least] * 8, [c["normal"]] * 3]
    rows += [[1.0] + [h / 2] * 64, [h / 2] * 64 + [1.0], [1.0] + [-h / 2] * 64, [1.0 / 16] * 33, [2.0, 3.0, 5.0, 7.0]]
    return rows


def random_rows(fmt: str, count: int, seed: int) -> list[list[float]]:
    """Rows of up to 64 numbers of up to the format's whole range; of every third the sum nearly cancels."""
    o = oracles().elementwise
    rng = np.random.default_rng(seed + 11)
    _, fraction, sign = FORMATS[fmt]
    emax = (1 << (sign - fraction - 1)) - 1
    rows = []
    for i in range(count):
        n, width = int(rng.integers(1, 65)), [4, 12, min(2 * emax - 8, 200)][i % 3]
        low = int(rng.integers(2 - emax, max(3 - emax, emax - width - 8)))
        x = o.random_values(fmt, n, seed + i)
        x = np.where(np.isfinite(x) & (x != 0), x, 1.0)
        mantissa, _ = np.frexp(x)
        with np.errstate(all="ignore"):
            x = np.ldexp(mantissa, rng.integers(low, low + width, n))
            x = o.to_double(o.to_bits(x, fmt) if fmt != "bf16" else o.to_bits(x, "bf16"), fmt)  # subnormals lose their tails
        if i % 3 == 1:
            x = np.concatenate([x, -rng.permutation(x), x[:1]])
        rows.append(x.tolist())
    return rows


def reduced(operation: str, x: list[float], fmt: str) -> list[int]:
    e = oracles().exact
    kind, nan = e.FORMATS[fmt][0], e.CANONICAL_NAN[fmt]
    finite = all(map(math.isfinite, x))
    if operation == "sum":
        return [e.exact_bits(x, fmt)]
    if operation == "cumsum":
        return [e.exact_bits(x[: i + 1], fmt) for i in range(len(x))]
    if operation == "mean":
        if not x:
            return [nan]
        return [e.round_rational(e.exact(x) / len(x), fmt) if finite else e.exact_bits(x, fmt)]
    if operation == "norm":
        if not finite:
            return [nan if any(map(math.isnan, x)) else e.FORMATS[fmt][4] << e.FORMATS[fmt][2]]
        return [root(e.exact(x, x), np.dtype(kind))]
    if not x or not finite:
        return [nan]
    square = e.exact_variance(x)
    return [e.round_rational(square, fmt) if operation == "var" else root(square, np.dtype(kind))]


def root(square: Fraction, kind: np.dtype) -> int:
    return oracles().exact.rounded_root(square, kind)


def listed(operation: str, fmt: str, family: str, parts: list[tuple[str, list[Case]]]) -> Group:
    """The group of the cases of several sources."""
    group, place = Group(operation, fmt, family, RESULTS.get(operation, fmt)), 0
    for name, cases in parts:
        if cases:
            group.sources.append((place, name))
        group.calls += cases
        place += sum(len(c.want) for c in cases)
    return group


def sums(operation: str, fmt: str, count: int, seed: int) -> Group:
    def case(row: list[float]) -> Case:
        want = np.array(reduced(operation, row, fmt), unsigned(fmt))
        return Case((oracles().elementwise.to_bits(row, fmt),), {"n": len(row)}, want)

    rows = random_rows(fmt, max(count // 20, 3), seed)
    parts = [("special", [case(r) for r in chosen_rows(fmt)]), ("random", [case(r) for r in rows])]
    return listed(operation, fmt, "sum", parts)


# --- products


def products(operation: str, fmt: str, count: int, seed: int) -> Group:
    e, o = oracles().exact, oracles().elementwise
    rng = np.random.default_rng(seed + 23)

    def dot(x: list[float], y: list[float]) -> Case:
        want = np.array([e.exact_bits(list(zip(x, y, strict=True)), fmt)], unsigned(fmt))
        return Case((o.to_bits(x, fmt), o.to_bits(y, fmt)), {"n": len(x)}, want)

    def matmul(a: np.ndarray, b: np.ndarray) -> Case:
        (m, k), n = a.shape, b.shape[1]
        bits = [e.exact_bits(list(zip(a[i], b[:, j], strict=True)), fmt) for i in range(m) for j in range(n)]
        arrays = o.to_bits(a.ravel(), fmt), o.to_bits(b.ravel(), fmt)
        return Case(arrays, {"m": m, "n": n, "k": k}, np.array(bits, unsigned(fmt)))

    def factors(row: list[float]) -> list[float]:
        """Ones and powers of two, so that a row's ties and cancellations stay."""
        return [1.0] * len(row)

    special, few = chosen_rows(fmt), max(count // 20, 3)
    c = constants(fmt)
    edges = [([0.0, 1.0], [math.inf, 1.0]), ([math.inf], [0.0]), ([math.inf, 1.0], [-1.0, 1.0]), ([-0.0], [1.0])]
    edges += [([c["least"]] * 4, [0.5, 0.5, 0.25, -0.25]), ([c["least"]] * 3, [0.5, 0.5, -0.5])]
    edges += [([c["greatest"], c["greatest"]], [2.0, -2.0]), ([c["greatest"], c["greatest"]], [2.0, -1.0])]
    edges += [([1.0 + c["place"], -1.0], [1.0 + c["place"], 1.0 + 2 * c["place"]])]  # the square's last bit alone is left
    rows = random_rows(fmt, 2 * few, seed + 7)
    pairs = [[v[: min(map(len, p))] for v in p] for p in zip(rows[::2], rows[1::2], strict=True)]
    if operation == "dot":
        parts = [
            ("special", [dot(r, factors(r)) for r in special] + [dot(*p) for p in edges]),
            ("random", [dot(*p) for p in pairs]),
        ]
        return listed(operation, fmt, "product", parts)

    def uniform(m: int, n: int) -> np.ndarray:
        x = o.narrow(rng.standard_normal((m, n)).ravel(), fmt) if fmt != "f64" else o.to_bits(rng.standard_normal(m * n), fmt)
        return o.to_double(x, fmt).reshape(m, n)

    shapes = [(1, 1, 1), (2, 3, 5), (4, 4, 16), (8, 8, 32), (3, 7, 64), (16, 16, 9), (1, 5, 200), (0, 2, 3), (2, 2, 0)]
    some = []
    for i in range(max(few // 25, 1)):
        some += [matmul(uniform(m, k), uniform(k, n)) for m, n, k in shapes]
        some.append(matmul(*cancelling(uniform(6, 20), uniform(20, 5), i)))
    chosen = [matmul(np.array([r]).reshape(1, len(r)), np.ones((len(r), 2))) for r in special]
    chosen += [matmul(np.array([x]), np.array([y]).T) for x, y in edges]
    return listed(operation, fmt, "product", [("special", chosen), ("random", some)])


def cancelling(a: np.ndarray, b: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Products that come again with the other sign, and one more."""
    k = a.shape[1] // 2
    a[:, k : 2 * k - 1], b[k : 2 * k - 1] = -a[:, : k - 1], b[: k - 1]
    return np.roll(a, i, 1), np.roll(b, i, 0)


# --- random numbers


def random(operation: str, fmt: str, count: int, seed: int) -> Group:
    """Streams at chosen and at random places; the numbers of section 6."""
    rng = np.random.default_rng(seed + 31)
    n = max(min(count // 10, 200), 8)
    places = [(0, 0, 0), (1, 0, 0), (2**64 - 1, 2**64 - 1, 5), (7, 3, 2**62 - 3), (11, 0, 2**63 - 1 - n)]
    places += [tuple(int(v) for v in rng.integers(0, [2**63, 2**63, 2**62], dtype=np.uint64)) for _ in range(3)]
    o = oracles().random
    if operation == "block":
        return listed(operation, fmt, "random", [("published", known(o)), ("random", [block(o, *p) for p in places])])
    calls = []
    for place, more in zip(places, itertools.cycle(parameters(operation, fmt))):
        for chosen in [more] if place != places[0] else parameters(operation, fmt):
            calls.append(drawn(o, operation, fmt, place, n, chosen))
    return listed(operation, fmt, "random", [("random", calls)])


def known(o: Any) -> list[Case]:
    """The answers published with Random123, where counter, stream and seed are the words' halves."""
    out = []
    for counter, key, words in o.KNOWN:
        place = key[0] | key[1] << 32, counter[2] | counter[3] << 32, counter[0] | counter[1] << 32
        case = block(o, *place)
        if tuple(case.want.tolist()) != words:
            raise AssertionError("the oracle differs from the published answers")
        out.append(case)
    return out


def block(o: Any, seed: int, stream: int, counter: int) -> Case:
    want = o.blocks(seed, stream, [counter])[0].astype(np.uint32)
    return Case((), {"seed": seed, "stream": stream, "counter": counter, "n": 4}, want)


def parameters(operation: str, fmt: str) -> list[dict[str, Any]]:
    if operation == "uniform":
        return [
            {"low": 0.0, "high": 1.0},
            {"low": -1.5, "high": 2.0},
            {"low": 1.0, "high": 1.0},
            {"low": -0.0078125, "high": 7.0},
        ]
    if operation == "normal":
        return [{"mean": 0.0, "std": 1.0}, {"mean": 1.0, "std": 0.02}, {"mean": -3.0, "std": 0.0}, {"mean": 0.1, "std": 5.0}]
    if operation == "truncated_normal":
        ends = [(-2.0, 2.0), (0.0, math.inf), (2.5, 3.0), (-math.inf, -1.0)]
        return [{"mean": 0.25, "std": 1.5, "low": low, "high": high} for low, high in ends]
    if operation == "bernoulli":
        return [{"p": p} for p in (0.5, 0.1, 0.0, 1.0, 2.0**-20)]
    if operation == "integers":
        return [{"low": a, "last": b} for a, b in ((0, 9), (-5, 5), (-(2**63), 2**63 - 1), (3, 3), (0, 2**40 + 12))]
    return [{}]


def drawn(o: Any, operation: str, fmt: str, place: tuple[int, ...], n: int, more: dict[str, Any]) -> Case:
    seed, stream, first = place
    if operation == "words32":
        want = o.words(seed, stream, first, n)
    elif operation == "words64":
        want = o.draws(seed, stream, first, n)
    elif operation == "uniform":
        want = o.uniform(fmt, seed, stream, first, n, *more.values())
    elif operation == "normal":
        want = o.normal(fmt, seed, stream, first, n, *more.values())
    elif operation == "truncated_normal":
        want = o.truncated(fmt, seed, stream, first, n, *more.values())
    elif operation == "bernoulli":
        want = o.bernoulli(seed, stream, first, n, *more.values())
    elif operation == "integers":
        want = o.integers(seed, stream, first, n, *more.values()).view(np.uint64)
    else:
        want = o.permutation(seed, stream, first, n).astype(np.int64).view(np.uint64)
    kind = unsigned(RESULTS.get(operation, fmt))
    return Case((), {"seed": seed, "stream": stream, "first": first, "n": n, **more}, np.array(want, kind))
