"""The bounds of random draws (src/random), of dropout, of the terms of losses (src/nn/loss/step.h), of averages, variances and of the reduction of
large arguments of the sine: as rows.py, from graphs and from host code.

What is given: quantiles of the normal distribution by RM_ERFINV_B64_ERR, or within the err of erfinv_dd.h, twice the tails of truncated
numbers within 2^-104 (rm_truncation_prepare), pi/16 by its two parts. A bound that another proof leaves room in is taken with 2^-20 of itself to spare.
"""

from __future__ import annotations

import pathlib
from fractions import Fraction

from .algebra import Algebra, U, Value, atom, minus, number, plus, times
from .check import Claim, formula_numbers
from .host import Host, constants, text_of
from .rows import Computed, Given, at_most, certified, error, given_sum, not_evaluated, product

A = atom
SPARE = 1 - Fraction(1, 2**20)
ONE = Fraction(1001, 1000)


def graph(name: str, what: str, make, sums=(), **more) -> Given:
    return Given(name, what, (), not_evaluated, sums, make=make, **more)


def logaddexp() -> Claim:
    """The last sum, of the larger argument and log(1 + e^-d)."""

    def make(algebra: Algebra) -> dict[str, Value]:
        tail = algebra.off(A("tail"), certified("logaddexp_tail_b64"))
        return {"tail": tail, "exact": plus(A("big"), A("tail"))}

    return graph("logaddexp, formats below binary64", "logaddexp-2-0-0", make)


# ----------------------------------------------------------------------------------------------------------------- draws


def uniform(root: pathlib.Path, fmt: int, label: str) -> Claim:
    """low + u W, W = high - low of at most 2 B, B the larger magnitude of both."""

    def make(algebra: Algebra) -> dict[str, Value]:
        width = algebra.off(A("W"), U)
        host = Host(algebra, {"size": A("B")}, {"format==RM_F64": fmt == 3})
        host.run(text_of(root, "src/random/args.c", "r->err = size *", ";"))
        return {
            "u": A("u"),
            "low": A("low"),
            "width": width,
            "width_error": plus(A("W"), minus(width)),
            "err": host.values["r->err"],
            "exact": plus(A("low"), product(A("u"), A("W"))),
        }

    limits = at_most(u=1, low=(1, "B"), W=(2, "B"), own=(ONE, "B"))
    return graph(f"uniform numbers, {label}", f"uniform-{fmt}-0-0", make, limits=limits)


def quantile(root: pathlib.Path) -> Fraction:
    return constants(root, "crlibm/erfinv/erfinv_b64.h")["RM_ERFINV_B64_ERR"]


def scaled(root: pathlib.Path) -> list[Claim]:
    """mean + std z."""

    def narrow(moved: Fraction):
        def make(algebra: Algebra) -> dict[str, Value]:
            z = plus(A("z"), error(algebra, moved))  # the quantile at the u and v that there are
            return {
                "quantile": algebra.off(A("z"), quantile(root)),
                "sign": number(1),
                "exact": plus(A("mean"), times(A("std"), z)),
            }

        return make

    def two_parts(moved: Fraction):
        def make(algebra: Algebra) -> dict[str, Value]:
            low = error(algebra, Fraction(1, 2**39), A("z"))
            z = plus(A("z"), low, error(algebra, SPARE, A("err")), error(algebra, moved))
            return {"hi": A("z"), "lo": low, "err": A("err"), "sign": number(1), "exact": plus(A("mean"), times(A("std"), z))}

        return make

    def tail(algebra: Algebra) -> dict[str, Value]:
        """The sum of both weights times tails, p0 + p1, all positive, against 2^-100 of it, which the parts are at most."""
        known: dict[str, Value] = {}
        for i in "01":
            weight, whole = A(f"w{i}"), product(A(f"p{i}"), A(f"w{i}", -1))
            off = error(algebra, Fraction(1, 2**104), whole)
            known[f"weight{i}"], known[f"tail{i}"] = algebra.off(weight, U), algebra.off(whole, U)
            known[f"weight_low{i}"] = plus(weight, minus(known[f"weight{i}"]))
            known[f"tail_low{i}"] = plus(whole, off, minus(known[f"tail{i}"]))
        return known | {"exact": plus(A("p0"), A("p1"))}

    # sqrt(pi/2) exp(y^2) erfc(y) 2^-50 of z, and below 4 times 2^-100 of it, are what an error of 1 - |u| moves it by.
    return [
        graph("normal numbers, formats below binary64", "normal-2-0-0", narrow(Fraction(0))),
        graph("normal numbers, binary64", "normal-3-0-0", two_parts(Fraction(0))),
        graph("truncated normal numbers, formats below binary64", "truncated-2-0-0", narrow(Fraction(1, 2**49))),
        graph("truncated normal numbers, binary64", "truncated-3-0-0", two_parts(Fraction(1, 2**98))),
        graph(
            "weighted tails of truncated normal numbers",
            "tails-3-0-0",
            tail,
            ordered=True,
            limits=at_most(p0=(ONE, "own"), p1=(ONE, "own")),
        ),
    ]


def dropout(root: pathlib.Path) -> tuple[list[Claim], list[Computed]]:
    def parts(algebra: Algebra) -> dict[str, Value]:
        """1/(1 - p) by s = 1 - p rounded, and what that leaves over."""
        rest = error(algebra, U, A("s"))
        host = Host(algebra, {"s": A("s"), "rest": rest}, {"drop->exact": False})
        host.run("r =" + text_of(root, "src/random/args.c", "r = 1.0 / s;", ";").removeprefix("r ="))
        r = host.values["r"]
        residual = plus(times(r, A("s")), number(-1))
        host.calls["vf64_mul_err"] = given_sum(residual)
        host.values["drop->hi"] = r
        host.run(text_of(root, "src/random/args.c", "drop->lo = drop->exact ? 0.0", ";"))
        ratio = times(rest, A("s", -1))
        exact = times(A("s", -1), plus(number(1), minus(ratio), error(algebra, U * U * ONE)))
        return {"hi": r, "lo": host.values["drop->lo"], "exact": exact}

    def found(algebra: Algebra) -> list[tuple[Value, Value]]:
        made = parts(algebra)
        return [(plus(made["hi"], made["lo"], minus(made["exact"])), product(number(Fraction(1, 2**100)), A("s", -1)))]

    def kept(algebra: Algebra) -> dict[str, Value]:
        made = parts(algebra)
        return {"x": A("x"), "hi": made["hi"], "lo": made["lo"], "exact": times(A("x"), made["exact"])}

    choices = (("mor", True), ("eq", False))
    return (
        [
            graph("dropout, formats below binary64", "dropout-2-0-0", kept),
            graph("dropout, binary64", "dropout-3-0-0", kept, choices=choices),
        ],
        [Computed("1/(1 - p) of dropout", found)],
    )


# ---------------------------------------------------------------------------------------------------- terms of losses


def terms(fmt: int, label: str) -> list[Claim]:
    """With d = x - y > 0, the other sign being alike. Outside: b (2 d - b), m being 2 d - b, which b and d are at most."""

    def scale(algebra: Algebra) -> dict[str, Value]:
        exact = algebra.off(A("s"), U + Fraction(1, 2**102))  # formats below binary64 take the first part
        low = minus(error(algebra, U, A("s")))
        if fmt == 3:
            exact = plus(A("s"), minus(low), error(algebra, Fraction(1, 2**102), A("s")))
        return {"scale": A("s"), "scale_low": minus(low), "scale exactly": exact}

    def make(kind: str, by_g: bool):
        def numbers(algebra: Algebra) -> dict[str, Value]:
            known = scale(algebra)
            d = A("d")
            y = A("y")
            if kind == "outside":  # d is (m + b)/2
                y = plus(A("x"), minus(times(number(Fraction(1, 2)), plus(A("m"), A("b")))))
            known |= {"b": A("b"), "p": A("x"), "m": y, "v": A("g")}
            value = {"inside": product(d, d), "outside": product(A("b"), A("m")), "absolute": d, "clamped": d}[kind]
            if kind == "inside":  # |d| < b is decided by the rounded d, where both branches are within u^2 b^2
                value = plus(value, error(algebra, 2 * U * U, d, d)) if fmt == 2 else value
            exact = times(value, known["scale exactly"])
            return known | {"exact": times(exact, A("g")) if by_g else exact}

        return numbers

    found = []
    for kind, number_of in (("inside", 0), ("outside", 0), ("absolute", 1), ("clamped", 2)):
        for by_g in (0, 1):
            name = {"inside": "squares", "outside": "beyond b", "absolute": "magnitudes", "clamped": "clamped"}[kind]
            choices = (("lt abs", kind == "inside"), ("lt", False), ("eq", False), ("mand", False), ("mor", False))
            found.append(
                graph(
                    f"terms of losses, {name}{', times g' if by_g else ''}, {label}",
                    f"term-{fmt}-{number_of}-{by_g}",
                    make(kind, bool(by_g)),
                    (("d", plus(A("x"), minus(A("y")))),),
                    choices=choices,
                    limits=at_most(b=(1, "m")),
                    positive=True,
                )
            )
    return found


# ------------------------------------------------------------------------------------- averages, variances, large arguments


def average(root: pathlib.Path) -> Computed:
    """q = (sum + low)/D in units of 2^-53 of itself, of which its last place has at least one; err has 2^-4 of itself to spare."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        path = "src/nn/pool/sum.h"
        host = Host(
            algebra,
            {"sum": A("sum"), "low": A("low"), "divisor": A("D"), "err": A("err")},
            {"err==0.0": False},
            sums=(("t", plus(A("sum"), A("low"))),),
        )
        host.run(text_of(root, path, "const double by = (double)divisor, q =", "size = __builtin_fabs(q);"))
        host.run(text_of(root, path, "const double units =", ";"))
        exact = times(plus(A("t"), error(algebra, SPARE, A("err"))), A("D", -1))
        return [(plus(host.values["q"], minus(exact)), product(host.values["units"], host.values["size"], number(U)))]

    return Computed("averages of windows", make)


def halved_average(root: pathlib.Path) -> Computed:
    """Of binary64, divided by a power of two: exact quotients. l - e and l + e round, and e does."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        host = Host(algebra, {"sum": A("sum"), "low": A("low"), "by": number(4), "err": A("err")})
        host.run(text_of(root, "src/nn/pool/sum.h", "const double h = sum / by, l = low / by, e =", ", down =")[:-8] + ";")
        h, low, e = (host.values[name] for name in ("h", "l", "e"))
        exact = times(plus(A("sum"), A("low"), error(algebra, SPARE, A("err"))), number(Fraction(1, 4)))
        return [(plus(h, low, minus(exact), times(plus(low, e), error(algebra, U))), e)]

    return Computed("averages of windows, binary64", make)


def quotient_of_sum(root: pathlib.Path) -> Computed:
    """(c + r)/n of sums over axes, c + r within err of the sum: `rest` is c - q n exactly, so that q + (rest + r)/n is the quotient of c + r."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        path = "src/reduce/axes_kernels.c"
        given = {"a.r": A("r"), "a.err": A("err"), "divisor": A("n"), "rest": A("rest")}
        host = Host(algebra, given, sums=(("s", plus(A("rest"), A("r"))),))
        host.calls |= {"vf64_div": host.over, "vf64_add": host.sum, "vf64_mul": host.times, "vf64_set1": lambda x: x}
        host.run(text_of(root, path, "vf64 err = vf64_div(a.err, divisor);", ";"))
        host.run(text_of(root, path, "t = vf64_div(vf64_add(rest, a.r), divisor);", 2))
        exact = times(plus(A("s"), error(algebra, 1, A("err"))), A("n", -1))
        return [(plus(host.values["t"], minus(exact)), host.values["err"])]

    return Computed("means over axes", make)


def slopes16(root: pathlib.Path) -> Computed:
    """P = g D in binary32, D the derivative in binary32; P (1 - err) and P (1 + err) round there too."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        narrow = Fraction(1, 2**24)
        err = constants(root, "src/elementwise/half_gradient.c")["RM_GRADIENT16_ERR"]
        product_ = algebra.off(algebra.off(A("gd"), narrow), narrow)
        ends = times(times(product_, number(1 + err)), error(algebra, narrow))
        return [(plus(product_, minus(A("gd")), ends), times(product_, number(err)))]

    return Computed("gradients, 16-bit formats", make)


def biased_pair(root: pathlib.Path) -> Computed:
    """hi + lo + bias of products in two parts: what the sum leaves over joins lo, whose two roundings, here and in the epilogue, add to the bound. That
    of products (bound_dd.h) has 2^-51 |lo| to spare."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        path, bound = "src/blas/gemm/epilogue_dd.h", constants(root, "src/blas/gemm/bound_dd.h")["RM_BOUND_DD_BIAS"]
        left = error(algebra, U, A("sum"))
        spare = times(number(4 * U), A("lo"))
        known = {
            "s.lo": A("lo"),
            "sum": A("sum"),
            "lost": left,
            "RM_BOUND_DD_BIAS": number(bound),
            "s.err": plus(A("E"), spare),
        }
        host = Host(algebra, known)
        host.calls |= {
            "vf64_add": host.sum,
            "vf64_set1": lambda x: x,
            "vf64_mad": lambda a, b, c: host.sum(host.times(a, b), c),
        }
        assert "sum = vf64_two_sum(s.hi, b, &lost);" in (root / path).read_text()
        host.run(text_of(root, path, "s.lo = vf64_add(s.lo,", ";"))
        host.run(text_of(root, path, "s.err = vf64_mad(vf64_abs(sum),", ";"))
        made = host.values["s.lo"]
        exact = plus(A("lo"), left, error(algebra, SPARE, A("E")))
        return [(plus(made, minus(exact), times(made, error(algebra, U))), host.values["s.err"])]

    return Computed("products in two parts and a bias", make)


VARIANCE = "src/reduce/variance_parts.h"


def deviation(root: pathlib.Path, many: bool) -> Computed:
    """D = S - n c, S within its bound of two parts, c = c1 + c2; n c1 is exact unless there are 2^27 terms or more."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        known = {name: A(name) for name in ("s->hi", "s->lo", "s->err", "n", "c1", "c2")}
        host = Host(algebra, known, {"n>=0x1p27": many}, own=("t1", "t2", "d"))
        text = text_of(root, VARIANCE, "p1 = n * c1,", 4)
        if not many:
            host.values["p1"] = product(A("n"), A("c1"))
            text = text.removeprefix("p1 = n * c1, ")
        host.run(text)
        exact = plus(A("s->hi"), A("s->lo"), error(algebra, SPARE, A("s->err")), minus(times(A("n"), plus(A("c1"), A("c2")))))
        return [(plus(host.values["d"], minus(exact)), host.values["d_err"])]

    return Computed(f"deviations of a variance{', many terms' if many else ''}", make)


def variance(root: pathlib.Path) -> Computed:
    """N = Q - D^2/n, Q within its bound of two parts, the second one rounded away from the first, D within d_err of d."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        known = {name: A(name) for name in ("d", "d_err", "n", "q->hi", "q->err")} | {"q->lo": error(algebra, U, A("q->hi"))}
        host = Host(algebra, known, own=("r",))
        host.run(text_of(root, VARIANCE, "const double g = d * d / n,", ";"))
        low = text_of(root, VARIANCE, "const double r = rm_two_sum(q->hi, -g, &lost),", "+ q->lo;")
        host.run("double r = q->hi - g;")
        host.values["lost"] = plus(A("q->hi"), minus(host.values["g"]), minus(host.values["r"]))
        host.run("r_low =" + low.partition("r_low =")[2])
        host.run("err =" + text_of(root, VARIANCE, "*err = ", ";").removeprefix("*err ="))
        d = plus(A("d"), error(algebra, 1, A("d_err")))
        whole = plus(A("q->hi"), host.values["q->lo"], error(algebra, 1, A("q->err")))
        exact = plus(whole, minus(times(times(d, d), A("n", -1))))
        return [(plus(host.values["r"], host.values["r_low"], minus(exact)), host.values["err"])]

    def below(name: str):
        return {(("q->hi", 1),): ONE, (("d", 2), ("n", -1)): ONE} if name == "|r|" else None

    return Computed("variances", make, below)


def large_argument(root: pathlib.Path) -> Computed:
    """f pi/16 for f within 2^-105 f, where it is cut, and 2^-134 of fh + fl, fl being below 2^-52 fh; pi/16 within 2^-110 of its two parts."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        path, tables = "crlibm/sin/sin_accurate.h", constants(root, "crlibm/sin/sin_tables.h")
        step, step_low = tables["RM_SIN_STEP"], tables["RM_SIN_STEP_LO"]
        low = error(algebra, 2 * U, A("f"))
        known = {"fh": A("f"), "fl": low, "RM_SIN_STEP": number(step), "RM_SIN_STEP_LO": number(step_low)}
        host = Host(algebra, known)
        host.run(text_of(root, path, "const double h = fh * RM_SIN_STEP,", ",")[:-1] + ";")
        h = host.values["h"]
        host.calls["vf64_mul_err"] = given_sum(plus(times(A("f"), number(step)), minus(h)))
        host.calls["vf64_abs"] = algebra.magnitude
        host.run("l =" + text_of(root, path, "l = vf64_mul_err(fh, RM_SIN_STEP, h) +", ";").removeprefix("l ="))
        host.run("err =" + text_of(root, path, "*err = ", ";").removeprefix("*err ="))
        pi = plus(number(step + step_low), error(algebra, Fraction(1, 2**110)))
        exact = times(pi, plus(A("f"), low, error(algebra, Fraction(1, 2**105), A("f")), error(algebra, Fraction(1, 2**134))))
        return [(plus(h, host.values["l"], minus(exact)), host.values["err"])]

    return Computed("sin, cos, tan: large arguments reduced", make)


# ------------------------------------------------------------------------------------------ scaling, numbers with a bound

SCALED = "src/blas/gemm/alpha_beta.h"


def scalings() -> list[Claim]:
    def vector(algebra: Algebra) -> dict[str, Value]:
        """The bound has 2^-52 of |p| + |q| + |v|, which are alpha c, beta d and their sum as rounded."""
        exact = plus(product(A("alpha"), A("c")), product(A("beta"), A("d")), error(algebra, SPARE, A("alpha"), A("err")))
        return {"exact": exact}

    found: list[Claim] = [
        Claim(f"gradients scaled to a norm, {label}", f"clip-{fmt}-0-0", (times(A("c"), A("x")),), formula_numbers)
        for fmt, label in ((2, "formats below binary64"), (3, "binary64"))
    ]
    return [*found, graph("alpha S + beta d", "scaled-2-0-0", vector, choices=(("eq", False), ("mand", False)))]


def scaled_pair(root: pathlib.Path) -> Computed:
    """alpha (hi + lo) + beta d in two parts: what the exact products and the first sum leave over is added with roundings."""

    def make(algebra: Algebra) -> list[tuple[Value, Value]]:
        parts = ("top.lo", "pe", "q.lo", "r", "re")
        host = Host(algebra, {name: A(name) for name in (*parts, "alpha", "given")})
        host.run(text_of(root, SCALED, "const double low = ((top.lo +", 2))
        host.run("err =" + text_of(root, SCALED, "*err = 1.01 *", ";").replace("* *err", "* given").removeprefix("*err ="))
        exact = plus(*(A(name) for name in parts), error(algebra, 1, A("alpha"), A("given")))
        return [(plus(host.values["low"], minus(exact)), host.values["err"])]

    return Computed("alpha S + beta d in two parts", make)


def everything(root: pathlib.Path) -> tuple[list[Claim], list[Computed]]:
    labels = (2, "formats below binary64"), (3, "binary64")
    graphs, computed = dropout(root)
    found = [uniform(root, fmt, label) for fmt, label in labels] + scaled(root) + graphs
    found.append(logaddexp())
    for fmt, label in labels:
        found += terms(fmt, label)
    found += scalings()
    computed += [
        scaled_pair(root),
        average(root),
        halved_average(root),
        quotient_of_sum(root),
        slopes16(root),
        biased_pair(root),
        deviation(root, False),
        deviation(root, True),
        variance(root),
        large_argument(root),
    ]
    return found, computed
