"""The expression graphs of the kernels: recorded by a C compiler (record.h), read, hashed, and evaluated on numbers."""

import functools
import hashlib
import math
import os
import pathlib
import re
import shlex
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from fractions import Fraction

from .kinds import KINDS

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "proofs"
PRECISION = {"f32": (24, -149), "f64": (53, -1074)}  # of the arguments: bits, exponent of the smallest number
TESTS = ("plain", "any")  # the rounding tests that kernels.def names


@dataclass(frozen=True)
class Interval:
    """The numbers of a format from low to high; boxes become finer towards the pole."""

    low: Fraction
    high: Fraction
    pole: Fraction


@dataclass(frozen=True)
class Kernel:
    name: str
    function: str
    format: str
    kind: str  # of kinds.py
    test: str  # plain, any, or "" where the kernel gives its bound itself
    domain: tuple[Interval, ...] = field(repr=False)


def inwards(text: str, fmt: str, direction: int) -> Fraction:
    """A number of the format: the given one, or the next in the direction."""
    value = Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)
    bits, lowest = PRECISION[fmt]
    n = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** max(n - bits - 1, lowest)  # at most a unit in the last place
    while abs(value) >= unit * 2**bits:
        unit *= 2
    steps = math.ceil(value / unit) if direction > 0 else math.floor(value / unit)
    return steps * unit


def parse_domain(text: str, fmt: str) -> tuple[Interval, ...]:
    intervals = []
    for part in text.split(","):
        part, _, pole = part.strip().partition("@")
        low, high = part.removeprefix("+-").split("..")
        interval = Interval(inwards(low, fmt, 1), inwards(high, fmt, -1), Fraction(pole or 0))
        intervals.append(interval)
        if part.startswith("+-"):
            intervals.append(Interval(-interval.high, -interval.low, -interval.pole))
    return tuple(intervals)


def read_kernels(text: str) -> dict[str, Kernel]:
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    kernels = {}
    for kind, arguments in re.findall(r"^RM_PROOF_(\w+)\((.*)\)$", text, re.M):
        function, of_kind = arguments.split(",")[0], KINDS[kind.lower()]
        strings = re.findall(r'"([^"]+)"', arguments)
        test = strings.pop(0) if strings and strings[0] in TESTS else ""
        domain = parse_domain(strings[0], of_kind.format) if strings else ()
        name = f"{function}{of_kind.part}_{of_kind.arithmetic}"
        kernels[name] = Kernel(name, function, of_kind.format, kind.lower(), test, domain)
    return kernels


@functools.cache
def kernels() -> dict[str, Kernel]:
    return read_kernels((HERE / "kernels.def").read_text())


def compiler() -> list[str]:
    """The C compiler that CC names, with its options, or cc."""
    return shlex.split(os.environ.get("CC", "cc"))


@functools.cache
def recorder() -> pathlib.Path:
    """The program that prints graphs, compiled once a process."""
    folder = tempfile.TemporaryDirectory(prefix="repmath-proofs-")
    recorder.folder = folder  # kept as long as the process
    program = pathlib.Path(folder.name) / "record"
    headers = [f"crlibm/{f}/{f}.h" for f in dict.fromkeys(k.function for k in kernels().values())]
    command = [*compiler(), "-std=c11", "-O0", "-I", str(ROOT), "-I", str(HERE)]
    for header in ["proofs/record.h", *headers]:
        command += ["-include", str(ROOT / header)]
    subprocess.run([*command, str(HERE / "record.c"), "-o", str(program)], check=True, capture_output=True, text=True)
    return program


@functools.cache
def recorded(name: str) -> str:
    """The lines of a kernel's graph that its outputs depend on, numbered from 0: dead operations are left out."""
    text = subprocess.run([str(recorder()), name], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    outputs = [words for words in lines if words[0] == "out"]
    nodes = {words[0]: words[1:] for words in lines if words[0] != "out"}
    needed, stack = set(), [words[2][1:] for words in outputs]
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack += [a[1:] for a in nodes[k][1:] if a[0] == "#"]
    number, result, seen = {}, [], {}
    for k, words in nodes.items():
        if k not in needed:
            continue
        line = " ".join(f"#{number[a[1:]]}" if a[0] == "#" else a for a in words)
        if line not in seen:  # equal operations are one node
            seen[line] = len(result)
            result.append(line)
        number[k] = seen[line]
    result += [f"out {words[1]} #{number[words[2][1:]]}" for words in outputs]
    return "\n".join(result) + "\n"


def digest(kernel: Kernel, text: str | None = None) -> str:
    """Of the graph, the tables and constants in it, and what is claimed on which domain."""
    claim = [kernel.kind, kernel.test, *(f"{i.low}..{i.high}@{i.pole}" for i in kernel.domain)]
    return hashlib.sha256((" ".join(claim) + "\n" + (recorded(kernel.name) if text is None else text)).encode()).hexdigest()


@dataclass
class Graph:
    nodes: list[tuple[str, list]]
    outputs: dict[str, int]


def parse(text: str, fma: bool) -> Graph:
    """With fma=False a mad is a product and a sum. Error-free transformations are recognised (see error_free)."""
    nodes, outputs, number = [], {}, {}

    def new(op: str, args: list) -> int:
        nodes.append((op, args))
        return len(nodes) - 1

    for count, line in enumerate(text.splitlines()):
        op, *args = line.split()
        if op == "out":
            outputs[args[0]] = number[int(args[1][1:])]
            continue
        args = [number[int(a[1:])] if a[0] == "#" else a for a in args]
        if op == "mad" and not fma:
            number[count] = new("add", [new("mul", args[:2]), args[2]])
        elif op == "nmad" and not fma:
            number[count] = new("sub", [args[2], new("mul", args[:2])])
        else:
            number[count] = new(op, args)
    return Graph(error_free(nodes), outputs)


def fast_two_sum(nodes: list, i: int) -> tuple | None:
    """(a, b, s, sigma, sign, d): node i is sign (a + sigma b - s), s = a + sigma b, written as b - d or d - b, d = +-(s - a)."""
    op, args = nodes[i]
    for at in (0, 1):
        d, b = args[at], args[1 - at]
        if nodes[d][0] != "sub":
            continue
        for k in (0, 1):
            s, a = nodes[d][1][k], nodes[d][1][1 - k]
            kind, terms = nodes[s]
            sigma = 1 if kind == "add" and sorted(terms) == sorted([a, b]) else -1 if kind == "sub" and terms == [a, b] else 0
            # The node is cb b + cd d, d = d_sign (s - a): the error if -cd d_sign, the sign of a in it, agrees with sigma cb.
            d_sign = 1 if k == 0 else -1
            cb = -1 if op == "sub" and at == 0 else 1
            cd = -1 if op == "sub" and at == 1 else 1
            if sigma and cb * sigma == -cd * d_sign:
                return a, b, s, sigma, cb * sigma, d
    return None


def two_sum(nodes: list, i: int) -> tuple | None:
    """(a, b, s) of Knuth's (a - (s - t)) + (b - t), t = s - a, s = a + b."""
    u, v = nodes[i][1]
    if nodes[u][0] != "sub" or nodes[v][0] != "sub":
        return None
    (a, st), (b, t) = nodes[u][1], nodes[v][1]
    if nodes[t][0] != "sub" or nodes[st] != ("sub", [nodes[t][1][0], t]) or nodes[t][1][1] != a:
        return None
    s = nodes[t][1][0]
    return (a, b, s) if nodes[s][0] == "add" and sorted(nodes[s][1]) == sorted([a, b]) else None


def error_free(nodes: list) -> list:
    """The nodes, those that are the error of a sum by Dekker's or Knuth's algorithm marked as such."""
    result = list(nodes)
    for i, (op, args) in enumerate(nodes):
        if op not in ("add", "sub"):
            continue
        found = fast_two_sum(nodes, i)
        if found:
            result[i] = ("fast_two_sum_error", [*found, op, args])
        elif op == "add" and two_sum(nodes, i):
            result[i] = ("two_sum_error", [*two_sum(nodes, i), op, args])
    return result


def bits_of(x: float) -> int:
    return struct.unpack("<q", struct.pack("<d", x))[0]


def double_of(b: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", b & (2**64 - 1)))[0]


def signed(v: int) -> int:
    v &= 2**64 - 1
    return v - 2**64 if v >> 63 else v


INTEGER = {
    "iadd": lambda p, q: p + q,
    "isub": lambda p, q: p - q,
    "iand": lambda p, q: p & q,
    "ior": lambda p, q: p | q,
    "ixor": lambda p, q: p ^ q,
}
SHIFTS = {"sll": lambda p, k: p << k, "srl": lambda p, k: (p & (2**64 - 1)) >> k, "sra": lambda p, k: p >> k}


def rounded_root(v: Fraction) -> float:
    """RN(sqrt(v))."""
    n = 1 << 240
    return float(Fraction(math.isqrt(v.numerator * n * n // v.denominator), n)) if v > 0 else 0.0


NUMERIC = {
    "add": lambda a, b: float(Fraction(a) + Fraction(b)),
    "sub": lambda a, b: float(Fraction(a) - Fraction(b)),
    "mul": lambda a, b: float(Fraction(a) * Fraction(b)),
    "div": lambda a, b: float(Fraction(a) / Fraction(b)),
    "mad": lambda a, b, c: float(Fraction(a) * Fraction(b) + Fraction(c)),
    "nmad": lambda a, b, c: float(Fraction(c) - Fraction(a) * Fraction(b)),
    "mul_err": lambda a, b, p: float(Fraction(a) * Fraction(b) - Fraction(p)),
    "quotient": lambda a, b: a * (1.0 / b),
    "rough_reciprocal": lambda b: 1.0 / b,
    "reciprocal": lambda b: 1.0 / b,
    "sqrt": lambda a: rounded_root(Fraction(a)),
    "root": lambda a: rounded_root(Fraction(a)),
    "rough_rsqrt": lambda a: 1.0 / rounded_root(Fraction(a)),
    "rsqrt": lambda a: 1.0 / rounded_root(Fraction(a)),
    "min": lambda a, b: a if a < b else b,
    "max": lambda a, b: a if a > b else b,
    "abs": abs,
    "neg": lambda a: -a,
    "copysign": math.copysign,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "unord": lambda a, b: math.isnan(a) or math.isnan(b),
    "ltu": lambda a, b: a % 2**64 < b % 2**64,
    "ieq": lambda a, b: a == b,
    "disjoint": lambda a, b: a & b == 0,
    "mand": lambda a, b: a and b,
    "mor": lambda a, b: a or b,
    "mandnot": lambda a, b: a and not b,
    "mnot": lambda a: not a,
    "select": lambda m, a, b: a if m else b,
    "bits": bits_of,
    "from_bits": double_of,
    "to_f64": float,
}


def evaluate(graph: Graph, inputs: dict[str, float]) -> dict[str, float]:
    """The outputs for given numbers, by exact rational arithmetic rounded once an operation: what a machine computes, with the
    base build's quotients and roots."""
    values = []
    for op, args in graph.nodes:
        if op in ("fast_two_sum_error", "two_sum_error"):
            op, args = args[-2:]
        if op == "input":
            values.append(inputs[args[0]])
        elif op == "const":
            values.append(float.fromhex(args[0]))
        elif op == "iconst":
            values.append(int(args[0]))
        elif op == "lookup":
            values.append(float.fromhex(args[1 + (values[args[0]] & 15)]))
        elif op == "ilookup":
            values.append(int(args[1 + (values[args[0]] & 15)]))
        elif op in SHIFTS:
            values.append(signed(SHIFTS[op](values[args[0]], int(args[1]))))
        elif op in INTEGER:
            values.append(signed(INTEGER[op](values[args[0]], values[args[1]])))
        else:
            values.append(NUMERIC[op](*(values[a] for a in args)))
    return {name: values[k] for name, k in graph.outputs.items()}
