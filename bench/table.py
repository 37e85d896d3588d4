"""The tables of README.md and docs/performance.md, from bench/results: python bench/table.py [--write README.md] [--full FILE]

README has six rows of the best instruction set measured, between the lines <!-- bench:begin --> and <!-- bench:end -->. --full writes
every measurement to a file. Needs nothing but Python.
"""

import argparse
import json
import pathlib
import re

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
LIBRARIES = ("NumPy", "SciPy", "PyTorch")
ISAS = ("amx", "avx512bf16", "avx512", "avx2", "neon", "base")
NOTHING = "Not measured yet: run `make bench`, then `make bench-table`."


def load(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def rows_of_functions(data):
    yield "| function | format | ns an element | NumPy | SciPy | PyTorch |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for r in data["results"]:
        if r.get("size") == "16 Ki":
            ratios = (f"{r['ratio'][name]:.2f}" if name in r["ratio"] else "" for name in LIBRARIES)
            yield f"| {r['function']} | {r['format']} | {1e9 * r['seconds']['repmath'] / r['n']:.2f} | {' | '.join(ratios)} |"


def rows_of_groups(data):
    yield "| functions | format | geometric mean beside the fastest other | beside PyTorch | faster than PyTorch |"
    yield "| --- | --- | --- | --- | --- |"
    for e in data["summary"]:
        torch = (f"{e['PyTorch']:.2f}", f"{100 * e['faster_than_PyTorch']:.0f} %") if "PyTorch" in e else ("", "")
        yield f"| {e['group']} | {e['format']} | {e['fastest']:.2f} | {torch[0]} | {torch[1]} |"


def rows_of_products(data):
    yield "| matrix product | repmath | NumPy | NumPy, AVX-512 kernels | PyTorch |"
    yield "| --- | --- | --- | --- | --- |"
    for r in data["results"]:
        if "gflops" in r and "NumPy" in r["ratio"]:
            ratios = (
                f"{r['ratio'][name]:.2f}" if name in r["ratio"] else ""
                for name in ("NumPy", "NumPy, AVX-512 kernels", "PyTorch")
            )
            yield f"| {r['case']} | {r['gflops']['repmath']:.0f} GFLOP/s | {' | '.join(ratios)} |"


def rows_of_reductions(data):
    yield "| case | repmath | NumPy, or the library named | ratio |"
    yield "| --- | --- | --- | --- |"
    for r in data["results"]:
        if "size" in r or ("gflops" in r and "NumPy" in r["ratio"]):
            continue
        other = next(iter(r["ratio"]), None)
        if other is None:
            yield f"| {r['case']} | {1e6 * r['seconds']['repmath']:.2f} us | | |"
            continue
        if "KiB" in r:
            ours, theirs = (f"{r['KiB'][name] / 1024:.0f} MiB" for name in ("repmath", other))
            yield f"| {r['case']} | {ours} | {other}: {theirs} | {r['ratio'][other]:.2f} |"
            continue
        if "seconds" not in r:  # a mean of ratios
            yield f"| {r['case']} | | {other} | {r['ratio'][other]:.2f} |"
            continue
        if "gflops" in r:
            ours, theirs = (f"{r['gflops'][name]:.0f} GFLOP/s" for name in ("repmath", other))
        else:
            unit, scale = ("ms", 1e3) if r["seconds"][other] > 1e-3 else ("us", 1e6)
            ours, theirs = (f"{scale * r['seconds'][name]:.2f} {unit}" for name in ("repmath", other))
        named = "" if other == "NumPy" else f"{other}: "
        yield f"| {r['case']} | {ours} | {named}{theirs} | {r['ratio'][other]:.2f} |"


def rows_of_accuracy(data):
    names = ("repmath", *LIBRARIES, "libm")
    yield f"| function | format | {' | '.join(names)} |"
    yield "| --- " * (len(names) + 2) + "|"
    for r in data["results"]:
        cells = (f"{r['ulps'][n]:.3f}" if n in r["ulps"] else "" for n in names)
        yield f"| {r['function']} | {r['format']} | {' | '.join(cells)} |"


def machine(data):
    m = data["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items() if name != "repmath")
    settings = "".join(f"; {name}={value}" for name, value in m["environment"].items())
    return f"{m['cpu']}, instruction set {m['isa']}; BLAS of NumPy: {m['blas']}; {versions}{settings}"


GROUPS = {"elementary": "elementary functions", "activations": "activations"}
CASES = (
    "matmul f32 1024^3, 1 thread",
    "sum f32 1e7",
    "training step, ResNet-18 32x3x32x32, 2 threads",
    "training step, GPT-2 4 layers of 256, 8x128, 2 threads",
)


def readme():
    """The six rows of README.md: the time of repmath divided by that of the fastest other library, and by PyTorch's."""
    data = next(filter(None, map(load, ISAS)), None)
    if data is None:
        return NOTHING
    groups = {e["group"]: e for e in data["summary"] if e["format"] == "f32"}
    cases = {r["case"]: r["ratio"] for r in data["results"] if "case" in r}
    rows = [
        (f"{name}, f32, geometric mean", groups[group]["fastest"], groups[group]["PyTorch"]) for group, name in GROUPS.items()
    ]
    rows += [(name, max(cases[name].values()), cases[name].get("PyTorch")) for name in CASES]
    versions = data["machine"]["versions"]
    return "\n".join(
        [
            "The figures are repmath's time divided by that of the fastest other library, and by PyTorch's; below 1 repmath is faster. `make bench` measured them on an",
            f"{data['machine']['cpu']} with {data['machine']['isa']}, NumPy {versions['numpy']} and PyTorch {versions['torch']}; all figures are in",
            "[docs/performance.md](docs/performance.md).",
            "",
            "| | beside the fastest other | beside PyTorch |",
            "| --- | --- | --- |",
            *(f"| {name} | {fastest:.2f} | {'' if torch is None else f'{torch:.2f}'} |" for name, fastest, torch in rows),
        ]
    )


def tables():
    out = []
    for isa in ISAS:
        data = load(isa)
        if data is None:
            continue
        out += [
            f"## How fast is it with {isa}?",
            "",
            f"{machine(data)}. One thread unless a row says otherwise; ratios are repmath's time divided by theirs: below 1 is faster.",
            "",
        ]
        if data.get("summary"):
            out += [
                "Arrays have 16 Ki elements, which fit in the cache, or 4 Mi elements. PyTorch computes tanh_backward and sigmoid_backward from the forward result: its time includes both.",
                "",
                *rows_of_groups(data),
                "",
            ]
        out += ["### Functions, 16 Ki elements", "", *rows_of_functions(data), ""]
        if any("gflops" in r for r in data["results"]):
            out += [
                "### Matrix products",
                "",
                "Before a product on two threads is timed, the idle threads of the library that was timed before it have 0.15 s to fall asleep; OpenBLAS's spin for 0.1 s.",
                "",
                *rows_of_products(data),
                "",
            ]
        if any("n" not in r and "gflops" not in r for r in data["results"]):
            out += ["### Sums, operators, training steps and the other products", "", *rows_of_reductions(data), ""]
    accuracy = load("accuracy")
    if accuracy:
        cpu = accuracy["machine"]["cpu"]
        out += [
            "## How large are the errors?",
            "",
            f"This is the largest error that was found, in units in the last place; a correctly rounded result has at most 0.5. Measured on an {cpu}.",
            "",
        ]
        out += [*rows_of_accuracy(accuracy), ""]
    return "\n".join(out).strip() or NOTHING


HEAD = """# Performance

`make bench-table` writes this page from the results of `make bench`.

These tables have chosen cases. `make sweep` measures the rest: every operator that PyTorch has samples of; elementwise functions and reductions on
many shapes, layouts and kinds of values (masks of -∞, NaN, zeros, integers, ties, subnormal numbers ...); functions of rows, images, products,
attention, losses and indices, forward and backward, in four formats; optimisers; NumPy's functions; a training step and `generate` of some hundred
families of models. It prints how the ratios are distributed, which cases are above a limit and what share of them the later tiers decided, which values
take longer than Gaussian ones, and how much longer calls on 4x4 numbers take than the other library's. `make sweep SWEEP='--quick --only
attention'` runs a part, and a sweep that was stopped goes on. Other options are `--threads 1 2`, `--avx2`, `--report` and `--coverage`, which names
operators that no case calls.

Some special functions have no fast tier everywhere: Bessel functions of numbers beyond 64, `polygamma` below -15 and of orders above 7, and orthogonal
polynomials of a degree at which the recurrence's bound is lost, are computed by integers, one by one, in microseconds to milliseconds each. Bessel's Y and K,
Airy's Ai, Hurwitz's zeta and the incomplete gamma functions take microseconds each in double-double, without vectors, and so what this leaves: values near 0 that
cancel, and magnitudes beyond 2^-960.

`lgamma`, `digamma`, `trigamma` and `betaln` in float64 take two to eight microseconds for each number that vectors leave: of magnitudes below 2^-400 or above
2^300 (`betaln` 2^-200 and 2^200, `trigamma` 2^-150 and 2^150), and beside zeros, where parts cancel.
Remainders of float64 take 3 to 6 times PyTorch's time, also where quotients are beyond 2^53.

What no bound decides is decided exactly, at 1 to 13 nanoseconds a term: sums of products in float64 (`addcmul`, `lerp`, dots, products of matrices) whose operands span half of the
range or are subnormal, since the error of such a product is no number of any format, and there is no wider one to bound it in. They take 16 to 40 times PyTorch's time.

A value that lies half-way between two numbers is decided by no bound, only exactly: the average of 2 x 2 float64 numbers often is one, and is then rounded alone.
Such pools take 7 to 28 times PyTorch's time. The following take more than ten times it where no mathematics asks for that (float64, 256 x 256 numbers, one thread, AVX-512;
`div_` and `weight_norm` over rows on an Intel Xeon, the others on AMD Zen 4, loaded;
`make sweep SWEEP='--only prod hardswish div weight_norm --dtype f64 --threads 1 --direction forward'`):

| call | of numbers like 1, masks and NaN | of subnormal numbers | of exponents over half of the range |
| --- | --- | --- | --- |
| `div_(number, rounding_mode="trunc")` | 7 to 18 | below 10 | 13 |
| `hardswish`, sliced and broadcast too | 7 to 14 | below 10 | 9 to 12 |
| `weight_norm` over rows | 6, with masks, NaN and zeros 11 to 23 | 25 to 30 | below 10 |
| `weight_norm` over columns | 16 | 21 | 13 |
| `prod` | 8 to 13 | 13 to 15 | 8 to 12 |

Depthwise convolutions in float64 of images with infinities take 28 to 40 times PyTorch's time. Distances in float64 take 10 to 13 times, and of more than 25 points, which PyTorch takes
from a product of matrices that cancels, 90 times.

Small calls: of 452 operators on 4 x 4 numbers the median takes 3 microseconds more than PyTorch's (AMD Zen 4, loaded), 46 take more than 20. These are special functions that are
evaluated without vectors (above); the steps of eigenvalues, singular values, QR and what is made of them, 30 to 120 microseconds; LDL factors, histograms of several axes, products and other reductions
of places and segments, 50 to 290, which are arrays of NumPy between calls of the library. Batch norm in float64 with running statistics takes some 40 microseconds for each of
them, by rational numbers, as no bound in binary64 tells their rounding.

"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--full", metavar="FILE", type=pathlib.Path)
    args = parser.parse_args()
    if args.full:
        args.full.write_text(HEAD + tables() + "\n")
    if args.write is None:
        print(readme())
        return
    old = args.write.read_text()
    pattern = re.compile(r"(<!-- bench:begin -->\n).*?(<!-- bench:end -->)", re.S)
    if not pattern.search(old):
        raise SystemExit(f"{args.write} has no lines <!-- bench:begin --> and <!-- bench:end -->")
    args.write.write_text(pattern.sub(lambda m: f"{m[1]}{readme()}\n{m[2]}", old))


if __name__ == "__main__":
    main()
