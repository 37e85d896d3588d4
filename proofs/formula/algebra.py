"""Values with rounding errors as polynomials, so that errors which cancel do.

A value is a sum of coefficient x product of atoms x product of errors. Atoms are numbers as they are (p, beta1, a quotient of such: Laurent
monomials); an error is a number of which a bound is known. Each rounding multiplies by 1 + e for a new error e below 2^-53. What an evaluation
makes of atoms without errors is the exact value, and the sum of all other terms bounds what it is off by, for all atoms at once: a bound that
is claimed, in magnitudes of the same monomials, is compared coefficient by coefficient, in rationals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

U = Fraction(1, 2**53)
SMALLEST = Fraction(1, 2**140)
Atoms = tuple[tuple[str, int], ...]
Key = tuple[Atoms, tuple[str, ...]]
Value = dict[Key, Fraction]
Size = dict[Atoms, Fraction]


def power(log2: float) -> Fraction:
    """2^log2, rounded up."""
    return Fraction(2.0 ** (log2 % 1) * (1 + 2.0**-50)) * Fraction(2) ** int(log2 // 1)


def merged(a: Atoms, b: Atoms) -> Atoms:
    exponents = dict(a)
    for name, k in b:
        exponents[name] = exponents.get(name, 0) + k
    return tuple(sorted((name, k) for name, k in exponents.items() if k))


def plus(*values: Value) -> Value:
    out: Value = {}
    for value in values:
        for key, c in value.items():
            out[key] = out.get(key, Fraction(0)) + c
    return {key: c for key, c in out.items() if c}


def times(a: Value, b: Value) -> Value:
    out: Value = {}
    for (atoms, errors), c in a.items():
        for (other, more), d in b.items():
            key = merged(atoms, other), tuple(sorted(errors + more))
            out[key] = out.get(key, Fraction(0)) + c * d
    return {key: c for key, c in out.items() if c}


def minus(a: Value) -> Value:
    return {key: -c for key, c in a.items()}


def number(c: Fraction | int) -> Value:
    return {((), ()): Fraction(c)} if c else {}


def atom(name: str, k: int = 1) -> Value:
    return {(((name, k),), ()): Fraction(1)}


def exact_part(value: Value) -> Value:
    return {key: c for key, c in value.items() if not key[1]}


def is_power(value: Value) -> bool:
    if list(value) != [((), ())]:
        return False
    c = abs(value[(), ()])
    return c.numerator & (c.numerator - 1) == 0 and c.denominator & (c.denominator - 1) == 0


class Unknown(Exception):
    """What this algebra has no bound for."""


@dataclass
class Algebra:
    bounds: dict[str, Fraction] = field(default_factory=dict)
    sums: dict[str, tuple[str, Value]] = field(default_factory=dict)  # a divisor's atom: an atom that it replaces, by what
    magnitudes: dict[str, Value] = field(default_factory=dict)  # sums that are numbers of their own, by name

    def error(self, bound: Fraction) -> Value:
        name = f"e{len(self.bounds)}"
        self.bounds[name] = bound
        return {((), (name,)): Fraction(1)}

    def off(self, value: Value, bound: Fraction) -> Value:
        """The value, off by a new error relatively."""
        return times(value, plus(number(1), self.error(bound))) if value else {}

    def pruned(self, value: Value) -> Value:
        """The same with what is far below all bounds as one error for each monomial."""
        out: Value = {}
        rest: Size = {}
        for (atoms, errors), c in value.items():
            largest = abs(c) * self.of_errors(errors)
            if errors and largest < SMALLEST:
                rest[atoms] = rest.get(atoms, Fraction(0)) + largest
            else:
                out[atoms, errors] = c
        for atoms, largest in rest.items():
            out = plus(out, times({(atoms, ()): Fraction(1)}, self.error(largest)))
        return out

    def of_errors(self, errors: tuple[str, ...]) -> Fraction:
        out = Fraction(1)
        for name in errors:
            out *= self.bounds[name]
        return out

    def size(self, value: Value) -> Size:
        """At most this, for atoms of any sign."""
        out: Size = {}
        for (atoms, errors), c in value.items():
            out[atoms] = out.get(atoms, Fraction(0)) + abs(c) * self.of_errors(errors)
        return out

    def one_monomial(self, value: Value) -> tuple[Atoms, Fraction, Fraction]:
        """A monomial, its coefficient, and what the value is off it relatively at most."""
        found = {atoms for atoms, _ in value}
        if len(found) != 1:
            raise Unknown(f"a sum of {sorted(found)} where one product is expected")
        (atoms,) = found
        c = value.get((atoms, ()), Fraction(0))
        if not c:
            raise Unknown("an error alone")
        return atoms, c, self.size({key: v for key, v in value.items() if key[1]}).get(atoms, Fraction(0)) / abs(c)

    def named(self, whole: Value, name: str) -> Value:
        """The sum, rounded: by at most 2^-53 of what it is then, a number of its own."""
        own = f"|{name}|"
        self.magnitudes[own] = self.pruned(plus(whole, times(atom(own), self.error(U))))
        return self.magnitudes[own]

    def magnitude(self, value: Value) -> Value:
        """Of one product, or of a sum that is a number of its own."""
        for own, of in self.magnitudes.items():
            if of == value:
                return atom(own)
        if not value:
            return {}
        atoms, c, relative = self.one_monomial(value)
        return self.off({(atoms, ()): abs(c)}, relative) if relative else {(atoms, ()): abs(c)}

    def smallest(self, value: Value) -> Size:
        """At least this, by monomial, of a bound: a sum of magnitudes."""
        exact = {atoms: c for (atoms, errors), c in value.items() if not errors}
        lost = self.size({key: c for key, c in value.items() if key[1]})
        out = {atoms: exact.get(atoms, Fraction(0)) - lost.get(atoms, Fraction(0)) for atoms in {*exact, *lost}}
        if any(c < 0 for c in out.values()):
            raise Unknown("a bound made of a number that may be negative")
        return out

    def divisor(self, value: Value) -> Value:
        """The same as one atom and one error. A sum of non-negative atoms becomes an atom: of the last of them nothing is said from then on
        but what it is by the others (`replaced`)."""
        exact = exact_part(value)
        if len(exact) > 1:
            names = [atoms for atoms, _ in exact]
            if any(len(a) != 1 or a[0][1] != 1 for a in names) or any(c != 1 for c in exact.values()):
                raise Unknown("a divisor that is no sum of atoms")
            sizes = self.size({key: c for key, c in value.items() if key[1]})
            relative = max(sizes.values(), default=Fraction(0))
            new, last = "+".join(a[0][0] for a in names), names[-1][0][0]
            self.sums[last] = new, plus(atom(new), *(minus(atom(a[0][0])) for a in names[:-1]))
            return self.off(atom(new), relative)
        atoms, c, relative = self.one_monomial(value)
        return self.off({(atoms, ()): c}, relative)

    def replaced(self, value: Value) -> Value:
        for last, (_, by) in self.sums.items():
            out: Value = {}
            for (atoms, errors), c in value.items():
                k = dict(atoms).get(last, 0)
                rest = tuple(pair for pair in atoms if pair[0] != last)
                term: Value = {(rest, errors): c}
                if k < 0:
                    raise Unknown("a quotient by what has become a sum")
                for _ in range(k):
                    term = times(term, by)
                out = plus(out, term)
            value = out
        return value

    def by_sums(self, size: Size) -> Size:
        """Parts of a sum of non-negative atoms are at most the sum."""
        parts = {part: new for new, _ in self.sums.values() for part in new.split("+")}
        out: Size = {}
        for atoms, c in size.items():
            key: Atoms = ()
            for name, k in atoms:
                key = merged(key, ((parts.get(name, name) if k > 0 else name, k),))
            out[key] = out.get(key, Fraction(0)) + c
        return out
