"""What docs/evidence.md and the functions' error budgets say of the oracle and of evaluations in binary32."""

from fractions import Fraction

from . import __main__ as driver
from . import b32, b32_half

TEXT = """
## Evaluations in binary32

Where a function is evaluated in binary32 first (`crlibm/*/*_b32.h` for f32, `*_b32_half.h` for f16 and bf16), its error is measured at the
numbers themselves, on each instruction set whose loops use it: `proofs/oracle` has enclosures of the functions that are some 2^-24 of those errors
wide, integer polynomials from ball arithmetic. For f32 the condition is that of the rounding test: the value lies between the two sums that the test compares. For
the 16-bit formats the bound is that which the file derives, or the loop's test covers; their rounding tests are run around every midpoint of
the format. Both ask nothing of other machines where every operation has one rounding. CPUs of different makers give different estimates of reciprocals
and roots, within an error that all of them state: rsqrt is measured with every estimate within it (`proofs/oracle/estimates.c`), and so is the reciprocal
of sigmoid and silu in f32 (`make test-exhaustive`: below 2^-23.91, of the 2^-23.9 that they assume).

In f16 and bf16, hypot, products, quotients and functions of one argument without such a file are computed by the f32 kernel in binary64, of numbers that
are f32 numbers too: its bound and domain are those above. Gradients multiply g by a table of derivatives, which is made by the f32
kernel at g = 1 (`src/elementwise/half_gradient.c`).

"""
HEAD_F32 = "| f32 | instruction set | largest error over its bound | numbers | undecided |\n| --- | --- | --- | --- | --- |\n"
HEAD_16 = "\n| 16 bits | instruction set | error over its bound: f16 / bf16 | inputs | undecided: f16 / bf16 |\n| --- | --- | --- | --- | --- |\n"


def share_text(share: Fraction) -> str:
    return "all" if share == 1 else str(share)


def compared(function: str) -> str:
    """Which share of all f32 results the oracle has been compared with, and found right."""
    held = driver.results().get(function)
    return share_text(Fraction(held["share"])) if held and not held["wrong"] else ""


def b32_rows() -> list[str]:
    rows = []
    for name, evaluation in b32.evaluations().items():
        held = b32.certificate(evaluation)
        for isa in evaluation.isas:
            one = held[isa]
            numbers = share_text(Fraction(one["inputs"], 1 << 32))
            rows.append(f"| {name} | {isa} | {one['ratio']:.4f} | {numbers} | {one['undecided'] / one['inputs']:.1%} |")
    return rows


def b32_half_rows() -> list[str]:
    rows = []
    for name, evaluation in b32_half.evaluations().items():
        held = b32_half.certificate(evaluation)
        for isa in evaluation.isas:
            both = [held[isa][fmt] for fmt in b32_half.FORMATS]
            ratios = " / ".join(f"{one['ratio']:.4f}" for one in both)
            undecided = " / ".join(f"{one['undecided'] / one.get('pairs', b32_half.INPUTS):.1%}" for one in both)
            inputs = f"{share_text(Fraction(held['share']))}{' (pairs)' if evaluation.pair else ''}"
            rows.append(f"| {name} | {isa} | {ratios} | {inputs} | {undecided} |")
    return rows


def section() -> str:
    return TEXT + HEAD_F32 + "\n".join(b32_rows()) + "\n" + HEAD_16 + "\n".join(b32_half_rows()) + "\n"


def cited(function: str) -> list[str]:
    """What a function's error budget says."""
    parts = []
    if function in b32.evaluations():
        evaluation = b32.evaluations()[function]
        held = b32.certificate(evaluation)
        figures = ", ".join(f"{held[isa]['ratio']:.3f} ({isa})" for isa in evaluation.isas)
        share = share_text(Fraction(held[evaluation.isas[0]]["inputs"], 1 << 32))
        parts.append(f"in binary32 {figures} of its bound at {'all' if share == 'all' else f'{share} of the'} f32 numbers")
    if function in b32_half.evaluations():
        evaluation = b32_half.evaluations()[function]
        held = b32_half.certificate(evaluation)
        worst = {fmt: max(held[isa][fmt]["ratio"] for isa in evaluation.isas) for fmt in b32_half.FORMATS}
        parts.append(
            ", ".join(f"{fmt} {ratio:.3f}" for fmt, ratio in worst.items()) + " of the bound of the 16-bit evaluation"
        )
    return parts
