"""Decompositions under random modes: by the arithmetic that rounds to nearest they are those of the library, bit for bit; each array of their steps has words of its own, by rational
numbers; scopes and blocks give them."""

import gmpy2
import numpy as np
import pytest
import rounding_oracle

from repmath import _decompositions, _random_decompositions, linalg, rounding

SEED, STREAM = 6, 3
mpq = gmpy2.mpq
SHAPES = [(2, 5, 3), (2, 3, 5), (1, 4, 4), (2, 6, 6), (1, 1, 1), (1, 9, 7), (1, 2, 2), (1, 3, 0)]


def matrices(shape, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    a = rng.normal(size=shape)
    if min(shape[1:]) > 2:
        a[:, :, 1] = a[:, :, 0]  # of less than full rank
    return a


def same(found, wanted):
    found, wanted = ([v] if isinstance(v, np.ndarray) else list(v) for v in (found, wanted))
    return all(
        a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()
        for a, b in zip(map(np.ascontiguousarray, found), wanted, strict=True)
    )


def by_steps(by, name, *arguments):
    with _decompositions.arithmetic(by):
        return getattr(_decompositions, name)(*arguments)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_to_nearest_they_are_the_librarys(shape, seed):
    a, by = matrices(shape, seed), _random_decompositions.Nearest()
    theirs = _decompositions
    assert same(by_steps(by, "reflectors", a), theirs.reflectors(a))
    for complete in (False, True):
        assert same(by_steps(by, "qr", a, complete), theirs.qr(a, complete))
    for options in ((True, False), (True, True)):
        assert same(by_steps(by, "svd", a, *options), theirs.svd(a, *options))
    assert same(by_steps(by, "svd", a, False)[1], theirs.svd(a, False)[1])
    factors, taus = theirs.reflectors(a)
    for transposed in (False, True):
        assert same(
            by_steps(by, "reflected", factors, taus, matrices(shape, 5), transposed),
            theirs.reflected(factors, taus, matrices(shape, 5), transposed),
        )
    if shape[1] == shape[2]:
        for vectors in (True, False):
            assert same(by_steps(by, "eigh", a, vectors)[: 1 + vectors], theirs.eigh(a, vectors)[: 1 + vectors])
        assert same(by_steps(by, "exponential", 3 * a), theirs.exponential(3 * a))
    u, values, v = theirs.svd(a, True)
    limit = np.full(len(a), 1e-9)
    assert same(by_steps(by, "pseudoinverse", u, values, v, limit), theirs.pseudoinverse(u, values, v, limit))


class Own:
    """Rounds arrays of exact numbers, one after the other."""

    def __init__(self, mode):
        self.mode, self.arrays = mode, 0

    def __call__(self, *values):
        words = rounding_oracle.words(SEED, STREAM, self.arrays << 40, len(values)).tolist()
        self.arrays += 1
        made = [
            mpq(float(np.array([rounding_oracle.rounded(v, "f64", self.mode, w)], np.uint64).view(np.float64)[0]))
            if v
            else mpq(0)
            for v, w in zip(values, words, strict=True)
        ]
        return made if len(made) > 1 else made[0]


def root(v):
    with gmpy2.context(precision=1400):
        return mpq(gmpy2.sqrt(gmpy2.mpfr(v)))


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
def test_a_reflection(mode):
    a = matrices((1, 2, 2))
    (p, q), (r, s) = ([mpq(v) for v in row] for row in a[0].tolist())
    own = Own(mode)
    beta = own(root(p * p + r * r))
    beta = -beta if p > 0 else beta
    divisor = own(p - beta)
    tau = own(own(beta - p) / beta)
    v = own(r / divisor)
    row = own(own(q + v * s) * tau)
    products = own(row, v * row)
    rest = own(q - products[0], s - products[1])
    factors, taus = by_steps(_random_decompositions.Random(mode, SEED, STREAM), "reflectors", a)
    assert [mpq(x) for x in factors.reshape(-1).tolist()] == [beta, rest[0], v, rest[1]]
    assert [mpq(x) for x in taus[0].tolist()] == [tau, 0]


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
def test_a_rotation(mode):
    a = np.array([[[0.75, 0.625], [0.625, -0.5]]])
    p, off, s = mpq(0.75), mpq(0.625), mpq(-0.5)
    own = Own(mode)
    cot = own(own(s - p) / (2 * off))
    size = own(root(own(own(cot * cot) + 1)))
    t = own((1 if cot > 0 else -1) / own(abs(cot) + size))
    own_root = own(root(own(own(t * t) + 1)))
    c = own(1 / own_root)
    own(t * c)
    change = own(t * off)
    ends = [own(p - change), own(s + change)]
    values, _ = by_steps(_random_decompositions.Random(mode, SEED, STREAM), "eigh", a, False)
    assert [mpq(v) for v in values[0].tolist()] == sorted(ends)


def test_words_that_steps_share_are_seen(monkeypatch):
    """A control."""
    monkeypatch.setattr(_random_decompositions, "_APART", 0)
    with pytest.raises(AssertionError):
        test_a_reflection("stochastic")


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scopes(dtype, mode):
    a = matrices((2, 4, 4))[0].astype(dtype)
    wide, eps = a.astype(np.float64)[None], np.finfo(dtype).eps
    calls = [
        (lambda: linalg.qr(a), lambda by: by_steps(by, "qr", wide, False)),
        (lambda: linalg.eigh(a), lambda by: by_steps(by, "eigh", wide, True)),
        (lambda: linalg.svd(a)[:2], lambda by: by_steps(by, "svd", wide, True, True)[:2]),
        (lambda: linalg.svdvals(a), lambda by: by_steps(by, "svd", wide, False)[1]),
    ]
    for call, steps in calls:
        with rounding.scope(mode, seed=SEED) as block:
            made = call()
        assert block.calls == 1
        by = _random_decompositions.Random(mode, SEED, 0)
        wanted = steps(by)
        wanted = [by.convert(w, dtype)[0] for w in ([wanted] if isinstance(wanted, np.ndarray) else wanted)]
        assert same([made] if isinstance(made, np.ndarray) else list(made), wanted)
        plain = call()
        for x, y in zip(
            [made] if isinstance(made, np.ndarray) else made, [plain] if isinstance(plain, np.ndarray) else plain, strict=True
        ):
            assert x.dtype == y.dtype and x.shape == y.shape
    with rounding.scope(mode, seed=SEED):
        q, r = linalg.qr(a)
        inverse = linalg.pinv(a)
        assert linalg.matrix_rank(a) == 3
    assert np.abs(q @ r - a).max() < 100 * eps and np.abs(a @ inverse @ a - a).max() < 1e3 * eps


def test_blocks_of_pytorch():
    torch = pytest.importorskip("torch")
    from repmath.torch import stochastic

    x = torch.from_numpy(matrices((1, 3, 3), 2)[0].copy())
    narrow = x.float()
    with stochastic(SEED, 1) as block:
        q, r = torch.linalg.qr(x)
        values = torch.linalg.eigvalsh(x)
        e = torch.linalg.matrix_exp(narrow)
    assert block.calls == 2 + 2 + 1 and not block.uncovered
    by = [_random_decompositions.Random("stochastic", SEED, (1 << 32) + k) for k in (0, 2, 4)]
    wide = x.numpy()[None]
    assert same([q.numpy(), r.numpy()], [v[0] for v in by_steps(by[0], "qr", wide, False)])
    assert same([values.numpy()], [by_steps(by[1], "eigh", wide, True)[0][0]])
    wanted = by_steps(by[2], "exponential", wide.astype(np.float32).astype(np.float64))
    assert same([e.numpy()], [by[2].convert(wanted, np.float32)[0]])
    y = x.clone().requires_grad_()
    with stochastic(SEED, 1):
        (torch.linalg.svdvals(y).sum() + torch.linalg.lstsq(y.detach()[:, :2], y).solution.sum()).backward()
    assert y.grad.isfinite().all()
