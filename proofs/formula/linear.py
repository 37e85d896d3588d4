"""Error bounds of linear algebra (src/linalg) and of the passes of transforms (src/fft), read from the host code as it stands: entries of factorizations,
terms of solutions, determinants. The errors of products are what `rm_linalg_..._unit` say; proofs/depth counts the roundings of these and of passes."""

from __future__ import annotations

import pathlib
import re
from fractions import Fraction

from flint import arb

from .algebra import Algebra, U, Unknown, Value, minus, number, plus
from .host import Host, NotRead, text_of
from .rows import A, Computed, at_most, error, product

RECURRENCE, SYSTEM, DETERMINANT, RESIDUAL, COLUMNS = (
    f"src/linalg/{name}.c" for name in ("recurrence", "system", "determinant", "residual", "columns")
)
PLAN = "src/fft/plan.c"
ROUNDED = 1 + Fraction(1, 2**40)
Pairs = list[tuple[Value, Value]]


def host(algebra: Algebra, values: dict[str, Value], **more) -> Host:
    """Magnitudes are not negative, so that the magnitude of an atom is the atom."""
    return Host(algebra, values, **more)


def errors(algebra: Algebra, *terms: tuple) -> Value:
    return plus(*(error(algebra, *term) for term in terms))


def differences(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """a less a sum that is within err of hi + lo."""
    text = text_of(root, RECURRENCE, "const double sum = rm_two_sum(a, -hi, &e), rest = e - lo;", 3)
    h = host(algebra, {x: A(x) for x in ("a", "hi", "lo", "err")}, own=("rest",)).run(text)
    exact = plus(A("a"), minus(A("hi")), minus(A("lo")), error(algebra, 1, A("err")))
    return [(plus(h.values["v->hi"], h.values["v->lo"], minus(exact)), h.values["v->err"])]


def remainder(text: str, of: str) -> str:
    """hi less the rounded quotient times the divisor, or the square of the rounded root: a number of binary64, which Sterbenz's difference and the error
    of the product give without an error."""
    form = f"rest = (v.hi - p) - rm_two_prod_error({of}, p);"
    if text.count(form) != 1:
        raise NotRead(f"{RECURRENCE}: no {form}")
    return text.partition(form)[2]


def quotients(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """(hi + lo)/d: q is within half a unit of hi/d, so that the remainder is at most u |q d|; |lo| <= u |hi|."""
    text = remainder(text_of(root, RECURRENCE, "const double p = q->hi * d, rest =", 4), "q->hi, d")
    rest = error(algebra, U, A("q"), A("d"))
    low = error(algebra, U * (1 + U), A("q"), A("d"))
    values = {"q->hi": A("q"), "d": A("d"), "rest": rest, "v.lo": low, "v.err": A("err")}
    h = host(algebra, values).run(text)
    exact = plus(A("q"), product(plus(rest, low, error(algebra, 1, A("err"))), A("d", -1)))
    return [(plus(h.values["q->hi"], h.values["q->lo"], minus(exact)), h.values["q->err"])]


def vectors(h: Host) -> Host:
    """The same over vectors."""
    h.calls |= {"vf64_div": h.over, "vf64_add": h.sum, "vf64_mul": h.times, "vf64_set1": lambda x: x}
    return h


def quotients_of_columns(root: pathlib.Path, algebra: Algebra) -> Pairs:
    form = "p = vf64_mul(q, by), rest = vf64_sub(vf64_sub(hi, p), vf64_mul_err(q, by, p));"
    if (root / COLUMNS).read_text().count(form) != 1:
        raise NotRead(f"{COLUMNS}: no {form}")
    text = text_of(root, COLUMNS, "const vf64 low = vf64_div(vf64_add(rest, lo), by);", 2)
    rest = error(algebra, U, A("q"), A("d"))
    low = error(algebra, U * (1 + U), A("q"), A("d"))
    values = {"q": A("q"), "by": A("d"), "size_of_d": A("d"), "rest": rest, "lo": low, "err": A("err")}
    h = vectors(host(algebra, values)).run(text)
    exact = plus(A("q"), product(plus(rest, low, error(algebra, 1, A("err"))), A("d", -1)))
    return [(plus(A("q"), h.values["low"], minus(exact)), h.values["quotient_err"])]


def roots(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """V = q^2 (1 + t) without err: t from the remainder, at most 2 u + u^2, and from lo. The root is q (1 + t/2) less at most t^2/8 (1 + |t|), and its
    derivative is at most 1/(2 q) (1 + 2^-30), where err is so small that V stays above q^2 (1 - 2^-31)."""
    (most,) = re.findall(r"\|\| !\(v\.err <= (\S+) \* v\.hi\)\) return 0;", (root / RECURRENCE).read_text())
    if not Fraction(float.fromhex(most)) + Fraction(8, 2**53) <= Fraction(1, 2**31):
        raise Unknown("the derivative of the root")
    text = remainder(text_of(root, RECURRENCE, "const double p = q->hi * q->hi, rest =", 4), "q->hi, q->hi")
    rest, low = error(algebra, 2 * U + U**2, A("q", 2)), error(algebra, U * (1 + 3 * U), A("q", 2))
    h = host(algebra, {"q->hi": A("q"), "rest": rest, "v.lo": low, "v.err": A("err")}).run(text)
    t = 2 * U + U**2 + U * (1 + 3 * U)
    half = product(plus(rest, low), number(Fraction(1, 2)), A("q", -1))
    curved = error(algebra, t**2 / 8 * (1 + t), A("q"))
    of_err = error(algebra, Fraction(1, 2) * (1 + Fraction(1, 2**30)), A("err"), A("q", -1))
    exact = plus(A("q"), half, curved, of_err)
    return [(plus(h.values["q->hi"], h.values["q->lo"], minus(exact)), h.values["q->err"])]


def of_ends(algebra: Algebra, wide: Value) -> Value:
    """What is left of a bound where lo - bound is rounded: u of the bound, beside u |lo|."""
    return plus(wide, error(algebra, U, wide))


def entries(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """The test of an entry. binary32: hi + (lo - err) is rounded twice before the conversion, |lo| <= u size. binary64: the last sum is the rounding."""
    values = {"v.err": A("err"), "size": A("size")}
    narrow = text_of(root, RECURRENCE, "if (format == RM_F32) {\n    const double err", 1).partition("{")[2]
    wide = text_of(root, RECURRENCE, "const double err = v.err == 0.0 ? 0.0 :", 1)
    own = error(algebra, 1, A("err"))
    found = []
    for text, lost in ((narrow, U * (1 + 2 * U) + U), (wide, U**2)):
        bound = host(algebra, values, cases={"v.err==0.0": False}).run(text).values["err"]
        spent = plus(own, errors(algebra, (2 * U, A("err")), (lost, A("size"))))
        found.append((spent, bound))
    return found


def entries_of_columns(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """As `entries`."""
    text, found = text_of(root, COLUMNS, "const vf64 least =", 2), []
    for narrow, lost in ((True, U * (1 + 2 * U) + U), (False, U**2)):
        h = host(algebra, {"err": A("err"), "size": A("size")}, cases={"format==RM_F32": narrow})
        bound = vectors(h).run(text).values["wide"]
        spent = plus(error(algebra, 1, A("err")), errors(algebra, (2 * U, A("err")), (lost, A("size"))))
        found.append((spent, bound))
    return found


def ends_of_solutions(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """The test of a sum of terms: what rounds l_2 to l_4, by the magnitudes of l_4, of h_4 <= size + l_4, and of h_3 <= h_4 + x_4 (system.c)."""
    start = text_of(root, SYSTEM, "double wide = err +", 1)
    last = A("l")
    h4 = product(plus(A("size"), last), number(1 + 2 * U))
    h3 = plus(product(h4, number(1 + U)), A("x"))
    l3 = plus(product(last, number(1 + U)), product(h4, number(U)))
    l2 = plus(product(l3, number(1 + U)), product(h3, number(U)))
    rounded = [(U * c, *(A(name, k) for name, k in atoms)) for (atoms, _), c in plus(last, l3, l2).items()]
    found = []
    for first, more in (("if (format == RM_F32) {\n      wide", 3 * U), ("} else {\n      wide", U**2)):
        values = {"err": A("err"), "lo": A("l"), "size": A("size")}
        bound = host(algebra, values).run(start + text_of(root, SYSTEM, first, 1).partition("{")[2]).values["wide"]
        spent = errors(algebra, (1 + 2 * U, A("err")), (more, A("size")), (U * 4 * U, A("l")), *rounded)
        found.append((spent, bound))
    return found


def solutions(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """|x - y - d|_i <= size_i |d - R r| + g_i |x - y|, |x - y| <= (|d| + reach |d - R r|)/(1 - beta) in the maximum norm. r is within u/(1 - u) of itself and
    `unit` of its terms; d is a plain product with r. At most n 2^-1074 underflows."""
    text = text_of(root, SYSTEM, "const double rho =", ";") + text_of(root, SYSTEM, "const double around = plain", 1)
    text += "const double " + text_of(root, SYSTEM, "apart = (v->size[i]", ",").removesuffix(",") + ";"
    names = {
        "f.residual": "residual", "unit": "unit", "v->norm": "norm", "f.terms": "terms", "f.last": "last", "v->reach": "reach",
        "v->beta": "beta", "v->size[i]": "size", "v->g[i]": "g", "plain": "plain",
    }  # fmt: skip
    values = {name: A(of) for name, of in names.items()} | {"RM_LINALG_TINY": number(Fraction(1, 2**1000))}
    below = plus(number(1), minus(A("beta")))
    h = host(algebra, values, sums=(("1-beta", below),)).run(text)
    r = (
        (1, A("plain"), A("residual")),
        (U / (1 - U), A("residual")),
        (2, A("unit")),
        (1 + Fraction(1, 2**50), A("unit"), A("norm"), A("terms")),
    )
    off = errors(algebra, *((c, A("size"), *of) for c, *of in r))
    distance = [(1, A("last")), *((c, A("reach"), *of) for c, *of in r)]
    off = plus(off, errors(algebra, *((c, A("g"), A("1-beta", -1), *of) for c, *of in distance)))
    return [(off, h.values["apart"])]


def logarithms(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """log det(I + E) = tr E - tr E^2/2 + ..., what follows is at most n eps^3/(3 (1 - eps)), eps < 2^-10. The trace's second parts pass n + 1 <= 2 n
    roundings. E lacks elements of at most delta and, in the square, its second parts: 2 n eps of both. The sum of n^2
    products rounds by n^2 u, of which half counts.
    What err rounds itself is left to its exponential."""
    text = text_of(root, DETERMINANT, "const double size = (double)n, trace_err =", ";")
    names = ("n", "trace_size", "low_size", "delta_trace", "square_size", "eps", "delta", "low_row")
    h = host(algebra, {name: A(name) for name in names} | {"up": number(1)}).run(text)
    eps = Fraction(1, 2**10)
    off = errors(
        algebra,
        (1, A("delta_trace")),
        (2 * U**2 * (1 + 4 * U), A("n"), A("trace_size")),
        (2 * U, A("n"), A("low_size")),
        (U / 2 * (1 + Fraction(1, 2**20)), A("n", 2), A("square_size")),
        (1 + eps / 2, A("n"), A("eps"), A("delta")),
        (1 + eps / 2, A("n"), A("eps"), A("low_row")),
        (1 / (3 * (1 - eps)), A("n"), A("eps", 3)),
    )
    return [(product(off, number(1 / ROUNDED)), h.values["err"])]


def substitutions(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """What a row of a triangle times the next term is off: the residual's own error, its rounding, and what substitution leaves."""
    text = text_of(root, SYSTEM, "const double wrong = unit * terms +", 1)
    text += text_of(root, SYSTEM, "const double owed = wrong +", 1)
    h = host(algebra, {name: A(name) for name in ("unit", "terms", "r", "solved", "last")}).run(text)
    off = errors(
        algebra,
        (1, A("unit"), A("terms")),
        (U * (1 + Fraction(1, 2**50)), A("r")),
        (1, A("solved"), A("last")),
        (1, A("solved"), A("r")),
    )
    return [(product(off, number(1 / ROUNDED)), h.values["owed"])]


def powers(terms: list[tuple], other: list[tuple]) -> list[tuple]:
    """Products of two sums of (coefficient, atoms)."""
    return [(c * d, *left, *right) for c, *left in terms for d, *right in other]


def traces(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """log det(I + E), |E| <= |R M|/(1 - g), g < 1/8, by the trace of r M: 2 n + 1 roundings of each term, what R has besides r, and in E the share g."""
    text = text_of(root, RESIDUAL, "const double size = v->r * v->m, lacks =", 1)
    text += text_of(root, RESIDUAL, "const double quick_err =", 1)
    names = {"v->r": A("r"), "v->m": A("m"), "v->off": A("off"), "v->g": A("g"), "n": A("n")}
    h = host(algebra, names).run(text)
    whole = [(1, A("r"), A("m")), (1, A("off"), A("m"))]
    third = Fraction(1, 2) / (1 - Fraction(1, 2**10))
    off = [
        (1, A("off"), A("m")),
        *powers([(U * (1 + Fraction(1, 2**20)), A("r"), A("m"))], [(2, A("n")), (1,)]),
        *powers([(Fraction(8, 7), A("g"))], whole),
        *powers([(third * Fraction(8, 7) ** 2,)], powers(whole, whole)),
    ]
    return [(product(errors(algebra, *off), number(1 / ROUNDED)), h.values["quick_err"])]


def thorough_traces(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """-log det(I - F) by the trace of r M and of its square, as computed; F is at most `lacks` and the share h of all of it away from that. Roundings: n of
    the trace, 2 n + 1 of the square's terms."""
    text = text_of(root, RESIDUAL, "const double lacks = unit * v->r", 1)
    text += text_of(root, RESIDUAL, "const double err =", 1)
    names = ("n", "unit", "sum", "root", "size")
    values = {name: A(name) for name in names} | {"v->r": A("r"), "v->m": A("m"), "v->off": A("off"), "of_inverse": A("h")}
    h = host(algebra, values).run(text)
    lacks = [(1, A("unit"), A("r"), A("m")), (1, A("off"), A("m"))]
    whole = [(1, A("size")), *lacks]
    turned = powers([(Fraction(8, 7), A("h"))], whole)
    apart = [*lacks, *turned]
    third = Fraction(1, 3) / (1 - Fraction(1, 2**10)) * Fraction(8, 7) ** 3
    roundings = U * (1 + Fraction(1, 2**20))
    off = [
        (roundings, A("n"), A("sum")),
        *powers([(1, A("root"))], lacks),
        *turned,
        *powers([(roundings / 2, A("size", 2))], [(2, A("n")), (1,)]),
        *powers([(1, A("size"))], apart),
        *powers([(Fraction(1, 2),)], powers(apart, apart)),
        *powers([(third,)], powers(whole, powers(whole, whole))),
    ]
    return [(product(errors(algebra, *off), number(1 / ROUNDED)), h.values["err"])]


def exponentials(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """exp(L), L = high + low below 2^-8, by four terms: what follows is at most L^4/24 e^|L|; what L is off raises it by at most e^(2^-8 + 2^-10)."""
    text = text_of(root, DETERMINANT, "const double rest = low +", 1)
    text += text_of(root, DETERMINANT, "f->hi = rm_two_sum(1.0, high, &one);", 1)
    text += text_of(root, DETERMINANT, "f->hi = rm_two_sum(f->hi, beside, &f->lo);", 2)
    text = text_of(root, DETERMINANT, "const double lambda = high + low, bound =", ";") + text.replace(
        "beside = one + rest", ""
    )
    rise = (arb(1) / 2**8 + arb(1) / 2**10).exp()
    if not (rise < arb("1.005") and (arb(1) / 2**8).exp() / 24 < arb("0.043")):
        raise Unknown("the rise of exp")
    own = text_of(root, DETERMINANT, "beside = one + rest;", 1)
    first, _, rest = text.partition("f->hi = rm_two_sum(f->hi, beside")
    values = {"high": plus(A("L"), minus(A("low"))), "low": A("low"), "err": A("err")}
    h = host(algebra, values, own=("beside",)).run(f"{first} {own} f->hi = rm_two_sum(f->hi, beside{rest}")
    sixth = Fraction(1, 6)
    exact = plus(number(1), A("L"), product(number(Fraction(1, 2)), A("L", 2)), product(number(sixth), A("L", 3)))
    exact = plus(exact, errors(algebra, (Fraction("0.043"), A("L", 4)), (Fraction("1.005") * ROUNDED, A("err"))))
    third = Fraction(float.fromhex("0x1.5555555555555p-3"))  # what the constant is off a sixth
    exact = plus(exact, product(number(third - sixth), A("L", 3)), error(algebra, sixth - third, A("L", 3)))
    return [(plus(h.values["f->hi"], h.values["f->lo"], minus(exact)), h.values["errors"])]


def passes(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """What a pass adds to the norm in binary64, in units (src/fft/kernels.h): chains of odd radices have at most h + 2 roundings, h = (r - 1)/2, of matrices
    whose norms give 2/pi sqrt(r); the roundings of what they are made of and of their last sum add 2. The products of a twiddle factor are off by sqrt(2) u,
    their sum by u, and the factor by u/sqrt(2)."""
    text = (root / PLAN).read_text()
    (read,) = re.findall(
        r"return \(r == 2 \? (\S+) : r == 4 \? (\S+) : (\S+) \+ __builtin_sqrt\(h \* h \+ chains\)\) \+ \(last \? 0\.0 : (\S+)\);",
        text,
    )
    ((chain, again),) = re.findall(r"chains = (\S+) \* (\S+) \* \(h \+ 2\.0\) \* \(h \+ 2\.0\) \* \(double\)r;", text)
    two, four, beside, turned = map(Fraction, read)
    if chain != again:
        raise NotRead(f"{PLAN}: a square of {chain}")
    for r in range(3, 64, 2):
        sine, cotangent = (arb.pi() / (2 * r)).sin(), (arb.pi() / (2 * r)).cot()
        if not (r - 1) / arb(2) + (1 / sine - 1) ** 2 / 2 < 2 * (r / arb.pi()) ** 2 or not cotangent / 2 < r / arb.pi():
            raise Unknown(f"the norms of radix {r}")
    over_pi = Fraction(63662, 10**5)
    if not 2 / arb.pi() < arb(over_pi.numerator) / over_pi.denominator:
        raise Unknown("2/pi")
    return [
        (error(algebra, 1), number(two)),
        (error(algebra, ((1 + U) ** 2 - 1) / U), number(four)),
        (error(algebra, 2 * RISE), number(beside)),
        (error(algebra, over_pi * RISE), number(Fraction(chain))),
        (error(algebra, (ROOT2 + 1 + ROOT2 / 2) * RISE), number(turned)),
    ]


ROOT2, RISE = Fraction(141422, 10**5), 1 + Fraction(1, 2**11)


def by_root(text: str) -> Fraction:
    """The factor of sqrt(r) in the plan, for sqrt(2)."""
    if not arb(2).sqrt() < arb(ROOT2.numerator) / ROOT2.denominator:
        raise Unknown("the root of 2")
    (factor,) = re.findall(r"root = (\S+) \* __builtin_sqrt\(\(double\)r\);", text)
    return Fraction(factor)


def passes_in_two_parts(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """The same in double-double, in units of u^2, and how large low parts become, in units of u: a sum is within 2 low + 1, and adds 1 to the low parts; a
    product is within 3 low + 5, and adds 2; the constant of an odd radix is within 2, a twiddle factor within 2^-101. Normal numbers have low parts of 1."""
    text = (root / PLAN).read_text()
    (losses,) = re.findall(
        r"loss = r == 2 \? (\S+) \* \*low \+ (\S+) : r == 4 \? (\S+) \* \*low \+ (\S+) : root \* \((\S+) \* \*low \+ (\S+) \* h \+ (\S+)\);",
        text,
    )
    (lows,) = re.findall(r"\*low = r == 2 \? \*low \+ (\S+) : r == 4 \? \*low \+ (\S+) : (\S+) \* root;", text)
    (turned,) = re.findall(r"loss \+= (\S+) \* \*low \+ (\S+);\n  \*low \+= (\S+);\n  return (\S+) \* loss / 8\.0;", text)
    two, two_more, four, four_more, odd, odd_h, odd_more = map(Fraction, losses)
    low_two, low_four, low_odd = map(Fraction, lows)
    wide, wide_more, low_turned, rise = map(Fraction, turned)
    factor, low, h = by_root(text), A("low"), A("h")

    def at(*terms: tuple) -> Value:
        return errors(algebra, *((RISE * f, *of) for f, *of in terms))

    def claim(by: Fraction, *terms: tuple) -> Value:
        return plus(*(product(number(rise * by * f), *of) if of else number(rise * by * f) for f, *of in terms))

    # Sums of two inputs, products with constants, chains of h sums, whose terms have low parts of 2 low + 3, and the last sum, of two normal numbers.
    parts = [(2, 1, 0), (3, 3 + 5 + 2, 0), (2 * 2, 2 * 3, 2 + 1), (0, 2 * 2 + 1, 0)]
    by_low, alone, by_h = (ROOT2 * sum(part[i] for part in parts) for i in range(3))
    return [
        (at((2, low), (1,)), claim(Fraction(1), (two, low), (two_more,))),
        (at((4, low), (4 * RISE,)), claim(Fraction(1), (four, low), (four_more,))),
        (at((by_low, low), (by_h, h), (alone,)), claim(factor, (odd, low), (odd_h, h), (odd_more,))),
        (at((5 * ROOT2, low), (10 * ROOT2 + 32,)), claim(Fraction(1), (wide, low), (wide_more,))),
        (at((1,)), number(low_two)),
        (at((2,)), number(low_four)),
        (at((3 * ROOT2,)), number(low_odd * factor)),
        (at((3 * ROOT2,)), number(low_turned)),
    ]


def convolutions(root: pathlib.Path, algebra: Algebra) -> Pairs:
    """What a radix that is a convolution adds, beside the passes of its transforms: in binary64 products with two chirps, and those with the filter, whose parts
    are rounded by u of it instead of u/2; in double-double the same of normal numbers, and elements by the filter's error and Cauchy."""
    text = (root / PLAN).read_text()
    narrow = re.findall(r"largest \* \((\S+) \* passes \+ (\S+)\) \+ (\S+)\) \+ \(last \? 0\.0 : (\S+)\);", text)
    wide = re.findall(r"filter = (\S+) \* passes \* \S+, elements = (\S+) \* passes;", text)
    sums = re.findall(
        r"sum = (\S+) \* \*low \+ (\S+) \+ chirp->largest \* \((\S+) \* passes \+ filter \+ (\S+)\) \+ (\S+);", text
    )
    ((twice, filtered, chirps, turned),) = (map(Fraction, found) for found in narrow)
    ((whole, elements),) = (map(Fraction, found) for found in wide)
    ((slope, more, twice_wide, filtered_wide, second),) = (map(Fraction, found) for found in sums)
    low, normal = A("low"), Fraction(101, 100)

    def at(value: Fraction) -> Value:
        return error(algebra, RISE * value)

    return [
        (error(algebra, 2), number(twice)),
        (at(ROOT2 + 2), number(filtered)),
        (error(algebra, 2 * turned), number(chirps)),
        (error(algebra, 16), number(twice_wide)),
        (error(algebra, 8), number(whole)),
        (at(8 * ROOT2), number(elements)),
        (at(5 * ROOT2 * normal + 10 * ROOT2), number(filtered_wide)),
        (
            errors(algebra, (5 * ROOT2 * RISE, low), (RISE * (10 * ROOT2 + 32),)),
            plus(product(number(slope), low), number(more)),
        ),
        (at(5 * ROOT2 * normal + 10 * ROOT2 + 32), number(second)),
    ]


def everything(root: pathlib.Path) -> list[Computed]:
    def of(function):
        return lambda algebra: function(root, algebra)

    return [
        Computed("factorizations: differences", of(differences)),
        Computed("factorizations: quotients", of(quotients)),
        Computed("factorizations: quotients of columns", of(quotients_of_columns)),
        Computed("factorizations: roots", of(roots)),
        Computed("factorizations: the test of an entry", of(entries)),
        Computed("factorizations: the test of a column", of(entries_of_columns)),
        # err is at least 4 u |x_4|
        Computed("systems: the test of a sum of terms", of(ends_of_solutions), at_most(x=(Fraction(2**53, 4), "err"))),
        Computed("systems: terms of a solution", of(solutions)),
        Computed("systems: terms by substitution", of(substitutions)),
        Computed("transforms: what passes add", of(passes)),
        Computed("transforms: what passes in two parts add", of(passes_in_two_parts)),
        Computed("transforms: what convolutions add", of(convolutions)),
        Computed("determinants: traces", of(traces)),
        Computed("determinants: thorough traces", of(thorough_traces)),
        Computed("determinants: the logarithm", of(logarithms)),
        Computed("determinants: its exponential", of(exponentials), at_most(L=Fraction(1, 2**8))),
    ]
