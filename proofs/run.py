"""Prove the bounds of the kernels and write the certificates.

    python -m proofs.run                    what changed since its certificate
    python -m proofs.run --all              everything
    python -m proofs.run exp_b64 log_dd    these
    python -m proofs.run --check            whether every certificate belongs to the kernel as it is now (seconds)
    python -m proofs.run --table            write the table of docs/evidence.md and the figures that function folders cite

A certificate holds the digest of the kernel's expression graph with its tables, claim and domain, that of the modules which prove its
kind of kernel (kinds.py), and, with fused operations and without, the largest checked error over the claimed bound, where it was found
and in how many boxes. Needs the packages of the extra `proofs`."""

import argparse
import ast
import functools
import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import sys
import time

from . import prove
from .graph import HERE, Kernel, digest, evaluate, kernels, parse, recorded
from .kinds import KINDS, hook
from .taylor import log2
from .trees import dumped

CERTIFICATES = HERE / "certificates"
BUILDS = {"fma": True, "base": False}
CHUNK = 24  # boxes a task


@functools.cache
def tree(module: str) -> ast.Module:
    return ast.parse((HERE / f"{module}.py").read_text())


def imported(module: str) -> list[str]:
    """The module and all modules of proofs/ that it imports, but for those whose parts are taken instead (kinds, definitions)."""
    found, stack = [], [module]
    while stack:
        name = stack.pop()
        if name in found or name in ("kinds", "definitions"):
            continue
        found.append(name)
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                assert node.module != "definitions" or [a.name for a in node.names] == ["DEFINITIONS"], name
                stack += [node.module] if node.module else [alias.name for alias in node.names]
    return sorted(found)


def definition(function: str) -> list[str]:
    """The function's line of definitions.py, and the syntax trees of what it is made of."""
    named: dict[str, ast.stmt] = {}
    lines: dict[str, ast.expr] = {}
    for node in tree("definitions").body:
        if isinstance(node, ast.FunctionDef):
            named[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node
    table = named.pop("DEFINITIONS")
    assert isinstance(table, ast.Assign) and isinstance(table.value, ast.Dict)
    for key, value in zip(table.value.keys, table.value.values, strict=True):
        assert isinstance(key, ast.Constant)
        lines[str(key.value)] = value
    found: list[str] = []
    stack: list[ast.AST] = [lines[function]] if function in lines else []
    while stack:
        node = stack.pop()
        text = dumped(node)
        if text not in found:
            found.append(text)
            stack += [named[n.id] for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in named]
    return found


@functools.cache
def checker_digest(kind: str, function: str) -> str:
    """Of what proves kernels of the kind: the syntax trees of the modules and of the function's definition (comments and layout do not
    count)."""
    trees = [dumped(tree(name)) for name in imported(KINDS[kind].module)]
    return hashlib.sha256("\n".join([repr(KINDS[kind]), *trees, *definition(function)]).encode()).hexdigest()


def path_of(kernel: Kernel) -> pathlib.Path:
    return CERTIFICATES / f"{kernel.name}.json"


def certificate(kernel: Kernel) -> dict | None:
    path = path_of(kernel)
    return json.loads(path.read_text()) if path.exists() else None


def outdated(kernel: Kernel) -> str:
    """Why the certificate does not hold for the kernel as it is now, or nothing."""
    held = certificate(kernel)
    if held is None:
        return "has no certificate"
    if held["kernel"] != digest(kernel):
        return "changed since it was proved"
    if held["checker"] != checker_digest(kernel.kind, kernel.function):
        return "was proved by another version of the checker"
    worst = max(held[build]["ratio"] for build in BUILDS)
    return "" if worst <= 1 else "has an error above its bound"


def has_claim(kernel: Kernel) -> bool:
    """Whether the bound is a number, not computed by the kernel."""
    return "\nout claim " in recorded(kernel.name)


def claimed(kernel: Kernel) -> str:
    if not has_claim(kernel):
        return "its own err"
    bound = evaluate(parse(recorded(kernel.name), True), {"x": 0.75, "g": 1.0, "first": 0.75, "second": 1.0})["claim"]
    return bound.hex()


def pieces(kernel: Kernel) -> list:
    return hook(kernel.kind, "all_pieces")(kernel)


def task(arguments: tuple) -> tuple:
    name, build, first = arguments
    kernel = kernels()[name]
    boxes = pieces(kernel)[first : first + CHUNK]
    started = time.process_time()
    try:
        result = prove.prove(kernel, BUILDS[build], boxes)
    except RuntimeError as error:  # no bound at all
        print(error, flush=True)
        return name, build, math.inf, (0.0, 0.0), 0, math.inf, time.process_time() - started
    ratio = float(result.ratio.upper())
    # Digits upwards: what is written is a bound.
    rounded = math.ceil(ratio * 10**4) / 10**4
    return name, build, rounded, result.at, result.boxes, log2(result.relative), time.process_time() - started


def run(chosen: list[Kernel], processes: int) -> bool:
    """Prove the kernels and write certificates of those that hold."""
    tasks = [(k.name, build, first) for k in chosen for build in BUILDS for first in range(0, len(pieces(k)), CHUNK)]
    # The longest begin first, by the boxes that they had before, so that no process is left with one at the end.
    before = {k.name: (certificate(k) or {}).get("fma", {}).get("boxes", 10**6) / len(pieces(k)) for k in chosen}
    tasks.sort(key=lambda t: -before[t[0]])
    left = {k.name: sum(t[0] == k.name for t in tasks) for k in chosen}
    found: dict = {k.name: {} for k in chosen}
    for k in chosen:
        checker_digest(k.kind, k.function)
        recorded(k.name)  # before the processes begin, and whatever is edited meanwhile
    good = True
    with multiprocessing.Pool(processes) as pool:
        for name, build, ratio, at, boxes, relative, seconds in pool.imap_unordered(task, tasks):
            held = found[name].setdefault(build, {"ratio": 0.0, "boxes": 0, "seconds": 0.0, "relative": -2000.0})
            if ratio > held["ratio"]:
                held.update(ratio=ratio, at=[v.hex() for v in at])
            held["boxes"] += boxes
            held["seconds"] += seconds
            held["relative"] = max(held["relative"], relative)
            left[name] -= 1
            if left[name] == 0:
                good &= finish(kernels()[name], found[name])
    return good


def finish(kernel: Kernel, found: dict) -> bool:
    seconds = sum(found[build].pop("seconds") for build in BUILDS)
    for build in BUILDS:
        relative = found[build].pop("relative")
        if has_claim(kernel):
            found[build]["error"] = f"2^{relative + 0.005:.2f}"
    worst = max(found[build]["ratio"] for build in BUILDS)
    print(
        f"{kernel.name}: {worst:.4f} of the bound, {sum(found[b]['boxes'] for b in BUILDS)} boxes, {seconds:.0f} s",
        flush=True,
    )
    if worst > 1:
        print(f"{kernel.name}: NOT PROVED: {found}", flush=True)
        return False
    held = {
        "kernel": digest(kernel),
        "checker": checker_digest(kernel.kind, kernel.function),
        "claimed": claimed(kernel),
        **found,
    }
    path_of(kernel).write_text(json.dumps(held, indent=1) + "\n")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="kernel")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(kernels())
    if unknown:
        parser.error(f"no such kernel: {', '.join(sorted(unknown))}")
    if arguments.table:
        from . import evidence

        evidence.write()
        return 0
    reasons = {k.name: outdated(k) for k in kernels().values()}
    if arguments.check:
        for name, reason in reasons.items():
            if reason:
                print(f"{name} {reason}: run make proofs")
        return any(reasons.values())
    chosen = [
        k for k in kernels().values() if (k.name in arguments.names if arguments.names else arguments.all or reasons[k.name])
    ]
    return 0 if run(chosen, arguments.processes) else 1


if __name__ == "__main__":
    sys.exit(main())
