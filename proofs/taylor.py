"""Taylor models in ball arithmetic: a polynomial in s and a remainder that enclose a function of s on |s| <= 1."""

import math
from fractions import Fraction

from flint import arb, arb_poly, arb_series, ctx, fmpq

ZERO, ONE = arb(0), arb(1)


class SplitBox(Exception):
    """An enclosure is too wide to go on: the box has to be cut, at `at` (the last number of the left part, the first of the
    right one) if it is given."""

    def __init__(self, at: tuple[Fraction, Fraction] | None = None):
        super().__init__("the box has to be cut")
        self.at = at


def ball(q: Fraction | int) -> arb:
    """An enclosure of a rational number; a point when it is a binary fraction that fits the working precision."""
    if isinstance(q, int):
        return arb(q)
    return arb(fmpq(q.numerator, q.denominator))


def pow2(k: int) -> arb:
    return ONE.mul_2exp(k) if hasattr(ONE, "mul_2exp") else arb(2) ** k


def up(a: arb) -> arb:
    """An upper bound of |a|, as a point."""
    return abs(a).upper()


def low(a: arb) -> arb:
    """A lower bound of |a|, at least 0, as a point."""
    v = abs(a).lower()
    return v if v > 0 else ZERO


def around(r: arb) -> arb:
    """The ball [-r, r]."""
    return arb(0, up(r))


def exact(a: arb) -> Fraction:
    """The midpoint of a ball, as a rational number."""
    m, e = a.mid().man_exp()
    m, e = int(m), int(e)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


def exponent(m: arb) -> int:
    """e with 2^(e-1) <= m < 2^e, for a positive point m."""
    man, e = m.man_exp()
    return int(man).bit_length() + int(e)


def log2(a: arb) -> float:
    a = up(a)
    return float((a.log() / arb(2).log()).upper()) if a > 0 else -math.inf


class Model:
    """p(s) + [-r, r]."""

    __slots__ = ("p", "r")
    order = 8

    def __init__(self, p: arb_poly, r: arb = ZERO):
        self.p, self.r = p, r

    @staticmethod
    def const(c: arb) -> "Model":
        return Model(arb_poly([c]))

    def fold(self) -> "Model":
        """The terms beyond the order go into the remainder."""
        n = Model.order
        if self.p.length() <= n + 1:
            return self
        c = self.p.coeffs()
        return Model(arb_poly(c[: n + 1]), up(self.r + sum((up(v) for v in c[n + 1 :]), ZERO)))

    def sup(self) -> arb:
        v = self.r
        for c in self.p.coeffs():
            v = v + up(c)
        return up(v)

    def sup_pieces(self, pieces: int) -> arb:
        """The same, closer: by parts of [-1, 1]."""
        best = ZERO
        for i in range(pieces):
            part = Model(self.p(arb_poly([arb(2 * i + 1 - pieces) / pieces, ONE / pieces])), self.r).sup()
            if part > best:
                best = part
        return best

    def enclosure(self) -> arb:
        c = self.p.coeffs()
        if not c:
            return around(self.r)
        v = self.r
        for k in c[1:]:
            v = v + up(k)
        return c[0] + around(v)

    def widened(self, by: arb) -> "Model":
        return Model(self.p, up(self.r + by)) if by != 0 else self

    def __add__(self, o: "Model") -> "Model":
        return Model(self.p + o.p, up(self.r + o.r))

    def __sub__(self, o: "Model") -> "Model":
        return Model(self.p - o.p, up(self.r + o.r))

    def __neg__(self) -> "Model":
        return Model(-self.p, self.r)

    def __mul__(self, o: "Model") -> "Model":
        """(p + e)(q + f) is within |p| f + |q| e + e f of p q."""
        if self.r == 0 and o.r == 0:
            return Model(self.p * o.p).fold()
        a, b = Model(self.p).sup(), Model(o.p).sup()
        return Model(self.p * o.p, up(a * o.r + b * self.r + self.r * o.r)).fold()

    def scale(self, c: arb) -> "Model":
        return Model(self.p * arb_poly([c]), up(self.r * abs(c)))

    def inverse(self) -> "Model":
        """q near 1/p, and |1/h - q| = |1 - q h|/|h|."""
        whole = self.enclosure()
        if whole.contains(0):
            raise SplitBox
        n = Model.order
        q = (arb_series([ONE], prec=n + 1) / arb_series(self.p.coeffs(), prec=n + 1)).coeffs()
        q = arb_poly([c.mid() for c in q])
        rest = Model.const(ONE) - Model(q) * self
        return Model(q, up(rest.sup() / low(whole)))

    def sqrt(self) -> "Model":
        """q near the root of p, q > 0, and |sqrt(h) - q| = |h - q^2|/(sqrt(h) + q)."""
        if not self.enclosure() > 0:
            raise SplitBox
        n = Model.order
        q = arb_series(self.p.coeffs(), prec=n + 1).sqrt().coeffs()
        q = arb_poly([c.mid() for c in q])
        smallest = Model(q).enclosure()
        if not smallest > 0:
            raise SplitBox
        rest = self - Model(q) * Model(q)
        return Model(q, up(rest.sup() / low(smallest)))


def taylor(f, centre: arb, width: arb) -> Model:
    """f(centre + width s), by Taylor's theorem with Lagrange's remainder; f maps power series to power series."""
    n = Model.order
    ctx.cap = n + 2
    terms = f(arb_series([centre, width], prec=n + 1)).coeffs()[: n + 1]
    wide = f(arb_series([centre + around(width), width], prec=n + 2)).coeffs()
    rest = up(wide[n + 1]) if len(wide) > n + 1 else ZERO
    if not rest.is_finite():
        raise SplitBox
    return Model(arb_poly(terms), rest)
