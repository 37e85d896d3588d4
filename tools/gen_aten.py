"""Write docs/aten.md from python/repmath/torch/_aten/operators.txt: python tools/gen_aten.py [--check]"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "python/repmath/torch/_aten/operators.txt"
PAGE = ROOT / "docs/aten.md"

HEAD = """# ATen operators under reproducible()

`tools/gen_aten.py` writes this page from `python/repmath/torch/_aten/operators.txt`, which is authoritative: an operator that rounds and is not
listed there raises `UncoveredOperatorError` ([reproducible.md](reproducible.md)). RN is one rounding of the exact value to the format of the result. Python
numbers among the arguments count as exact binary64 numbers, and so do tensors without axes and integers beside a narrower format. PyTorch itself computes with
tensors of integers and bool. An operator whose name ends in `_` writes into its first argument, and the overload with `out` writes the same result there. If that
tensor has a narrower format, the exact value is rounded to it once; operators that cannot do so raise.

A line that begins with *composed* names several functions, each of which is rounded; all other operators are rounded once. A function that PyTorch itself
composes of operators, as it composes `softsign` of a quotient and a sum, has one rounding for each operator.
[reproducible.md](reproducible.md#which-functions-are-taken-as-a-whole) lists the functions that are taken as a whole.

Of complex numbers sums, products, quotients, squares, magnitudes and products of matrices are rounded once for each part; `exp`, `log`, `sqrt`, `sgn` and `polar` are
composed, and other functions refuse them ([spec.md](spec.md), 7b).
"""


PREFIX = {"draws": "draws from ", "composes": "*composed*: "}


def page() -> str:
    parts, moves, heading = [HEAD], [], ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and "  " not in line and line[2:3].islower():
            heading = line[2:]
        if not line or line.startswith("#"):
            continue
        name, way, *rest = line.split("  ")
        if way == "moves":
            moves.append(name)
            continue
        if heading:
            parts.append(
                f"\\n## {heading[0].upper()}{heading[1:]}\\n\\n| operator | result |\\n| --- | --- |\\n".replace("\\n", "\n")
            )
            heading = ""
        returns = rest[1].replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
        parts.append(f"| `{name}` | {PREFIX.get(way, '')}{returns} |\n")
    parts.append("\n## Not rounded\n\nCopies, views, comparisons, choices and integer arithmetic run as PyTorch runs them. ")
    parts.append(
        "Tensors of several formats and numbers that fill elements\nare converted first, with one rounding; numbers are compared as they are:\n"
    )
    parts.append(", ".join(f"`{name}`" for name in sorted(moves)) + ".\n")
    return "".join(parts)


def main() -> int:
    made = page()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == made:
            return 0
        print("docs/aten.md is not what tools/gen_aten.py makes of the table", file=sys.stderr)
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
