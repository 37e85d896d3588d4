"""Compares what the rounding tests of the library are given with exact numbers: |value - exact| must be at most the bound of the test.

    python proofs/exact/run.py [--rounds N] [--lanes 1 2 4 8] [--fma 0 1] [--only OPERATOR ...] [--no-controls]

The library is compiled with 1, 2, 4 and 8 lanes, with and without FMA, over vocabulary.h, where approximate operations are as far off as
crlibm/simd/simd.h allows. Every operator runs on adversarial data twice: as it is, and with all left open by the tests of the first tiers,
so that double-double evaluations are seen on all data. Prints the largest share of its bound that an error has had, by operator.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import zlib
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs.exact import cases, linear, places, products, sites, transforms  # noqa: E402
from proofs.exact.controls import CONTROLS, HALVED  # noqa: E402
from proofs.exact.library import Watched, build  # noqa: E402

OPERATORS = {**cases.OPERATORS, **products.OPERATORS, **linear.OPERATORS, **transforms.OPERATORS}
FORMATS = {
    **dict.fromkeys(("sum", "dot"), ("f32", "f64")),
    "gather_sum": ("f16", "bf16", "f32"),
    **products.FORMATS,
    **linear.FORMATS,
    **transforms.FORMATS,
}  # of those that have not all
CONTROL_ROUNDS = 12
KINDS = {number: name for name, number in places.KIND.items()}


def real(v) -> mpmath.mpf:
    if isinstance(v, mpmath.mpf):
        return v
    v = (
        v
        if isinstance(v, Fraction)
        else Fraction(int(v.numerator), int(v.denominator))
        if hasattr(v, "numerator")
        else Fraction(v)
    )
    return mpmath.mpf(v.numerator) / v.denominator


def share(record: np.void, exact) -> mpmath.mpf | None:
    """The error over what the record allows for it; None of records that say nothing."""
    hi, lo, err = (float(record[k]) for k in ("hi", "lo", "err"))
    if not (np.isfinite(hi) and np.isfinite(lo) and np.isfinite(err)):
        return None
    kind, exact = KINDS[int(record["kind"])], mpmath.ldexp(real(exact), int(record["shift"]))
    if not mpmath.isfinite(exact):
        return None
    high, low, bound = mpmath.mpf(hi), mpmath.mpf(lo), mpmath.mpf(err)
    error = abs(exact - high - low)
    if err == 0:
        return mpmath.mpf(0) if error == 0 else mpmath.inf
    if kind == "row" and mpmath.ldexp(abs(high), -19) < abs(high) - bound < mpmath.ldexp(abs(high), -17):
        # What stands for a number that nobody computes (rows/step.h): that has its sign, and is less than twice as large. Of those nearer to 0
        # than the bound allows the source shows that they round alike.
        return exact / high / 2 if exact * high > 0 else mpmath.inf
    if kind == "row":
        bound -= mpmath.ldexp(abs(high), -52)
    elif kind == "reach":
        bound -= mpmath.ldexp(abs(high) + bound, -53)
    elif kind == "ends":
        bound -= mpmath.ldexp(abs(low) + bound, -53)
    # What the last bits of the evaluation of `exact` are is nobody's error.
    error = max(mpmath.mpf(0), error - mpmath.ldexp(abs(exact) + abs(high), 60 - mpmath.mp.prec))
    return error / bound if bound > 0 else mpmath.inf if error > 0 else mpmath.mpf(0)


@dataclass
class Found:
    records: int = 0
    largest: float = 0.0
    where: str = ""
    beyond: int = 0
    sites: dict[tuple[str, int], float] = field(default_factory=dict)  # the largest share at each call of a test


class Places(dict[int, tuple[str, int]]):
    """The calls that have made records, by their numbers."""

    def __init__(self, watched: Watched):
        self.watched = watched

    def __missing__(self, site: int) -> tuple[str, int]:
        self[site] = self.watched.place(site)
        return self[site]


def unseen(found: dict[tuple[str, str], Found]) -> list[str]:
    """The calls of tests of which nothing was compared."""
    seen = set[tuple[str, int]]().union(*(entry.sites for entry in found.values()))
    wanted = (s for s in sites.sites() if s.path not in sites.NOT_COMPARED)
    return [str(s) for s in wanted if not any(path == s.path and s.first <= line <= s.last for path, line in seen)]


def examine(
    watched: Watched, operators: list[str], rounds: int, found: dict[tuple[str, str], Found], note: str, first: int = 0
) -> None:
    places = Places(watched)
    for operator in operators:
        for fmt in FORMATS.get(operator, cases.NAMES):
            for seed in range(first, first + rounds):
                rng = np.random.default_rng([zlib.crc32(operator.encode()), cases.NAMES.index(fmt), seed])
                with mpmath.workprec(cases.BITS), np.errstate(all="ignore"):
                    case = OPERATORS[operator](rng, fmt)
                    for left_open in watched.tiers():
                        case.run(watched.library)
                        records = watched.records()
                        for record, exact in case.place(records, watched.lanes, case.values):
                            part = share(record, exact)
                            if part is None:
                                continue
                            entry = found.setdefault((operator, KINDS[int(record["kind"])]), Found())
                            entry.records += 1
                            at = places[int(record["site"])]
                            entry.sites[at] = max(entry.sites.get(at, 0.0), float(part))
                            entry.beyond += part > 1
                            if part > entry.largest:
                                entry.largest = float(part)
                                entry.where = f"{fmt} seed {seed}{' open' if left_open else ''}, {note}"


def sees(what: str, found: dict[tuple[str, str], Found]) -> bool:
    """Whether an operator had an error beyond a bound; with a call, only in the tests there."""
    operator, _, call = what.partition(": ")
    for (name, _), entry in found.items():
        if name == operator and not call and entry.beyond:
            return True
        for (path, line), share_there in entry.sites.items() if name == operator and call else ():
            if share_there > 1 and call in (ROOT / path).read_text().splitlines()[line - 1]:
                return True
    return False


def controls(folder: pathlib.Path, lanes: int, rounds: int) -> list[str]:
    """The controls that nothing sees: all edits at once, each in operators, or calls of tests, of its own."""
    edit: dict[str, list[tuple[str, str]]] = {}
    for path, old, new, _ in CONTROLS:
        edit.setdefault(path, []).append((old, new))
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[tuple[str, str], Found] = {}
    operators = sorted({operator.partition(": ")[0] for *_, operators in CONTROLS for operator in operators})
    examine(Watched(build(folder, lanes, False, edit), lanes), operators, rounds, found, "")
    return [f"{path}: {new}" for path, _, new, operators in CONTROLS if not any(sees(what, found) for what in operators)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lanes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--fma", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--only", nargs="*", default=sorted(OPERATORS))
    parser.add_argument("--no-controls", dest="controls", action="store_false")
    parser.add_argument("--folder", type=pathlib.Path, help="where libraries are kept")
    options = parser.parse_args(arguments)
    found: dict[tuple[str, str], Found] = {}
    with tempfile.TemporaryDirectory() as name:
        for lanes in options.lanes:
            for fma in options.fma:
                folder = (options.folder or pathlib.Path(name)) / f"{lanes}_{fma}"
                library = folder / "libexact.so"
                if not (options.folder and library.exists()):
                    folder.mkdir(parents=True, exist_ok=True)
                    library = build(folder, lanes, bool(fma))
                examine(Watched(library, lanes), options.only, options.rounds, found, f"{lanes} lanes, FMA {fma}")
        halved = sorted({operator for operator, _ in HALVED}) if options.controls else []
        examine(Watched(library, lanes), halved, CONTROL_ROUNDS - options.rounds, found, "controls", options.rounds)
        missed = controls(pathlib.Path(name) / "control", 4, max(CONTROL_ROUNDS, options.rounds)) if options.controls else []
    missed += [
        f"half of the bound of {key}"
        for key in HALVED
        if options.controls and not (key in found and found[key].largest > 0.5)
    ]
    wanting = sites.all_unwatched()
    if sorted(options.only) == sorted(OPERATORS) and max(options.lanes) > 1:  # a vector of one lane is always whole
        wanting += [f"{what}: nothing is compared" for what in unseen(found)]
    for (operator, kind), entry in sorted(found.items()):
        print(
            f"{operator:24} {kind:10} {entry.records:7} records, at most {entry.largest:.4f} of the bound ({entry.where}), beyond {entry.beyond}"
        )
    for what in missed:
        print(f"FAILED: no test sees the control {what}")
    for what in wanting:
        print(f"FAILED: unwatched: {what}")
    if options.controls:
        print(f"controls: {len(CONTROLS) + len(HALVED) - len(missed)} of {len(CONTROLS) + len(HALVED)} are seen")
    return bool(missed or wanting) or any(entry.beyond for entry in found.values()) or not found


if __name__ == "__main__":
    sys.exit(main())
