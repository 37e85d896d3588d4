"""Mutants of a kernel: each constant and table entry one unit in its last place up and down. Either the proof fails, or the mutant is
proved within the claimed bound like the kernel itself, and so is harmless.

    python -m proofs.mutants erf_f32 ...      says how many of each (a proof of the kernel a mutant: seconds to minutes)"""

import math
import sys

from .graph import bits_of, double_of, kernels, parse, recorded
from .kinds import hook


def neighbours(word: str, integer: bool) -> list[str]:
    """A number of the graph's text, one unit in the last place down and up."""
    value = double_of(int(word)) if integer else float.fromhex(word)
    near = [math.nextafter(value, direction) for direction in (-math.inf, math.inf)]
    return [str(bits_of(v)) if integer else v.hex() for v in near]


def mutants(text: str) -> list[tuple[str, str]]:
    """(what is changed, the changed text). Zeros, powers of two and magic numbers are no approximations and stay; so does the claim."""
    lines = text.splitlines()
    claims = {int(line.split("#")[1]) for line in lines if line.startswith("out claim")}
    found = []
    for at, line in enumerate(lines):
        op, *words = line.split()
        if op not in ("const", "lookup", "ilookup") or at in claims:
            continue
        for k, word in enumerate(words):
            if word.startswith("#"):
                continue
            value = double_of(int(word)) if op == "ilookup" else float.fromhex(word)
            if abs(math.frexp(value)[0]) in (0.0, 0.5, 0.75):
                continue
            for other in neighbours(word, op == "ilookup"):
                changed = [op, *words[:k], other, *words[k + 1 :]]
                found.append((f"{at}.{k}", "\n".join([*lines[:at], " ".join(changed), *lines[at + 1 :]]) + "\n"))
    return found


def rejected(name: str, text: str, fma: bool = True) -> bool:
    kernel, graph = kernels()[name], parse(text, fma)
    piecewise, pieces = hook(kernel.kind, "prove_piece"), hook(kernel.kind, "all_pieces")(kernel)
    try:
        return any(piecewise(kernel, graph, piece).ratio > 1 for piece in pieces)
    except (AssertionError, RuntimeError):  # no bound at all, or a reduction that no longer is one (trig.py)
        return True


def main() -> int:
    for name in sys.argv[1:]:
        verdicts = {what: rejected(name, text) for what, text in mutants(recorded(name))}
        print(
            f"{name}: of {len(verdicts)} changed numbers {sum(verdicts.values())} are rejected, the others harmless",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
