"""What a computation did, in a small file that another machine can check: `repmath certify SCRIPT`.

A certificate has the SHA-256 of the script, its arguments, the versions, a digest of each call of a PyTorch operator (of all of them,
or, of many, of evenly spaced ones and of all before each), of what the script recorded, and of the numbers that it has named at
its end. It says nothing of the time, the machine or the instruction set, but for a line to read.
"""

import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _running
from ._digest import digest

FORMAT = "repmath certificate 1"
MARKS = 1024  # calls of which one certificate tells

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
    script: str | os.PathLike[str], arguments: Sequence[str] = (), *, strict: bool = True, calls: Iterable[int] = ()
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
        named, marks, uncovered = _run(script, arguments, strict, frozenset(calls))
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


class _Marks:
    """What is kept of the calls: each tells of all before it. Of more than MARKS every second one goes."""

    def __init__(self, kept: frozenset[int]) -> None:
        self.count, self.stride, self.kept = 0, 1, kept
        self.chain = hashlib.sha256()
        self.marks: list[dict[str, Any]] = []

    def append(self, call: Any) -> None:
        """Take a call of `repmath.torch.trace`."""
        self.chain.update(f"{call.operator}\n{call.inputs}\n{call.outputs}\n".encode())
        if self.count % self.stride == 0 or self.count in self.kept:
            self.marks.append(
                {
                    "call": self.count,
                    "operator": call.operator,
                    "site": os.path.basename(call.site),
                    "inputs": call.inputs,
                    "outputs": call.outputs,
                    "all until here": self.chain.hexdigest(),
                }
            )
        self.count += 1
        if len(self.marks) > MARKS + len(self.kept):
            self.stride *= 2
            self.marks = [m for m in self.marks if m["call"] % self.stride == 0 or m["call"] in self.kept]

    def summary(self) -> dict[str, Any]:
        return {"count": self.count, "sha256": self.chain.hexdigest(), "every": self.stride, "marks": self.marks}


def _run(
    script: Any, arguments: Sequence[str], strict: bool, calls: frozenset[int]
) -> tuple[dict[str, Any], Any, dict[str, int]]:
    marks, uncovered = _Marks(calls), []
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


def _calls(a: Mapping[str, Any], b: Mapping[str, Any]) -> str | None:
    if a["count"] == b["count"] and a["sha256"] == b["sha256"]:
        return None
    other = {mark["call"]: mark for mark in b["marks"]}
    agreed = -1
    for x in a["marks"]:
        y = other.get(x["call"])
        if y is None:
            continue
        if x["all until here"] == y["all until here"]:
            agreed = x["call"]
            continue
        return _first(agreed, x, y)
    return (
        f"the runs made {a['count']} and {b['count']} calls, and call {agreed} is the last that is known to agree"
        if agreed >= 0
        else f"the runs made {a['count']} and {b['count']} calls"
    )


def _first(agreed: int, x: Mapping[str, Any], y: Mapping[str, Any]) -> str:
    n = x["call"]
    if n > agreed + 1:
        return (
            f"the first difference is in calls {agreed + 1} to {n} ({x['operator']} at {x['site']}); certificates that are made "
            f"with --calls {agreed + 1}:{n} name it"
        )
    if x["operator"] != y["operator"]:
        return f"call {n} is {x['operator']} at {x['site']} in one run and {y['operator']} at {y['site']} in the other"
    what = "inputs" if x["inputs"] != y["inputs"] else "outputs"
    other = f" (its inputs are the same, {x['inputs'][:16]})" if what == "outputs" else ""
    return f"call {n}, {x['operator']} at {x['site']}: the {what} differ, {x[what][:16]} and {y[what][:16]}{other}"


def _entries(kind: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> str | None:
    for n, (x, y) in enumerate(zip(a[kind], b[kind], strict=False)):
        if x["name"] != y["name"]:
            return f"{kind} number {n} is {x['name']} in one run and {y['name']} in the other"
        if x["sha256"] != y["sha256"]:
            return f"{kind} {x['name']} differs: {x['sha256'][:16]} and {y['sha256'][:16]}"
    if len(a[kind]) != len(b[kind]):
        return f"the runs have {len(a[kind])} and {len(b[kind])} {kind} numbers"
    return None
