"""ctc_loss: the probability of all alignments of a text to a sequence of classes, by sums of logarithms, two at a time, in binary64.

Graves et al., "Connectionist temporal classification", 2006: a text of n labels has 2n + 1 states, a blank before, between and after its
labels; alpha is the logarithm of the probability of all ways to a state up to a step, beta that of all ways from it to the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

from .._tensors import as_array, as_tensor
from .common import Array, Uncovered, convert, kernel, step, widened

_Lengths: TypeAlias = Sequence[int] | torch.Tensor


def _either(a: Array, b: Array) -> Array:
    return step("logaddexp", a, b)


@dataclass
class _Texts:
    scores: Array  # (steps, samples, states): the logarithms of the probabilities of the states' classes
    classes: Array  # (samples, states)
    skips: Array  # (samples, states): whether the state two before may come before, without the blank between
    steps: Array
    states: Array


def _texts(log_probs: torch.Tensor, targets: torch.Tensor, steps: _Lengths, labels: _Lengths, blank: int) -> _Texts:
    if log_probs.dtype not in (torch.float32, torch.float64):
        raise Uncovered(f"tensors of {log_probs.dtype}")
    scores = as_array(widened(log_probs))
    lengths, counts = (np.asarray([int(n) for n in v], np.int64) for v in (steps, labels))
    samples = log_probs.shape[1] if log_probs.ndim == 3 else -1
    if lengths.shape != (samples,) or counts.shape != (samples,) or targets.ndim not in (1, 2) or not samples:
        raise ValueError("lengths that do not fit")
    if not 0 <= blank < scores.shape[2] or (lengths > len(scores)).any() or (lengths < 0).any() or (counts < 0).any():
        raise ValueError("a blank or a length that does not fit")
    longest = int(counts.max())
    classes = np.full((samples, 2 * longest + 1), blank, np.int64)
    given, first = as_array(targets.to(torch.int64)), 0
    if counts.sum() > given.size or (given.ndim == 2 and (len(given) != samples or longest > given.shape[1])):
        raise ValueError("targets that do not fit")
    for line, n, i in zip(classes, counts, range(samples), strict=True):
        line[1 : 2 * n : 2] = given[i, :n] if given.ndim == 2 else given[first : first + n]
        first += n
    if (classes < 0).any() or (classes >= scores.shape[2]).any():
        raise ValueError("a target that is no class")
    skips = np.zeros(classes.shape, bool)
    skips[:, 3::2] = classes[:, 3::2] != classes[:, 1:-2:2]
    taken = np.take_along_axis(scores, np.broadcast_to(classes, (len(scores), *classes.shape)), 2)
    return _Texts(taken, classes, skips, lengths, 2 * counts + 1)


def _before(values: Array, n: int) -> Array:
    """Of the state n before; -infinity where there is none."""
    return np.concatenate((np.full((len(values), n), -np.inf), values), 1)[:, : values.shape[1]]


def _alphas(texts: _Texts) -> Array:
    now = np.full(texts.classes.shape, -np.inf)
    now[:, :2] = texts.scores[0][:, :2]
    made = [now]
    for scores in texts.scores[1:]:
        now = _either(now, _before(now, 1))
        now = _either(now, np.where(texts.skips, _before(made[-1], 2), -np.inf))
        now = step("add", now, scores)
        made.append(now)
    return np.stack(made, 1)


def _betas(texts: _Texts) -> Array:
    """With the score of the step itself, as alpha has it."""
    state = np.arange(texts.classes.shape[1])
    ends = (state >= texts.states[:, None] - 2) & (state < texts.states[:, None])
    skips = _before(texts.skips[:, ::-1], 2)[:, ::-1] == 1  # whether the state two after may come next
    now, made = np.full(texts.classes.shape, -np.inf), []
    for number, scores in reversed(list(enumerate(texts.scores))):
        following = now[:, ::-1]
        ways = _either(now, _before(following, 1)[:, ::-1])
        ways = _either(ways, np.where(skips, _before(following, 2)[:, ::-1], -np.inf))
        last = (number == texts.steps - 1)[:, None]
        now = step("add", np.where(last, np.where(ends, 0.0, -np.inf), ways), scores)
        now[number >= texts.steps] = -np.inf
        made.append(now)
    return np.stack(made[::-1], 1)


def _losses(texts: _Texts, alphas: Array) -> Array:
    """The last state or the one before; of no steps, 0 or infinity."""
    samples = np.arange(len(alphas))
    end = alphas[samples, np.maximum(texts.steps, 1) - 1]
    last, other = end[samples, texts.states - 1], end[samples, np.maximum(texts.states - 2, 0)]
    made = -np.where(texts.states > 1, _either(last, other), last)
    return np.where(texts.steps == 0, np.where(texts.states == 1, 0.0, np.inf), made)


@kernel
def ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: _Lengths,
    target_lengths: _Lengths,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The losses, and alpha in binary64."""
    texts = _texts(log_probs, targets, input_lengths, target_lengths, blank)
    with np.errstate(all="ignore"):
        alphas = _alphas(texts)
        return convert(as_tensor(_losses(texts, alphas)), log_probs.dtype), as_tensor(alphas)


@kernel
def ctc_loss_backward(
    g: torch.Tensor,
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: _Lengths,
    target_lengths: _Lengths,
    neg_log_likelihood: torch.Tensor,
    log_alpha: torch.Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> torch.Tensor:
    """g (exp(x) - exp(a + loss - x)), a the logarithm of the sum of exp(alpha + beta) of the states of a class, the first state first."""
    if log_alpha.dtype is not torch.float64:
        raise Uncovered("the gradient of a call that was made outside of reproducible()")
    texts = _texts(log_probs, targets, input_lengths, target_lengths, blank)
    alphas, scores, received = as_array(log_alpha), as_array(widened(log_probs)), as_array(widened(g)).reshape(-1, 1)
    samples: Any = np.arange(len(alphas))
    with np.errstate(all="ignore"):
        both, losses = np.moveaxis(step("add", alphas, _betas(texts)), 1, 0), _losses(texts, alphas)
        sums = np.full(scores.shape, -np.inf)
        for state, classes in enumerate(texts.classes.T):
            sums[:, samples, classes] = _either(sums[:, samples, classes], both[..., state])
        beside = step("exp", step("subtract", step("add", sums, losses[:, None]), scores))
        made = step("multiply", step("subtract", step("exp", scores), beside), received)
    made[np.arange(len(scores))[:, None] >= texts.steps] = 0
    if zero_infinity:
        made[:, np.isinf(losses)] = 0
    return convert(as_tensor(made), log_probs.dtype)
