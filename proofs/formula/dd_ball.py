"""Double-double numbers with a running bound (crlibm/enclosure/dd_ball.h): what an operation gives is within its bound of the exact result, for all numbers
within their bounds of the operands. So the totals of binary cross entropy, of the Kullback-Leibler divergence and of the negative log likelihood,
like every formula over these numbers, are within theirs: they are made of these operations alone.

The statements are read from the header. Products may underflow: each is off by at most ETA more, half the smallest number, which the bound's last
constant has to cover; where the header calls the product exact (`tiny` is 0), it is. What a two-sum leaves over is a number of its own. An operation
that says that it is exact has no error at all here."""

from __future__ import annotations

import pathlib
import re
from fractions import Fraction

from flint import arb

from .algebra import Algebra, U, Unknown, Value, atom, exact_part, is_power, minus, number, plus, times
from .host import Host, NotRead, text_of
from .rows import Computed, at_most, error

DD_BALL = "crlibm/enclosure/dd_ball.h"
A = atom
ETA = Fraction(1, 2**1075)
BELOW_ONE = at_most(t=1, s=1)


class Underflowing(Host):
    """Every product may be off by `eta`. Products that are assigned to a variable of `own` are numbers of their own, which they are off by relatively."""

    powers: tuple[str, ...] = ()  # variables that are powers of two
    left: frozenset[str] = frozenset()  # what two-sums left over

    def lost(self) -> Value:
        return error(self.algebra, 1, A("eta"))

    def times(self, a: Value, b: Value) -> Value:
        exact = times(a, b)
        if not exact:
            return {}
        if self.target in self.own:
            self.own = tuple(name for name in self.own if name != self.target)
            named = self.algebra.named(exact, self.target)
            own = f"|{self.target}|"
            self.algebra.magnitudes[own] = plus(named, self.lost())
            return self.algebra.magnitudes[own]
        if (
            is_power(a)
            or is_power(b)
            or set(self.powers) & {atoms[0][0] for v in (a, b) for atoms, _ in v if len(v) == 1 and atoms}
        ):
            return plus(exact, self.lost())
        return self.algebra.pruned(plus(self.algebra.off(exact, U), self.lost()))

    def two_sum(self, a: Value, b: Value, rest: str) -> Value:
        whole = super().two_sum(a, b, rest)
        self.left |= {f"{rest}{self.rests}"}
        return whole

    def over(self, a: Value, b: Value) -> Value:
        """The divisor is `smallest`, or a root's, which is far above the numbers that underflow."""
        main = {key: c for key, c in b.items() if "eta" not in dict(key[0])}
        if b != main and [atoms for atoms, _ in exact_part(main)] != [(("s1", 1),)]:
            raise Unknown("a divisor that may underflow")
        return plus(super().over(a, main), self.lost())

    def magnitude(self, value: Value) -> Value:
        """Of a number that may have underflowed: at least that of the others less what is lost."""
        if value in self.algebra.magnitudes.values():
            return self.algebra.magnitude(value)
        lost = {key: c for key, c in value.items() if "eta" in dict(key[0])}
        main = {key: c for key, c in value.items() if key not in lost}
        return plus(
            self.algebra.magnitude(main), *(error(self.algebra, c, A("eta")) for c in self.algebra.size(lost).values())
        )

    def call(self, name: str) -> Value:
        if name != "vf64_abs":
            return super().call(name)
        self.take("(")
        target, self.target = self.target, ""
        value = self.expression()
        self.take(")")
        self.target = target
        return self.magnitude(value)


def body(root: pathlib.Path, function: str) -> str:
    """A function's statements up to its call of rm_dd_ball_finish, whose arguments become h, l and err; without flags, which say when there is no error."""
    text = text_of(root, DD_BALL, f" {function}(rm_dd_ball *r,", "\n}\n").partition("{\n")[2]
    text, call, rest = text.partition("rm_dd_ball_finish(r, ")
    if not call or rest.count(";") != 1:
        raise NotRead(f"{DD_BALL}: {function} does not end with rm_dd_ball_finish")
    first, second, *_, bound = rest.partition(");")[0].split(", ")
    text = re.sub(r"const int \w+ =[^;]*;", "", text)
    return f"{text} finish_h = {first}; finish_l = {second}; finish_err = {bound};"


def finished(root: pathlib.Path, host: Host) -> Value:
    """The bound as rm_dd_ball_finish leaves it."""
    text = text_of(root, DD_BALL, "return e * (1.0 +", ";").removeprefix("return")
    host.values["e"] = host.values["finish_err"]
    host.target = ""
    return host.run(f"finished = {text}").values["finished"]


def in_eta(algebra: Algebra, value: Value) -> Value:
    """Numbers near the smallest one as multiples of eta, where powers of two below 1 with an error of underflow count as 1."""
    out: Value = {}
    for (atoms, errors), c in value.items():
        term: Value = {(atoms, errors): c}
        if not atoms or "eta" in dict(atoms):
            largest = abs(c) * algebra.of_errors(errors) / (1 if atoms else ETA)
            if largest > 2**100 or (not errors and len(atoms) > 1):
                raise Unknown("a bound of another kind")
            term = error(algebra, largest, A("eta")) if errors else times(number(largest), A("eta"))
        out = plus(out, term)
    return out


def compared(root: pathlib.Path, host: Host, exact: Value) -> tuple[Value, Value]:
    """What the result is off, where what two-sums leave over at the end is left out, and the bound."""
    off = plus(host.values["finish_h"], host.values["finish_l"], minus(exact))
    left = {key: c for key, c in off.items() if not key[1] and len(key[0]) == 1 and key[0][0][0] in host.left}
    lost = [error(host.algebra, abs(c), atom(*atoms[0])) for (atoms, _), c in left.items()]
    off = plus({key: c for key, c in off.items() if key not in left}, *lost)
    return in_eta(host.algebra, off), in_eta(host.algebra, finished(root, host))


def operand(algebra: Algebra, name: str) -> Value:
    return plus(A(f"{name}h"), A(f"{name}l"), error(algebra, 1, A(f"e{name}")))


def sums(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    values = {
        f"{x}->{part}": A(f"{x}{of}" if of else f"e{x}") for x in "ab" for part, of in (("hi", "h"), ("lo", "l"), ("err", ""))
    }
    host = Underflowing(algebra, values).run(body(root, "rm_dd_ball_add"))
    off, bound = compared(root, host, plus(operand(algebra, "a"), operand(algebra, "b")))
    if any("eta" in dict(atoms) for atoms, _ in off):
        raise Unknown("a sum without a bound is not exact")
    return [(off, bound)]


def products(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    found = []
    for tiny in (False, True):
        values = {
            f"{x}->{part}": A(f"{x}{of}" if of else f"e{x}")
            for x in "ab"
            for part, of in (("hi", "h"), ("lo", "l"), ("err", ""))
        }
        for known in (False, True):
            if known and tiny:
                continue
            if known:  # both exact, of one part
                values |= {"a->lo": {}, "b->lo": {}, "a->err": {}, "b->err": {}}
            algebra.magnitudes.clear()
            host = Underflowing(algebra, values, {"tiny": tiny}, own=("p", "c1", "c2", "c", "l"))
            if not tiny:
                host.calls["vf64_mul_err"] = lambda a, b, p: plus(times(a, b), minus(p))
            text = body(root, "rm_dd_ball_mul")
            host.run(text.partition("double err =")[0] + "" if known else text)
            if known:
                if plus(host.values["p"], host.values["l"]) != times(A("ah"), A("bh")):
                    raise Unknown("a product without a bound is not exact")
                continue
            lows = times(A("al"), A("bl"))  # left out
            whole = plus(
                times(operand(algebra, "a"), operand(algebra, "b")), minus(lows), error(algebra, 1, A("al"), A("bl"))
            )
            found.append(compared(root, host, whole))
    return found


def scaled(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    """By s t, two powers of two, both at most 1. (Above 1 a product with a power of two is exact.)"""
    text = body_of_scale(root)
    host = Underflowing(algebra, {"a->hi": A("ah"), "a->lo": A("al"), "a->err": A("ea"), "s": A("s"), "t": A("t")})
    host.powers = ("s", "t")
    host.run(text)
    return [compared(root, host, times(operand(algebra, "a"), times(A("s"), A("t"))))]


def body_of_scale(root: pathlib.Path) -> str:
    text = text_of(root, DD_BALL, "const double h = a->hi * s * t,", ";")
    bound = (
        text_of(root, DD_BALL, "rm_dd_ball_finish(r, h, l, tiny || a->err != 0.0,", ");").removesuffix(");").split(", ")[-1]
    )
    return f"{text} finish_h = h; finish_l = l; finish_err = {bound};"


def assigned(root: pathlib.Path, first: str) -> str:
    """The last argument of the call of rm_dd_ball_finish that begins so."""
    return f"finish_err = {text_of(root, DD_BALL, first, ');')[len(first) : -2]};"


def bounded(
    root: pathlib.Path, algebra: Algebra, values: dict[str, Value], text: str, off: Value, **more
) -> list[tuple[Value, Value]]:
    """An error that is known, and the bound that is computed of these numbers."""
    return [(in_eta(algebra, off), in_eta(algebra, finished(root, Underflowing(algebra, values, **more).run(text))))]


def magnitudes(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    """rm_dd_ball_max; and rm_dd_ball_min, m (1 - c), m = RN(|h| - err) >= |h|/4: at most |h| - err - |lo|, |lo| <= u |h|."""
    (read,) = re.findall(r"return m >= (\S+) \* h \? m \* \(1\.0 - (\S+)\) : 0\.0;", (root / DD_BALL).read_text())
    quarter, less = (Fraction(float.fromhex(x)) if "x" in x else Fraction(x) for x in read)
    if not (1 - less) * (1 + U) <= 1 / (1 + U) - U / quarter:
        raise Unknown("rm_dd_ball_min may be more than the number")
    inner = (
        text_of(root, DD_BALL, "return rm_dd_ball_up(vf64_abs(a->hi)", ";")
        .removeprefix("return rm_dd_ball_up(")
        .removesuffix(");")
    )
    values = {"a->hi": A("h"), "a->lo": A("l"), "a->err": A("e")}
    off = plus(*(error(algebra, 1, A(x)) for x in "hle"))
    return bounded(root, algebra, values, f"finish_err = {inner};", off)


def quotients(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    """|A/B - q| = |A - q B|/|B|, |A - q B| is at most `largest`, and |B| at least `smallest`, by sums, products and `magnitudes`. For the root sqrt(A) + q is
    at least 1.25 s1, if A >= hi/8 and q >= s1 (1 - 2^-50)."""
    (read,) = re.findall(r"rm_dd_ball_max\(&rest\) / \((\S+) \* s1\)", (root / DD_BALL).read_text())
    factor = Fraction(read)
    if not 8 * (1 + Fraction(1, 2**52)) ** 2 * (factor - 1 + Fraction(1, 2**50)) ** 2 < 1:
        raise Unknown("the divisor of a root's error")
    calls = {"rm_dd_ball_max": known("largest")}
    over = product_of(A("largest"), A("smallest", -1))
    text = assigned(root, "rm_dd_ball_finish(r, q1, q2, inexact, ")
    found = bounded(root, algebra, {"smallest": A("smallest")}, text, error(algebra, 1, over), calls=calls)
    text = assigned(root, "rm_dd_ball_finish(r, s1, s2, inexact, ")
    return found + bounded(
        root, algebra, {"s1": A("s1")}, text, error(algebra, 1 / factor, A("largest"), A("s1", -1)), calls=calls
    )


def product_of(*values: Value) -> Value:
    out = number(1)
    for value in values:
        out = times(out, value)
    return out


def known(name: str):
    def call() -> Value:
        return A(name)

    call.whole = True  # type: ignore[attr-defined]
    return call


def exponentials(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    """e^a within e (exp_sum_dd, for arguments up to 670 whose low part is at most 2^-42): e^d - 1 is at most d (1 + d) for d <= 1/16. And e^a - 1: the
    part beside the sums is E + 1 times e^(lo + d) - 1 - lo, |lo| <= 2^-43."""
    sixteenth = Fraction(1, 16)
    rise = 1 + sixteenth
    if not (arb(1) / 16).exp() < 2 or not Fraction(670, 2**53) <= Fraction(1, 2**42):
        raise Unknown("the rise of exp")
    size = {"h": A("h"), "l": A("l"), "e": A("e"), "d": A("d")}
    off = plus(error(algebra, 1, A("e")), *(error(algebra, rise, A(x), A("d")) for x in "hle"))
    bound = text_of(root, DD_BALL, "e + (h + vf64_abs(l) + e) * d *", ");").removesuffix(");")
    found = bounded(root, algebra, size, f"finish_err = {bound};", off)
    values = {"t.err": A("t"), "size": A("size"), "lo": A("lo"), "d": A("d")}
    off = plus(
        error(algebra, 1, A("t")),
        error(algebra, Fraction(51, 100), A("size"), A("lo", 2)),
        error(algebra, rise * (1 + Fraction(1, 2**40)), A("size"), A("d")),
    )
    return found + bounded(root, algebra, values, assigned(root, "rm_dd_ball_finish(r, t.hi, t.lo, 1, "), off)


def logarithms(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    """Off by at most d over the smallest number that the argument may be; log(1 + a) of tiny numbers by d/(1 - 2^-20 - 2^-900) and a^2."""
    off = plus(error(algebra, 1, A("e")), error(algebra, 1, A("d"), A("smallest", -1)))
    values = {"e": A("e"), "a->err": A("d"), "smallest": A("smallest")}
    found = bounded(root, algebra, values, assigned(root, "rm_dd_ball_finish(r, h, l, inexact, "), off)
    cases = {"smallest>0.0": True}
    found += bounded(
        root,
        algebra,
        values,
        assigned(root, "rm_dd_ball_finish(r, h, l, 1, smallest").replace("= ", "= smallest", 1),
        off,
        cases=cases,
    )
    tiny = plus(error(algebra, 1 / (1 - Fraction(1, 2**20) - Fraction(1, 2**900)), A("d")), error(algebra, 1, A("eta")))
    return found + bounded(root, algebra, values, assigned(root, "rm_dd_ball_finish(r, a->hi, a->lo, 1, "), tiny)


def integers(root: pathlib.Path, algebra: Algebra) -> list[tuple[Value, Value]]:
    """Three parts that are exact, and a rest below 1."""
    text = text_of(root, DD_BALL, "const double low = rm_two_sum(l, last, &lost)", ";").replace("1.0", "one")
    host = Underflowing(algebra, {"h": A("h"), "l": A("l"), "last": A("last"), "one": A("one")}, {"inexact": True})
    host.run(f"{text} finish_h = h; finish_l = low; finish_err = err;")
    return [compared(root, host, plus(A("h"), A("l"), A("last"), error(algebra, 1, A("one"))))]


def operations(root: pathlib.Path) -> list[Computed]:
    def of(function):
        return lambda algebra: function(root, algebra)

    what = "numbers with a running bound: "
    return [
        Computed(f"{what}sums", of(sums)),
        Computed(f"{what}products", of(products)),
        Computed(f"{what}products with powers of two", of(scaled), BELOW_ONE),
        Computed(f"{what}magnitudes", of(magnitudes)),
        Computed(f"{what}quotients, roots", of(quotients)),
        Computed(f"{what}exponentials", of(exponentials)),
        Computed(f"{what}logarithms", of(logarithms)),
        Computed(f"{what}exact totals", of(integers)),
    ]
