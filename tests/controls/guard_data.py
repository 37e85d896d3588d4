"""Arguments at which the conditions of the elementwise functions matter (guard_sites.py): the numbers written in a function's files and
those of the files that these include, powers of two, special values, each with neighbours; hard cases; numbers of its ranges."""

from __future__ import annotations

import functools
import re

import numpy as np
import oracle
import ranges
from bound_sites import ROOT

NUMBER = re.compile(r"(?<![\w.])(0x[\da-f]+\.?[\da-f]*p[+-]?\d+|\d+\.\d+(?:e[+-]?\d+)?)")
POWER = re.compile(r"1023\)? - (\d+)")
INCLUDE = re.compile(r'^#include "(?:\.\./)?((?:\w+/)?\w+\.h)"', re.M)
SEVERAL = {2: 40000, 3: 60000}  # tuples, beside those of special values
# Of shared headers, the functions whose steps take each part.
SHARED = {
    "simd/machine.h": ["fma", "add", "divide", "sqrt"],
    "simd/undecided.h": ["exp", "sigmoid", "silu_backward", "tanh_backward", "erf", "sinh"],
    "simd/simd.h": ["multiply", "divide", "fma", "add"],
    "simd/fast_phase.h": ["log", "log1p", "add", "expm1"],
}
NEAR = 3  # neighbours on each side


@functools.cache
def headers(function: str) -> tuple[str, ...]:
    """The function's headers and all that they include, as paths below crlibm/."""
    found: list[str] = []
    stack = [f"{function}/{path.name}" for path in sorted((ROOT / "crlibm" / function).glob("*.h"))]
    while stack:
        name = stack.pop()
        if name in found or not (ROOT / "crlibm" / name).exists():
            continue
        found.append(name)
        folder = name.split("/")[0]
        for other in INCLUDE.findall((ROOT / "crlibm" / name).read_text()):
            stack.append(other if "/" in other else f"{folder}/{other}")
    return tuple(found)


@functools.cache
def written(function: str) -> tuple[float, ...]:
    """The numbers in these headers, tables apart, and the powers of two whose exponents are."""
    found: set[float] = set()
    for name in headers(function):
        if "tables" in name or name.startswith("fp/"):
            continue
        text = (ROOT / "crlibm" / name).read_text()
        found |= {float.fromhex(v) if "0x" in v else float(v) for v in NUMBER.findall(text)}
        found |= {2.0 ** -int(v) for v in POWER.findall(text) if int(v) < 1074}
    return tuple(sorted(v for v in found if 0 < v < np.inf))


def beside(values, fmt: str, count: int = NEAR) -> np.ndarray:
    """Numbers of the format near these, on both sides, and their negatives."""
    precision, emax, uint = oracle.FORMATS[fmt]
    top = (2 * emax + 1) << (precision - 1)
    with np.errstate(all="ignore"):
        at = np.array(values, np.float64)
        middle = at.view(np.uint64).astype(np.int64) if fmt == "f64" else oracle.narrow(at, fmt).astype(np.int64)
    bits = np.unique(np.clip(middle[:, None] + np.arange(-count, count + 1), 0, top))
    sign = 1 << (8 * uint.itemsize - 1)
    return np.concatenate([bits.astype(uint), (bits.astype(np.uint64) | np.uint64(sign)).astype(uint)])


@functools.cache
def of_one(function: str, fmt: str) -> np.ndarray:
    if fmt in ("f16", "bf16"):
        return np.arange(65536, dtype=np.uint16)
    rng, uint = np.random.default_rng(7), oracle.FORMATS[fmt][2]
    parts = [oracle.to_bits(oracle.special_values(fmt), fmt), beside(written(function), fmt)]
    hard = [oracle.to_bits(oracle.hard_cases(function, fmt), fmt)]
    spread = np.concatenate([rng.uniform(low, high, 1500) for low, high in ranges.RANGES[function]])
    parts += [*hard, spread.view(np.uint64) if fmt == "f64" else oracle.narrow(spread, fmt)]
    return np.unique(np.concatenate(parts).astype(uint))


@functools.cache
def of_several(function: str, fmt: str) -> tuple[np.ndarray, ...]:
    rng, arity, uint = np.random.default_rng(8), oracle.ARITY[function], oracle.FORMATS[fmt][2]
    parts = [tuple(oracle.to_bits(v, fmt) for v in oracle.special_tuples(fmt, arity))]
    parts.append(tuple(oracle.to_bits(v, fmt) for v in oracle.random_tuples(fmt, arity, SEVERAL[arity] // 4, 3)))
    near = np.unique(np.concatenate([beside([*written(function), 1.0, 0.0, np.inf], fmt, 1)]))
    powers = beside(2.0 ** np.arange(-1074 if fmt == "f64" else -149, 1024 if fmt == "f64" else 128, 7), fmt, 0)
    pool = np.concatenate([near, powers])
    parts.append(tuple(rng.choice(pool, SEVERAL[arity]) for _ in range(arity)))
    boxes = ranges.RANGES[function]
    for box in boxes:
        x = [rng.uniform(low, high, SEVERAL[arity] // len(boxes)) for low, high in box]
        columns = [v.view(np.uint64) if fmt == "f64" else oracle.narrow(v, fmt) for v in x]
        parts.append(tuple(columns))
        for k in range(arity):  # one argument of the box beside a number that is written
            parts.append(tuple(rng.choice(pool, len(v)) if k == i else v for i, v in enumerate(columns)))
    if fmt == "f64" and (ROOT / f"tests/data/hardcases/f64/{function}.txt").exists():
        parts.append(tuple(oracle.to_bits(v, fmt) for v in oracle.hard_tuples(function)))
    return tuple(np.concatenate(column).astype(uint) for column in zip(*parts, strict=True))


def arguments(function: str, fmt: str):
    return of_one(function, fmt) if oracle.ARITY[function] == 1 else of_several(function, fmt)


def functions_of(file: str) -> list[str]:
    """The functions on whose kernels a file below crlibm/ bears, the folder's own first."""
    name = file.removeprefix("crlibm/")
    if name in SHARED:
        return SHARED[name]
    own = name.split("/")[0]
    found = [f for f in oracle.FUNCTIONS if name in headers(f)]
    return sorted(found, key=lambda f: f != own)


def formats_of(file: str) -> list[str]:
    """The formats that it may be for; the double-double kernels are the second tier of f32."""
    if file.endswith("_b32_half.h"):
        return ["f16", "bf16"]
    if "_b32.h" in file or "_b32_tables" in file:
        return ["f32"]
    return ["f64", "f32"] if file.endswith("_dd.h") else ["f32", "f64", "f16", "bf16"]
