"""The nodes of a backward pass: which of them lead to a leaf without a rounding, and which must not lie on the way.

PyTorch names its nodes by the operators whose gradients they are: `AddmmBackward0` is that of addmm.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from .._aten.common import Uncovered

LEAF = "torch::autograd::AccumulateGrad"


def _nodes(names: str) -> frozenset[str]:
    return frozenset(f"{name}Backward{i}" for name in names.split() for i in range(4))


# Views, whose gradients only name the elements in another way.
VIEWS = _nodes("T Transpose Permute View UnsafeView ReshapeAlias Squeeze Unsqueeze Alias Movedim SwapDims")
_PARTS = VIEWS | _nodes("Slice Select")
# What sums terms or puts them to their places: the sum of such sums is a sum of the terms.
_MAPS = VIEWS | _nodes("Expand Embedding Slice Select")
# Nodes whose gradients have a value for each element of what they get, or are sums over axes along which they repeat it.
ELEMENTWISE = _MAPS | _nodes(
    """Add Sub Rsub Mul Div Neg Pow Exp Exp2 Expm1 Log Log1p Log2 Sqrt Rsqrt Reciprocal Tanh Sigmoid LogSigmoid Relu Gelu Silu Softplus Elu
    LeakyRelu Hardtanh Hardswish Hardsigmoid Abs Erf Sin Cos Where Clamp ClampMin ClampMax Maximum Minimum Sum Mean Norm LinalgVectorNorm
    Addcmul Addcdiv Lerp Square Clone Copy Select ToCopy Bmm Fill MaskedFill"""
)
# The gradients that are sums over a batch: those with respect to the arguments at these places.
WEIGHTS: dict[str, tuple[int, ...]] = {
    "AddmmBackward0": (0, 2),
    "MmBackward0": (1,),
    "ConvolutionBackward0": (1, 2),
    "NativeLayerNormBackward0": (1, 2),
    "NativeGroupNormBackward0": (1, 2),
    "NativeBatchNormBackward0": (1, 2),
    "EmbeddingBackward0": (0,),
    "RepmathRmsNormBackward": (1,),
}
# Of these, which sum over a batch, the place of the batch's own argument. It has a gradient only if it depends on parameters.
_BATCH = dict.fromkeys((n for n in WEIGHTS if n not in ("AddmmBackward0", "EmbeddingBackward0")), 0) | {"AddmmBackward0": 1}
_BATCH["BmmBackward0"] = 0


_received: Any = WeakIdKeyDictionary()


def receive(tensors: Iterable[torch.Tensor]) -> None:
    """Another rank has sent what these hold: they are data, unless they are parameters that begin with the numbers of another rank."""
    for t in tensors:
        _received[t] = True


def is_data(leaf: torch.Tensor) -> bool:
    """Whether a leaf is no parameter but data whose gradient goes on to another rank, as between stages of a pipeline, or has no numbers at all.

    Its gradient is that of a value inside of a network: its terms are rounded one by one and added."""
    return leaf.device.type == "meta" or (leaf in _received and not isinstance(leaf, torch.nn.Parameter))


def leaf_of(node: Any, passed: frozenset[str]) -> torch.Tensor | None:
    """The leaf to which a gradient goes through nodes of these names alone."""
    while node is not None:
        name = node.name()
        if name == LEAF:
            leaf: torch.Tensor = node.variable
            return None if is_data(leaf) else leaf
        if name not in passed:
            return None
        node = node.next_functions[0][0]
    return None


def leaf_of_sum(node: Any) -> torch.Tensor | None:
    return leaf_of(node, _MAPS)


def leaf_of_product(node: Any) -> torch.Tensor | None:
    """The leaf of which what a product or a norm takes is a view or a part."""
    return leaf_of(node, _PARTS)


class Alone:
    """Which nodes are those of values that depend on parameters alone, and so are the same for each sample: a sum over a batch that goes on
    to such a node is not a leaf's, and would be rounded there.

    A node does not say whether it has read data. An embedding has, and so has a layer whose input has no gradient. Of an elementwise node
    with an argument without a gradient that is not known: then it counts as one of parameters, so that too much is refused.
    """

    def __init__(self) -> None:
        self._known: dict[Any, bool] = {}

    def __call__(self, node: Any) -> bool:
        stack = [node]
        while stack:
            n = stack[-1]
            if n in self._known:
                stack.pop()
                continue
            name = n.name()
            below = [f for f, _ in n.next_functions]
            if name == LEAF:
                self._known[n] = not is_data(n.variable)
            elif name == "EmbeddingBackward0" or (name in _BATCH and below[_BATCH[name]] is None) or not any(below):
                self._known[n] = False
            else:
                open_ = [f for f in below if f is not None and f not in self._known]
                if open_:
                    stack.extend(open_)
                    continue
                self._known[n] = all(self._known[f] for f in below if f is not None)
            stack.pop()
        return self._known[node]

    def rounding(self, node: Any) -> str | None:
        """The first node on the way to a leaf that rounds, if all below are of parameters alone."""
        if not self(node):
            return None
        while node.name() in _MAPS:
            node = node.next_functions[0][0]
        name: str = node.name()
        return None if name == LEAF else name


def operator_of(name: str) -> str:
    """What a node is the gradient of."""
    return name.partition("Backward")[0]


def walk(roots: Sequence[Any]) -> Iterator[Any]:
    """All nodes from the roots on."""
    seen, stack = set(), [r for r in roots if r is not None]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(f for f, _ in node.next_functions if f is not None)


def check(node: Any, alone: Alone) -> None:
    """Raise if a leaf's gradient through this node would be a sum over a batch that is rounded before it is complete."""
    name = node.name()
    targets = [target for target, _ in node.next_functions]
    if name in ("MmBackward0", "AddmmBackward0"):
        # Of two factors the gradient of that which is of parameters alone is a sum over the batch of the other.
        last = len(targets) - 1
        fixed = [i for i in (last - 1, last) if targets[i] is not None and alone(targets[i])]
        places = [0, *fixed] if len(fixed) < 2 and last == 2 else fixed if len(fixed) < 2 else []
    elif name in WEIGHTS:
        places = list(WEIGHTS[name])
    elif name in ELEMENTWISE and not name.startswith("Bmm"):
        return
    else:
        for target in targets:
            if target is not None and alone(target) and (name != "BmmBackward0" or "Expand" not in _way(target)):
                what = operator_of(name)
                raise Uncovered(f"the gradient of {what} with respect to a parameter, as an exact sum")
        return
    for i in places:
        sums = (name, i) in (("AddmmBackward0", 0), ("EmbeddingBackward0", 0))  # of terms, and not of products
        if i < len(targets) and targets[i] is not None and leaf_of(targets[i], _MAPS if sums else _PARTS) is None:
            between = alone.rounding(targets[i]) or _first_not_in(targets[i], _PARTS)
            if between is not None:
                raise Uncovered(
                    f"{operator_of(between)} between a parameter and {operator_of(name)}, which would round a sum over a batch"
                )


def _first_not_in(node: Any, passed: frozenset[str]) -> str | None:
    """The first node of another name on a way to a leaf through maps alone."""
    if leaf_of(node, _MAPS) is None:
        return None
    while node.name() in passed:
        node = node.next_functions[0][0]
    name: str = node.name()
    return name


def _way(node: Any) -> str:
    """The names of the maps from here on."""
    names = ""
    while node is not None and node.name() in _MAPS:
        names += node.name()
        node = node.next_functions[0][0]
    return names
