"""What mixtures of experts need under reproducible(): counts by bins, products of groups of rows, reductions to integers; and models of them."""

import itertools
import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import round_rational  # noqa: E402

import repmath.torch as rt  # noqa: E402

aten = torch.ops.aten
NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
GROUPED = (torch.float16, torch.bfloat16, torch.float32)  # those that PyTorch takes


def numbers(*shape, seed=0, dtype=torch.float32):
    """Of exponents that differ, so that sums cancel and round."""
    g = torch.Generator().manual_seed(seed + 7 * len(shape))
    made = torch.randn(shape, generator=g, dtype=torch.float64) * 2.0 ** torch.randint(-5, 6, shape, generator=g)
    return made.to(dtype)


def codes(t):
    """The bits of each element, as integers."""
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}[t.itemsize]
    return [v % (1 << 8 * t.itemsize) for v in t.contiguous().view(width).reshape(-1).tolist()]


def rounded(values, dtype):
    return [round_rational(v, NAMES[dtype]) for v in values]


def exact(t):
    return [[Fraction(v) for v in row] for row in t.double().tolist()]


def product(a, b):
    return [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for row in exact(a) for column in exact(b.T)]


def groups(kind, dtype, seed=0):
    """Matrices, offsets, and the exact elements: rows, columns or parts of the sum, one group of which is empty."""
    ends = torch.tensor([3, 3, 8], dtype=torch.int32)
    pieces = list(itertools.pairwise([0, *ends.tolist()]))
    if kind == "rows":
        a, b = numbers(10, 16, seed=seed, dtype=dtype), numbers(3, 16, 8, seed=seed, dtype=dtype)
        return a, b, ends, [v for g, (i, j) in enumerate(pieces) for v in product(a[i:j], b[g])] + [Fraction(0)] * 16
    if kind == "columns":
        a, b = numbers(3, 4, 16, seed=seed, dtype=dtype), numbers(16, 8, seed=seed, dtype=dtype)
        parts = [product(a[g], b[:, i:j]) for g, (i, j) in enumerate(pieces)]
        rows = [[p[r * (j - i) : (r + 1) * (j - i)] for (i, j), p in zip(pieces, parts, strict=True)] for r in range(4)]
        return a, b, ends, [v for row in rows for part in row for v in part]
    if kind == "terms":
        a, b = numbers(8, 16, seed=seed, dtype=dtype), numbers(16, 8, seed=seed + 1, dtype=dtype)
        ends = torch.tensor([3, 3, 16], dtype=torch.int32)
        return a, b, ends, [v for i, j in itertools.pairwise([0, *ends.tolist()]) for v in product(a[:, i:j], b[i:j])]
    a, b = numbers(3, 4, 16, seed=seed, dtype=dtype), numbers(3, 16, 8, seed=seed, dtype=dtype)
    return a, b, None, [v for x, y in zip(a, b, strict=True) for v in product(x, y)]


@pytest.mark.parametrize("dtype", GROUPED, ids=str)
@pytest.mark.parametrize("kind", ["rows", "columns", "terms", "stacks"])
def test_grouped_products(kind, dtype):
    for seed in range(4):
        a, b, ends, want = groups(kind, dtype, seed)
        plain = aten._grouped_mm(a, b, ends)
        with rt.reproducible():
            made = aten._grouped_mm(a, b, ends)
        assert (made.shape, made.dtype) == (plain.shape, plain.dtype)
        assert codes(made) == rounded(want, dtype)


def test_grouped_products_control():
    """PyTorch's own are other bits."""
    a, b, ends, want = groups("rows", torch.float32)
    plain = aten._grouped_mm(a, b, ends)
    assert codes(plain[:8]) != rounded(want, torch.float32)[:64]


def test_grouped_products_have_gradients():
    """They are grouped products too: the same as of each group alone."""
    a, b, ends, _ = groups("rows", torch.float32)
    with rt.reproducible():
        x, w = a[:8].clone().requires_grad_(), b.clone().requires_grad_()
        made = torch._grouped_mm(x, w, offs=ends) if hasattr(torch, "_grouped_mm") else aten._grouped_mm(x, w, ends)
        seeds = numbers(*made.shape, seed=9)
        by_x, by_w = torch.autograd.grad(made, (x, w), seeds)
        for g, (i, j) in enumerate(itertools.pairwise([0, *ends.tolist()])):
            assert codes(by_x[i:j]) == codes(seeds[i:j] @ b[g].T)
            assert codes(by_w[g]) == codes(a[i:j].T.contiguous() @ seeds[i:j])


def test_what_grouped_products_refuse():
    """What PyTorch refuses, by its error; offsets that it takes, and leaves results as they are in memory."""
    a, b, ends, _ = groups("rows", torch.float32)
    with rt.reproducible():
        for arguments in (
            (a, b),
            (a, b, ends.long()),
            (a.double(), b.double(), ends),
            (a, b[:2], ends),
            (a, b, ends, numbers(3, 8)),
        ):
            with pytest.raises(RuntimeError) as raised:
                aten._grouped_mm(*arguments)
            assert not isinstance(raised.value, rt.UncoveredOperatorError)
        for wrong in ([3, 2, 8], [3, 3, 11], [-1, 3, 8]):
            with pytest.raises(rt.UncoveredOperatorError, match="offsets"):
                aten._grouped_mm(a, b, torch.tensor(wrong, dtype=torch.int32))


BINS = ((4, 0.0, 3.0), (7, -0.1, 0.3), (3, 0.1, 0.4), (10, 0.0, 1.0), (5, 0.0, 0.0), (1, -1.0, 1.0))


def beside_edges(bins, low, high, dtype):
    """The numbers of the format at and beside each edge, and some outside."""
    step = (Fraction(high) - Fraction(low)) / bins
    near = torch.tensor([float(Fraction(low) + k * step) for k in range(bins + 1)], dtype=torch.float64).to(dtype)
    up, down = (torch.nextafter(near, torch.full_like(near, s * math.inf)) for s in (1, -1))
    return torch.cat([near, up, down, torch.tensor([low - 1.0, high + 1.0, 0.0], dtype=dtype)])


def bin_of(v, bins, low, high):
    """By the definition."""
    v, low, high = Fraction(v), Fraction(low), Fraction(high)
    if not low <= v <= high:
        return None
    return min(int((v - low) * bins / (high - low)), bins - 1)


@pytest.mark.parametrize("bins, low, high", BINS)
def test_histc(bins, low, high):
    for dtype in (torch.float32, torch.float64):
        x = beside_edges(bins, low, high if low != high else 1.0, dtype)
        if low == high:  # the range is that of the elements
            first, last = float(x.min()), float(x.max())
        else:
            first, last = low, high
            x = torch.cat([x, torch.tensor([math.nan, math.inf, -math.inf], dtype=dtype)])
        found = [bin_of(v, bins, first, last) for v in x.tolist() if math.isfinite(v)]
        with rt.reproducible():
            made = torch.histc(x, bins, low, high)
        assert made.dtype is dtype and made.tolist() == [found.count(k) for k in range(bins)]


def test_histc_control():
    """PyTorch's own counts some elements beside an edge in the wrong bin."""
    wrong = 0
    for bins, low, high in BINS[1:4]:
        x = beside_edges(bins, low, high, torch.float32)
        found = [bin_of(v, bins, low, high) for v in x.tolist()]
        wrong += torch.histc(x, bins, low, high).tolist() != [found.count(k) for k in range(bins)]
    assert wrong


def test_histc_of_short_formats():
    """A count is rounded once, where PyTorch adds ones until they are lost."""
    with rt.reproducible():
        for dtype in (torch.float16, torch.bfloat16):
            assert torch.histc(torch.zeros(3001, dtype=dtype), 2, -1, 1).tolist() == [0, torch.tensor(3001.0).to(dtype)]
        for wrong in (torch.tensor([math.nan]), torch.tensor([math.inf, 0.0])):
            with pytest.raises(RuntimeError, match="not finite"):
                torch.histc(wrong, 3)
        with pytest.raises(RuntimeError, match="larger"):
            torch.histc(torch.zeros(3), 3, 1, 0)


def test_bincount():
    at = torch.tensor([2, 0, 2, 5, 2, 0])
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        weights = numbers(6, dtype=dtype)
        sums = [sum((Fraction(float(w)) for w, k in zip(weights, at, strict=True) if k == n), Fraction(0)) for n in range(8)]
        plain = torch.bincount(at, weights, 8)
        with rt.reproducible():
            made = torch.bincount(at, weights, 8)
            assert torch.bincount(at, weights).numel() == 6
        assert made.dtype is plain.dtype and codes(made) == rounded(sums, made.dtype)
    with rt.reproducible():
        assert torch.bincount(at).tolist() == [2, 0, 3, 0, 0, 1]
        with pytest.raises(RuntimeError):
            torch.bincount(torch.tensor([-1, 1]), torch.ones(2))


def test_histogram():
    x, weights = numbers(200, seed=3), numbers(200, seed=4)
    with rt.reproducible():
        placed = torch.tensor([-1.0, -0.1, 0.0, 2.5, 3.0])
        for arguments in ({"bins": 7}, {"bins": 7, "range": (-0.1, 0.3)}, {"bins": placed}):
            count, edges = torch.histogram(x, **arguments)
            weighed, again = torch.histogram(x, weight=weights, **arguments)
            density, _ = torch.histogram(x, weight=weights, density=True, **arguments)
            assert codes(edges) == codes(again)
            bins, last = list(itertools.pairwise(edges.tolist())), edges[-1].item()
            within = [[low <= v < high or v == high == last for v in x.tolist()] for low, high in bins]
            assert count.tolist() == [sum(found) for found in within]
            sums = [
                sum((Fraction(w) for w, f in zip(weights.tolist(), found, strict=True) if f), Fraction(0)) for found in within
            ]
            assert codes(weighed) == rounded(sums, torch.float32)
            assert codes(density) == codes(weighed / weighed.sum() / (edges[1:] - edges[:-1]))
        backwards = torch.histogram(x, torch.tensor([0.0, 2.0, 1.0]))
    assert torch.equal(backwards.hist, torch.histogram(x, torch.tensor([0.0, 2.0, 1.0])).hist)


@pytest.mark.parametrize("dtype", NAMES, ids=str)
def test_reductions_to_integers(dtype):
    """The elements lose what is behind the point first, as PyTorch converts them."""
    x = torch.tensor([[1.75, -1.75, 3.0], [0.5, 2.0, -7.25]], dtype=dtype)
    whole = x.to(torch.int64)
    calls = {
        "sum": lambda t, d: torch.sum(t, dtype=d),
        "sum of rows": lambda t, d: torch.sum(t, 1, keepdim=True, dtype=d),
        "nansum": lambda t, d: torch.nansum(t, dtype=d),
        "cumsum": lambda t, d: torch.cumsum(t, 1, dtype=d),
        "prod": lambda t, d: torch.prod(t, dtype=d),
        "prod of rows": lambda t, d: torch.prod(t, 0, True, dtype=d),
        "cumprod": lambda t, d: torch.cumprod(t, 0, dtype=d),
    }
    for integers in (torch.int32, torch.int64, torch.int16):
        for name, call in calls.items():
            with rt.reproducible():
                made = call(x, integers)
            assert torch.equal(made, call(whole, integers)) and made.dtype is integers, name
    with rt.reproducible():
        assert torch.sum(x, dtype=torch.bool).item() is True
        for bad in (math.nan, math.inf, 2.0**15):
            with pytest.raises(rt.UncoveredOperatorError, match="does not hold"):
                torch.cumsum(torch.tensor([bad], dtype=dtype), 0, dtype=torch.int16)


def test_places_of_numbers():
    """A number is compared as it is: 0.1 is below the number of float32 beside it, and 0.3 above."""
    single = torch.tensor([0.1, 0.3])
    with rt.reproducible():
        assert torch.searchsorted(single, 0.1, right=True).item() == 0 and torch.searchsorted(single, 0.3).item() == 1
        assert torch.bucketize(0.1, single, right=True).item() == 0 and torch.bucketize(0.3, single).item() == 1
        assert torch.bucketize(0.5, torch.tensor([0.5], dtype=torch.float16), right=True).item() == 1
    assert torch.bucketize(0.1, single, right=True).item() == 1  # PyTorch rounds it


def test_ranges_of_integers():
    for arguments in ((0, 7.5, 1.5), (0.7, 7.5, 2.5), (5.0,), (3, -2.5, -1)):
        with rt.reproducible():
            made = torch.arange(*arguments, dtype=torch.int64)
        assert torch.equal(made, torch.arange(*arguments, dtype=torch.int64))


def test_batch_norm_without_training():
    x, mean, variance = numbers(3, 4, 5), numbers(4, seed=2), numbers(4, seed=3).abs()
    with rt.reproducible():
        made = aten._native_batch_norm_legit_no_training(x, None, None, mean, variance, 0.1, 1e-5)
        want = aten.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5)
    assert codes(made[0]) == codes(want[0]) and made[1].numel() == made[2].numel() == 0


MIXTURES = {
    "mixtral": {"num_local_experts": 4},
    "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32},
    "gpt_oss": {"num_local_experts": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "olmoe": {"num_experts": 4},
}
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48,
    "vocab_size": 96, "num_experts_per_tok": 2, "head_dim": 8, "max_position_embeddings": 64, "output_router_logits": True,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


@pytest.mark.parametrize("family", MIXTURES)
def test_mixtures_train(family):
    """Forward, backward and AdamW, strictly; with one thread and with two."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.CONFIG_MAPPING[family](**SMALL | MIXTURES[family])
    found, before = set(), torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with rt.reproducible():
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(config)
            optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
            ids = torch.randint(3, 96, (2, 12))
            for _ in range(2):
                optimizer.zero_grad()
                model(input_ids=ids, labels=ids).loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        found.add(rt.digest(model, optimizer))
    torch.set_num_threads(before)
    assert len(found) == 1
