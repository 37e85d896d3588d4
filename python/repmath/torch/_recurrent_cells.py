"""Recurrent layers of tensors on a GPU, composed as PyTorch composes them for the CPU.

For a GPU PyTorch multiplies without the bias, and one operator does the rest of a step; and it multiplies the inputs of each step for
themselves, so that the weights' gradient is a sum of rounded ones. Here each layer multiplies the inputs of all steps at once, with the bias,
and each operator of a step is one of the table: the results and the gradients have the bits of the CPU.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from ._device_tensors import is_on_device

_Tensor: TypeAlias = torch.Tensor
_Hidden: TypeAlias = tuple[_Tensor, ...]  # the state of a layer in one direction: h, for an LSTM h and c
# Of one direction: to the inputs, to the state, their biases or None, the projection or None.
_Weights: TypeAlias = tuple[Any, ...]
_Cell: TypeAlias = Callable[[_Tensor, _Hidden, _Weights], _Hidden]

_linear = torch.nn.functional.linear


def _lstm(inputs: _Tensor, hidden: _Hidden, weights: _Weights) -> _Hidden:
    _, weight, _, bias, projection = weights
    gates = _linear(hidden[0], weight, bias) + inputs
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * hidden[1] + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if projection is None else _linear(h, projection)), c


def _gru(inputs: _Tensor, hidden: _Hidden, weights: _Weights) -> _Hidden:
    _, weight, _, bias, _ = weights
    to_r, to_z, to_n = inputs.chunk(3, 1)
    r, z, n = _linear(hidden[0], weight, bias).chunk(3, 1)
    new = (to_n + n * (r + to_r).sigmoid()).tanh()
    return ((hidden[0] - new) * (z + to_z).sigmoid() + new,)


def _plain(function: Callable[[_Tensor], _Tensor]) -> _Cell:
    def cell(inputs: _Tensor, hidden: _Hidden, weights: _Weights) -> _Hidden:
        _, weight, _, bias, _ = weights
        return (function(_linear(hidden[0], weight, bias) + inputs),)

    return cell


_CELLS: dict[str, _Cell] = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _plain(torch.tanh), "rnn_relu": _plain(torch.relu)}


def _steps(cell: _Cell, x: _Tensor, hidden: _Hidden, weights: _Weights, back: bool) -> tuple[_Tensor, _Hidden]:
    """One direction of a layer, over the first axis of x."""
    inputs, made = _linear(x, weights[0], weights[2]).unbind(0), []
    for step in reversed(inputs) if back else inputs:
        hidden = cell(step, hidden, weights)
        made.append(hidden[0])
    return torch.stack(made[::-1] if back else made, 0), hidden


def _packed_steps(
    cell: _Cell, x: _Tensor, sizes: Sequence[int], hidden: _Hidden, weights: _Weights, back: bool
) -> tuple[_Tensor, _Hidden]:
    """The same of sequences of several lengths, from the longest: x has the elements of each step one after the other, as many as `sizes` says."""
    inputs, made, ended = _linear(x, weights[0], weights[2]).split(list(sizes)), [], []
    first = hidden
    hidden = tuple(t.narrow(0, 0, sizes[-1 if back else 0]) for t in hidden)
    for step in reversed(inputs) if back else inputs:
        before, now = hidden[0].shape[0], step.shape[0]
        if now < before:  # sequences that end
            ended.append(tuple(t.narrow(0, now, before - now) for t in hidden))
            hidden = tuple(t.narrow(0, 0, now) for t in hidden)
        elif now > before:  # sequences whose end the backward direction begins with
            hidden = tuple(torch.cat((t, u.narrow(0, before, now - before))) for t, u in zip(hidden, first, strict=True))
        hidden = cell(step, hidden, weights)
        made.append(hidden[0])
    if not back:
        hidden = tuple(torch.cat(parts) for parts in zip(*reversed([*ended, hidden]), strict=True))
    return torch.cat(made[::-1] if back else made, 0), hidden


def _grouped(weights: Sequence[_Tensor], biases: bool, projected: bool) -> list[_Weights]:
    size, found = 2 + 2 * biases + projected, []
    for k in range(0, len(weights), size):
        own = weights[k : k + size]
        found.append((*own[:2], *(own[2:4] if biases else (None, None)), own[-1] if projected else None))
    return found


def _layers(
    name: str,
    x: _Tensor,
    sizes: Sequence[int] | None,
    states: Sequence[_Tensor],
    params: Sequence[_Tensor],
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    both: bool,
) -> tuple[_Tensor, ...]:
    """All layers, in one or both directions: the output of the last one, and the last state of each."""
    weights = _grouped(params, biases, len(states) == 2 and states[0].shape[2] != states[1].shape[2])
    hidden, last = list(zip(*(t.unbind(0) for t in states), strict=True)), []
    cell, directions = _CELLS[name], 1 + both
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            if sizes is None:
                made, end = _steps(cell, x, hidden[k], weights[k], bool(direction))
            else:
                made, end = _packed_steps(cell, x, sizes, hidden[k], weights[k], bool(direction))
            outputs.append(made)
            last.append(end)
        x = torch.cat(outputs, outputs[0].ndim - 1) if both else outputs[0]
        if dropout and train and layer < layers - 1:
            x = torch.dropout(x, dropout, train)
    return x, *(torch.stack(parts, 0) for parts in zip(*last, strict=True))


def _listed(hx: Any) -> list[_Tensor]:
    return [hx] if isinstance(hx, torch.Tensor) else list(hx)


def _whole(name: str) -> Callable[..., Any]:
    def call(
        input: _Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
        batch_first: bool,
    ) -> Any:  # fmt: skip
        if not is_on_device(input) or not input.shape[batch_first]:
            return NotImplemented
        x = input.transpose(0, 1) if batch_first else input
        output, *last = _layers(name, x, None, _listed(hx), params, has_biases, num_layers, dropout, train, bidirectional)
        return (output.transpose(0, 1) if batch_first else output), *last

    return call


def _packed(name: str) -> Callable[..., Any]:
    def call(
        data: _Tensor, batch_sizes: _Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool,
    ) -> Any:  # fmt: skip
        if not is_on_device(data):
            return NotImplemented
        sizes = batch_sizes.tolist()
        return _layers(name, data, sizes, _listed(hx), params, has_biases, num_layers, dropout, train, bidirectional)

    return call


def _cell(name: str) -> Callable[..., Any]:
    def call(input: _Tensor, hx: Any, w_ih: _Tensor, w_hh: _Tensor, b_ih: Any = None, b_hh: Any = None) -> Any:
        if not is_on_device(input):
            return NotImplemented
        made = _CELLS[name](_linear(input, w_ih, b_ih), tuple(_listed(hx)), (w_ih, w_hh, b_ih, b_hh, None))
        return made if len(made) > 1 else made[0]

    return call


#: What is called for PyTorch's operators of these names; NotImplemented where no tensor is on a device.
RECURRENT: dict[str, Callable[..., Any]] = {
    **{f"{name}.input": _whole(name) for name in _CELLS},
    **{f"{name}.data": _packed(name) for name in _CELLS},
    "lstm_cell": _cell("lstm"),
    "gru_cell": _cell("gru"),
}
