"""What `make proofs` runs: all checks, two at a time or as many as there are CPUs, the longest first; then docs/evidence.md.

    python -m proofs.everything               all
    python -m proofs.everything --only edges  the stages whose names begin so

At the end stands what each stage took of the CPUs. A stage that fails does not keep the others from running; then no table is written."""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass

from .graph import ROOT
from .oracle import b32, b32_half, source


@dataclass(frozen=True)
class Stage:
    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    stage: Stage
    good: bool
    cpu: float
    wall: float


def module(name: str, *arguments: str) -> tuple[str, ...]:
    return "-m", f"proofs.{name}", *arguments


def not_measured() -> list[str]:
    """The functions whose evaluation for 16 bits has an instruction set that this CPU lacks. b32_half.py does not tell them apart, as b32.py
    does: its text is part of the certificates' digest of what measured them."""
    return [f for f, e in b32_half.evaluations().items() if not all(source.runs(isa) for isa in e.isas)]


def alone() -> list[Stage]:
    """Each takes one CPU, so that several run at a time. The order is that of their times, the longest first. Where the CPU lacks an
    instruction set of an evaluation for 16 bits, its certificate is only checked to be of this source."""
    left = not_measured()
    measured = [f for f in b32_half.evaluations() if f not in left]
    return [
        *(Stage(f"binary32 {f}", module("oracle.b32", f)) for f in b32.evaluations()),
        *(Stage(f"16 bits {f}", module("oracle.b32_half", f)) for f in measured),
        *([Stage("16 bits, certificates", module("oracle.b32_half", "--check"))] if left else []),
        Stage("exact", ("proofs/exact/run.py",)),
        Stage("depth", ("proofs/depth/run.py",)),
        Stage("edges", module("edges")),
        Stage("rounding to odd", module("smt.odd")),
        Stage("cuts", module("cuts")),
        Stage("rounding tests", module("smt.rounding_tests")),
        Stage("words", module("words")),
        Stage("rests of series", module("rests")),
        Stage("powers with an integer", module("integer_powers")),
    ]


# These divide their own work among the CPUs, and are made of what the others found: formulas of the bounds of kernels.
TOGETHER = [
    Stage("kernels", module("run", "--all")),
    Stage("formulas", module("formula.check", "--write")),
    Stage("mutants", module("mutants", "--seconds", "300")),
]
TABLE = Stage("table", module("run", "--table"))


def run(stage: Stage) -> Done:
    """With its output in one piece, when it ends."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, *stage.command], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace").rstrip()
    wall, cpu = time.monotonic() - started, used.ru_utime + used.ru_stime
    good = process.returncode == 0
    print(f"== {stage.name}: {'done' if good else 'FAILED'}, {cpu:.0f} s of CPU, {wall:.0f} s\n{text}", flush=True)
    return Done(stage, good, cpu, wall)


def several(stages: Iterable[Stage], at_once: int) -> list[Done]:
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(run, stages))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""], metavar="stage")
    only = tuple(parser.parse_args(arguments).only)
    started, cpus = time.monotonic(), os.cpu_count() or 1
    if left := not_measured():
        print(f"not measured for 16 bits, this CPU lacks their instruction sets: {', '.join(left)}", flush=True)
    done = several([s for s in alone() if s.name.startswith(only)], cpus)
    done += several([s for s in TOGETHER if s.name.startswith(only)], 1)
    if all(d.good for d in done) and TABLE.name.startswith(only):
        done.append(run(TABLE))
    print("\n   CPU s  wall s")
    for d in sorted(done, key=lambda d: -d.cpu):
        print(f"{d.cpu:8.0f}{d.wall:8.0f}  {d.stage.name}{'' if d.good else ': FAILED'}")
    print(f"{sum(d.cpu for d in done):8.0f}{time.monotonic() - started:8.0f}  all")
    return 0 if all(d.good for d in done) else 1


if __name__ == "__main__":
    sys.exit(main())
