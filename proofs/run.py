"""Prove the bounds of the kernels and write the certificates.

    python -m proofs.run                    what changed since its certificate
    python -m proofs.run --all              everything
    python -m proofs.run exp_f32 log_f64    these
    python -m proofs.run --check            whether every certificate belongs to the kernel as it is now (seconds)
    python -m proofs.run --table            write the table of docs/evidence.md and the figures that function folders cite

A certificate holds the digest of the kernel's expression graph with its tables, claim and domain, that of the checker's own
sources, and, with fused operations and without, the largest checked error over the claimed bound, where it was found and in how
many boxes. Needs the packages of the extra `proofs`."""

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
from .taylor import log2

CERTIFICATES = HERE / "certificates"
CHECKER = ("graph.py", "taylor.py", "definitions.py", "values.py", "engine.py", "prove.py")
BUILDS = {"fma": True, "base": False}
CHUNK = 24  # boxes a task


@functools.cache
def checker_digest() -> str:
    """Of the checker's syntax trees: comments and layout do not count."""
    trees = [ast.dump(ast.parse((HERE / name).read_text())) for name in CHECKER]
    return hashlib.sha256("\n".join(trees).encode()).hexdigest()


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
    if held["checker"] != checker_digest():
        return "was proved by another version of the checker"
    worst = max(held[build]["ratio"] for build in BUILDS)
    return "" if worst <= 1 else "has an error above its bound"


def claimed(kernel: Kernel) -> str:
    if kernel.kind not in ("eval", "eval_g"):
        return "its own err"
    bound = evaluate(parse(recorded(kernel.name), True), {"x": 0.75, "g": 1.0})["claim"]
    return bound.hex()


def task(arguments: tuple) -> tuple:
    name, build, first = arguments
    kernel = kernels()[name]
    boxes = prove.all_pieces(kernel)[first : first + CHUNK]
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
    tasks = [
        (k.name, build, first) for k in chosen for build in BUILDS for first in range(0, len(prove.all_pieces(k)), CHUNK)
    ]
    left = {k.name: sum(t[0] == k.name for t in tasks) for k in chosen}
    found: dict = {k.name: {} for k in chosen}
    checker_digest()
    for k in chosen:
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
        if kernel.kind in ("eval", "eval_g"):
            found[build]["error"] = f"2^{relative + 0.005:.2f}"
    worst = max(found[build]["ratio"] for build in BUILDS)
    print(
        f"{kernel.name}: {worst:.4f} of the bound, {sum(found[b]['boxes'] for b in BUILDS)} boxes, {seconds:.0f} s",
        flush=True,
    )
    if worst > 1:
        print(f"{kernel.name}: NOT PROVED: {found}", flush=True)
        return False
    held = {"kernel": digest(kernel), "checker": checker_digest(), "claimed": claimed(kernel), **found}
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
