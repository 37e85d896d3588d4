"""ctc_loss under reproducible(): the steps that the table states, state by state, and the sum over all alignments."""

import itertools
import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np  # noqa: E402
from torch_cases import numbers, same_bits  # noqa: E402

import repmath as rm  # noqa: E402
import repmath.torch as rt  # noqa: E402

T = torch.nn.functional
F8 = np.float64
CASES = [([1, 2, 2], 6), ([2, 1], 5), ([], 4), ([1, 1, 1], 5), ([2], 1), ([1, 2], 2)]


def scores(steps, samples, dtype=torch.float32):
    return numbers(steps, samples, 4, low=-3, high=3).log_softmax(-1).to(dtype)


def by_states(x, labels, received):
    """The loss and its gradient of one sample in binary64, by single numbers."""
    classes = [0] + [c for v in labels for c in (v, 0)]
    n, low = len(classes), F8(-np.inf)
    alphas = [[x[0, classes[s]] if s < 2 else low for s in range(n)]]
    for t in range(1, len(x)):
        old, row = alphas[-1], []
        for s in range(n):
            way = rm.logaddexp(old[s], old[s - 1] if s > 0 else low)
            skip = s > 1 and s % 2 == 1 and classes[s] != classes[s - 2]
            row.append(rm.logaddexp(way, old[s - 2] if skip else low) + x[t, classes[s]])
        alphas.append(row)
    loss = -(rm.logaddexp(alphas[-1][-1], alphas[-1][-2]) if n > 1 else alphas[-1][-1])
    betas = [[x[-1, classes[s]] if s >= n - 2 else low for s in range(n)]]
    for t in reversed(range(len(x) - 1)):
        old, row = betas[0], []
        for s in range(n):
            way = rm.logaddexp(old[s], old[s + 1] if s + 1 < n else low)
            skip = s + 2 < n and s % 2 == 1 and classes[s] != classes[s + 2]
            row.append(rm.logaddexp(way, old[s + 2] if skip else low) + x[t, classes[s]])
        betas.insert(0, row)
    gradient = np.zeros_like(x)
    for t in range(len(x)):
        sums = [low] * x.shape[1]
        for s, c in enumerate(classes):
            sums[c] = rm.logaddexp(sums[c], alphas[t][s] + betas[t][s])
        gradient[t] = [(rm.exp(v) - rm.exp(a + loss - v)) * received for a, v in zip(sums, x[t], strict=True)]
    return loss, gradient


def all_alignments(x, labels):
    """Without states: every sequence of classes that becomes the text once repetitions and blanks have gone."""
    total = 0.0
    for way in itertools.product(range(x.shape[1]), repeat=len(x)):
        if [c for c, _ in itertools.groupby(way) if c] == labels:
            total += math.exp(sum(x[t, c] for t, c in enumerate(way)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("form", ["rows", "one line", "tensors"])
def test_ctc_loss(form, dtype):
    x = scores(7, len(CASES), dtype).requires_grad_()
    lengths, counts = [n for _, n in CASES], [len(labels) for labels, _ in CASES]
    targets = torch.zeros(len(CASES), 3, dtype=torch.int64)
    for row, (labels, _) in zip(targets, CASES, strict=True):
        row[: len(labels)] = torch.tensor(labels, dtype=torch.int64)
    if form == "one line":
        targets = torch.tensor([v for labels, _ in CASES for v in labels])
    if form == "tensors":
        lengths, counts = torch.tensor(lengths), torch.tensor(counts)
    g = numbers(len(CASES), seed=2).to(dtype)
    with rt.reproducible():
        loss = T.ctc_loss(x, targets, lengths, counts, reduction="none")
        loss.backward(g)
    narrow = loss.detach().numpy().dtype
    for i, (labels, n) in enumerate(CASES):
        a = x.detach().numpy()[:n, i].astype(F8)
        with np.errstate(all="ignore"):
            want, gradient = by_states(a, labels, F8(float(g[i])))
        assert same_bits(loss[i], np.asarray(want).astype(narrow)) and not x.grad[n:, i].any()
        assert same_bits(x.grad[:n, i].contiguous(), gradient.astype(narrow))
        assert float(loss[i]) == pytest.approx(all_alignments(a, labels), rel=1e-6 if dtype is torch.float32 else 1e-13)


def test_texts_without_an_alignment():
    x = scores(3, 2).requires_grad_()
    targets = torch.tensor([[1, 1, 1], [1, 2, 3]])
    with rt.reproducible():
        assert T.ctc_loss(x, targets, (3, 3), (3, 3), reduction="none")[0] == math.inf
        loss = T.ctc_loss(x, targets, (3, 3), (3, 3), reduction="sum", zero_infinity=True)
        loss.backward()
    assert 0 < float(loss) < math.inf and not x.grad[:, 0].any() and x.grad[:, 1].all()


def test_control_other_steps(monkeypatch):
    """Other steps to the logarithms of sums have other bits."""
    from repmath.torch._aten import ctc

    x, targets = scores(7, 20).double(), torch.tensor([[1, 2, 3]]).expand(20, 3)

    def run():
        with rt.reproducible():
            return T.ctc_loss(x, targets, (7,) * 20, (3,) * 20, reduction="none")

    good = run()
    monkeypatch.setattr(ctc, "_either", lambda a, b: np.log(np.exp(a) + np.exp(b)))
    assert not same_bits(run(), good)
