"""The bounds of the binary32 evaluations (crlibm/*/*_b32.h) at every binary32 number, on each instruction set whose loops use them.

    python -m proofs.oracle.b32               what changed since its certificate
    python -m proofs.oracle.b32 --all         everything
    python -m proofs.oracle.b32 exp tanh      these
    python -m proofs.oracle.b32 --check       whether every certificate belongs to the evaluation as it is now
    python -m proofs.oracle.b32 --fraction 1/16       every 16th run of 65,536 numbers

A certificate holds the digest of the evaluation's source with all that it uses and that of what measures it, and for each instruction set
the largest error over what the rounding test allows for it, where it was found, of how many numbers, and how many lanes that test left undecided."""

import argparse
import ctypes
import functools
import json
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..graph import HERE, ROOT
from . import blocks, check, source
from .blocks import SEGMENT
from .functions import Function, table

CHECKER = ("functions.py", "blocks.py", "oracle.h", "lanes.h", "lanes.c", "within.c")
CERTIFICATES = HERE / "certificates" / "b32"
SEGMENTS = (1 << 32) // SEGMENT


class Within(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_int64) for name in ("inputs", "undecided", "within", "known", "bad")],
        ("ratio", ctypes.c_double),
        ("at", ctypes.c_uint32),
        ("bad_at", ctypes.c_uint32),
    ]


@dataclass(frozen=True)
class Evaluation:
    function: str
    isas: tuple[str, ...]

    @property
    def header(self) -> str:
        return f"crlibm/{self.function}/{self.function}_b32.h"

    @property
    def root(self) -> str:
        return f"rm_{self.function}_b32"


def evaluations() -> dict[str, Evaluation]:
    found = {}
    for path in sorted((ROOT / "crlibm").glob("*/*_b32.h")):
        used = re.search(r"^#define RM_B32_(\w+) (RM_B32\w*)$", path.read_text(), re.M)
        name = used[1]
        found[name] = Evaluation(name, ("avx512",) if used[2] == "RM_B32_FULL" else ("avx2", "avx512"))
    return found


def compiled(evaluation: Evaluation, isa: str, *flags: str) -> ctypes.CDLL:
    names = [f'-DRM_FUNCTION_HEADER="{evaluation.header}"', f"-DRM_EVALUATE={evaluation.root}"]
    return check.compile_c("lanes.c", *flags, *source.ISAS[isa], *names)


@functools.cache
def checker() -> ctypes.CDLL:
    return check.compile_c("within.c", "-O3")


def within(loaded: list[ctypes.CDLL], definition: Function, segments: Iterable[int]) -> list[Within]:
    """Of an evaluation on one or two instruction sets."""
    found, some = (Within * len(loaded))(), list(segments)
    evaluations = (ctypes.c_void_p * len(loaded))(*(ctypes.cast(one.rm_oracle_lanes, ctypes.c_void_p) for one in loaded))
    for at in range(0, len(some), check.BATCH):
        given = check.array(
            b for segment in some[at : at + check.BATCH] for b in blocks.blocks(definition, segment, blocks.COARSE)
        )
        checker().rm_oracle_within(given, ctypes.c_int64(len(given)), evaluations, len(loaded), found)
    return list(found)


def path_of(evaluation: Evaluation):
    return CERTIFICATES / f"{evaluation.function}.json"


def certificate(evaluation: Evaluation) -> dict | None:
    path = path_of(evaluation)
    return json.loads(path.read_text()) if path.exists() else None


def outdated(evaluation: Evaluation, isas: Iterable[str] | None = None) -> str:
    """Why the certificate does not hold, on all its instruction sets or on these."""
    held = certificate(evaluation)
    if held is None:
        return "has no certificate"
    if held["checker"] != source.checker(*CHECKER):
        return "was measured by another version of the checker"
    for isa in evaluation.isas if isas is None else isas:
        if held[isa]["source"] != source.digest(evaluation.header, evaluation.root, isa):
            return f"changed since it was run ({isa})"
        if held[isa]["ratio"] > 1:
            return f"has an error above its bound ({isa})"
    return ""


def prove(evaluation: Evaluation, definition: Function, step: int) -> bool:
    was = certificate(evaluation)
    here, stands = source.runnable(evaluation.function, evaluation.isas, functools.partial(outdated, evaluation))
    if not stands or not here:
        return stands
    held: dict = {"checker": source.checker(*CHECKER)} | {isa: was[isa] for isa in evaluation.isas if isa not in here}
    good, started = True, time.process_time()
    digests = {isa: source.digest(evaluation.header, evaluation.root, isa) for isa in here}
    loaded = [compiled(evaluation, isa) for isa in here]
    for isa, found in zip(here, within(loaded, definition, range(step // 3, SEGMENTS, step)), strict=True):
        assert found.inputs == found.undecided + found.within + found.known + found.bad
        print(
            f"{evaluation.function}, {isa}: {found.ratio:.4f} of the bound at {found.at:#010x}, {found.inputs} inputs, {found.undecided} undecided, "
            f"{found.known} known, {found.bad} beyond the bound, {time.process_time() - started:.0f} s",
            flush=True,
        )
        if found.bad:
            print(f"  the first is {found.bad_at:#010x}", flush=True)
        good &= found.bad == 0 and found.inputs == (1 << 32) // step
        held[isa] = {
            "source": digests[isa],
            "ratio": -(-found.ratio * 10**4 // 1) / 10**4,
            "at": f"{found.at:#010x}",
            "inputs": found.inputs,
            "undecided": found.undecided,
            "known": found.known,
        }
    first = here[0]
    more = was and not outdated(evaluation) and was[first]["inputs"] > held[first]["inputs"]
    if good and not more:  # a share of the numbers does not replace a larger one
        CERTIFICATES.mkdir(exist_ok=True)
        path_of(evaluation).write_text(json.dumps(held, indent=1) + "\n")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = evaluations()
    parser.add_argument("names", nargs="*", metavar="function", choices=[[], *known])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fraction", type=Fraction, default=Fraction(1))
    options = parser.parse_args()
    reasons = {name: outdated(e) for name, e in known.items()}
    if options.check:
        for name, reason in reasons.items():
            if reason:
                print(f"{name} {reason}: run make proofs")
        return int(any(reasons.values()))
    definitions, good = table(), True
    for name, evaluation in known.items():
        if name in options.names if options.names else options.all or reasons[name]:
            good &= prove(evaluation, definitions[name], options.fraction.denominator)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
