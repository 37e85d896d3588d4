"""Products and convolutions with infinite, quiet and signalling terms: bits and the invalid flag, and hardly an accumulator for them."""

import ctypes
import itertools

import numpy as np
import pytest
from convolution_library import FORMATS, Convolution, Geometry, dtype_of, sums
from exact_oracle import CANONICAL_NAN
from exact_oracle import FORMATS as LAYOUTS
from gemm_library import gemm
from reductions_library import FE_INVALID, OK, Reductions, pointer

GEOMETRIES = {
    "padded": Geometry(1, 2, 3, (4, 5), 3, low=1),
    "beyond": Geometry(2, 1, 2, (3, 2), 2, stride=2, low=2),
    "none": Geometry(1, 2, 2, (4, 4), 3),
    "line": Geometry(1, 2, 2, (9,), 3, dilation=2, low=2),
    "depthwise": Geometry(1, 3, 3, (4, 9), 3, low=1, groups=3),
    "depthwise weights": Geometry(2, 9, 9, (9, 9), 3, low=1, groups=9),
}
KINDS = {  # how many elements of the first and second operand, in hundredths, are infinite, quiet and signalling
    "infinite": ((4, 0, 0), (4, 0, 0)),
    "infinite weights": ((0, 0, 0), (20, 0, 0)),
    "quiet": ((1, 3, 0), (1, 3, 0)),
    "quiet weights": ((1, 0, 0), (0, 30, 0)),
    "signalling": ((3, 2, 2), (3, 2, 2)),
    "signalling weights": ((2, 0, 0), (2, 2, 4)),
    "all quiet": ((0, 100, 0), (0, 0, 0)),
    "all weights quiet": ((0, 0, 0), (0, 100, 0)),
}


def data(rng, parts, shape, fmt):
    """Small integers, many of them 0, and what is not finite."""
    x = rng.integers(-2, 3, shape).astype(dtype_of(fmt))
    bits, (_, _, fraction, _, top, sign) = x.view(f"u{x.itemsize}"), LAYOUTS[fmt]
    infinity, at = top << fraction, rng.random(shape) * 100
    for part, low in zip(parts, (0, 1 << (fraction - 1), 1), strict=True):
        here = at < part
        bits[here] = infinity + low + (rng.integers(0, 2, here.sum()).astype(np.uint64) << sign).astype(bits.dtype)
        at -= part
    return x


def of_terms(pairs, fmt):
    """(bits, raises) where a term is not finite, else None: of every term alone, and of their sum."""
    _, _, fraction, _, top, sign = LAYOUTS[fmt]
    infinity, kinds = top << fraction, set()
    for pair in pairs:
        sizes = [int(np.asarray(v).view(f"u{np.asarray(v).itemsize}")) & ((1 << sign) - 1) for v in pair]
        if max(sizes) < infinity:
            continue
        nan = [s for s in sizes if s > infinity]
        if nan:
            kinds |= {"quiet" if s >> (fraction - 1) & 1 else "signalling" for s in nan}
        else:
            kinds.add("made" if 0 in sizes else np.sign(float(pair[0])) * np.sign(float(pair[1])))
    if {1.0, -1.0} <= kinds:
        kinds.add("made")
    raises = "signalling" in kinds or ("made" in kinds and "quiet" not in kinds)
    if kinds & {"made", "quiet", "signalling"}:
        return CANONICAL_NAN[fmt], raises
    return (infinity | (kinds == {-1.0}) << sign, False) if kinds else None


def raised(call):
    libm = ctypes.CDLL(None)
    libm.feclearexcept(61)
    assert call() == OK
    return bool(libm.fetestexcept(FE_INVALID))


def check(got, flag, terms, fmt, what):
    """Elements with a term that is not finite; the others are those of other tests."""
    want = {index: of_terms(pairs, fmt) for index, pairs in terms.items()}
    bits = got.view(f"u{got.itemsize}")
    for index, found in want.items():
        assert found is None or int(bits[index]) == found[0], (what, index, hex(int(bits[index])), found)
        assert found is not None or np.isfinite(float(got[index])), (what, index)
    assert flag == any(found[1] for found in want.values() if found), what


@pytest.mark.parametrize("what", ["forward", "grad_input", "grad_weight"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_convolutions(isa_library, what, name):
    g, rng, conv = GEOMETRIES[name], np.random.default_rng(len(name) + len(what)), Convolution(isa_library)
    for turn, (kind, (first, second)) in enumerate(2 * list(KINDS.items())):
        fmt = FORMATS[turn % 4] if what != "grad_input" else FORMATS[(turn // 2 + 2) % 4]
        x, w, y = (data(rng, part, s, fmt) for part, s in ((first, g.x_shape), (second, g.w_shape), (first, g.y_shape)))
        if what == "grad_weight":
            x = data(rng, second, g.x_shape, fmt)
        operands = {"forward": (x, w), "grad_input": (y, w), "grad_weight": (x, y)}[what]
        out = np.full({"forward": g.y_shape, "grad_input": g.x_shape, "grad_weight": g.w_shape}[what], 7, dtype_of(fmt))
        bias = None
        if what == "forward" and turn % 3 == 0:
            bias = data(rng, (10, 10, 5) if "signalling" in kind else (20, 0, 0), (g.channels_out,), fmt)
        flag = raised(lambda: conv(g, what, fmt, *operands, out, bias))  # noqa: B023
        terms = sums(g, what, x, w, y)[1]
        if bias is not None:
            terms = {i: [*pairs, (bias[i[1]], dtype_of(fmt).type(1))] for i, pairs in terms.items()}
        check(out, flag, terms, fmt, (kind, fmt))


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("values", [(np.nan, 1.0), (np.inf, 1.0), (np.inf, -np.inf), (np.nan, np.inf), (1.0, np.nan)])
def test_a_first_and_a_last_tap_beside_padding(isa_library, fmt, values):
    """NaN of the taps raise nothing, an infinity times padding is no term, and one that meets another does so beyond the first terms that are summed."""
    g, rng = Geometry(1, 4, 36, (3, 3), 3, low=1), np.random.default_rng(32)
    x, w = (rng.integers(1, 4, shape).astype(dtype_of(fmt)) for shape in (g.x_shape, g.w_shape))
    w[:, 0, 0, 0], w[::2, -1, 2, 2] = values
    for bias in (None, np.full(36, np.inf, dtype_of(fmt)), np.full(36, np.nan, dtype_of(fmt))):
        out = np.full(g.y_shape, 7, dtype_of(fmt))
        flag = raised(lambda: Convolution(isa_library)(g, "forward", fmt, x, w, out, bias))  # noqa: B023
        terms = sums(g, "forward", x, w, out)[1]
        if bias is not None:
            terms = {i: [*pairs, (bias[i[1]], dtype_of(fmt).type(1))] for i, pairs in terms.items()}
        check(out, flag, terms, fmt, values)


@pytest.mark.parametrize("fmt", FORMATS)
def test_products(isa_library, fmt):
    lib, rng = Reductions(isa_library), np.random.default_rng(31)
    for kind, (first, second) in KINDS.items():
        for m, n, k in ((1, 9, 20), (7, 5, 40)):
            a, b = data(rng, first, (m, k), fmt), data(rng, second, (k, n), fmt)
            for beta in (0.0, 2.0):
                old = data(rng, (20, 20, 20 if kind.startswith("signalling") else 0), (m, n), fmt)
                out = old.copy()
                lib.stats()
                flag = raised(lambda: gemm(lib, fmt, 1.0, a, b, beta, out))  # noqa: B023
                one = dtype_of(fmt).type(1)
                more = lambda i, j: [(old[i, j], one)] if beta else []  # noqa: B023, E731
                terms = {(i, j): [*zip(a[i], b[:, j], strict=True), *more(i, j)] for i in range(m) for j in range(n)}
                check(out, flag, terms, fmt, (kind, m, beta))
                assert lib.stats()[2] == 0, (kind, m, beta)


def test_infinities_beside_wide_exponents(isa_library):
    """Products of finite elements that overflow, and elements that scaling would make 0 beside an infinity, change no result."""
    rng, k = np.random.default_rng(32), 40
    for low, high in ((-40, 40), (-600, 600), (-1074, 0), (0, 1021), (470, 490)):
        a, b = data(rng, (4, 0, 0), (9, k), "f64"), data(rng, (1, 0, 0), (k, 17), "f64")
        with np.errstate(all="ignore"):
            for x in (a, b):
                x *= np.exp2(rng.choice([low, low, high], x.shape).astype(float))
        out = np.zeros((9, 17))
        flag = raised(lambda: Reductions(isa_library).strided("f64", a, b, out))  # noqa: B023
        terms = {(i, j): [*zip(a[i], b[:, j], strict=True)] for i in range(9) for j in range(17)}
        special = {at: pairs for at, pairs in terms.items() if of_terms(pairs, "f64")}
        assert len(special) > 20
        check(out, flag, special, "f64", (low, high))


def test_few_elements_take_the_accumulator(isa_library):
    """Where a network diverges all elements are NaN; where padding met all that is not finite, and there alone, sums are made exactly."""
    lib, rng, conv = Reductions(isa_library), np.random.default_rng(5), Convolution(isa_library)
    for g in (Geometry(1, 8, 8, (12, 12), 3, low=1), Geometry(1, 8, 8, (12, 12), 3, low=1, groups=8)):
        for fmt in ("f32", "f64"):
            for first, second in (((0, 100, 0), (0, 0, 0)), ((0, 0, 0), (0, 100, 0)), ((2, 2, 0), (0, 0, 0))):
                x, w = data(rng, first, g.x_shape, fmt), data(rng, second, g.w_shape, fmt)
                lib.stats()
                assert conv(g, "forward", fmt, x, w, np.zeros(g.y_shape, dtype_of(fmt))) == OK
                assert lib.stats()[2] == 0, (fmt, first, second)


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_sums(isa_library, fmt):
    lib, rng = Reductions(isa_library), np.random.default_rng(3)
    out = {}

    def call(function, *arrays):
        out[()] = getattr(lib, function)(fmt, *arrays)
        return OK

    for kind, (first, second) in KINDS.items():
        for n in (3, 40, 700):
            x, y = data(rng, first, (n,), fmt), data(rng, second, (n,), fmt)
            one = dtype_of(fmt).type(1)
            flag = raised(lambda: call("sum", x))  # noqa: B023
            check(np.array(out[()]), flag, {(): [(v, one) for v in x]}, fmt, (kind, n))
            for z in (y, x):
                flag = raised(lambda: call("dot", x, z))  # noqa: B023
                check(np.array(out[()]), flag, {(): [*zip(x, z, strict=True)]}, fmt, (kind, n))


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("what", ["sum", "mean"])
def test_sums_over_axes(isa_library, what, fmt):
    """Of rows, columns, short rows and planes, dense and with gaps; a tensor of which few sums owe an exception, in any order, too."""
    lib, rng = Reductions(isa_library), np.random.default_rng(8)
    kinds = {**KINDS, "one": ((1, 3, 0), 0), "signals": ((0, 2, 1), 0), "positive": ((3, 3, 0), 0), "all": ((1, 3, 0), 0)}
    shapes = (((1, 9, 1, 70), 1), ((1, 70, 1, 9), 1), ((1, 25, 1, 3), 2), ((5, 3, 4, 8), 1), ((1, 1, 1, 66000), 1))
    for (kind, (parts, _)), ((outer, inner, n1, n2), gap) in itertools.product(kinds.items(), shapes):
        if n2 > 60_000 and kind != "one":
            continue
        x = data(rng, parts, (outer, n1, n2 * gap, inner), fmt)[:, :, ::gap]
        if kind == "positive":
            with np.errstate(invalid="ignore"):
                x[np.isneginf(x)] = 1
        for y, moves in (x, (0, 3, 1, 2)), (np.ascontiguousarray(x.transpose(0, 3, 1, 2)), (0, 1, 2, 3)):
            terms = y.transpose(moves)
            out = np.full((outer, inner), 7, dtype_of(fmt))
            size, step = (ctypes.c_int64 * 4)(*terms.shape), (ctypes.c_ssize_t * 4)(*terms.strides)
            code, f = FORMATS.index(fmt), getattr(lib.c, f"rm_{what}_axes")
            flag = raised(lambda: f(code, size, step, pointer(y), code, pointer(out)))  # noqa: B023
            one = dtype_of(fmt).type(1)
            rows = {(i, j): [(v, one) for v in terms[i, j].flat] for i in range(outer) for j in range(inner)}
            check(out, flag, rows, fmt, (kind, terms.shape, gap))
