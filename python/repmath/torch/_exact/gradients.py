"""A backward pass whose sums over the batch are deferred.

An operator that sums over the batch for a leaf returns memory that is never read; a table says by its storage which sum it stands for. Views
of it are PyTorch's. Operators that add such sums, or put them to their places, add or change records; any other that reads one raises. What
arrives at a leaf joins the leaf's records, the leaf gets zeros, and at the end of the pass the sum of all records since the gradient was last
changed by anybody else is written into `grad`, rounded once. A gradient that arrives as numbers is one more term.

A leaf's records belong to its `grad` as it was left: by the tensor's identity and version it is seen whether a program has set, scaled or
zeroed it since. Then the records are forgotten, and what is there is one term.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.weak import WeakIdKeyDictionary

from .. import _sharded
from .._aten.collectives import REDUCTIONS
from .._aten.common import Uncovered
from .._aten.guards import tensors_in
from .._dispatch_key import native, reads_nothing
from .._tensors import as_tensor
from . import graph
from .exchange import reduced
from .held import Held, rounded
from .records import Convolved, Normed, Operand, Placed, Product, Record, Scattered, Terms, Use, arranged, layout_of, settle

_aten = torch.ops.aten
_current: Callable[[], Any] = torch._C._current_autograd_node


class _Deferred:
    """What a tensor of the backward pass stands for."""

    __slots__ = ("memory", "uses")

    def __init__(self, memory: torch.Tensor, uses: list[Use]) -> None:
        self.memory, self.uses = memory, uses


class _Leaf:
    """The records of a leaf, and its gradient as it was written; whether this is the sum over all ranks; what of the records is held as numbers.

    The first pass of a leaf holds nothing if the leaf's last step had no other: the sum of one pass is made in less time than a part of it."""

    __slots__ = ("complete", "held", "passes", "several", "uses", "value", "version", "waits")

    def __init__(self, several: bool = False) -> None:
        self.value: Any = None
        self.version = -1
        self.passes, self.several = 0, several  # of passes that have written the gradient
        self.begin([])

    def begin(self, uses: list[Use]) -> None:
        """The first pass of a sum is to come, to which these records belong."""
        self.uses, self.several, self.passes = uses, self.often(), 0
        self.held: Held | None = None
        self.complete = False
        self.waits = False  # for a pass that writes the gradient, which is NaN

    def keep(self, grad: Any) -> None:
        """Forget the records if they are not those of the gradient."""
        same = grad is not None and grad is self.value
        if same and grad._version != self.version and grad._base is not None:
            raise Uncovered("a gradient that is a view of memory which was written to between two backward passes")
        if same and grad._version == self.version:
            if self.complete:
                raise Uncovered(
                    "a pass that adds to gradients that are those of all ranks; use no_sync() for all but the last one"
                )
            return
        self.begin([] if grad is None else [_plain(grad.detach().clone())])

    def often(self) -> bool:
        """Whether the next step is likely to have several passes."""
        return self.passes > 1 if self.passes else self.several

    def settled(self, leaf: torch.Tensor) -> torch.Tensor:
        """The sum of all records, rounded once."""
        if self.passes == 1 and not self.several:
            return settle(self.uses, leaf.shape, leaf.dtype)
        made, self.held = rounded(self.held, self.uses, leaf.shape, leaf.dtype)
        return made


def _plain(t: torch.Tensor) -> Use:
    return Use(Terms(Operand(t[None]), (0,), tuple(t.shape), name="a gradient of numbers"))


def _is_edge_to_leaf(i: Any) -> bool:
    return isinstance(i, torch.autograd.graph.GradientEdge) and i.node.name() == graph.LEAF


def _storage(t: torch.Tensor) -> int:
    return int(t.untyped_storage()._cdata)


class Gradients:
    """The exact gradients of a block."""

    def __init__(self) -> None:
        self.leaves: Any = WeakIdKeyDictionary()
        self.deferred: dict[int, _Deferred] = {}
        self.touched: dict[int, torch.Tensor] = {}  # of this pass
        self.expected: dict[int, torch.Tensor] = {}
        self.depth = 0
        self.alone = graph.Alone()
        self.dispatch: Any = None
        self.busy = False
        self.more = 0  # of blocks that say that further passes come

    # --- the pass

    def run(self, engine: Callable[..., Any], outputs: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """A backward pass by PyTorch's engine."""
        if len(args) > 2 and args[2]:
            raise Uncovered("create_graph=True with exact gradients")
        if len(args) > 3 and any(_is_edge_to_leaf(i) for i in args[3] or ()):
            raise Uncovered(
                "gradients of parameters by GradientEdge, as in schedules that make those of weights in a pass of their own"
            )
        accumulates = kwargs.get("accumulate_grad", True)  # or the pass returns what no other adds to: torch.autograd.grad
        hooks = []
        self.depth += 1
        try:
            roots = [o.node if isinstance(o, torch.autograd.graph.GradientEdge) else o.grad_fn for o in outputs]
            for node in graph.walk(roots):
                if node.name() == graph.LEAF:
                    if graph.is_data(node.variable):
                        continue
                    self._expect(node.variable)
                    hooks.append(node.register_prehook(self._arrival(node.variable)))
                elif accumulates:
                    graph.check(node, self.alone)
            made = engine(outputs, *args, **kwargs)
            if self.depth == 1:
                self._write()
            if any(isinstance(t, torch.Tensor) and _storage(t) in self.deferred for t in made or ()):
                made = tuple(self._settled(t) if isinstance(t, torch.Tensor) else t for t in made)
            return made
        finally:
            for hook in hooks:
                hook.remove()
            self.depth -= 1
            if not self.depth:
                for leaf in self.touched.values():  # after an error
                    self.leaves.pop(leaf, None)
                self.touched, self.expected, self.deferred, self.alone = {}, {}, {}, graph.Alone()

    def _expect(self, leaf: torch.Tensor) -> None:
        """Look at the gradient of a leaf before any is changed."""
        if _sharded.is_sharded(leaf):
            raise Uncovered(
                "exact gradients of a DTensor; blocks without gradients='exact' have those of a pass of the whole batch"
            )
        _check_hooks(leaf)
        if id(leaf) not in self.expected:
            self.expected[id(leaf)] = leaf
            entry = self.leaves.get(leaf)
            if entry is None:
                entry = self.leaves[leaf] = _Leaf()
            entry.keep(leaf.grad)

    def _arrival(self, leaf: torch.Tensor) -> Callable[..., Any]:
        def arrive(grads: Any) -> Any:
            (g,) = grads
            if g is None:
                return None
            if g.layout is not torch.strided:
                raise Uncovered(f"gradients of {g.layout}, as exact sums")
            entry = self.leaves[leaf]
            self.touched[id(leaf)] = leaf
            found = self.deferred.get(_storage(g))
            entry.uses += [_plain(g)] if found is None else _seen(found, g)
            return (torch.zeros_like(leaf) if leaf.grad is None else None,)

        return arrive

    def _write(self) -> None:
        """Give the leaves their gradients, but for those that have that of all ranks."""
        late = [] if self.more else [p for p in self._waiting(list(self.leaves)) if id(p) not in self.touched]
        with torch.no_grad(), native():
            for leaf in (*self.touched.values(), *late):
                entry = self.leaves[leaf]
                if entry.complete:
                    entry.passes += 1
                    continue
                assert leaf.grad is not None
                if not self.more:
                    entry.passes += 1
                    leaf.grad.copy_(entry.settled(leaf))
                elif not entry.waits:
                    leaf.grad.fill_(torch.nan)  # whoever reads it all the same shall see it
                entry.waits = self.more > 0
        for leaf in (*self.expected.values(), *late):
            entry, grad = self.leaves[leaf], leaf.grad
            entry.value, entry.version = grad, -1 if grad is None else grad._version
        self.touched = {}

    def uses_of(self, leaf: torch.Tensor) -> list[Use]:
        """What the gradient of a leaf is the sum of."""
        entry = self.leaves.get(leaf)
        return [] if entry is None else entry.uses

    def reduce(
        self, group: Any, leaves: Sequence[torch.Tensor], axes: Sequence[int] | None = None, problem: str = ""
    ) -> list[torch.Tensor]:
        """The gradients of leaves over all ranks, which are complete then; with axes, this rank's parts. A problem is an error of all ranks."""
        entries = [self.leaves.setdefault(leaf, _Leaf()) for leaf in leaves]
        busy, self.busy = self.busy, True
        try:
            with native():
                made = reduced(group, leaves, [e.uses for e in entries], axes, problem, [e.held for e in entries])
        finally:
            self.busy = busy
        for e in entries:
            e.uses, e.held, e.complete, e.waits = [], None, True, False
        return made

    def _settled(self, t: torch.Tensor) -> torch.Tensor:
        """The numbers for which a tensor stands."""
        found = self.deferred.get(_storage(t))
        return t if found is None else settle(_seen(found, t), t.shape, t.dtype)

    def _waiting(self, leaves: Iterable[torch.Tensor]) -> list[torch.Tensor]:
        """Those whose gradient is not there yet."""
        found = [(p, self.leaves.get(p)) for p in leaves]
        return [p for p, e in found if e is not None and e.waits and p.grad is e.value and p.grad._version == e.version]

    def check_written(self, leaves: Iterable[torch.Tensor]) -> None:
        """Raise where the gradient of a leaf is not there yet."""
        if self._waiting(leaves):
            raise RuntimeError("a step after passes that are all inside of rd.no_sync(); the last one must be outside")

    def forget(self, leaves: Iterable[torch.Tensor]) -> None:
        """Their gradients have been used."""
        for leaf in leaves:
            entry = self.leaves.pop(leaf, None)
            if entry is not None and entry.often():
                self.leaves[leaf] = _Leaf(True)

    # --- its operators

    def called(self, dispatch: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator of a backward pass returns that adds or reads deferred sums; NotImplemented for others."""
        node = _current()
        if node is None or self.busy or not self.depth or torch.is_grad_enabled():
            return NotImplemented
        self.dispatch = dispatch
        if func._schema.name in REDUCTIONS:
            raise Uncovered("a reduction over ranks while exact gradients are deferred; use repmath.torch.distributed")
        if self.deferred:
            known = [self.deferred.get(_storage(t)) for t in tensors_in((*args, *kwargs.values())) if _has_storage(t)]
            if any(v is not None for v in known):
                return self._mapped(func, args, kwargs)
        begin = _BEGIN.get(func)
        if begin is None:
            return NotImplemented
        return begin(self, node, *args, **kwargs)

    def again(self, call: Callable[..., Any], *args: Any) -> Any:
        """An operator of the pass as the library has it."""
        self.busy = True
        try:
            with self.dispatch._again():
                return call(*args)
        finally:
            self.busy = False

    def defer(self, uses: list[Use], like: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """A tensor that stands for a sum."""
        memory = torch.full(tuple(shape), torch.nan, dtype=like.dtype)  # whoever reads it all the same shall see it
        self.deferred[_storage(memory)] = _Deferred(memory, uses)
        return memory

    def _uses(self, t: torch.Tensor) -> list[Use]:
        found = self.deferred.get(_storage(t))
        return [_plain(t)] if found is None else _seen(found, t)

    def _mapped(self, func: Any, args: Any, kwargs: Any) -> Any:
        """An operator that reads deferred sums."""
        if reads_nothing(func):
            return NotImplemented
        if func in (_aten.add.Tensor, _aten.add_.Tensor):
            x, y = args
            if x.shape == y.shape and kwargs.get("alpha", 1) == 1:
                uses = [*self._uses(x), *self._uses(y)]
                if func is _aten.add.Tensor:
                    return self.defer(uses, x, x.shape)
                if layout_of(x) is None:  # PyTorch's sum of what comes to a node, which nobody else has
                    self.deferred[_storage(x)] = _Deferred(x, uses)
                    return x
        elif func is _aten.clone.default:
            return self.defer(self._uses(args[0]), args[0], args[0].shape)
        elif func in (_aten.sum.dim_IntList, _aten.sum.default):
            axes, keepdim = args[1] if len(args) > 1 else None, len(args) > 2 and args[2]
            found = [_summed(u, args[0].shape, axes) for u in self._uses(args[0])]
            shape = _shape_of_sum(args[0].shape, axes, keepdim)
            return self.defer([Use(r) for r in found], args[0], shape)
        elif func is _aten.embedding_dense_backward.default and _storage(args[0]) in self.deferred:
            return self.defer(
                [Use(_scattered(u, *args[1:])) for u in self._uses(args[0])], args[0], (args[2], args[0].shape[-1])
            )
        elif func in (_aten.slice_backward.default, _aten.select_backward.default) and args[2] in (0, -len(args[1])):
            every = torch.arange(args[1][0])
            index = every[args[3] : args[4] : args[5]] if func is _aten.slice_backward.default else every[args[3]][None]
            found = [_placed(u, index, tuple(args[1])) for u in self._uses(args[0])]
            return self.defer([Use(r) for r in found], args[0], args[1])
        raise Uncovered("it follows a sum over the batch, which exact gradients defer")


def _has_storage(t: torch.Tensor) -> bool:
    return type(t) in (torch.Tensor, torch.nn.Parameter) and t.layout is torch.strided


def _seen(found: _Deferred, t: torch.Tensor) -> list[Use]:
    """The uses of a deferred sum, through a view of it."""
    layout = layout_of(t)
    if layout is None:
        return [Use(u.record, u.layout) for u in found.uses]
    if any(u.layout is not None for u in found.uses):
        raise Uncovered("a view of a view of a sum over the batch")
    return [Use(u.record, layout) for u in found.uses]


def _terms(use: Use) -> Terms:
    if not isinstance(use.record, Terms) or use.layout is not None:
        raise Uncovered(f"a sum of {use.record.name} over further axes, or its rows elsewhere, as an exact sum")
    return use.record


def _shape_of_sum(shape: Sequence[int], axes: Sequence[int] | None, keepdim: bool) -> list[int]:
    gone = {a % len(shape) for a in axes} if axes else set(range(len(shape)))
    return [1 if i in gone else n for i, n in enumerate(shape) if keepdim or i not in gone]


def _summed(use: Use, shape: Sequence[int], axes: Sequence[int] | None) -> Record:
    """A sum of a sum of terms, over axes of the latter."""
    record = _terms(use)
    values = as_tensor(np.ascontiguousarray(record.rows())).reshape(-1, *shape)
    gone = sorted(a % len(shape) for a in axes) if axes else list(range(len(shape)))
    return Terms(Operand(values), (0, *(a + 1 for a in gone)), tuple(_shape_of_sum(shape, gone, False)), name=record.name)


def _scattered(
    use: Use, index: torch.Tensor, rows: int, padding: int, by_frequency: bool, width: int | None = None
) -> Record:
    if by_frequency:
        raise Uncovered("scale_grad_by_freq=True")
    source = _terms(use)
    width = source.shape[-1] if width is None else width
    return Scattered(source, Operand(index), padding, (rows, width))


def _placed(use: Use, index: torch.Tensor, shape: tuple[int, ...]) -> Record:
    """A sum at the rows of a larger one that the index names, which are consecutive unless it is one of terms."""
    if isinstance(use.record, Terms) and use.layout is None:
        return _scattered(use, index, shape[0], -1, False, int(torch.Size(shape[1:]).numel()))
    first, count = (int(index[0]) if len(index) else 0), len(index)
    if count and int(index[-1]) != first + count - 1:
        raise Uncovered(f"every so many rows of a parameter beside {use.record.name}, as an exact sum")
    record = arranged(use)
    if isinstance(record, Placed) and record.shape == (count, *shape[1:]):
        return Placed(record.record, first + record.first, record.count, shape, record.name)
    return Placed(record, first, count, shape, record.name)


# --- operators with which sums begin

_BEGIN: dict[Any, Callable[..., Any]] = {}


def _begins(*overloads: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        _BEGIN.update(dict.fromkeys(overloads, function))
        return function

    return enter


def _targets(node: Any) -> list[Any]:
    return [target for target, _ in node.next_functions]


@_begins(_aten.mm.default)
def _mm(of: Gradients, node: Any, a: torch.Tensor, b: torch.Tensor) -> Any:
    name = node.name()
    places = {"AddmmBackward0": (1, 2), "MmBackward0": (0, 1)}.get(name, ())
    for i in places:
        leaf = graph.leaf_of_product(node.next_functions[i][0])
        # The product with the leaf itself is the gradient of the other factor.
        if leaf is not None and not any(_storage(t) == _storage(leaf) for t in (a, b)):
            shape = (a.shape[0], b.shape[1])
            return of.defer([Use(Product(Operand(a), Operand(b), shape))], a, shape)
    return NotImplemented


def _stripped(shape: Sequence[int]) -> list[int]:
    """Without axes of length 1 in front."""
    made = list(shape)
    while made and made[0] == 1:
        del made[0]
    return made


# PyTorch calls sum.default where the parameter has no axes.
@_begins(_aten.sum.dim_IntList, _aten.sum.default)
def _sum(of: Gradients, node: Any, x: torch.Tensor, axes: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    shape = _shape_of_sum(x.shape, axes, keepdim)
    rounds = None
    for target, i in node.next_functions:
        if target is None or _stripped(target._input_metadata[i].shape) != _stripped(shape):
            continue
        if graph.leaf_of_sum(target) is not None:
            if dtype not in (None, x.dtype):
                raise Uncovered(f"a sum of {x.dtype} to {dtype}, as an exact sum")
            gone = tuple(a % x.ndim for a in axes) if axes else tuple(range(x.ndim))
            return of.defer([Use(Terms(Operand(x), gone, tuple(_shape_of_sum(x.shape, axes, False))))], x, shape)
        rounds = rounds or of.alone.rounding(target)
    if rounds is not None:
        raise Uncovered(f"{graph.operator_of(rounds)} of a parameter, which would round a sum over a batch")
    return NotImplemented


@_begins(_aten.embedding_dense_backward.default)
def _embedding(
    of: Gradients, node: Any, g: torch.Tensor, index: torch.Tensor, rows: int, padding: int, by_frequency: bool
) -> Any:
    if graph.leaf_of_sum(node.next_functions[0][0]) is None:
        return NotImplemented
    width = g.shape[-1]
    source = Use(Terms(Operand(g[None]), (0,), tuple(g.shape)))
    return of.defer([Use(_scattered(source, index, rows, padding, by_frequency, width))], g, (rows, width))


def _wanted(node: Any, mask: Sequence[bool]) -> list[bool]:
    """Which gradients of weight and bias go to a leaf."""
    targets = _targets(node)
    return [bool(mask[i]) and graph.leaf_of_product(targets[i]) is not None for i in (1, 2)]


def _bias(of: Gradients, g: torch.Tensor, axes: tuple[int, ...], shape: tuple[int, ...]) -> torch.Tensor:
    return of.defer([Use(Terms(Operand(g), axes, shape))], g, shape)


@_begins(_aten.convolution_backward.default)
def _convolution(of: Gradients, node: Any, *args: Any) -> Any:
    g, x, w, sizes, stride, padding, dilation, transposed, output_padding, groups, mask = args
    if node.name() != "ConvolutionBackward0":
        return NotImplemented
    weight, bias = _wanted(node, mask)
    if not (weight or bias):
        return NotImplemented
    if transposed:
        raise Uncovered("a transposed convolution, whose weight's gradient is deferred")
    rest = [mask[0], mask[1] and not weight, mask[2] and not bias]
    made = list(of.again(_aten.convolution_backward, *args[:-1], rest)) if any(rest) else [None, None, None]
    if weight:
        options = ("stride", tuple(stride)), ("padding", tuple(padding)), ("dilation", tuple(dilation)), ("groups", groups)
        shape = tuple(w.shape)
        made[1] = of.defer([Use(Convolved(Operand(g), Operand(x), shape, options, False))], w, shape)
    if bias:
        made[2] = _bias(of, g, (0, *range(2, g.ndim)), (g.shape[1],))
    return tuple(made)


def _norm(
    of: Gradients, node: Any, name: str, g: Any, x: Any, shape: tuple[int, ...], options: tuple[Any, ...], mask: Any, own: Any
) -> Any:
    """The gradients of a norm; `own(mask)` are those that are not deferred."""
    weight, bias = _wanted(node, mask)
    if not (weight or bias):
        return NotImplemented
    rest = [mask[0], mask[1] and not weight, mask[2] and not bias]
    made = list(own(rest)) if any(rest) else [None, None, None]
    if weight:
        made[1] = of.defer([Use(Normed(name, Operand(g), Operand(x), shape, options))], g, shape)
    if bias:
        axes = tuple(range(g.ndim - len(shape))) if name == "layer_norm" else (0, *range(2, g.ndim))
        made[2] = _bias(of, g, axes, shape)
    return tuple(made)


def _one_format(w: torch.Tensor, x: torch.Tensor) -> None:
    if w.dtype is not x.dtype:
        raise Uncovered(f"a norm with a weight of {w.dtype} and an input of {x.dtype}, as an exact sum")


@_begins(_aten.native_layer_norm_backward.default)
def _layer_norm(of: Gradients, node: Any, *args: Any) -> Any:
    from .._aten.layers import _eps

    g, x, shape, _, root, w, _, mask = args
    if w is None:
        return NotImplemented
    _one_format(w, x)
    return _norm(
        of,
        node,
        "layer_norm",
        g,
        x,
        tuple(shape),
        (_eps(root),),
        mask,
        lambda rest: of.again(_aten.native_layer_norm_backward, *args[:-1], rest),
    )


@_begins(_aten.native_group_norm_backward.default)
def _group_norm(of: Gradients, node: Any, *args: Any) -> Any:
    from .._aten.layers import _eps

    g, x, _, root, w, n, c, inner, group, mask = args
    if w is None:
        return NotImplemented
    _one_format(w, x)
    h, a = (t.reshape(n, c, inner) for t in (g, x))
    return _norm(
        of,
        node,
        "group_norm",
        h,
        a,
        (c,),
        (group, _eps(root)),
        mask,
        lambda rest: of.again(_aten.native_group_norm_backward, *args[:-1], rest),
    )


@_begins(_aten.native_batch_norm_backward.default)
def _batch_norm(of: Gradients, node: Any, *args: Any) -> Any:
    g, x, w, mean, variance, _, _, training, eps, mask = args
    if w is None:
        return NotImplemented
    _one_format(w, x)
    known = tuple(None if t is None or training else Operand(t) for t in (mean, variance))
    return _norm(
        of,
        node,
        "batch_norm",
        g,
        x,
        (x.shape[1],),
        (*known, training, eps),
        mask,
        lambda rest: of.again(_aten.native_batch_norm_backward, *args[:-1], rest),
    )


@_begins(torch.ops.repmath.rms_norm_backward.default)
def _rms_norm(of: Gradients, node: Any, g: Any, x: Any, shape: Any, w: Any, eps: Any) -> Any:
    if w is None or graph.leaf_of_product(_targets(node)[1]) is None:
        return NotImplemented
    _one_format(w, x)
    made = list(of.again(torch.ops.repmath.rms_norm_backward, g, x, shape, w, eps))
    made[1] = of.defer([Use(Normed("rms_norm", Operand(g), Operand(x), tuple(shape), (eps,), "rms_norm"))], g, shape)
    return tuple(made)


# --- leaves whose gradients others want to see before they are complete


def _check_hooks(leaf: torch.Tensor) -> None:
    if getattr(leaf, "_backward_hooks", None) or getattr(leaf, "_post_accumulate_grad_hooks", None):
        raise Uncovered("a hook of a parameter, which would see a gradient that is not complete")
