"""Counts how many roundings any term passes in sums and products, and compares the counts with what the bounds allow.

    python proofs/depth/run.py [--quick]

The sources of the library are compiled over depths instead of numbers (vocabulary.h) as each build has them: 1, 2, 4 and 8 lanes. Controls:
a chain of another length in products of one row (which once passed more additions than the bound counted), and allowances made smaller
must be seen. Prints one line a check; ends with 1 where a count is beyond its allowance or a control sees nothing.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILDS = {"SCALAR": 1, "NEON": 2, "AVX2": 4, "AVX512": 8}
PLAIN = [
    "src/blas/conv/args.c",
    "src/blas/conv/im2col_view.c",
    "src/blas/gemm/vector_facts.c",
    "src/blas/gemm/exact.c",
    "src/blas/gemm/args.c",
]
PLAIN += ["src/reduce/superaccumulator.c", "src/reduce/exact.c", "src/common/overlap.c", "src/reduce/scatter_exact.c"]
PLAIN += ["proofs/depth/builds.c"]
CHECKS = {
    "products": 15,
    "sums": 9,
    "linalg": 10,
    "fft": 3,
    "pairs": 2,
}  # lines that each program prints; one more of products with eight lanes, of tiles. Products of pairs have eight lanes


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def objects(folder: pathlib.Path) -> list[pathlib.Path]:
    """What the programs need beside the sources under test."""
    made = []
    for source in PLAIN:
        made.append(folder / (source.replace("/", "-") + ".o"))
        command = [*compiler(), "-std=gnu11", "-O1", "-w", "-I", ROOT / "include", "-c", ROOT / source, "-o", made[-1]]
        subprocess.run(command, check=True)
    return made


def compiled(folder: pathlib.Path, plain: list[pathlib.Path], name: str, build: str, *flags: str) -> pathlib.Path:
    """A program over depths. Not optimised: it is compiled longer than it runs."""
    program = folder / "_".join([name, build, *(["control"] if flags else [])])
    options = [
        "-std=gnu11",
        "-O0",
        "-w",
        "-ffp-contract=off",
        f"-DRM_CFG_SIMD=RM_SIMD_{build}",
        *flags,
        "-I",
        ROOT / "include",
    ]
    subprocess.run([*compiler(), *options, ROOT / f"proofs/depth/{name}.c", *plain, "-lm", "-o", program], check=True)
    return program


def run(program: pathlib.Path, *arguments: int) -> tuple[int, str]:
    """The exit status, and what it printed."""
    done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def beyond(text: str) -> set[str]:
    """The checks that have counts beyond their allowance."""
    return {line[:34].strip() for line in text.splitlines() if not line.endswith("beyond 0")}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="two builds, sums of fewer terms: a sample for `make test`")
    quick = parser.parse_args(arguments).quick
    bad = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = objects(folder)
        for build in ("SCALAR", "AVX512") if quick else BUILDS:
            for program, count in CHECKS.items():
                if program == "pairs" and BUILDS[build] != 8:
                    continue
                count += program == "products" and BUILDS[build] == 8
                made = compiled(folder, plain, program, build)
                status, text = run(made, 40_000 if quick else 1 << 21)
                print(text, end="")
                if status or beyond(text) or len(text.splitlines()) != count or f"lanes {BUILDS[build]}:" not in text:
                    bad.append(f"{program}, {BUILDS[build]} lanes")
                if build in ("SCALAR", "AVX512"):
                    status, text = run(made, 2000, 7)
                    print(f"control, allowances less by 7: {program}, {len(beyond(text))} of {count} checks see it")
                    if status != 1 or len(beyond(text)) != count:
                        bad.append(f"the control of {program}, {BUILDS[build]} lanes")
        status, text = run(compiled(folder, plain, "products", "SCALAR", "-DRM_CFG_GEMV_CHAIN=(RM_KC/2)"), 40_000)
        print(f"control, chains of half the length in one row of one lane: beyond the bound in {sorted(beyond(text))}")
        if status != 1 or beyond(text) != {"one row, terms of B"}:
            bad.append("the control of one row")
    for what in bad:
        print(f"FAILED: {what}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
