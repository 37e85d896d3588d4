"""The tables of README.md and docs/performance.md, from bench/results: python bench/table.py [--write README.md] [--full FILE]

README has the rows of the best instruction set measured, between the lines <!-- bench:begin --> and <!-- bench:end -->. --full writes
every measurement of `make bench`, and how the ratios of `make sweep` are distributed, between such lines of another file. Needs nothing but
Python.
"""

import argparse
import itertools
import json
import pathlib
import re

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
LIBRARIES = ("NumPy", "SciPy", "PyTorch")
ISAS = ("amx", "avx512bf16", "avx512", "avx2", "neon", "base")
LIMIT = 15  # ratios above it are listed
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
    of_models = [
        r
        for r in next(filter(None, (swept(isa)[0] for isa in ISAS)), [])
        if r["group"] == "models" and (r["dtype"], r["threads"]) == ("f32", 1)
    ]
    for what, name in (("step", "training steps"), ("generate", "generating text")):
        ratios = [r["ratio"] for r in of_models if r["direction"] == what]
        if ratios:
            median, _, _, largest = quantiles(ratios)
            rows.append(
                (f"{name}, {len(ratios)} small models, f32, 1 thread: median; the largest is {largest:.2f}", median, median)
            )
    versions = data["machine"]["versions"]
    return "\n".join(
        [
            "The figures are repmath's time divided by that of the fastest other library, and by PyTorch's; below 1 repmath is faster. `make bench` measured them on an",
            f"{data['machine']['cpu']} with {data['machine']['isa']}, NumPy {versions['numpy']} and PyTorch {versions['torch']}; all figures are in",
            "[docs/performance.md](docs/performance.md)."
            + " The rows of small models are by `make sweep`, on the machine that this page names for it." * bool(of_models),
            "",
            "| | beside the fastest other | beside PyTorch |",
            "| --- | --- | --- |",
            *(f"| {name} | {fastest:.2f} | {'' if torch is None else f'{torch:.2f}'} |" for name, fastest, torch in rows),
        ]
    )


def swept(isa):
    """The results of a sweep, and what machine they are of; the last result of a case counts."""
    path = RESULTS / "sweep" / f"{isa}.jsonl"
    found, about = {}, None
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:  # the end of a sweep that was stopped while it wrote
            continue
        about = line.get("machine", about)
        if "case" in line and "began" not in line:
            found[line["case"]] = line
    return [r for r in found.values() if "ratio" in r], about


def quantiles(ratios):
    """The median, what 90 % and 99 % are below, and the largest."""
    ordered = sorted(ratios)
    return [ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.5, 0.9, 0.99)] + [ordered[-1]]


def distribution(name, cases):
    values = " | ".join(f"{v:.2f}" for v in quantiles([r["ratio"] for r in cases]))
    return f"| {name} | {len(cases)} | {values} |"


def rows_of_sweep(results):
    """How the ratios are distributed: of models by what they do, of all else by group."""
    yield "| what | cases | median | 90 % are below | 99 % are below | largest |"
    yield "| --- | --- | --- | --- | --- | --- |"
    threads = sorted({r["threads"] for r in results})
    for n, models in itertools.product(threads, (True, False)):
        parts = {}
        for r in results:
            if r["threads"] == n and (r["group"] == "models") == models:
                name = f"models, {r['direction']}" if models else r["group"]
                parts.setdefault((name, r["dtype"]), []).append(r)
        of = f"{n} thread" + "s" * (n > 1)
        for (name, dtype), cases in sorted(parts.items()):
            yield distribution(f"{name}, {dtype}, {of}", cases)
        if not models and parts:
            yield distribution(f"all but models, {of}", [r for cases in parts.values() for r in cases])


def rows_of_models(results):
    """Of each family the ratios of a training step and of generate."""

    def kind(r):
        return r["direction"], r["dtype"], r["threads"], int(r["shape"].split()[0])

    kinds = sorted(set(map(kind, results)), key=lambda k: (k[0] != "step", k[1] != "f32", *k[2:]))
    yield f"| family | {' | '.join(heading(*k) for k in kinds)} |"
    yield "| --- " * (len(kinds) + 1) + "|"
    families = {}
    for r in results:
        families.setdefault(r["name"], {})[kind(r)] = f"{r['ratio']:.2f}"
    for name, found in sorted(families.items()):
        yield f"| {name} | {' | '.join(found.get(k, '') for k in kinds)} |"


def heading(what, dtype, threads, width):
    return f"{what}, {dtype}, {threads} thread{'s' * (threads > 1)}, {width} wide"


def rows_above(results, limit):
    """The largest ratio above the limit of each function and direction."""
    yield "| function | shape | values | ratio |"
    yield "| --- | --- | --- | --- |"
    worst = {}
    for r in results:
        if (
            r["ratio"] > limit
            and r["ratio"] > worst.get((r["group"], r["name"], r["direction"], r["dtype"]), r | {"ratio": 0})["ratio"]
        ):
            worst[r["group"], r["name"], r["direction"], r["dtype"]] = r
    for (_, name, direction, dtype), r in sorted(worst.items(), key=lambda item: -item[1]["ratio"]):
        yield f"| {name}, {direction}, {dtype} | {r['shape']} | {r['values']} | {r['ratio']:.1f} |"


def sweeps():
    out = []
    for isa in ISAS:
        results, about = swept(isa)
        if not results:
            continue
        models = [r for r in results if r["group"] == "models"]
        out += [
            f"## Operators and whole models with {isa}",
            "",
            f"{machine({'machine': about})}. Ratios are repmath's time divided by that of PyTorch or NumPy, as the median of runs in turn; on one thread it is the time of the CPU.",
            "",
            *rows_of_sweep(results),
            "",
        ]
        if models:
            out += ["### Families of models", "", *rows_of_models(models), ""]
        if any(r["ratio"] > LIMIT for r in results):
            out += [f"### Above {LIMIT} times", "", *rows_above(results, LIMIT), ""]
    return out


def tables():
    out = sweeps()
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


def marked(text, made, file):
    """The text with what is made between the lines <!-- bench:begin --> and <!-- bench:end -->."""
    pattern = re.compile(r"(<!-- bench:begin -->\n).*?(<!-- bench:end -->)", re.S)
    if not pattern.search(text):
        raise SystemExit(f"{file} has no lines <!-- bench:begin --> and <!-- bench:end -->")
    return pattern.sub(lambda m: f"{m[1]}{made}\n{m[2]}", text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--full", metavar="FILE", type=pathlib.Path)
    args = parser.parse_args()
    if args.full:
        args.full.write_text(marked(args.full.read_text(), tables(), args.full))
    if args.write is None:
        print(readme())
        return
    args.write.write_text(marked(args.write.read_text(), readme(), args.write))


if __name__ == "__main__":
    main()
