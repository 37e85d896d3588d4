"""The words of the vocabulary that are within a bound of a quotient or a root, not rounded: python -m proofs.words.

Elsewhere they are divisions and square roots, each rounded once, and products of these. In avx512.h they begin with an estimate that the
machine gives within 2^-14; their source is recorded like a kernel's, and analysed for every such estimate: with d for its relative
error every value is a number that depends on d only, times powers of the operands. So the operands count as 1, what is added has the same
powers (checked), and a rounding is 2^-53 of the value, as nothing underflows in the domains that simd.h states."""

import functools
import pathlib
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

from flint import arb, arb_poly, ctx

from .engine import Analysis
from .graph import HERE, ROOT, Graph, Kernel, compiler, parse
from .prove import Piece
from .taylor import Model, log2, pow2, up
from .values import BITS, Node

# What each word gives, as powers of its operands, and the stated bound: 2^(-bound).
POWERS = {
    "root": (0.5,),
    "root_r": (-0.5,),
    "quotient": (1, -1),
    "quotient_r": (0, -1),
    "rsqrt": (-0.5,),
    "reciprocal": (-1,),
}
STATED = {"root": 51.9, "root_r": 27, "quotient": 51.9, "quotient_r": 27, "rsqrt": 40.6, "reciprocal": 41.9}
ESTIMATE = Fraction(1, 2**14)
OPERANDS = {"root": "a", "quotient": "ab", "rsqrt": "a", "reciprocal": "b"}


def source(word: str) -> str:
    """The word's function in avx512.h."""
    text = (ROOT / "crlibm/simd/avx512.h").read_text()
    (found,) = re.findall(rf"^RM_FN vf64 vf64_{word}\(.*?^}}$", text, re.M | re.S)
    return found


@functools.cache
def recorded() -> dict[str, str]:
    """The graphs of the words."""
    calls = []
    for word, operands in OPERANDS.items():
        inputs = ", ".join(f'vf64_input("{name}")' for name in operands)
        rest = ", &r" if word in ("root", "quotient") else ""
        calls.append(
            f'rec_nodes = 0; printf("word {word}\\n"); y = word_{word}({inputs}{rest}); printf("out y #%d\\n", y.id);'
        )
        calls.append('printf("out r #%d\\n", r.id);' if rest else "")
    main = "int main(void) {\n  vf64 y, r;\n  " + "\n  ".join(calls) + "\n  return 0;\n}\n"
    with tempfile.TemporaryDirectory(prefix="repmath-proofs-") as folder:
        program = pathlib.Path(folder) / "words"
        text = '#include "words.h"\n' + "\n".join(source(word) for word in OPERANDS) + "\n" + main
        (pathlib.Path(folder) / "words.c").write_text(text)
        command = [*compiler(), "-std=c11", "-O0", "-I", str(ROOT), "-I", str(HERE), f"{folder}/words.c", "-o", str(program)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = {}
    for part in printed.split("word ")[1:]:
        word, lines = part.split("\n", 1)
        rows = [line for line in lines.splitlines() if not line.startswith("out ")]
        rows = [line.split(" ", 1)[1] for line in rows]
        found[word] = "\n".join([*rows, *(line for line in lines.splitlines() if line.startswith("out "))]) + "\n"
    return found


class WordAnalysis(Analysis):
    """A word's graph, the argument being d."""

    def op_input(self, args: list) -> Node:
        v = Node()
        v.model, v.E = Model.const(arb(1)), arb(0)
        return self.finish(v)

    def estimate(self) -> Node:
        v = Node()
        v.model, v.E = Model(arb_poly([1 + self.centre, self.width])), arb(0)
        return self.finish(v)

    def op_rsqrt14(self, args: list) -> Node:
        return self.estimate()

    def op_rcp14(self, args: list) -> Node:
        return self.estimate()

    def round(self, v: Node, grid: int | None) -> Node:
        v.exact = self.enclose(v)
        return self.off_by(v, up(up(v.exact) * pow2(-BITS)))


def powers(graph: Graph, operands: str) -> list[tuple]:
    """Of the operands, in every value. Fails where values of different powers are added."""
    found: list[tuple] = []
    for op, args in graph.nodes:
        p = [found[k] for k in args if isinstance(k, int)]
        if op == "input":
            found.append(tuple(float(name == args[0]) for name in operands))
        elif op == "const":
            found.append((0.0,) * len(operands))
        elif op in ("rsqrt14", "rcp14"):
            found.append(tuple((-0.5 if op == "rsqrt14" else -1.0) * c for c in p[0]))
        else:
            product = tuple(x + y for x, y in zip(*p[:2], strict=True))
            assert op == "mul" or op in ("mad", "nmad") and product == p[2], op
            found.append(product)
    return found


def bound(text: str, word: str, output: str) -> arb:
    """Of the relative error."""
    ctx.prec, Model.order = 160, 10
    graph = parse(text, True)
    k = graph.outputs[output]
    assert powers(graph, OPERANDS[word])[k] == POWERS[word if output == "y" else f"{word}_r"]
    analysis = WordAnalysis(graph, "f64", -ESTIMATE, ESTIMATE, {})
    off = analysis.output(output).model - Model.const(arb(1))
    return up(off.sup_pieces(8) + analysis.roundings({output: 1}))


def bounds() -> dict[str, arb]:
    return {
        name: bound(recorded()[word], word, output)
        for word in OPERANDS
        for output, name in (("y", word), ("r", f"{word}_r"))
        if name in STATED
    }


def stated(name: str) -> arb:
    return (-arb(str(STATED[name])) * arb(2).log()).exp()


class Stated(Analysis):
    """A kernel that is one word, whose bound needs what is checked here; engine.py counts less for it."""

    def op_rsqrt(self, args: list) -> Node:
        return self.inverse_root_within(args, up(stated("rsqrt")))


def analyse(kernel: Kernel, graph: Graph, low: Fraction, high: Fraction, choices: dict, piece: Piece) -> Analysis:
    return Stated(graph, kernel.format, low, high, choices, piece.multiples)


def main() -> int:
    good = True
    for name, checked in bounds().items():
        good &= bool(checked <= stated(name))
        print(f"{name}: 2^{log2(checked):.2f}, stated 2^-{STATED[name]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
