"""Recurrent layers: PyTorch's cells, with one rounding per function."""

import math
from typing import Any

import torch

from .. import functional as F
from .._ops.gates import SIGMOID_GATE, TANH_GATE
from ._base import Module, Tensor, draw_uniform

_State = Any  # a tensor; for an LSTM the pair (h, c)


class _Recurrent(Module):
    """Layers over steps and directions; `_cell` makes a new state of the input's share of the gates and the old one."""

    num_layers: int
    bidirectional: bool
    batch_first: bool
    hidden_size: int
    proj_size: int
    dropout: float
    training: bool
    bias: bool

    def _refuse(self) -> str | None:
        return f"proj_size={self.proj_size} is not supported" if self.proj_size else None

    def reset_parameters(self) -> None:
        """Draw all weights and biases anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for p in self.parameters():  # type: ignore[attr-defined]
            draw_uniform(p, bound)

    def _cell(self, gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        raise NotImplementedError

    def _direction(self, x: Tensor, state: _State, layer: int, backwards: bool) -> tuple[Tensor, _State]:
        """Outputs of all steps, and the last state."""
        suffix = f"_l{layer}{'_reverse' if backwards else ''}"
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        w_in, w, b_in, b = (getattr(self, name + suffix, None) for name in names)
        steps = list(F.linear(x, w_in, b_in).unbind(0))
        outputs = []
        for gates in reversed(steps) if backwards else steps:
            state = self._cell(gates, state, w, b)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs[::-1] if backwards else outputs), state

    def _run(self, input: Tensor, states: list[_State]) -> tuple[Tensor, list[_State]]:
        """Of (steps, batch, features); a state for each layer and direction."""
        last, x = [], input
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            outputs = []
            for d in range(directions):
                y, state = self._direction(x, states[layer * directions + d], layer, d == 1)
                outputs.append(y)
                last.append(state)
            x = torch.cat(outputs, -1) if directions == 2 else outputs[0]
            if layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, last

    def _ordered(self, input: Tensor) -> tuple[Tensor, bool]:
        """The input as (steps, batch, features); whether it has a batch."""
        if not isinstance(input, torch.Tensor):
            raise TypeError(f"input must be a Tensor, not {type(input).__name__}; packed sequences are not supported")
        if input.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead")
        if input.ndim == 2:
            return input.unsqueeze(1), False
        return (input.transpose(0, 1) if self.batch_first else input), True

    def _states(self, h: Tensor | None, x: Tensor, has_batch: bool) -> list[Tensor]:
        """The states of layers and directions; zeros where none are given."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = count, x.shape[1], self.hidden_size
        if h is None:
            return list(torch.zeros(shape, dtype=x.dtype).unbind(0))
        h = h if has_batch else h.unsqueeze(1)
        if tuple(h.shape) != shape:
            raise RuntimeError(f"Expected hidden size {shape}, got {tuple(h.shape)}")
        return list(h.unbind(0))

    def _back(self, y: Tensor, has_batch: bool) -> Tensor:
        if not has_batch:
            return y.squeeze(1)
        return y.transpose(0, 1) if self.batch_first else y

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Any]:
        """Outputs of all steps, and the last states."""
        x, has_batch = self._ordered(input)
        y, last = self._run(x, self._states(hx, x, has_batch))
        h = torch.stack(last)
        return self._back(y, has_batch), h if has_batch else h.squeeze(1)


class RNN(_Recurrent, torch.nn.RNN):
    """torch.nn.RNN; a step is tanh, or relu, of RN(RN(W_hh h + b_hh) + RN(W_ih x + b_ih)). Packed sequences are not supported."""

    def _cell(self, gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        activation = TANH_GATE if self.nonlinearity == "tanh" else F.relu
        return activation(F.add(F.linear(state, weight, bias), gates))


class GRU(_Recurrent, torch.nn.GRU):
    """torch.nn.GRU: gates r and z, ``n = tanh(x_n + h_n r)``, ``h' = (h - n) z + n``. Packed sequences are not supported."""

    def _cell(self, gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        of_x, of_h = gates.chunk(3, -1), F.linear(state, weight, bias).chunk(3, -1)
        reset, update = (SIGMOID_GATE(F.add(h, x)) for x, h in zip(of_x[:2], of_h[:2], strict=True))
        new = TANH_GATE(F.add(of_x[2], F.multiply(of_h[2], reset)))
        return F.add(F.multiply(F.subtract(state, new), update), new)


class LSTM(_Recurrent, torch.nn.LSTM):
    """torch.nn.LSTM: gates i, f, g, o, ``c' = f c + i g``, ``h' = o tanh(c')``.

    Packed sequences and `proj_size` are not supported.
    """

    def _cell(self, gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        h, c = state
        i, f, g, o = F.add(F.linear(h, weight, bias), gates).chunk(4, -1)
        c = F.add(F.multiply(SIGMOID_GATE(f), c), F.multiply(SIGMOID_GATE(i), TANH_GATE(g)))
        return F.multiply(SIGMOID_GATE(o), TANH_GATE(c)), c

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Any]:
        """Outputs of all steps, and the last states (h, c)."""
        x, has_batch = self._ordered(input)
        h, c = (None, None) if hx is None else hx
        pairs = list(zip(self._states(h, x, has_batch), self._states(c, x, has_batch), strict=True))
        y, last = self._run(x, pairs)
        stacked = [torch.stack([pair[i] for pair in last]) for i in (0, 1)]
        return self._back(y, has_batch), tuple(t if has_batch else t.squeeze(1) for t in stacked)
