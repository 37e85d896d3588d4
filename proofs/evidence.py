"""docs/evidence.md, and the checked figures in the functions' error budgets: made from the certificates, the golden digests, the
lists of hard cases and the tests' own lists, so that a cell cannot say more than these do."""

import json
import pathlib
import re
import sys
from fractions import Fraction

from . import domains, edges, evidence_operators, integer_powers
from .graph import HERE, ROOT, Interval, Kernel, kernels
from .kinds import KINDS, hook
from .oracle import evidence as oracle
from .run import BUILDS, certificate

PAGE = ROOT / "docs" / "evidence.md"
SHARES = ROOT / "proofs" / "formula" / "shares.json"

# What the f32 results rest on where no kernel of kernels.def says it, and it is not a bound derived in <function>_b64.h.
OTHERWISE = {
    "sqrt": "the machine's operation",
    "add": "the machine's operation",
    "subtract": "the machine's operation",
    "multiply": "the machine's operation",
    "divide": "the machine's operation",
    "fma": "rounding to odd: `proofs/smt/odd.py`",
}

HEAD = """# Evidence

Made by `python -m proofs.run --table`: every cell is read from the certificates of `proofs/`, the golden digests and hard cases of
`tests/`, and the tests' own lists. Unless it is said otherwise a test runs on each instruction set that the CPU has (base, avx2, avx512; base and
neon of aarch64 under an emulator, `tests/packaging/test_cross_aarch64.py`), and the results must be the same bits. `make test` runs
a fixed part of the cases of the longest of these tests, `make test-long` all of them.

## What the columns say

- **f16, bf16**: functions of one argument are compared with the oracle (MPFR) on all 65,536 inputs; those of several on special values
  in every combination and 20,000 random tuples, and by a digest of 2^20 tuples.
- **f32**: `make test` compares 100,000 random inputs and the special values with the oracle and checks the digest of every 257th of all
  2^32 inputs; `make test-exhaustive` runs all of them: one digest on every instruction set, and the oracle's value for each input
  that the fast phase left undecided and for one in 257 of the others. "lanes": the evaluation in binary32 that comes first is compared
  on its own.
- **oracle**: the share of all 2^32 f32 results that `proofs/oracle` has found right: enclosures by ball arithmetic (Arb), in integers, that have
  no line in common with the library or with MPFR (`make oracle`; `make test` compares 262,144 of them beside the hardest cases).
- **f64**: lines of the published and computed lists of hard cases, all compared with the oracle, beside 100,000 random inputs.
- **proof**: the error bound in Ziv's rounding test, checked by a machine box by box on the domain given below: the largest
  checked error over the claimed bound, with fused operations and without. At most 1 is proved; boxes are cut no further than that needs, so a
  figure near 1 does not say that the claim is tight. Without a figure the bound is derived in prose in the kernel's file. "b64": evaluated in
  binary64, for results of f32, f16 and bf16; "dd": in double-double, for f64.
- **control**: instruction sets on which the library with all bounds made 2^20 times smaller gives a wrong result on the hardest f32
  inputs. Where there are none, no input depends on the bounds there: all of them were compared with the oracle. `tests/controls/bounds.txt` lists every
  bound of the library, how much smaller each one alone has to be made to return wrong bits on data made for it, or the proof that stands for it;
  `tests/controls/test_bounds.py` holds it, and that none is left out.

"""

PROOFS = """
## What is proved

`proofs/` compiles a kernel's own source over a vocabulary that records its expression graph, and bounds its error over the domain box by
box: Taylor models in ball arithmetic (Arb, by python-flint) for the approximation, half a last place for every operation that
the numbers do not show to be exact, sums and products by error-free transformations exactly. Rounding tests are lemmas of their
own, proved by z3 (`proofs/smt`), that of the b64 kernels for every bit pattern. So are the sign of pow, and that rounding to odd and then to nearest
rounds once, which fma relies on. The steps of an fma without the machine's instruction are run for all numbers of small formats; Boldo and
Melquiond prove them for every precision. What is taken as given: IEEE 754 operations, estimates of
AVX-512 within 2^-14 as its maker states them, and the ball arithmetic itself; the errors of quotients and roots that
`crlibm/simd/simd.h` states follow from these (`proofs/words.py`). `make proofs` repeats all of it; `make test` fails when
a kernel, a table or a claim changes without a new certificate, proves a sample of boxes again, and checks that the bounds contain
the errors seen at random numbers and that claims below such an error, wrong tables and wrong steps are rejected.

Where a kernel takes a multiple of a constant or a power of two from its argument (exp, exp2, exp10 and the logarithms in f64), many of
them are analysed at once, the values that are linear in the multiple being kept so. sin, cos and tan in f32 are cut at the reduced
argument (`proofs/trig.py`): up to it all values are linear forms in x and the multiples, followed for a binade of x at once, and how near
f32 numbers come to a multiple of pi/2 follows from continued fractions; from it on the kernel is analysed as the others are.

In f64 the sigmoid and its kin, their gradients, erfc, erfcx, ndtr, gelu, softplus and log_sigmoid are composed: the double-double exp that they call
is taken by the bound that is proved for it (`exp_sum_dd`, for arguments of two parts), and their own operations, quotients included, are
analysed (`proofs/composed.py`; `computed.py` where the argument of exp is computed, `small.py` for small softplus). The reductions of sin, cos
and tan in f64, and these functions of the reduced argument, for every k modulo 16, are proofs of their own (`proofs/angles.py`).

log2p1 and log10p1 are log1p times a constant: beside its proof they need what its low part is (`log_parts_dd`, `log1p_parts_dd`), and their steps are counted
(`proofs/log_bases.py`). tanpi is tan from its reduced argument on, which has a proof (`proofs/halfturn_rests.py`).
log_ndtr adds to -x^2/2 a logarithm of what erfcx and ndtr compute: its share is that of the logarithm's argument over the part of the bound for it
(`proofs/log_ndtr.py`).

log1p, atanh, asinh and acosh end with a logarithm of two parts, which is proved by itself (`log_sum_dd`, and `log1p_near_dd` where its table
gives 1). Their share in the table is the error of its argument over the part of their bound that is not the logarithm's, or over 2^-88 of the
result where there is no such part (`proofs/logs.py`).

sinpi, cospi and tanpi take the nearest multiple of a half-turn, of a half of it or of a sixteenth from |x|, exactly, which is checked of their graphs;
from the rest on they are analysed for every multiple that makes a difference, and zeros are evaluated (`proofs/halfturns.py`).

erfinv and ndtri take a step from a first approximation y. One proof shows that y is within 2^-40 of the result, another bounds the step for every
such y, so that the domain of the latter is one of y (`proofs/quantiles.py`).

lgamma and digamma in binary64 are proved for all their numbers above -1/2, within 15/16 and 13/16 of their bounds, which the shares refer to. Below,
they are formulas of what is reflected and of sin(pi r)/(pi r) and cos(pi r), which are proofs of their own (`proofs/gamma.py`,
`proofs/formula/gamma.py`). In f64 they have vectors of double-double numbers with a running bound, then double-double numbers whose operations are among the
formulas below, and multiprecision. What all three add to these bounds, the rests of their series and the rounding of their tables, is checked by `proofs/rests.py`; the units
that steps of multiprecision count are derived in `lgamma_mp.h` and `digamma_mp.h`. Hard cases and samples are compared with MPFR.

betaln in binary64 is a formula of lgamma, log, log1p and Stirling's series in each of three cases, whose shares are among those below; lgamma is proved for
any number of binary64 there, since the sum of the arguments is one. In f64 all four have vectors of double-double numbers with a running bound
(`crlibm/simd/vdd.h`), whose operations need no analysis of where they stand; what their series add is checked by `proofs/rests.py`, and
`tests/elementwise/test_gamma.py` compares values and bounds with mpmath's. What they leave takes lgamma's double-double numbers, and multiprecision.

Large arguments of expm1, sinh and cosh are analysed for many powers of two at once (`proofs/scaled.py`), those of exp2m1 and exp10m1 too
(`proofs/scaled_bases.py`). For cbrt and rsqrt one octave of 8 or 4
stands for all normal numbers, since every operation is checked to scale and not to underflow (`proofs/octaves.py`).

Of two arguments (`proofs/two.py`): hypot and atan2 are homogeneous, so that a box is one of the ratio of their arguments. pow is a
composition: first y log x within 8.6 2^-53, then e^z for every z that is within that of x. So is logaddexp: log(1 + e^-d) for a rounded
difference d; the sum with the greater argument, whatever that is, is one of the formulas below. The domains of these kernels are those of the
ratio, x, z and d. In f64 the same is done with values of two parts: `proofs/pairs.py` (hypot, atan2: down to the sizes at which the kernels leave
an argument undecided, so that underflow counts), `proofs/powers.py` (pow) and `proofs/sums.py` (logaddexp).

pown, rootn and compound are compositions too: what they add to the certificates of the logarithm for any number, of its two parts and of e^z is summed up by
`proofs/integer_powers.py` in rational numbers, with fused operations or without.

Beyond a cut of the argument kernels take another argument in its place, or the result is known at once. For f64 `proofs/cuts.py` checks these results
over the whole range, piece by piece, those of gradients, powers and logaddexp too; it reads the cuts of known results from the source. In the formats
below f64 all numbers of functions of one argument are compared with an oracle.

Where products underflow beside 0, at single numbers such as 1 for acos, and where large arguments are cut, `proofs/edges.py` follows the whole fast
phase of f64, Ziv's rounding test and the sign included, with enclosures of the computed numbers: each lane is undecided or stores the correctly
rounded result, which is the argument, its factor or a constant.

EDGES

In f64 of functions of one argument and gradients, `proofs/domains.py` compares the x at which a kernel is entered, by the sources' conditions, with the
table's domains, the few numbers for which `proofs/edges.py` proves the same bound beyond them, those cuts and these edges. LEFT_OVER

Not machine-checked, but derived in prose in the files: kernels that are not in this table, and the accurate phases of any precision.

The evaluations in binary32 are measured: below.

| kernel | domain | claimed bound | checked error, FMA | without FMA | boxes |
| --- | --- | --- | --- | --- | --- |
"""


MUTANTS = """
## Mutants and halved bounds

Each constant and table entry of a kernel's graph, but zeros and the claim, is moved one unit in its last place up and down, and each integer constant and
count of a shift by one (`python -m proofs.mutants`, with fused operations). Rejected: evaluated exactly on numbers, the changed kernel errs by more than
its bound. Refused: the proof fails with the change, though none of these numbers shows an error. Together: the bound is proved on every box with many
numbers off at once, this one among them, each by as much as a unit either way, so that the mutant is harmless. Alone: proved for this mutant. Of the integers:
rejected or refused, harmless, open. Half of the bound: rejected by a number, proved too, or not proved. Largest error seen: the error of the unchanged
kernel over its bound, at the numbers on which mutants are evaluated.

Some mutants change nothing that is computed, or only at a few arguments: a number on a side of a step that is not taken, the bits of a NaN, a table's entry beyond
its interval, an integer that chooses the entry, which one unit off chooses another one at the ends of intervals alone. There the proof is of these arguments.
With another magic number the multiple that a reduction takes is another one, as numbers show.

Open: nothing is known of the mutant. No number tried shows an error, the proof with the change does not fail, and it does not end in the time that each
kernel's mutants have together, a minute, or what `--left` gives them. That weakens no bound, since the kernels as they are have their certificates. A change of
a kernel needs a new certificate in any case. `proofs/mutants.json` names each one.

| kernel | mutants | rejected | refused | together | alone | open | integers | half of the bound | largest error seen |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def mutant_rows() -> list[str]:
    held = json.loads((HERE / "mutants.json").read_text())
    columns = ("mutants", "rejected", "refused", "together", "alone", "open")

    def row(name: str, found: list[dict], last: list[str]) -> str:
        counts = [sum(f[column] for f in found) for column in columns]
        parts = [f["integers"] for f in found if "integers" in f]
        whole = [sum(f[a] + f[b] for f in parts) for a, b in (("rejected", "refused"), ("together", "alone"))]
        integers = ", ".join(map(str, [*whole, sum(f["open"] for f in parts)])) if parts else "not tried"
        return f"| {' | '.join([name, *map(str, counts), integers, *last])} |"

    rows = [row(name, [found], [found.get("halved", "not tried"), found["seen"]]) for name, found in held.items()]
    missing = [name for name in kernels() if name not in held]
    rows.append(row(f"**all {len(held)}**", list(held.values()), ["", ""]))
    return rows + ([f"\nNot tried: {', '.join(missing)}."] if missing else [])


def bound_counts() -> str:
    """How the bounds of tests/controls/bounds.txt are shown."""
    lines = (ROOT / "tests/controls/bounds.txt").read_text().splitlines()
    shown = [line.split(" | ")[2] for line in lines if line and not line.startswith(("#", "part |"))]
    smaller = [text for text in shown if re.search(r"^(data|hard|pairs)|; (data|hard|pairs)", text)]
    halves = sum(bool(re.search(r" 1/2(?!\d)", text)) for text in smaller)
    proved = sum(bool(re.search(r"(^|; )(proof|lemma|formula|every)", text)) for text in shown)
    prose = sum(text == "derived" for text in shown)
    return (
        f"\nOf the {len(shown)} bounds in `tests/controls/bounds.txt`, {len(smaller)} return wrong bits on data of the tests when they alone are made smaller, "
        f"{halves} of these when halved; {proved} are proved by a machine; {prose or 'none'} have their derivation only.\n"
    )


CONDITIONS = """
## Conditions left out

Each comparison of the vector code (fast phases, Ziv's rounding tests, fast paths of operators) sends lanes to a later tier, to the accurate phase or
to another value. In a build for controls each is left out by itself, as never true or as always true. `tests/controls/guards.txt` has a line for each:
arguments at which a function is right with the condition and wrong without it, by comparison with MPFR (`tests/controls/test_guards.py` tries them on every
instruction set); an operation on data beside boundaries of rounding whose result changes; or why no result changes. Conditions of scalar code
(accurate phases, balls) are not among them.

| conditions | a wrong value is shown | an operation's result changes | same results, or only slower: argued there, or all inputs compared | nothing found |
| --- | --- | --- | --- | --- |
"""


def condition_counts() -> str:
    lines = (ROOT / "tests/controls/guards.txt").read_text().splitlines()
    shown = [line.split(" | ")[2] for line in lines if line and not line.startswith("#")]
    data = [text for text in shown if re.match(r"(never|always) data ", text)]
    wrong = [text for text in shown if re.match(r"(never|always) ", text) and text not in data]
    same = [text for text in shown if text.startswith(("same", "speed"))]
    return (
        f"| {len(shown)} | {len(wrong)} | {len(data)} | {len(same)} | {len(shown) - len(wrong) - len(data) - len(same)} |\n"
    )


def no_input() -> dict:
    """(function, format) to the instruction sets on which no input shows a bound, from the test that makes the controls."""
    sys.path.insert(0, str(ROOT / "tests/support"))
    import bounds_without_input as controls

    return {**controls.NO_INPUT, **{(f, "f32"): controls.EVERY for f in controls.NO_BOUND}}


def manifest() -> dict[str, int]:
    text = (ROOT / "crlibm/functions.def").read_text()
    return {name: int(arity) for name, arity in re.findall(r"^RM_FUNCTION\((\w+), \w+, (\d),", text, re.M)}


# What a second kernel of a function and arithmetic is for, by the last part of its name.
PARTS = {
    "": "",
    "_large": "large arguments",
    "_sum": "with a low part",
    "_near": "near 0, with a low part",
    "_parts": "what its low part is",
    "_reduction": "reduction",
    "_far": "reduction beyond",
    "_small": "small results",
    "_limit": "smallest results",
    "_log": "y log x",
    "_exp": "e^z",
    "_tail": "log(1 + e^-d)",
    "_range": "its range",
    "_row": "of any number",
    "_start": "its first approximation",
    "_turn": "what reflects it",
}


def parts(function: str, arithmetic: str) -> list[tuple[str, Kernel]]:
    """The function's kernels of the arithmetic, and what each is for."""
    of_function = [(KINDS[k.kind], k) for k in kernels().values() if k.function == function]
    return [(PARTS[kind.part], k) for kind, k in of_function if kind.arithmetic == arithmetic]


def ratio(function: str, arithmetic: str) -> str:
    """The checked over the claimed bounds, or nothing."""
    figures = []
    for part, kernel in parts(function, arithmetic):
        held = certificate(kernel)
        figures.append(f"{part} ".lstrip() + " / ".join(f"{held[build]['ratio']:.3f}" for build in BUILDS))
    return f"{arithmetic} {', '.join(figures)}" if figures else ""


def without_proof(function: str) -> str:
    if function in OTHERWISE:
        return OTHERWISE[function]
    header = f"{function}_b64.h"
    assert (ROOT / "crlibm" / function / header).exists()
    return f"bound derived in `{header}`"


def row(function: str, arity: int, unseen: dict) -> str:
    golden = json.loads((ROOT / f"tests/golden/{function}.json").read_text())["formats"]
    folder = ROOT / "crlibm" / function
    short = "all inputs" if arity == 1 and golden["f16"]["inputs"] == 65536 else "samples, 2^20 digest"
    f32 = "all inputs" if golden["f32"]["inputs"] == 2**32 else "samples, 2^20 digest"
    if (folder / f"{function}_b32.h").exists():
        f32 += ", lanes"
    hard = ROOT / f"tests/data/hardcases/f64/{function}.txt"
    f64 = "samples"
    if hard.exists():
        lines = [line for line in hard.read_text().splitlines() if line and not line.startswith("#")]
        f64 = f"{len(lines):,} hard cases"
    proofs = [p for p in (ratio(function, "b64"), ratio(function, "dd")) if p]
    proof = "; ".join(proofs) if proofs else without_proof(function)
    caught = [isa for isa in ("base", "avx2", "avx512") if isa not in unseen.get((function, "f32"), ())]
    control = (", ".join(caught) or "none") if arity == 1 else "f16: avx2, avx512" if function == "sigmoid_backward" else ""
    return f"| {function} | {short} | {f32} | {oracle.compared(function)} | {f64} | {proof} | {control} |"


def rows_of_powers() -> list[str]:
    """Of the functions of a number and an integer: special values in every combination, 1,500 random pairs, pairs beside midpoints, and a digest."""
    text, held = (ROOT / "crlibm/powers.def").read_text(), dict(integer_powers.checks())
    made = []
    for name in re.findall(r"^RM_POWER\((\w+),", text, re.M):
        z, exp = ([held[f"{what} in {how}"] for how in ("binary64", "two parts")] for what in (f"{name}: z", "e^z"))
        proof = f"b64 z {z[0]:.3f}, e^z {exp[0]:.3f}; dd z {z[1]:.3f}, e^z {exp[1]:.3f}"
        made.append(f"| {name} | samples, digest | samples, digest |  | samples, digest | {proof} |  |")
    return made


def bound_text(claimed: str) -> str:
    """A hexadecimal bound as 2^n or m 2^n."""
    if claimed.startswith("its"):
        return "`err` of the kernel"
    mantissa, power = claimed.removeprefix("0x").split("p")
    factor = float.fromhex(f"0x{mantissa}p0")
    return f"2^{int(power)}" if factor == 1 else f"{factor:g}·2^{int(power)}"


def domain(kernel: Kernel) -> tuple[Interval, ...]:
    """The numbers for which the kernel's bound is proved."""
    return hook(kernel.kind, "domain")(kernel)


def domain_text(kernel) -> str:
    joined: list[tuple] = []
    for i in sorted(domain(kernel), key=lambda i: i.low):
        if joined and i.low - joined[-1][1] <= abs(i.low) * Fraction(1, 2**20):
            joined[-1] = (joined[-1][0], i.high)
        else:
            joined.append((i.low, i.high))
    return ", ".join(f"[{float(a):.6g}, {float(b):.6g}]" for a, b in joined)


NONE_LEFT = "No x is left over."


def left_over() -> str:
    """The arguments in no proof, or that there are none."""
    found = [f"- {name}: {domains.text(ranges)}" for name, ranges in domains.left_over().items()]
    return "\n".join(["In none of them are:", "", *found]) if found else NONE_LEFT


def edge_list() -> str:
    """Where a result is shown, by the results."""
    lines: dict[str, list[str]] = {}
    for edge in edges.EDGES:
        ends = domains.text([(edge.low, edge.high)])
        lines.setdefault(edge.result, []).append(f"{edge.function} at {'±' * edge.both}{f'({ends})' if edge.both else ends}")
    return "\n".join(f"- {result}: {'; '.join(found)}" for result, found in lines.items())


def proof_rows() -> list[str]:
    rows = []
    for kernel in kernels().values():
        held = certificate(kernel)
        errors = [held[b].get("error", f"{held[b]['ratio']:.3f} err") for b in BUILDS]
        boxes = sum(held[b]["boxes"] for b in BUILDS)
        rows.append(
            f"| {kernel.name} | {domain_text(kernel)} | {bound_text(held['claimed'])} | {errors[0]} | {errors[1]} | {boxes:,} |"
        )
    return rows


def step_rows() -> list[str]:
    shares = json.loads(SHARES.read_text())
    return [f"| {name} | {fused:.3f} | {plain:.3f} |" for name, (fused, plain) in shares.items()]


STEPS = """
## Formulas: steps of optimisers, rows, losses, draws

Made by `python -m proofs.formula.check --write`: the largest share of its bound that the error of the value given to Ziv's rounding test can reach, for all
data of the ranges that the kernel's comment names. The error is a polynomial in rounding errors, and in the number of terms of a sum; it is taken
from the expression graph of the library's own source and from the host code that gives it its numbers. Assumed are the bounds of exponentials,
log1p and quantiles (above), the bounds of sums by the numbers of roundings that `proofs/depth/run.py` counts, and the ranges that comments state.
Where an assumed error makes up most of a bound, the share is near 1. What the fast phases leave undecided, and the totals of binary cross entropy,
kl_div and nll_loss from the start, are computed with double-double numbers that carry a bound of their error: each of their operations is a
line below, underflow included, so that what is composed of them is within its bound (the share is then 1 by design). `proofs/exact/run.py` compares what Ziv's rounding test is given with exact numbers,
here and in products, convolutions, sums, losses, pooling and scatter sums.

| operation | with FMA | without |
| --- | --- | --- |
"""


def steps_section() -> str:
    return STEPS + "\n".join(step_rows()) + "\n"


def page() -> str:
    unseen = no_input()
    rows = [row(function, arity, unseen) for function, arity in manifest().items()] + rows_of_powers()
    head = "## Functions\n\n| function | f16, bf16 | f32 | oracle | f64 | proof: checked/claimed, FMA / without | control (f32) |\n"
    table = head + "| --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    return (
        HEAD
        + table
        + PROOFS.replace("EDGES", edge_list()).replace("LEFT_OVER", left_over())
        + "\n".join(proof_rows())
        + "\n"
        + MUTANTS
        + "\n".join(mutant_rows())
        + "\n"
        + bound_counts()
        + CONDITIONS
        + condition_counts()
        + oracle.section()
        + steps_section()
        + evidence_operators.section()
    )


MARK = "Checked by `proofs/`:"


def cited(function: str) -> str:
    """The sentence in the function's error budget, or nothing."""
    found = []
    for part, kernel in [*parts(function, "b64"), *parts(function, "dd")]:
        held, name = certificate(kernel), f"{KINDS[kernel.kind].arithmetic}{', ' * bool(part)}{part}"
        if "error" in held["fma"]:
            figures = f"{held['fma']['error']} with fused operations, {held['base']['error']} without"
            found.append(f"{name} {figures}, of the claimed {bound_text(held['claimed'])}")
        else:
            figures = f"{held['fma']['ratio']:.3f} of its `err` with fused operations, {held['base']['ratio']:.3f} without"
            found.append(f"{name} {figures}")
    found += oracle.cited(function)
    return f"{MARK} {'; '.join(found)} (`docs/evidence.md`)." if found else ""


def budget(function: str) -> tuple[pathlib.Path, str]:
    """The function's error budget and what it should be."""
    path = ROOT / "crlibm" / function / f"{function}.md"
    lines = path.read_text().rstrip("\n").split("\n")
    lines = [line for line in lines if not line.startswith(MARK)]
    while lines and not lines[-1]:
        lines.pop()
    sentence = cited(function)
    return path, "\n".join(lines + (["", sentence] if sentence else [])) + "\n"


def stale() -> list[str]:
    """Pages that differ from what the certificates say."""
    pages = [(PAGE, page()), *(budget(function) for function in manifest())]
    return [str(path.relative_to(ROOT)) for path, text in pages if not path.exists() or path.read_text() != text]


def write() -> None:
    PAGE.write_text(page())
    for function in manifest():
        path, text = budget(function)
        path.write_text(text)
