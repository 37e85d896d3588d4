"""The bounds of rows (src/nn/rows/step.h) and of what operators give them: softmax and its kin, cross entropy, norms, their gradients.

A row's graph is recorded; its numbers and their bounds are read from the operator's host code (host.py). Assumed is what other proofs show:
the errors of exponentials and log1p by their certificates, numbers of roundings by proofs/depth. Where a bound is made of computed numbers (a sum,
a statistic), these are the atoms, and the exact numbers are within their bounds of them.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ..exact.library import ROOT
from .algebra import Algebra, Size, U, Value, atom, minus, number, plus, times
from .check import Claim, within
from .host import Host, constants, text_of

A = atom
CHAIN = 34 * U * (1 + Fraction(1, 2**20))  # RM_ROW_CHAIN + 2 additions: proofs/depth
MOMENT = CHAIN + 5 * U  # the same of moments, whose terms round by 5 u at most
TERMS = Fraction(1, 2**12)  # beside 1: of n u, n below 2^40, what higher powers add
SCALED, SHIFTED, WEIGHTED, LESS_EXP, DIFFERENCE, AFFINE, AFFINE_SAME, CENTERED = range(8)


def product(*values: Value) -> Value:
    out = number(1)
    for value in values:
        out = times(out, value)
    return out


def error(algebra: Algebra, bound: Fraction | int, *of: Value) -> Value:
    """An error of at most `bound` times a product of atoms."""
    return product(algebra.error(Fraction(bound)), *of)


def not_evaluated(algebra: Algebra, name: str) -> Value:
    return A(name)


def at_most(**bounds: tuple[Fraction | int, str] | Fraction | int) -> Callable[[str], Size | None]:
    """What atoms are at most: numbers, or numbers times others."""

    def below(name: str) -> Size | None:
        found = bounds.get("own" if name.startswith("|") else name)
        if found is None:
            return None
        return {((found[1], 1),): Fraction(found[0])} if isinstance(found, tuple) else {(): Fraction(found)}

    return below


@dataclass(frozen=True)
class Given(Claim):
    """A graph of which `make` gives the numbers, with "exact"."""

    make: Callable[[Algebra], dict[str, Value]] = lambda algebra: {}
    limits: Callable[[str], Size | None] = at_most()
    choices: tuple[tuple[str, bool], ...] = ()  # the outcomes of selections, by the comparison

    def numbers(self, algebra: Algebra) -> dict[str, Value]:
        return self.make(algebra)

    def choose(self, op: str, first: str) -> bool | None:
        choices = dict(self.choices)
        return choices.get(f"{op} {first}", choices.get(op))

    def below(self, name: str) -> Size | None:
        return self.limits(name)


@dataclass(frozen=True)
class Computed:
    """Numbers of host code: the off-by of each, and the bound that is claimed for it."""

    name: str
    make: Callable[[Algebra], list[tuple[Value, Value]]]
    limits: Callable[[str], Size | None] = at_most()

    def share(self) -> Fraction:
        algebra = Algebra()
        worst = Fraction(0)
        for off, bound in self.make(algebra):
            assert not any(not errors for _, errors in off), f"{self.name}: not the number that is meant"
            worst = max(worst, within(algebra.size(off), algebra.smallest(bound), self.limits))
        return worst


def row(name: str, op: int, make, sums=(), **more) -> Given:
    return Given(name, f"row-2-{op}-0", (), not_evaluated, sums, make=make, **more)


# ------------------------------------------------------------------------------------------------ softmax and its kin


def known(root: pathlib.Path) -> dict[str, Value]:
    return {name: number(value) for name, value in constants(root, "src/nn/rows/kernels.h").items()}


def of_rows(root: pathlib.Path, algebra: Algebra) -> tuple[dict[str, Value], Fraction, Fraction, Fraction]:
    c = constants(root, "src/nn/rows/kernels.h")
    return known(root), c["RM_ROW_EXP_ERR"], c["RM_ROW_SUM_ERR"], MOMENT


def certified(kernel: str) -> Fraction:
    """The error that is proved of a kernel."""
    held = json.loads((ROOT / f"proofs/certificates/{kernel}.json").read_text())
    return Fraction(float.fromhex(held["claimed"])) * Fraction(max(held[build]["ratio"] for build in ("fma", "base")))


def sums(root: pathlib.Path) -> list[Computed]:
    """The errors of src/nn/rows/kernels.h: of exponentials of a difference below 2^8, which rounds, of their sums, and of moments, whose terms round by
    5 u at most."""

    def bounds(algebra: Algebra) -> list[tuple[Value, Value]]:
        c = constants(root, "src/nn/rows/kernels.h")
        difference = Fraction(1, 2**46) * (1 + Fraction(1, 2**45))
        return [
            (algebra.error((certified("exp_row_b64") + difference) * (1 + Fraction(1, 2**40))), number(c["RM_ROW_EXP_ERR"])),
            (algebra.error(c["RM_ROW_EXP_ERR"] + CHAIN), number(c["RM_ROW_SUM_ERR"])),
            (algebra.error(MOMENT), number(c["RM_ROW_MOMENT_ERR"])),
        ]

    return [Computed("sums of rows", bounds)]


def log1p_of(algebra: Algebra, total: Fraction) -> Value:
    """The exact logarithm of which `l` is what log1p gives of a sum within `total`, without terms that counted as 0, n 2^-245 at most: log1p
    enlarges no relative error, and no absolute one."""
    return plus(
        algebra.off(A("l"), (total + certified("log1p_row_b64")) * (1 + TERMS)),
        error(algebra, Fraction(1, 2**245) * (1 + TERMS), A("n")),
    )


def given_sum(value: Value) -> Callable[[], Value]:
    def call() -> Value:
        return value

    call.whole = True  # type: ignore[attr-defined]
    return call


SOFTMAX = "src/nn/softmax/row.h"
T = plus(A("u"), minus(A("c")))


def softmax(root: pathlib.Path) -> list[Claim]:
    def forward(algebra: Algebra) -> dict[str, Value]:
        values, exp, total, _ = of_rows(root, algebra)
        text = text_of(root, SOFTMAX, "s.a = 1.0 / RM_ROW(state, exponentials)", 3)
        text = text.replace("s.u = e;", "")
        host = Host(algebra, values, calls={"exponentials": given_sum(algebra.off(A("S"), total))}).run(text)
        return {
            "p": algebra.off(A("E"), exp),
            "a": host.values["s.a"],
            "rel": host.values["s.rel"],
            "err": {},
            "exact": product(A("E"), A("S", -1)),
        }

    def logarithm(algebra: Algebra) -> dict[str, Value]:
        values, _, total, _ = of_rows(root, algebra)
        text = text_of(root, SOFTMAX, "s.a = rm_log1p_of(", 2)
        host = Host(algebra, values | {"n": A("n")}, calls={"rm_log1p_of": given_sum(A("l"))}).run(text)
        return {
            "p": A("u"),
            "c": A("c"),
            "a": host.values["s.a"],
            "err": host.values["s.err"],
            "exact": plus(A("u-c"), minus(log1p_of(algebra, total))),
        }

    def gradient(algebra: Algebra) -> dict[str, Value]:
        """The bound of a sum (src/reduce/sum_parts.h) has 2^-8 of itself beside what it is derived from."""
        return {
            "p": A("u"),
            "m": A("v"),
            "a": A("c"),
            "err": A("err"),
            "exact": plus(product(A("v"), A("u-c")), error(algebra, 1 - TERMS, A("v"), A("err"))),
        }

    def log_gradient(algebra: Algebra) -> dict[str, Value]:
        values, exp, _, _ = of_rows(root, algebra)
        text = text_of(root, SOFTMAX, "s.rel = RM_ROW_EXP_ERR +", 1)
        values |= {"sum": A("a"), "err": product(A("rho"), A("a"))}  # err/|sum| is rho
        host = Host(algebra, values, {"sum!=0.0": True}).run(text)
        total = plus(A("a"), error(algebra, 1, A("rho"), A("a")))
        return {
            "p": A("u"),
            "e": algebra.off(A("E"), exp),
            "a": A("a"),
            "rel": host.values["s.rel"],
            "exact": plus(A("u"), minus(product(A("E"), total))),
        }

    difference = (("u-c", T),)
    return [
        row("softmax", SCALED, forward),
        row("log_softmax, logsumexp", SHIFTED, logarithm, difference),
        row("gradient of softmax", WEIGHTED, gradient, difference),
        row("gradient of log_softmax", LESS_EXP, log_gradient, choices=(("le", True), ("lt", False))),
    ]


# --------------------------------------------------------------------------------------------------------- cross entropy

ENTROPY = "src/nn/cross_entropy/row.h"


def class_weights(root: pathlib.Path, algebra: Algebra) -> tuple[Value, Value, Value]:
    """q_c as computed, its |q|, and as it is: its two parts P and B, with the weight."""
    text = text_of(root, ENTROPY, "shares.own = 1.0 - s", ";").replace("(double)r->f->p.n", "n")
    more = text_of(root, ENTROPY, "a = shares->own * p", "return (a + b) * r->w[c];")
    text += more.replace("*size =", "size =").replace("return", "q =").replace("shares->", "shares.")
    values = {"s": A("s"), "n": A("n"), "r->w[c]": A("w"), "p": A("p")}
    host = Host(algebra, values, sums=(("1-s", plus(number(1), minus(A("s")))),)).run(text)
    exact = plus(product(A("1-s"), A("p"), A("w")), product(A("s"), A("n", -1), A("w")))
    return host.values["q"], host.values["size"], exact


def summed(algebra: Algebra, term: Value) -> Value:
    """The sum of as many terms as there are classes: n - 1 roundings at most, of sums of magnitudes."""
    return plus(term, times(term, error(algebra, U * (1 + TERMS), A("n"))))


def compensated(algebra: Algebra, term: Value) -> Value:
    """The sum by two-sums: what they leave over, at most u of a partial sum each, is rounded by n u at most, and the sum of both once. n2
    stands for n^2 u."""
    return plus(term, times(term, plus(error(algebra, U * (1 + TERMS), A("n2")), error(algebra, U * (1 + TERMS)))))


def sizes_summed(algebra: Algebra, size: Value) -> Value:
    """The same of magnitudes, n below 2^40."""
    return algebra.off(size, TERMS / 2)


def entropy(root: pathlib.Path) -> tuple[list[Claim], list[Computed]]:
    def loss(algebra: Algebra) -> list[tuple[Value, Value]]:
        values, _, total, _ = of_rows(root, algebra)
        q, size, exact = class_weights(root, algebra)
        host = Host(algebra, {"m": A("m"), "r.x[c]": A("x")}, sums=(("m-x", plus(A("m"), minus(A("x")))),))
        host.run("below = " + text_of(root, ENTROPY, "below = m - r.x[c];", ";").removeprefix("below = "))
        below = host.values["below"]
        times_below, size_below = host.rounded(times(q, below)), host.rounded(times(size, below))
        calls = {"rm_log1p_of": given_sum(A("l"))}
        text = text_of(root, ENTROPY, "const double l = rm_log1p_of(", 6)
        text = (
            text.replace("r.x[at] = m;", "").replace("loss->lo = 0.0;", "").replace("(double)(end - first + 12)", "count12")
        )
        host = Host(
            algebra,
            values
            | {
                "n": A("n"),
                "count12": plus(A("n"), number(12)),
                "t": summed(algebra, times_below),
                "t_size": sizes_summed(algebra, size_below),
                "q_sum": summed(algebra, q),
                "q_size": sizes_summed(algebra, size),
            },
            cases={"in_sums": False},
            calls=calls,
            own=("loss->hi",),
        ).run(text)
        value = plus(product(exact, A("m-x")), times(exact, log1p_of(algebra, total)))
        return [(plus(host.values["loss->hi"], minus(value)), host.values["loss->err"])]

    def smoothed(algebra: Algebra) -> tuple[Host, Value, Value]:
        """T and Q of a target and of sums R and W over classes, as computed and as they are."""
        values, _, _, moment = of_rows(root, algebra)
        values |= {"s": A("s"), "n": A("n"), "r.w[r.target]": A("w"), "m": A("m"), "r.x[r.target]": A("x")}
        values |= {"apart": algebra.off(A("R"), moment), "weights": algebra.off(A("W"), moment)}
        exact = (("1-s", plus(number(1), minus(A("s")))), ("m-x", plus(A("m"), minus(A("x")))))
        calls = {"rm_log1p_of": given_sum(A("l"))}
        host = Host(algebra, values, {"in_sums": True}, calls, ("loss->hi",), exact)
        host.run(text_of(root, ENTROPY, "shares.own = 1.0 - s", ";").replace("(double)r->f->p.n", "n"))
        host.run(text_of(root, ENTROPY, "const double own = shares.own * r.w[r.target];", 4))
        own, each = product(A("1-s"), A("w")), product(A("s"), A("n", -1))
        return host, plus(product(own, A("m-x")), product(each, A("R"))), plus(own, product(each, A("W")))

    def loss_in_sums(algebra: Algebra) -> list[tuple[Value, Value]]:
        _, _, total, _ = of_rows(root, algebra)
        host, t, q = smoothed(algebra)
        text = text_of(root, ENTROPY, "const double l = rm_log1p_of(", 6)
        host.run(text.replace("r.x[at] = m;", "").replace("loss->lo = 0.0;", ""))
        value = plus(t, times(q, log1p_of(algebra, total)))
        return [(plus(host.values["loss->hi"], minus(value)), host.values["loss->err"])]

    def one_class(algebra: Algebra) -> dict[str, Value]:
        values, exp, total, _ = of_rows(root, algebra)
        values |= {
            "r.g": A("g"),
            "divisor.hi": algebra.off(A("D"), Fraction(1, 2**59)),
            "r.w[r.target]": A("w"),
            "others": algebra.off(A("O"), total),
            "one": algebra.off(A("E1"), exp),
        }
        host = Host(algebra, values).run(text_of(root, ENTROPY, "const double k = r.g / divisor.hi;", ";"))
        host.run(text_of(root, ENTROPY, "sum = others + one;", 3))
        exact = product(A("g"), A("w"), A("D", -1), A("O+E1", -1))
        if wanted == "target":
            host.algebra.error(U)
            host.run(text_of(root, ENTROPY, "double y = -others * s.a;", ";"))
            host.run(text_of(root, ENTROPY, "const double err = RM_BOUND(__builtin_fabs(y)", ";"))
            return {"y": host.values["y"], "err": host.values["err"], "exact": minus(product(A("O"), exact))}
        return {
            "p": algebra.off(A("E"), exp),
            "a": host.values["s.a"],
            "rel": host.values["s.rel"],
            "err": {},
            "exact": product(A("E"), exact),
        }

    wanted = ""

    def target(algebra: Algebra) -> list[tuple[Value, Value]]:
        nonlocal wanted
        wanted = "target"
        found = one_class(algebra)
        wanted = ""
        return [(plus(found["y"], minus(found["exact"])), found["err"])]

    def all_classes(algebra: Algebra, in_sums: bool = False) -> dict[str, Value]:
        """With Q and q_c as computed, the sum of |q|_c being rho |Q|; lost: what cancels in them."""
        values, exp, total, _ = of_rows(root, algebra)
        values |= {
            "k": A("k"),
            "q_sum": A("Q"),
            "q_size": product(A("rho"), A("Q")),
            "sum": algebra.off(A("S"), total),
            "lost": A("lost"),
        }
        host = Host(algebra, values, {"in_sums": in_sums, "q_sum!=0.0": True})
        text = text_of(root, ENTROPY, "s.v = q, s.a = q_sum / sum, s.d = k;", 4)
        text = text.replace("s.v = q, ", "").replace("((double)n * (double)n * 0x1p-53 + 12.0)", "n12")
        host.values["n12"] = plus(A("n2"), number(12))
        host.run(text)
        text = text_of(root, ENTROPY, "s.err = __builtin_fabs(k * s.a) * 0x1p-245", ";")
        host.run(text)
        k = algebra.off(A("k"), Fraction(3, 2**53))  # the quotient, and a divisor within 2^-60
        q = plus(A("q"), error(algebra, WEIGHT, A("q")), error(algebra, WEIGHT, A("lost")))
        total_q = (
            algebra.off(A("Q"), IN_SUMS)
            if in_sums
            else plus(
                A("Q"),
                *(error(algebra, U * (1 + 3 * TERMS) * c, A("Q"), A("rho"), *n) for c, n in ((1, (A("n2"),)), (6, ()))),
            )
        )
        return {
            "p": algebra.off(A("E"), exp),
            "m": A("q"),
            "a": host.values["s.a"],
            "d": A("k"),
            "rel": host.values["s.rel"],
            "slope": host.values["s.slope"],
            "err": host.values["s.err"],
            "exact": times(k, plus(product(A("E"), A("S", -1), total_q), minus(q))),
        }

    WEIGHT = Fraction(44, 10 * 2**53)  # of |q|_c, what q_c is off by: below
    IN_SUMS = MOMENT + 8 * U  # of Q, what it is off by that is made of sums: below

    def weights(algebra: Algebra) -> list[tuple[Value, Value]]:
        """q_c is within WEIGHT |q|_c, and Q within (n + 5) u Q', or compensated (n^2 u + 6) u Q'."""
        q, size, exact = class_weights(root, algebra)
        host, _, exact_sum = smoothed(algebra)
        return [
            (plus(host.values["q_sum"], minus(exact_sum)), times(host.values["q_sum"], number(IN_SUMS))),
            (plus(q, minus(exact)), times(size, number(WEIGHT))),
            (
                plus(summed(algebra, q), minus(exact)),
                times(times(size, number(U * (1 + 2 * TERMS))), plus(A("n"), number(5))),
            ),
            (
                plus(compensated(algebra, q), minus(exact)),
                times(times(size, number(U * (1 + 2 * TERMS))), plus(A("n2"), number(6))),
            ),
        ]

    return (
        [
            row("gradient of cross entropy, one class", SCALED, one_class),
            row("gradient of cross entropy, probabilities", DIFFERENCE, all_classes),
            row("gradient of cross entropy, smoothed", DIFFERENCE, functools.partial(all_classes, in_sums=True)),
        ],
        [
            Computed("cross entropy of a row", loss),
            Computed("cross entropy of a row, smoothed", loss_in_sums),
            Computed("gradient of cross entropy, the target", target),
            Computed("weights of classes", weights),
        ],
    )


# ---------------------------------------------------------------------------------------------------------------- norms

NORMS, WEIGHTS = "src/nn/norm/normalize.inl", "src/nn/norm/weight_row.h"
OF_REL = Fraction(995, 1000)
ROOT_HALF = Fraction(505, 1000)  # (1 - d)^(-1/2) - 1 is below ROOT_HALF d for d up to 2^-19
assert (1 - Fraction(1, 2**19)) * (1 + ROOT_HALF / 2**19) ** 2 > 1 and ROOT_HALF > Fraction(1, 2)
NN = A("nn", 2)  # n


def statistics(root: pathlib.Path) -> list[Computed]:
    """With R^2 = q/n exactly, and s as computed, n times p; |p| is below 1.01 R, since the mean is."""

    def host_of(algebra: Algebra, centered: bool, again: bool) -> Host:
        values, _, _, moment = of_rows(root, algebra)
        values |= {"n": NN, "s": times(NN, A("p")), "q": algebra.off(times(NN, A("R", 2)), moment), "f->eps": A("eps")}
        host = Host(
            algebra,
            values,
            {"f->centered&&v<0.25*m2": again, "f->centered": centered, "q==0.0": False},
            own=("t->v", *(("t->c",) if again else ())),
        )

        def moments() -> Value:
            host.values["t->c"] = A("c0")
            return {}

        host.calls = {"rm_norm_pad": given_sum({}), "moments": moments}
        moments.whole = True  # type: ignore[attr-defined]
        return host.run(text_of(root, NORMS, "double p = s / n, m2 = q / n", "__builtin_sqrt(q);"))

    def variance(centered: bool, again: bool):
        def make(algebra: Algebra) -> list[tuple[Value, Value]]:
            host = host_of(algebra, centered, again)
            _, _, _, moment = of_rows(root, algebra)
            mean = plus(A("p"), error(algebra, moment, A("R")))
            exact = plus(A("R", 2), A("eps"), minus(times(mean, mean)) if centered else {})
            v = host.values["t->v"]
            found = [(plus(v, minus(exact)), plus(host.values["off"], times(number(2 * U), algebra.magnitude(v))))]
            if centered:
                mean = plus(mean, A("c0")) if again else mean
                found.append((plus(host.values["t->c"], minus(mean)), host.values["t->c_err"]))
            return found

        return make

    def root_of(algebra: Algebra) -> list[tuple[Value, Value]]:
        """1/sqrt(V) for V within off + 2 u v of v = r^2; what rows take it for is within OF_REL (rel - 8 u) + 4 u."""
        host = Host(algebra, {"t->v": A("r", 2), "off": times(A("rho"), A("r", 2))})
        host.run(text_of(root, NORMS, "t->a = 1.0 / __builtin_sqrt(t->v);", 2))
        exact = plus(
            A("r", -1), error(algebra, ROOT_HALF, A("r", -1), A("rho")), error(algebra, 2 * ROOT_HALF * U, A("r", -1))
        )
        rest = plus(host.values["t->rel"], number(-8 * U))
        bound = times(algebra.magnitude(host.values["t->a"]), plus(times(rest, number(OF_REL)), number(4 * U)))
        return [(plus(host.values["t->a"], minus(exact)), bound)]

    limits = at_most(p=(Fraction(101, 100), "R"))
    return [
        Computed("variance", variance(False, False), limits),
        Computed("variance and mean", variance(True, False), limits),
        Computed("variance and mean around a first mean", variance(True, True), limits),
        Computed("root of the variance", root_of),
    ]


def exact_root(algebra: Algebra) -> Value:
    """That of which `a` is what was computed, rel being r + 2^-50."""
    return plus(A("a"), error(algebra, OF_REL, A("a"), A("r")), error(algebra, 4 * U, A("a")))


REL = plus(A("r"), number(8 * U))
SMALL = at_most(r=Fraction(1, 2**20))  # off is at most 2^-20 v


def norms(root: pathlib.Path) -> tuple[list[Claim], list[Computed]]:
    def affine(algebra: Algebra) -> dict[str, Value]:
        host = Host(algebra, {"t.c": A("c"), "t.a": A("a"), "t.rel": REL, "t.c_err": A("kappa")})
        host.run(text_of(root, NORMS, "s.c = t.c, s.a = t.a, s.rel = t.rel,", ";"))
        deviation = plus(A("u-c"), error(algebra, 1, A("kappa")))
        return {
            "p": A("u"),
            "v": A("w"),
            "w": A("b"),
            "w0": A("w"),
            "b0": A("b"),
            "c": host.values["s.c"],
            "a": host.values["s.a"],
            "rel": host.values["s.rel"],
            "err": host.values["s.err"],
            "exact": plus(product(deviation, exact_root(algebra), A("w")), A("b")),
        }

    def centered(algebra: Algebra, same: bool = False) -> dict[str, Value]:
        """`same`: one weight of all, by which `a` has been multiplied, with a rounding."""
        values = {
            "size": A("a"),
            "t.rel": REL,
            "s.b0": A("b0"),
            "b0_err": A("beta"),
            "c1_err": A("gamma"),
            "t.c_err": A("kappa"),
        }
        host = Host(algebra, values, {"same": same}).run(text_of(root, NORMS, "const double own = t.rel", 4))
        factor = (
            plus(exact_root(algebra), error(algebra, U * (1 + Fraction(1, 2**19)), A("a"))) if same else exact_root(algebra)
        )
        first = plus(A("u-c"), error(algebra, 1, A("gamma")))
        second = times(plus(A("v-d"), error(algebra, 1, A("kappa"))), plus(A("b0"), error(algebra, 1, A("beta"))))
        return {
            "p": A("u"),
            "m": A("v"),
            "c": A("c"),
            "d": A("d"),
            "a": A("a"),
            "b0": A("b0"),
            "rel": host.values["s.rel"],
            "slope": host.values["s.slope"],
            "err": host.values["s.err"],
            "exact": times(factor, plus(first, minus(second))),
        }

    def moments_of(algebra: Algebra, moment: Fraction) -> tuple[Value, Value, Value]:
        """Sums of h, h^2 = (nn hh)^2 and h (x - c), as computed; the exact sum of h and that of h (x - mean), D being the root of the sum of
        (x - c)^2."""
        first = plus(A("first"), error(algebra, moment, A("hh"), NN))
        second = plus(
            A("second"), error(algebra, moment, A("nn"), A("hh"), A("D")), times(error(algebra, 1, A("kappa")), first)
        )
        return algebra.off(times(NN, A("hh", 2)), moment), first, second

    def sums_of_gradient(algebra: Algebra) -> list[tuple[Value, Value]]:
        values, _, _, moment = of_rows(root, algebra)
        squares, first, second = moments_of(algebra, moment)
        values |= {
            "sums[0]": A("first"),
            "sums[1]": squares,
            "sums[2]": A("second"),
            "count": NN,
            "one": number(1),
            "t.a": A("a"),
            "t.c": A("c"),
            "t.v": A("r2"),
            "t.rel": REL,
            "t.c_err": A("kappa"),
            "t.spread": A("D"),
        }
        host = Host(algebra, values, {"f->centered": True})
        host.run(text_of(root, NORMS, "const double root = __builtin_sqrt(sums[1])", 5))
        # V is within off + 2 u v of v, off/v being at most r/0.51; 2^-19 for the quotient by it.
        inverse = plus(
            A("r2", -1),
            *(
                error(algebra, c * (1 + Fraction(1, 2**19)), A("r2", -1), *of)
                for c, of in ((Fraction(100, 51), (A("r"),)), (2 * U, ()))
            ),
        )
        return [
            (plus(host.values["s.c"], minus(times(first, A("nn", -2)))), host.values["c1_err"]),
            (plus(host.values["s.b0"], minus(product(second, A("nn", -2), inverse))), host.values["b0_err"]),
        ]

    def column(algebra: Algebra) -> dict[str, Value]:
        """A term of a sum that adds RM_WEIGHT_TERMS of them plainly."""
        count = int(text_of(root, WEIGHTS, "RM_WEIGHT_TERMS = ", ",").strip(",").split()[-1])
        host = Host(algebra, {"t->a": A("a"), "t->rel": REL, "t->c_err": A("kappa"), "RM_WEIGHT_TERMS": number(count)})
        for name in ("rel", "err"):
            host.run(
                f"{name} ="
                + text_of(root, WEIGHTS, f"rm_norm_weight_{name}(const rm_norm_statistics *t) {{ return", ";").partition(
                    "return"
                )[2]
            )
        deviation = plus(A("x-c"), error(algebra, 1, A("kappa")))
        return {
            "p": A("g"),
            "m": A("x"),
            "c": A("c"),
            "a": A("a"),
            "rel": host.values["rel"],
            "err": host.values["err"],
            "exact": plus(
                product(A("g"), deviation, exact_root(algebra)), error(algebra, (count + 1) * U, A("g"), A("x-c"), A("a"))
            ),
        }

    def channel(algebra: Algebra) -> list[tuple[Value, Value]]:
        values, _, _, moment = of_rows(root, algebra)
        squares, _, second = moments_of(algebra, moment)
        values |= {"sum[0]": A("first"), "sum[1]": squares, "sum[2]": A("second"), "sq[1]": algebra.off(A("D", 2), moment)}
        values |= {"length": NN, "t->a": A("a"), "t->rel": REL, "t->c_err": A("kappa")}
        # Where the spread is that of the whole set, it is larger.
        host = Host(algebra, values).run(text_of(root, WEIGHTS, "spread = __builtin_sqrt(sq[1]);", 1))
        host.run(text_of(root, WEIGHTS, "const double v = t->a * sum[2]", "RM_ROW_MOMENT_ERR * root * n));"))
        host.run(
            "bound ="
            + text_of(root, WEIGHTS, "rm_dd_ball_finish(&term, v, 0.0, 1,", ";").partition("1,")[2].removesuffix(");")
            + ";"
        )
        return [(plus(host.values["v"], minus(times(exact_root(algebra), second))), host.values["bound"])]

    def joins(algebra: Algebra) -> list[tuple[Value, Value]]:
        """A join is off by u of the low part and of what the sum leaves over. No partial sum being above T, that is at most u T, the low part after
        i joins is within i u T, and the errors of j of them add up to j (j + 1)/2 u^2 T; a term's bound has the part `smallest` of the term, so that the
        bound has that of T."""
        text = text_of(root, WEIGHTS, "*hi = rm_two_sum(*hi, *sum, &e);", "*sum = 0.0;")
        host = Host(algebra, {"hi": A("hi"), "lo": A("lo"), "sum": A("sum")}).run(re.sub(r"\*(hi|lo|sum)", r"\1", text))
        off = plus(host.values["hi"], host.values["lo"], minus(A("hi")), minus(A("lo")), minus(A("sum")))
        each = number(U * (1 + U))
        found = [(off, plus(times(each, A("lo")), times(each, host.values["e"])))]
        terms = int(text_of(root, WEIGHTS, "RM_WEIGHT_TERMS = ", ",").strip(",").split()[-1])
        host = Host(algebra, {"t->rel": {}, "RM_WEIGHT_TERMS": number(terms), "j": A("j")})
        relative = text_of(root, WEIGHTS, "return t->rel + (RM_WEIGHT_TERMS", ";").removeprefix("return")
        host.run(f"smallest = {relative}")
        host.values["bound"] = product(host.values["smallest"], A("T"))
        given = text_of(root, WEIGHTS, "RM_BOUND(1.01 * bound +", ")")
        host.run(f"given = {given.removeprefix('RM_BOUND(1.01 * bound +').removesuffix(')')};")
        lost = error(algebra, U * U * (1 + TERMS) / 2, A("T"))  # each of j (j + 1)/2, and j <= j^2
        return [*found, (plus(times(lost, A("j", 2)), times(lost, A("j", 2))), host.values["given"])]

    by_c, by_d = ("u-c", T), ("v-d", plus(A("v"), minus(A("d"))))
    x = ("x-c", plus(A("x"), minus(A("c"))))
    return (
        [
            row("norm", AFFINE, affine, (by_c,), limits=SMALL),
            row("norm, one weight", AFFINE_SAME, affine, (by_c,), limits=SMALL),
            row("gradient of a norm", CENTERED, centered, (by_c, by_d), limits=SMALL),
            row(
                "gradient of a norm, one weight", CENTERED, functools.partial(centered, same=True), (by_c, by_d), limits=SMALL
            ),
            Given(
                "gradient of a norm by its weights, columns",
                "column-2-0-0",
                (),
                not_evaluated,
                (x,),
                make=column,
                limits=SMALL,
            ),
        ],
        [
            *sums(root),
            *statistics(root),
            Computed("sums of a norm's gradient", sums_of_gradient, SMALL),
            Computed("gradient of a norm by its weights, blocks", channel, SMALL),
            Computed("gradient of a norm by its weights, joins of columns", joins),
        ],
    )
