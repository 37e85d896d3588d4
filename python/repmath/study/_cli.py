"""repmath study order | warden | harmonic | arms | variability | localize | cost: tables, pictures and a page in a folder."""

import argparse
import hashlib
import pathlib
import runpy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import repmath
from repmath._scope import MODES
from repmath.rounding import RANDOM_MODES

from ._arms import ARMS, as_json, compare, split_script, tests
from ._arms import arms as run_arms
from ._cost import cost
from ._digits import METHODS
from ._failures import naming, takes
from ._harmonic import harmonic
from ._localize import GROUPS, localize
from ._order import Function, certificate, order
from ._report import Report
from ._variability import variability
from ._warden import warden

PHASES = ("forward", "backward", "step")


def _ones(n: int, dtype: Any) -> Any:
    return np.ones(n, dtype)


def sums(n: int) -> dict[str, Function]:
    """The sums that `repmath study order` looks at, by their names."""
    ones = _ones(n, np.float32)
    square = np.ones((n, n), np.float32)
    found: dict[str, Function] = {
        "numpy.sum": np.sum,
        "numpy.cumsum": lambda x: np.cumsum(x)[-1],
        "numpy.dot": lambda x: np.dot(x, ones),
        "numpy matrix times vector": lambda x: (np.tile(x, (n, 1)) @ ones)[n // 2],
        "numpy matrix times matrix": lambda x: (np.tile(x, (n, 1)) @ square)[n // 2, n // 2],
        "repmath.sum": repmath.sum,
        "repmath.dot": lambda x: repmath.dot(x, ones),
        "repmath.matmul": lambda x: repmath.matmul(np.tile(x, (n, 1)), square)[n // 2, n // 2],
    }
    try:
        import torch
    except ImportError:
        return found
    tensor, matrix = torch.ones(n), torch.ones(n, n)
    found |= {
        "torch.sum": lambda x: torch.from_numpy(x).sum().item(),
        "torch.dot": lambda x: torch.dot(torch.from_numpy(x), tensor).item(),
        "torch matrix times vector": lambda x: (torch.from_numpy(np.tile(x, (n, 1))) @ tensor)[n // 2].item(),
        "torch matrix times matrix": lambda x: (torch.from_numpy(np.tile(x, (n, 1))) @ matrix)[n // 2, n // 2].item(),
    }
    return found


def _pictures() -> bool:
    try:
        import matplotlib
    except ImportError:
        print("repmath study: no pictures without matplotlib (pip install 'repmath[study]')", file=sys.stderr)
        return False
    matplotlib.use("Agg")
    return True


def _order(args: argparse.Namespace) -> int:
    if args.n < 3:
        raise ValueError(f"n must be at least 3, not {args.n}: no order shows in fewer terms")
    report, pictures, rows = Report(args.out, f"In which order are {args.n} numbers added?"), _pictures(), []
    for name, function in sums(args.n).items():
        try:
            tree = order(function, args.n)
        except ValueError as error:
            rows.append((name, "none", str(error)))
            continue
        sure = certificate(function, args.n, permutations=args.permutations) if tree.exact else None
        verdict = "" if sure is None else f"free of order: {sure['free']}"
        rows.append((name, tree.name, verdict))
        print(", ".join(filter(None, (f"{name}: {tree.name}", verdict))), flush=True)
        if pictures:
            tree.draw(str(report.picture(name.replace(" ", "-").replace(".", "-"), name)))
    report.table("orders", ("sum", "order", "certificate"), rows, "Orders")
    print(report.close())
    return 0


def _warden(args: argparse.Namespace) -> int:
    found = warden(count=args.count, seed=args.seed)
    report = Report(args.out, "x + y + z in every order and grouping")
    rows = [tuple(float(r[k]) for k in "xyz") + (r["steps"], r["repmath"]) for r in found["rows"]]
    report.table(
        "values", ("x", "y", "z", "values by steps", "values of the exact sum"), rows, "Different values of each sum"
    )
    report.text(
        f"By steps {found['steps_share']:.1%} of the sums have more than one value, at most {found['steps_most']}; "
        f"the exact sum has {found['repmath_most']}."
    )
    print(
        f"steps: up to {found['steps_most']} values ({found['steps_share']:.1%} have several); repmath: {found['repmath_most']}"
    )
    print(report.close())
    return 0


def _harmonic(args: argparse.Namespace) -> int:
    found = harmonic(args.n, args.samples, seed=args.seed)
    report, none = Report(args.out, f"1 + 1/2 + ... + 1/{args.n} in float32, {args.samples} samples"), float("nan")
    rows = [(name, row["mean"], row.get("stdev", none), row.get("off", none)) for name, row in found.items()]
    names = ("mode", "mean", "standard deviation", "mean less the exact value, in deviations of the mean")
    report.table("harmonic", names, rows, "Means of samples")
    for name, mean, spread, off in rows:
        print(
            f"{name:10} {mean:.8g}"
            + (f", standard deviation {spread:.3g}, {off:+.1f} deviations of the mean off" if off == off else "")
        )
    print(report.close())
    return 0


def _functions(script: str, *more: str) -> list[Callable[..., Any]]:
    """The function that FILE:FUNCTION names, and others of that file."""
    path, name = split_script(script)
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))  # as Python does for a script
    with naming(f"reading {path}"):
        module = runpy.run_path(path)
    for wanted in (name, *more):
        if not callable(module.get(wanted)):
            raise ValueError(f"{path} has no function {wanted!r}")
    return [module[wanted] for wanted in (name, *more)]


def _arms(args: argparse.Namespace) -> int:
    results = run_arms(args.script, args.runs, args.arm or ARMS, out=args.out, seed=args.seed, progress=True)
    table, report = compare(results), Report(args.out, "Trainings that differ in what should not matter")
    rows = []
    for arm, row in table.items():
        a = row["accuracy"]
        rows.append(
            (
                arm,
                row["runs"],
                row["digests"],
                a["mean"],
                a["range"],
                a["stdev"],
                row["churn"],
                row["distance"],
                row["distance_normalised"],
            )
        )
    names = ("arm", "runs", "different results", "accuracy", "range", "stdev", "churn", "distance", "normalised")
    report.table("arms", names, rows, "Arms")
    classes = [(arm, c, s["mean"], s["range"], s["stdev"]) for arm, row in table.items() for c, s in row["class"].items()]
    report.table("classes", ("arm", "class", "accuracy", "range", "stdev"), classes, "Accuracy of each class")
    times = [(arm, row["seconds"]["mean"], row["seconds"]["range"]) for arm, row in table.items()]
    report.table("seconds", ("arm", "mean", "range"), times, "Seconds of a run")
    found = tests(results)
    if found:
        report.table(
            "tests",
            ("arms", "test", "p", "p after Holm"),
            [(t["arms"], t["test"], t["p"], t["p_holm"]) for t in found],
            "Tests",
        )
    (report.folder / "arms.json").write_text(as_json(table) + "\n", encoding="utf-8")
    if _pictures():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4))
        for at, (arm, runs) in enumerate(results.items()):
            axes.scatter(
                [at] * len(runs), [r.accuracy for r in runs], color="#1b6ca8" if "IMPL" not in arm else "#c2571a", alpha=0.6
            )
        axes.set_xticks(range(len(results)), list(results))
        axes.set_ylabel("accuracy of each run")
        figure.savefig(report.picture("arms", "Accuracy of each run"), dpi=120, bbox_inches="tight")
        plt.close(figure)
    for line in rows:
        print(
            f"{line[0]:10} {line[1]} runs, {line[2]} different results, accuracy {line[3]:.4f}, range {line[4]:.4f}, churn {line[6]:.4f}"
        )
    print(report.close())
    return 0


def _cost(args: argparse.Namespace) -> int:
    found = cost(_functions(args.script)[0], repeats=args.runs)
    report = Report(args.out, "What determinism costs")
    report.table(
        "cost",
        ("mode", "seconds", "ratio"),
        [(k, v["seconds"], v["ratio"]) for k, v in found.items()],
        "Least time of a step",
    )
    for name, row in found.items():
        print(f"{name:14} {row['seconds']:.4g} s, {row['ratio']:.3g} times PyTorch's")
    print(report.close())
    return 0


def _variability(args: argparse.Namespace) -> int:
    import repmath.torch

    step, *others = _functions(args.script, *([args.model] if args.model else []))
    model = None
    if others:
        takes("model", others[0], "no arguments")
        with naming(f"{args.model} of {split_script(args.script)[0]}"):
            model = others[0]()
    options = args.mode, args.seed, tuple(args.phase or PHASES), args.loose, args.model
    key = hashlib.sha256(
        repr((args.script, *options)).encode() + pathlib.Path(split_script(args.script)[0]).read_bytes()
    ).hexdigest()

    def block(sample: int) -> Any:
        return repmath.torch.stochastic(args.seed, sample, args.mode, phases=args.phase or PHASES, strict=not args.loose)

    # A script that has changed, or other options, have a folder of their own.
    keep = pathlib.Path(args.out) / f"samples-{key[:12]}"
    shared = {"confidence": args.confidence, "probability": args.probability}
    found = variability(step, args.samples, block=block, model=model, method=args.method, keep=keep, progress=True, **shared)
    report = Report(args.out, f"Digits over {args.samples} samples of {args.mode} rounding")
    rows = []
    for name, each in found.items():
        summary = each.summary()
        rows.append((name, *(summary[k] for k in ("least", "median", "mean", "low", "high", "censored", "elements"))))
        print(f"{name}: {summary['median']:.3g} digits (least {summary['least']:.3g}), {summary['censored']:.0%} censored")
    names = ("result", "least", "median", "mean", "interval from", "to", "share censored", "elements")
    report.table("digits", names, rows, f"Decimal digits that hold, by the estimate {args.method}")
    ends = "without an upper end by this estimate" if args.method != "parker" else "both ends of it"
    report.text(
        f"Digits of the elements of each result. The interval holds with confidence {args.confidence:g}, {ends}; given are the medians of its ends over the elements. "
        "Censored elements are alike in all samples: they have at least the digits of their format."
    )
    if _pictures():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 1 + 0.3 * len(rows)))
        places = range(len(rows))
        axes.barh(places, [r[2] for r in rows], color="#1b6ca8")
        axes.scatter([r[1] for r in rows], places, color="#c2571a", zorder=2, label="least")
        axes.set_yticks(places, [r[0] for r in rows])
        axes.invert_yaxis()
        axes.set_xlabel("digits: the median element, and the least")
        figure.savefig(report.picture("digits", "Digits of each result"), dpi=120, bbox_inches="tight")
        plt.close(figure)
    print(report.close())
    return 0


def _localize(args: argparse.Namespace) -> int:
    step, broken = _functions(args.script, args.broken)
    found = localize(
        step,
        broken,
        by=args.by,
        seed=args.seed,
        samples=args.samples,
        mode=args.mode,
        phases=args.phase or PHASES,
        strict=not args.loose,
        progress=True,
    )
    report = Report(args.out, "Which roundings break the result?")
    report.table("places", (found.by,), [(p,) for p in found.places], "Places that break it alone")
    calls = [(c.number, c.operator, c.phase, c.layer) for c in found.calls]
    report.table("calls", ("number", "operator", "phase", "layer"), calls, "Their calls")
    words = f"Of {found.candidates} places {len(found.places)} break sample {found.sample}; {found.runs} runs."
    if not found.finished:
        words += " The search was interrupted: fewer may do."
    report.text(words)
    for place in found.places:
        print(place)
    print(words)
    print(report.close())
    return 0


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def _random_options(parser: argparse.ArgumentParser, modes: tuple[str, ...]) -> None:
    parser.add_argument("--mode", choices=modes, default="stochastic", help="(default: stochastic)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phase", action="append", choices=PHASES, help="only this one (repeatable)")
    parser.add_argument("--loose", action="store_true", help="operators that lack the mode round to nearest")


def add(commands: Any) -> None:
    """Adds `study` to the command line."""
    study = commands.add_parser("study", help="studies of numerical variability: orders of sums, arms of trainings, costs")
    kinds = study.add_subparsers(required=True, metavar="study")

    found = kinds.add_parser("order", help="the order in which sums of NumPy, PyTorch and repmath are taken")
    found.add_argument("--n", type=int, default=32, help="terms (default: 32)")
    found.add_argument("--permutations", type=_count, default=1000, help="of the certificate (default: 1000)")
    found.set_defaults(run=_guard(_order))

    found = kinds.add_parser("warden", help="x + y + z in every order and grouping")
    found.add_argument("--count", type=_count, default=1000, help="triples (default: 1000)")
    found.add_argument("--seed", type=int, default=0)
    found.set_defaults(run=_guard(_warden))

    found = kinds.add_parser("harmonic", help="the harmonic sum under the random modes: whose mean holds the exact value")
    found.add_argument("--n", type=int, default=37649, help="terms (default: 37649)")
    found.add_argument("--samples", type=int, default=64, help="(default: 64)")
    found.add_argument("--seed", type=int, default=1)
    found.set_defaults(run=_guard(_harmonic))

    found = kinds.add_parser("arms", help="trainings in the arms CONTROL, ALGO, IMPL and ALGO+IMPL")
    found.add_argument("script", metavar="FILE:FUNCTION", help="takes a seed; returns predictions, labels, weights")
    found.add_argument("--runs", type=_count, default=16, help="of each arm (default: 16)")
    found.add_argument("--arm", action="append", choices=ARMS, help="only this one (repeatable)")
    found.add_argument("--seed", type=int, default=0)
    found.set_defaults(run=_guard(_arms))

    found = kinds.add_parser("cost", help="time of a step under PyTorch, its deterministic mode, and reproducible()")
    found.add_argument("script", metavar="FILE:FUNCTION", help="a step, without arguments")
    found.add_argument("--runs", type=_count, default=5, help="steps in each mode (default: 5)")
    found.set_defaults(run=_guard(_cost))
    found = kinds.add_parser("variability", help="digits of a step's results over samples that round at random")
    found.add_argument("script", metavar="FILE:FUNCTION", help="a step, without arguments; returns a dict of tensors")
    found.add_argument("--samples", type=_count, default=10, help="(default: 10)")
    found.add_argument("--method", choices=METHODS, default="cnh", help="the estimate (default: cnh)")
    found.add_argument(
        "--probability", type=float, default=0.95, help="of cnh and general: what a new sample has (default: 0.95)"
    )
    found.add_argument("--confidence", type=float, default=0.95, help="(default: 0.95)")
    found.add_argument("--model", metavar="FUNCTION", help="of that file: returns the model whose layers are measured too")
    _random_options(found, RANDOM_MODES)
    found.set_defaults(run=_guard(_variability))

    found = kinds.add_parser("localize", help="the layers or operators whose random roundings break a result")
    found.add_argument("script", metavar="FILE:FUNCTION", help="a step, without arguments")
    found.add_argument("--broken", default="broken", metavar="FUNCTION", help="of that file: whether a result is broken")
    found.add_argument("--by", choices=GROUPS, default="layer", help="what a place is (default: layer)")
    found.add_argument("--samples", type=_count, default=10, help="tried for one that breaks the result (default: 10)")
    _random_options(found, MODES)
    found.set_defaults(run=_guard(_localize))
    for kind in kinds.choices.values():
        kind.add_argument("--out", default="out", metavar="FOLDER", help="where the results go (default: out)")


def _guard(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Says what is wrong with the arguments in one line; results that exist stay."""

    def inside(args: argparse.Namespace) -> int:
        places = sys.path[:]
        try:
            return run(args)
        except (ValueError, TypeError, RuntimeError, ImportError, OSError) as error:
            print(f"repmath study: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            kept = (
                "what is done is in {}, and the same command goes on from there"
                if run in (_arms, _variability)
                else "begin again"
            )
            print(f"repmath study: interrupted; {kept.format(args.out)}", file=sys.stderr)
            return 130
        finally:
            sys.path[:] = places

    return inside
