"""In which order a sum is taken: the tree of its additions, found by asking the sum itself (the idea is that of FPRev: Xie, Gao, Chang,
Chen, Wang, Xue, 2025).

Of n ones, element i is replaced by M and element j by -M, M so large that M + n = M. What is added to a partial sum that holds only one
of the two is lost; so the result is the number of ones outside the smallest subtree that holds both. For an exact sum that subtree has
always two leaves: no tree of three or more leaves can show that, which makes it a certificate."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._failures import naming, takes
from ._needs import need

Function = Callable[[np.ndarray], Any]


@dataclass
class Tree:
    """The additions of a sum: a leaf is a number of an element, a node a tuple of its children."""

    n: int
    root: Any
    name: str
    exact: bool = False

    def __str__(self) -> str:
        if self.exact:
            return f"{self.name}: no order shows"
        return f"{self.name}: {_text(self.root)}"

    def draw(self, path: str) -> None:
        """Draws the tree to a file that matplotlib knows by its name."""
        plt = need("matplotlib.pyplot", "a picture")
        figure, axes = plt.subplots(figsize=(max(4.0, self.n / 6), 4.0))
        if self.exact:
            axes.scatter(range(self.n), [0] * self.n, color="#1b6ca8")
            axes.text(self.n / 2, 0.5, "exact: no order shows", ha="center")
        else:
            _draw(axes, self.root)
        axes.set_title(self.name, loc="left")
        axes.set_axis_off()
        figure.savefig(path, dpi=110, bbox_inches="tight")
        plt.close(figure)


def _text(node: Any) -> str:
    return f"({'+'.join(map(_text, node))})" if isinstance(node, tuple) else str(node)


def _leaves(node: Any) -> list[int]:
    found, stack = [], [node]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(top)
        else:
            found.append(top)
    return found


def _draw(axes: Any, root: Any) -> None:
    """Leaves at their numbers, nodes above the middle of their children."""
    done: dict[int, tuple[float, float]] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not isinstance(node, tuple):
            continue
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in node)
            continue
        places = [done[id(child)] if isinstance(child, tuple) else (float(child), 0.0) for child in node]
        x, y = sum(p[0] for p in places) / len(places), max(p[1] for p in places) + 1
        for a, b in places:
            axes.plot([a, a, x], [b, y, y], color="#1b6ca8", linewidth=0.8)
        done[id(node)] = x, y


def _large(dtype: np.dtype[Any], n: int) -> float:
    """M with M + n = M: a power of two half of whose last place is at least n. It is the largest, for sums in wider formats."""
    info = np.finfo(dtype)
    exponent = int(info.maxexp) - 1
    if 2.0 ** (exponent - int(info.nmant) - 1) < n:
        raise ValueError(
            f"n must be at most {int(2.0 ** (exponent - int(info.nmant) - 1))} in {dtype}, whose largest numbers do not hide more"
        )
    return float(2.0**exponent)


class _Probe:
    def __init__(self, function: Function, n: int, dtype: np.dtype[Any]) -> None:
        self.function, self.n, self.dtype, self.large = function, n, dtype, _large(dtype, n)
        self.asked = 0

    def leaves(self, i: int, j: int) -> int:
        """The leaves of the smallest subtree with i and j."""
        x = np.ones(self.n, self.dtype)
        x[i], x[j] = self.large, -self.large
        self.asked += 1
        with naming(f"function of {self.n} terms, in call {self.asked},"):
            left = float(self.function(x))
        if not left.is_integer() or not 0 <= left <= self.n - 2:
            raise ValueError(f"function is no sum of its elements: of ones, M at {i} and -M at {j} it made {left}")
        return self.n - int(left)


def _build(probe: _Probe, members: list[int]) -> tuple[Any, bool]:
    """The subtree over these leaves, and whether it is one (several trees that meet in a node above them are no subtree)."""
    if len(members) == 1:
        return members[0], True
    first = members[0]
    groups: dict[int, list[int]] = {}
    for other in members[1:]:
        groups.setdefault(probe.leaves(first, other), []).append(other)
    node: Any = first
    size = 1
    for leaves in sorted(groups):
        children = [node]
        rest = groups[leaves]
        while rest:  # one subtree at a time: leaves that meet in this very node belong to another child
            head = rest[0]
            inner = [head] + [v for v in rest[1:] if probe.leaves(head, v) < leaves]
            children.append(_build(probe, inner)[0])
            rest = [v for v in rest if v not in set(inner)]
        node = tuple(children)
        size += len(groups[leaves])
        if size != leaves:
            return node, False
    return node, size == len(members)


def _clades(root: Any) -> set[frozenset[int]]:
    """The sets of leaves of all subtrees."""
    found: set[frozenset[int]] = set()

    def visit(node: Any) -> frozenset[int]:
        stack: list[Any] = [(node, None)]
        sets: dict[int, frozenset[int]] = {}
        while stack:
            top, seen = stack.pop()
            if not isinstance(top, tuple):
                continue
            if seen is None:
                stack.append((top, True))
                stack.extend((child, None) for child in top)
                continue
            merged = frozenset().union(*(sets[id(c)] if isinstance(c, tuple) else {c} for c in top))
            sets[id(top)] = merged
            found.add(merged)
        return sets.get(id(node), frozenset())

    visit(root)
    return found


def _name(root: Any, n: int) -> str:
    """What the tree is called: sequential, pairwise, blocked(k), strided(k), multiway(k), or other."""
    clades = _clades(root)
    widest = max((len(node) for node in _nodes(root)), default=0)
    if widest > 2:
        return f"multiway({widest})"
    if all(frozenset(range(i + 1)) in clades for i in range(1, n)):
        return "sequential"
    if all(frozenset(range(n - 1 - i, n)) in clades for i in range(1, n)):
        return "sequential from the last"
    if _is_pairwise(root):
        return "pairwise"
    for k in range(2, n // 2 + 1):
        if all(frozenset(range(r, n, k)) in clades for r in range(k)):
            return f"strided({k})"
    for k in range(n // 2, 1, -1):
        if n % k == 0 and all(frozenset(range(b, b + k)) in clades for b in range(0, n, k)):
            return f"blocked({k})"
    return "other"


def _nodes(root: Any) -> list[tuple[Any, ...]]:
    found, stack = [], [root]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            found.append(top)
            stack.extend(top)
    return found


def _is_pairwise(node: Any) -> bool:
    """Whether each node halves consecutive leaves, the halves differing by at most one."""
    for top in _nodes(node):
        parts = [sorted(_leaves(child)) for child in top]
        joined = sorted(itertools.chain(*parts))
        if joined != list(range(joined[0], joined[0] + len(joined))) or abs(len(parts[0]) - len(parts[1])) > 1:
            return False
        if any(p != list(range(p[0], p[0] + len(p))) for p in parts):
            return False
    return True


def _check(n: Any) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__") or n < 3:
        raise ValueError(f"n must be an integer from 3 on, not {n!r}: no order shows in fewer terms")
    return int(n)


def order(function: Function, n: int, dtype: Any = np.float32) -> Tree:
    """The order in which a function adds the n elements of a vector.

    Parameters
    ----------
    function : callable
        Of a vector of n elements of `dtype`; returns their sum. A dot product or one element of a matrix product is the sum of the
        vector's elements if the other operand holds ones.
    n : int
        At least 3; the number of calls grows between n and n**2/2.
    dtype : dtype

    Raises
    ------
    ValueError
        The function adds nothing up, or not in an order that is the same in every call.
    TypeError
        It does not take a vector alone.
    RuntimeError
        It raised, and its error is the cause.
    """
    n = _check(n)
    takes("function", function, "a vector alone", None)
    probe = _Probe(function, n, np.dtype(dtype))
    row = [probe.leaves(0, j) for j in range(1, n)]
    if all(v == 2 for v in row) and all(probe.leaves(i, j) == 2 for i, j in itertools.combinations(range(1, n), 2)):
        return Tree(n, None, "exact", True)
    root, whole = _build(probe, list(range(n)))
    if not whole:
        raise ValueError("function has no order: the subtrees that it shows contradict each other")
    return Tree(n, root, _name(root, n))


def certificate(
    function: Function, n: int, dtype: Any = np.float32, *, permutations: int = 1000, seed: int = 0, settings: Any = (None,)
) -> dict[str, Any]:
    """Whether a sum is free of order: every pair of leaves shows a subtree of two, and permuted terms that cancel give one value.

    Parameters
    ----------
    function, n, dtype
        As for `order`.
    permutations : int
        Of random terms whose magnitudes differ widely and which cancel.
    seed : int
    settings : iterable of callables
        Each is called before the permutations are summed once more: to set the number of threads, say.

    Returns
    -------
    dict
        "free" (bool), "pairs" with a subtree of more than two leaves, and "values" seen.
    """
    n = _check(n)
    takes("function", function, "a vector alone", None)
    probe = _Probe(function, n, np.dtype(dtype))
    pairs = [pair for pair in itertools.combinations(range(n), 2) if probe.leaves(*pair) != 2]
    rng = np.random.default_rng(seed)
    half = rng.standard_normal(n // 2) * 2.0 ** rng.integers(-20, 20, n // 2)
    terms = np.concatenate([half, -half * (1 + rng.standard_normal(n // 2) * 1e-5), rng.standard_normal(n % 2)]).astype(
        probe.dtype
    )
    values = set()
    for setting in settings:
        if setting is not None:
            setting()
        generator = np.random.default_rng(seed + 1)
        for k in range(permutations):
            terms_of_call = generator.permutation(terms)
            with naming(f"function of {n} terms, of permutation {k},"):
                values.add(np.asarray(function(terms_of_call)).tobytes())
    return {"free": not pairs and len(values) == 1, "pairs": pairs, "values": len(values), "calls": probe.asked}
