"""Compare every binary32 result of the library's functions of one argument with an independent oracle.

    python -m proofs.oracle                         every function, all 2^32 inputs (an hour)
    python -m proofs.oracle exp gelu                these (a minute or two each)
    python -m proofs.oracle exp --fraction 1/64     every 64th run of 65,536 inputs, the first one chosen by --offset

The oracle has Taylor polynomials by ball arithmetic (Arb, through python-flint) for runs of numbers, in integers with proved errors. They
leave one number of binary32 for each result but a few in a million, at most, which MPFR decides. Neither has a line of the library in it. What was found is
written to results.json beside this file, from which docs/evidence.md is made, and the exit status says whether all was right.

REPMATH_ISA chooses the instruction set, REPMATH_LIBRARY the library; without it, it is build/native/default."""

import argparse
import ctypes
import json
import os
import sys
import time
from fractions import Fraction

from ..graph import ROOT
from . import check
from .blocks import SEGMENT
from .gamma import table

RESULTS = check.HERE / "results.json"
SEGMENTS = (1 << 32) // SEGMENT


def library() -> ctypes.CDLL:
    sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("support", "controls")]
    import native

    path = os.environ.get("REPMATH_LIBRARY") or native.default_build() / "librepmath.so"
    loaded = ctypes.CDLL(str(path))
    loaded.rm_isa.restype = ctypes.c_char_p
    return loaded


def golden(name: str) -> str:
    """The published digest of all results: that of every instruction set."""
    return json.loads((ROOT / f"tests/golden/{name}.json").read_text())["formats"]["f32"]["sha256"]


def results() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def record(name: str, found: check.Found, fraction: Fraction, isa: str) -> None:
    """A share of the inputs does not replace a larger one of the same results."""
    held, entry = results(), {"golden": golden(name), "share": str(fraction), "inputs": found.inputs}
    entry |= {"resolved": found.resolved, "wrong": len(found.wrong), "isa": isa}
    was = held.get(name)
    if was and was["golden"] == entry["golden"] and was["inputs"] > found.inputs and not entry["wrong"]:
        return
    held[name] = entry
    RESULTS.write_text(json.dumps(dict(sorted(held.items())), indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    functions = table()
    parser.add_argument("names", nargs="*", metavar="function", choices=[[], *functions])
    parser.add_argument("--fraction", type=Fraction, default=Fraction(1))
    parser.add_argument("--offset", type=int, default=0)
    options = parser.parse_args()
    if not 0 < options.fraction <= 1 or options.fraction.numerator != 1:
        parser.error("a fraction is 1/n")
    loaded, good = library(), True
    isa = loaded.rm_isa().decode()
    for name in options.names or functions:
        started = time.process_time()
        step = options.fraction.denominator
        found = check.run(
            name, functions[name], getattr(loaded, f"rm_v{name}_f32"), range(options.offset % step, SEGMENTS, step)
        )
        print(
            f"{name}: {found.inputs} inputs, {len(found.wrong)} wrong, {found.resolved} decided by MPFR, {isa}, "
            f"{time.process_time() - started:.0f} s",
            flush=True,
        )
        for x, y, right in found.wrong[:5]:
            print(f"  x {x:#010x} gives {y:#010x}, right is {right:#010x}")
        good &= not found.wrong
        record(name, found, options.fraction, isa)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
