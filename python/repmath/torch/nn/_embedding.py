"""Embedding and attention layers."""

from typing import Any

import torch

from .. import functional as F
from ._base import Module, Tensor, draw_normal, draw_weight_and_bias, draw_xavier


class Embedding(Module, torch.nn.Embedding):
    """torch.nn.Embedding by `functional.embedding`: the gradient of a row is an exact sum, rounded once.

    `max_norm`, `scale_grad_by_freq` and `sparse` are not supported.
    """

    def _refuse(self) -> str | None:
        for name in ("max_norm", "scale_grad_by_freq", "sparse"):
            if getattr(self, name):
                return f"{name} is not supported"
        return None

    def reset_parameters(self) -> None:
        """Draw the table anew; the row of padding_idx is 0."""
        draw_normal(self.weight)
        self._fill_padding_idx_with_zero()

    def forward(self, input: Tensor) -> Tensor:
        """The rows."""
        return F.embedding(input, self.weight, self.padding_idx)


class MultiheadAttention(Module, torch.nn.MultiheadAttention):
    """torch.nn.MultiheadAttention: linear maps with one rounding, and attention as `functional.scaled_dot_product_attention` has it.

    With `need_weights`, the weights are computed by the same steps and returned. `add_bias_kv` and `add_zero_attn` are not supported.
    Attention's dropout draws from the stream that `manual_seed` began.
    """

    def _refuse(self) -> str | None:
        if self.bias_k is not None:
            return "add_bias_kv=True is not supported"
        return "add_zero_attn=True is not supported" if self.add_zero_attn else None

    def _reset_parameters(self) -> None:
        for w in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            draw_xavier(w)
        draw_weight_and_bias(self.out_proj.weight, None)
        for b in (self.in_proj_bias, self.out_proj.bias):
            if b is not None:
                torch.nn.init.zeros_(b)

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """One product for those that are the same tensor, as PyTorch has it (not of one sequence): its gradient is then one sum."""
        parts = [(query, 1), (key, 1), (value, 1)]
        if self._qkv_same_embed_dim:
            if key is value:
                parts = [(query, 3)] if query is key else [(query, 1), (key, 2)]
            weights: Any = self.in_proj_weight.split([n * self.embed_dim for _, n in parts])
        else:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        biases: Any = (None,) * len(parts)
        if self.in_proj_bias is not None:
            biases = self.in_proj_bias.split([n * self.embed_dim for _, n in parts])
        made: list[Tensor] = []
        for (t, n), w, b in zip(parts, weights, biases, strict=True):
            made += F.linear(t, w, b).chunk(n, -1)
        return made

    def _additive(self, mask: Tensor | None, like: Tensor) -> Tensor | None:
        """A mask as numbers to add; of bool, True hides a place."""
        if mask is None or mask.dtype != torch.bool:
            return mask
        return torch.zeros(mask.shape, dtype=like.dtype).masked_fill(mask, float("-inf"))

    def forward(  # type: ignore[override,unused-ignore]
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attention's result, and its weights with `need_weights`."""
        has_batch = query.ndim == 3
        if not has_batch:
            query, key, value = (t.unsqueeze(0) for t in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            turned = {id(t): t.transpose(0, 1) for t in (query, key, value)}  # those that are the same stay the same
            query, key, value = (turned[id(t)] for t in (query, key, value))
        n, length, _ = query.shape
        q, k, v = (
            t.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for t in self._projected(query, key, value)
        )
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        mask = self._additive(attn_mask, q)
        if mask is not None and mask.ndim == 3:
            mask = mask.unflatten(0, (n, self.num_heads))
        hidden = self._additive(key_padding_mask, q)
        if hidden is not None:
            hidden = hidden[:, None, None, :]
            mask = hidden if mask is None else F.add(mask, hidden)
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            values = torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-1], k.shape[-2])
            weights = F.scaled_dot_product_attention(q, k, values, mask, p)  # of one 1 in a column: the weights themselves
            y = F.matmul(weights, v)
            weights = F.mean(weights, 1) if average_attn_weights else weights
            weights = weights if has_batch else weights.squeeze(0)
        else:
            y = F.scaled_dot_product_attention(q, k, v, mask, p)
        y = F.linear(y.transpose(1, 2).reshape(n, length, -1), self.out_proj.weight, self.out_proj.bias)
        if not has_batch:
            y = y.squeeze(0)
        elif not self.batch_first:
            y = y.transpose(0, 1)
        return y, weights
