"""What a computation did, in a small file that another machine can check: `repmath certify SCRIPT`.

A certificate has the SHA-256 of the script, its arguments, the versions, digests of the calls of PyTorch's operators, of what the script
recorded, and of the numbers that it has named at its end. Of each of the first 32,768 calls it has the operator and three bytes of
the digests of its inputs and of its outputs, by which a check names the first that differs; of 1,024 evenly spaced calls it has all
that a person reads, and the digest of all before. It says nothing of the time, the machine or the instruction set, but for a line
to read.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _running
from ._digest import digest

FORMAT = "repmath certificate 2"
MARKS = 1024  # calls of which one certificate tells
PRINTS = 1 << 15  # calls that have a fingerprint
_PART = 3  # bytes of a digest in one: of unequal digests one in 2^24 looks equal, and then a later call is named

_recorded: list[dict[str, str]] | None = None
_lock = threading.Lock()


class Framework:
    """A package whose operators are recorded, as its own folder here knows it."""

    kinds: tuple[type, ...] = ()

    def digest(self, *things: Any) -> str:
        raise NotImplementedError

    def calls(self, strict: bool, marks: Any) -> contextlib.AbstractContextManager[dict[str, int]]:
        raise NotImplementedError


frameworks: list[Framework] = []  # repmath.torch adds its own


class CertificateError(ValueError):
    """A file that is no certificate, or one of another script."""


def record(name: str, *things: Any) -> None:
    """Let the certificate that is being made tell of these numbers; without one nothing is done.

    Parameters
    ----------
    name : str
        What the comparison calls them.
    *things : array_like, Tensor, Module, Optimizer, or collections of them

    Raises
    ------
    TypeError
        One has no portable bytes.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {type(name).__name__}")
    if _recorded is not None:
        entry = {"name": name, "sha256": _digest(things)}
        with _lock:
            _recorded.append(entry)


def certify(
    script: str | os.PathLike[str],
    arguments: Sequence[str] = (),
    *,
    strict: bool = True,
    calls: Iterable[int] = (),
    against: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run a script and return its certificate.

    Parameters
    ----------
    script : path
        If `repmath.torch` has been imported it runs inside of `repmath.torch.enable`, and its calls of operators are recorded.
    arguments : sequence of str, optional
        The rest of `sys.argv`.
    strict : bool, optional
        As for `repmath.torch.reproducible`.
    calls : iterable of int, optional
        The numbers of calls that are kept whatever the number of all is.
    against : mapping, optional
        A certificate with which this one will be compared: the first call whose fingerprint differs is kept.

    Returns
    -------
    dict
        For `json.dump`.

    Raises
    ------
    repmath._running.NoScriptError
        The file cannot be read.
    SystemExit
        The script ended with a status other than 0. Its other exceptions come through.
    """
    global _recorded
    if _recorded is not None:
        raise RuntimeError("a certificate is being made already")
    _recorded = []
    try:
        named, marks, uncovered = _run(script, arguments, strict, _Marks(frozenset(calls), against))
        with open(script, "rb") as file:
            source = hashlib.sha256(file.read()).hexdigest()
        return {
            "format": FORMAT,
            "specification": _core.SPEC_VERSION,
            "versions": _versions(),
            "made on": f"{_core.isa()}, {_core.get_num_threads()} threads",
            "script": os.path.basename(os.fspath(script)),
            "script sha256": source,
            "arguments": list(arguments),
            "strict": strict,
            "uncovered": uncovered,
            "calls": marks,
            "recorded": _recorded,
            "named": _named(named),
        }
    finally:
        _recorded = None


def compare(a: Mapping[str, Any], b: Mapping[str, Any]) -> str | None:
    """None where two certificates tell of the same numbers, or else a sentence with the first difference.

    Parameters
    ----------
    a, b : mapping
        What `certify` returned, of one script.

    Raises
    ------
    CertificateError
        One is no certificate, or they are of other scripts, arguments or specifications.
    """
    for c in (a, b):
        if not isinstance(c, Mapping) or c.get("format") != FORMAT:
            raise CertificateError(f"this is no certificate: its format is not {FORMAT!r}")
    for what in ("specification", "script sha256", "arguments", "strict"):
        if a[what] != b[what]:
            raise CertificateError(f"the certificates differ in {what}: {a[what]} and {b[what]}")
    return _calls(a["calls"], b["calls"]) or _entries("recorded", a, b) or _entries("named", a, b)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The certificate in a file.

    Raises
    ------
    CertificateError
        The file holds none.
    """
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError:
        raise CertificateError("this is no certificate: it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CertificateError(f"this is no certificate: its format is not {FORMAT!r}")
    return found


# --- making


class _Prints:
    """The fingerprints of the first calls: the number of the operator's name, and the beginnings of two digests."""

    WIDTH = 2 + 2 * _PART

    def __init__(self, operators: Iterable[str] = (), text: str = "") -> None:
        self.operators = list(operators)
        self.numbers = {name: n for n, name in enumerate(self.operators)}
        self.bytes = bytearray(base64.b64decode(text, validate=True))

    def __len__(self) -> int:
        return len(self.bytes) // self.WIDTH

    def __getitem__(self, n: int) -> tuple[str, str, str]:
        part = self.bytes[n * self.WIDTH : (n + 1) * self.WIDTH]
        return self.operators[int.from_bytes(part[:2], "little")], part[2 : 2 + _PART].hex(), part[2 + _PART :].hex()

    def append(self, call: Any) -> None:
        number = self.numbers.setdefault(call.operator, len(self.numbers))
        if number == len(self.operators):
            self.operators.append(call.operator)
        self.bytes += number.to_bytes(2, "little")
        self.bytes += bytes.fromhex(_start(call.inputs) + _start(call.outputs))


def _start(digest: str) -> str:
    """The first bytes of a digest. Tensors that an operator makes without setting them have a text in its place."""
    if not re.fullmatch("[0-9a-f]{64}", digest):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[: 2 * _PART]


class _Marks:
    """What is kept of the calls: each tells of all before it. Of more than MARKS every second one goes."""

    def __init__(self, kept: frozenset[int], against: Mapping[str, Any] | None = None) -> None:
        self.count, self.stride, self.kept = 0, 1, kept
        self.chain = hashlib.sha256()
        self.marks: list[dict[str, Any]] = []
        self.prints = _Prints()
        self.expected = None if against is None else _prints(against["calls"])

    def differs(self) -> bool:
        """Whether the last call is the first whose fingerprint is not the expected one."""
        n = self.count
        if self.expected is None or n >= min(len(self.expected), len(self.prints)) or self.expected[n] == self.prints[n]:
            return False
        self.expected = None
        return True

    def append(self, call: Any) -> None:
        """Take a call of `repmath.torch.trace`."""
        self.chain.update(f"{call.operator}\n{call.inputs}\n{call.outputs}\n".encode())
        if self.count < PRINTS:
            self.prints.append(call)
        if self.differs():
            self.kept |= {self.count}
        if self.count % self.stride == 0 or self.count in self.kept:
            self.marks.append(
                {
                    "call": self.count,
                    "operator": call.operator,
                    "site": os.path.basename(call.site),
                    "inputs": call.inputs,
                    "arguments": [_short(text) for text in call.arguments],
                    "outputs": call.outputs,
                    "all until here": self.chain.hexdigest(),
                }
            )
        self.count += 1
        if len(self.marks) > MARKS + len(self.kept):
            self.stride *= 2
            self.marks = [m for m in self.marks if m["call"] % self.stride == 0 or m["call"] in self.kept]

    def summary(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "sha256": self.chain.hexdigest(),
            "operators": self.prints.operators,
            "fingerprints": base64.b64encode(self.prints.bytes).decode(),
            "every": self.stride,
            "marks": self.marks,
        }


def _run(
    script: Any, arguments: Sequence[str], strict: bool, marks: _Marks
) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    uncovered = []
    with contextlib.ExitStack() as inside:
        for framework in frameworks:
            uncovered.append(inside.enter_context(framework.calls(strict, marks)))
        named = _running.script(script, arguments)
    return named, marks.summary(), {name: times for u in uncovered for name, times in u.items()}


def _versions() -> dict[str, str]:
    found = {"repmath": _core.library_version(), "python": sys.version.split()[0], "numpy": np.__version__}
    for name in ("torch", "jax"):
        if name in sys.modules:
            found[name] = str(getattr(sys.modules[name], "__version__", ""))
    return found


def _digest(things: tuple[Any, ...]) -> str:
    for framework in frameworks:
        with contextlib.suppress(TypeError):
            return framework.digest(*things)
    return digest(*things)  # arrays, which a framework does not take


def _named(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """The numbers among the globals of a script, in the order in which it has named them; modules and functions are none."""
    kinds: tuple[type, ...] = (bool, int, float, complex, np.ndarray, np.generic)
    kinds += tuple(kind for framework in frameworks for kind in framework.kinds)
    entries = []
    for name, value in found.items():
        if not name.startswith("_") and isinstance(value, kinds):
            with contextlib.suppress(TypeError):  # such as an array of texts
                entries.append({"name": name, "sha256": _digest((value,))})
    return entries


# --- comparing


def _short(text: str) -> str:
    """With 16 letters of each SHA-256."""
    return re.sub(r"\b([0-9a-f]{16})[0-9a-f]{48}\b", r"\1", text)


def arguments_apart(a: Sequence[str], b: Sequence[str]) -> str:
    """Which arguments of a call differ, or, where none does, what they are."""
    if len(a) != len(b):
        return f"it has {len(a)} arguments and {len(b)}"
    apart = [f"argument {n} is {_short(x)} and {_short(y)}" for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    return "; ".join(apart) or f"its inputs are the same: {', '.join(map(_short, a)) or 'none'}"


def _prints(calls: Mapping[str, Any]) -> _Prints:
    try:
        return _Prints(calls["operators"], calls["fingerprints"])
    except (KeyError, TypeError, ValueError):
        raise CertificateError("the certificate's fingerprints of calls cannot be read") from None


def _calls(a: Mapping[str, Any], b: Mapping[str, Any]) -> str | None:
    if a["count"] == b["count"] and a["sha256"] == b["sha256"]:
        return None
    before, after = _prints(a), _prints(b)
    both = min(len(before), len(after))
    for n in range(both):
        if before[n] != after[n]:
            return _named_call(n, before[n], after[n], *({m["call"]: m for m in c["marks"]}.get(n) for c in (a, b)))
    if a["count"] != b["count"] and both == min(a["count"], b["count"]):
        return f"the runs made {a['count']} and {b['count']} calls, of which the first {both} agree"
    other = {mark["call"]: mark for mark in b["marks"]}
    agreed = both - 1
    for x in a["marks"]:
        y = other.get(x["call"])
        if y is None or x["call"] < both:
            continue
        if x["all until here"] != y["all until here"]:
            return _between(agreed, x, y)
        agreed = x["call"]
    return f"the runs made {a['count']} and {b['count']} calls, and call {agreed} is the last that is known to agree"


def _between(agreed: int, x: Mapping[str, Any], y: Mapping[str, Any]) -> str:
    n = x["call"]
    if n > agreed + 1:
        return (
            f"the first difference is in calls {agreed + 1} to {n} ({x['operator']} at {x['site']}); certificates that are made "
            f"with --calls {agreed + 1}:{n} name it"
        )
    return _named_call(n, _print(x), _print(y), x, y)


def _print(mark: Mapping[str, Any]) -> tuple[str, str, str]:
    return mark["operator"], _start(mark["inputs"]), _start(mark["outputs"])


def _named_call(
    n: int, p: tuple[str, str, str], q: tuple[str, str, str], x: Mapping[str, Any] | None, y: Mapping[str, Any] | None
) -> str:
    """The sentence of the first call that differs, by its fingerprints and by the marks of the runs that kept it."""
    a, b = (f"{c[0]} at {m['site']}" if m else c[0] for c, m in ((p, x), (q, y)))
    if p[0] != q[0]:
        return f"call {n} is {a} in one run and {b} in the other"
    what = "inputs" if p[1] != q[1] else "outputs"
    head = f"call {n}, {b if y else a}: the {what} differ"
    if x and y:
        ends = f", {_start(x['outputs'])} and {_start(y['outputs'])}" if what == "outputs" else ""
        return f"{head}{ends}; {arguments_apart(x['arguments'], y['arguments'])}"
    known = y or x
    if not known:
        return head
    whose = "" if what == "outputs" else ("in this run " if y else "in the certificate ")
    return (
        f"{head}; its inputs {whose}are {'' if what == 'inputs' else 'the same: '}{', '.join(known['arguments']) or 'none'}"
    )


def _entries(kind: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> str | None:
    for n, (x, y) in enumerate(zip(a[kind], b[kind], strict=False)):
        if x["name"] != y["name"]:
            return f"{kind} number {n} is {x['name']} in one run and {y['name']} in the other"
        if x["sha256"] != y["sha256"]:
            return f"{kind} {x['name']} differs: {x['sha256'][:16]} and {y['sha256'][:16]}"
    if len(a[kind]) != len(b[kind]):
        return f"the runs have {len(a[kind])} and {len(b[kind])} {kind} numbers"
    return None
