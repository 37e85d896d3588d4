"""QR, SVD, eigenvalues of symmetric matrices, pseudoinverses, least squares and exponentials under reproducible(): every bit beside the
written steps, in Python's numbers and rational sums; factors beside PyTorch's meaning of them; gradients; the same bits on every ISA."""

import math
import os
import subprocess
import sys

import elementwise_library
import numpy as np
import pytest
from decomposition_steps import plain_eigh, plain_exponential, plain_q, plain_reflectors, plain_svd

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import checked  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _decompositions as steps  # noqa: E402
from repmath import _random_decompositions  # noqa: E402

SHAPES = ((4, 4), (5, 3), (2, 4), (1, 3), (3, 1))


def matrix(shape, dtype=np.float64, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype).astype(np.float64)


def same(got, want):
    want = np.array(want)
    return got.shape == want.shape and np.array_equal(got.view(np.int64), want.view(np.int64))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_step(shape):
    a = matrix(shape)
    m, n = shape
    factors, taus = plain_reflectors(a.tolist())
    got, got_taus = steps.reflectors(a[None])
    assert same(got[0], factors) and same(got_taus[0], taus)
    q, r = steps.qr(a[None], True)
    assert same(q[0], plain_q(factors, taus, m)) and same(r[0], np.triu(np.array(factors)))
    u, s, v = plain_svd(a.tolist())
    got = steps.svd(a[None], True)
    assert same(got[0][0], u) and same(got[1][0], s) and same(got[2][0], v)
    if m == n:
        values, vectors = plain_eigh(a.tolist())
        got, got_vectors = steps.eigh(a[None], True)
        assert same(got[0], values) and same(got_vectors[0], vectors)
        assert same(steps.exponential(4 * a[None])[0], plain_exponential((4 * a).tolist()))


def test_a_step_of_another_order_has_other_bits():
    """The control: what the steps see depends on their order."""
    a = matrix((8, 8))
    symmetric = a + a.T
    assert not same(steps.svd(a[None, :, ::-1], True)[1][0], steps.svd(a[None], True)[1][0])
    assert not same(steps.eigh(symmetric[None, ::-1, ::-1], True)[0][0], steps.eigh(symmetric[None], True)[0][0])


def test_a_matrix_has_its_bits_in_every_stack():
    a = matrix((6, 5, 5))
    a[1], a[2, :, 3], a[3] = np.eye(5), 0, np.diag([3.0, -1, 0, 2, -5])
    for f in (
        steps.reflectors,
        lambda x: steps.svd(x, True),
        lambda x: steps.eigh(x, True),
        lambda x: (steps.exponential(x),),
    ):
        for whole, *single in zip(f(a), *(f(a[i : i + 1]) for i in range(6)), strict=True):
            assert whole.tobytes() == np.concatenate(single).tobytes()


# --- what PyTorch's functions return


def near(made, want, dtype):
    return torch.allclose(made.double(), want.double(), rtol=0, atol=2e-5 if dtype is torch.float32 else 1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5), (4, 4), (0, 3, 3), (3, 0), (0, 4)], ids=str)
def test_functions_mean_what_pytorchs_do(shape, dtype):
    a = torch.from_numpy(matrix(shape)).to(dtype)
    b = torch.from_numpy(matrix((*shape[:-1], 2), seed=2)).to(dtype)
    m, n = shape[-2:]
    with rt.reproducible(strict=True):
        made = {mode: torch.linalg.qr(a, mode=mode) for mode in ("reduced", "complete", "r")}
        raw, tau = torch.geqrf(a)
        turned = torch.ormqr(raw, tau, b, transpose=True) if m else b
        parts = [torch.linalg.svd(a, full_matrices=full) for full in (False, True)]
        values, inverse = torch.linalg.svdvals(a), torch.linalg.pinv(a)
        solved = {driver: torch.linalg.lstsq(a, b, driver=driver) for driver in ("gels", "gelsy", "gelsd")}
        rank, nuclear = (torch.linalg.matrix_rank(a), torch.linalg.norm(a, "nuc", dim=(-2, -1))) if m and n else (None, None)
    for mode in ("reduced", "complete"):
        q, r = torch.linalg.qr(a, mode=mode)
        assert near(made[mode][0], q, dtype) and near(made[mode][1], r, dtype)
    assert torch.equal(made["r"][1], made["reduced"][1])
    assert near(turned, (made["complete"][0].mT.double() @ b.double()), dtype)
    for full, (u, s, vh) in zip((False, True), parts, strict=True):
        want = torch.linalg.svd(a, full_matrices=full)
        assert (u.shape, s.shape, vh.shape) == tuple(t.shape for t in want) and near(s, want.S, dtype)
        wide_u, wide_v = u.double(), vh.double()
        assert near(wide_u.mT @ wide_u, torch.eye(u.shape[-1]).expand(*shape[:-2], -1, -1), dtype)
        k = min(m, n)
        assert near(wide_u[..., :k] * s.double()[..., None, :] @ wide_v[..., :k, :], a, dtype)
    assert torch.equal(values, parts[0][1]) and near(inverse, torch.linalg.pinv(a), dtype)
    for driver, found in solved.items():
        want = torch.linalg.lstsq(a, b, driver=driver)
        assert near(found.solution, want.solution, dtype) and found.residuals.shape == want.residuals.shape
        # of no columns PyTorch says 0
        assert not want.residuals.numel() or near(found.residuals, want.residuals if n else b.square().sum(-2), dtype)
        assert torch.equal(found.rank, want.rank) and near(found.singular_values, want.singular_values, dtype)
    if rank is not None:
        assert torch.equal(rank, torch.linalg.matrix_rank(a)) and near(
            nuclear, torch.linalg.norm(a, "nuc", dim=(-2, -1)), dtype
        )


def test_singular_matrices():
    a = torch.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], dtype=torch.float64)
    with rt.reproducible(strict=True):
        u, s, vh = torch.linalg.svd(a)
        zero = torch.linalg.svd(torch.zeros(3, 2))
        assert torch.linalg.matrix_rank(a) == 2
        pseudo = torch.linalg.pinv(a @ a.mT, hermitian=True)
    assert near(u @ u.mT, torch.eye(3), a.dtype) and near(u * s @ vh, a, a.dtype)
    assert zero.S.tolist() == [0, 0] and torch.equal(zero.U, torch.eye(3)) and torch.equal(zero.Vh, torch.eye(2))
    assert near(pseudo, torch.linalg.pinv(a @ a.mT, hermitian=True), a.dtype)


def test_what_is_refused():
    bad = torch.full((2, 2), float("nan"))
    for call in (torch.linalg.svd, torch.linalg.eigh, torch.linalg.qr, torch.matrix_exp):
        with pytest.raises(torch.linalg.LinAlgError, match="not finite"), rt.reproducible():
            call(bad)
        with pytest.raises(rt.UncoveredOperatorError, match="matrices of torch.complex64"), rt.reproducible():
            call(torch.ones(2, 2, dtype=torch.complex64))


CALLS = {
    "qr": torch.linalg.qr,
    "svd": lambda a: (lambda u, s, vh: (u.abs(), s, vh.abs()))(*torch.linalg.svd(a, full_matrices=False)),
    "svdvals": torch.linalg.svdvals,
    "eigh": lambda a: (lambda w, v: (w, v.abs()))(*torch.linalg.eigh(a + a.mT)),
    "pinv": torch.linalg.pinv,
    "lstsq": lambda a: torch.linalg.lstsq(a, a[:, :2] * 2 + 1).solution,
    "matrix_exp": torch.matrix_exp,
    "householder_product": lambda a: torch.linalg.householder_product(a, a[0] / 9),
    "ormqr": lambda a: torch.ormqr(a, a[0] / 9, a * 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    a = torch.from_numpy(matrix((3, 3), seed=3)).requires_grad_()
    with rt.reproducible(strict=True):
        assert torch.autograd.gradcheck(CALLS[name], (a,), atol=1e-4)


PROGRAM = """
import hashlib, torch, repmath.torch as rt
with rt.reproducible(strict=True):
    torch.manual_seed(0)
    sha = hashlib.sha256()
    for dtype in (torch.float32, torch.float64):
        a = torch.randn(2, 9, 6, dtype=dtype)
        found = [*torch.linalg.qr(a), *torch.linalg.svd(a), *torch.linalg.eigh(a.mT @ a), torch.linalg.pinv(a), torch.matrix_exp(a[:, :6])]
        z = torch.complex(a, a.flip(1))
        found += [z / z.flip(2), z.exp(), z.log(), z.sqrt(), z.sgn(), z @ z.mT, torch.polar(a, a.flip(2))]
        symmetric = a[:, :6] + a[:, :6].mT
        factors = torch.linalg.ldl_factor(symmetric)
        found += [factors.LD, torch.linalg.ldl_solve(factors.LD, factors.pivots, a[:, :6])]
        held = (a[0] * (a[0] > 0)).to_sparse()
        turned = (a[1] * (a[1] > 0)).mT.contiguous().to_sparse()
        found += [(held @ turned).values(), *(torch.sparse.mm(held.to_sparse_csr(), a[1, :6], how) for how in ("mean", "amax"))]
        found.append(torch.sparse.sampled_addmm(held.to_sparse_csr(), a[0], symmetric[1], alpha=0.3).values())
        for t in found:
            sha.update((torch.view_as_real(t.resolve_conj()) if t.is_complex() else t).contiguous().numpy().tobytes())
print(sha.hexdigest())
"""


@pytest.mark.long
def test_every_instruction_set():
    """Of complex numbers, LDL' and products of sparse matrices too."""
    found = set()
    for isa in elementwise_library.libraries():
        environment = os.environ | {"REPMATH_ISA": isa, "OMP_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True)
        found.add(done.stdout)
    assert len(found) == 1 and len(found.pop().strip()) == 64


def stacks(dtype):
    """Stacks of matrices: of all shapes, with gaps and turned, singular, of zeros, of magnitudes whose squares leave the range."""
    for shape in (*SHAPES, (3, 4, 4), (2, 3, 5, 2), (9, 9), (1, 1), (2, 0, 3)):
        a = torch.from_numpy(matrix(shape)).to(dtype)
        yield from (a, a * 0, a.mT, torch.cat((a, a), -1)[..., ::2], torch.cat((a[..., :1],) * shape[-1], -1))
        yield from (a * 2.0**-140, a * 2.0**100, a * 1e-300, a * 1e300)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_prepared_calls(dtype, general):
    """They have the bits of the table's functions, which take these steps of the arithmetic of _random_decompositions to nearest."""
    aten = torch.ops.aten

    def calls():
        for a in stacks(dtype):
            taken = bool(a.numel()) and bool(a.isfinite().all())
            for full, vectors in ((False, True), (True, True), (False, False)):
                yield taken, aten._linalg_svd.default, (a, full, vectors)
            for mode in ("reduced", "complete", "r"):
                yield taken, aten.linalg_qr.default, (a, mode)
            yield taken, aten.linalg_pinv.atol_rtol_tensor, (a,)
            yield False, aten.linalg_pinv.atol_rtol_tensor, (a,), {"rtol": torch.tensor(0.1, dtype=dtype)}
            yield False, aten.linalg_pinv.atol_rtol_tensor, (a @ a.mT,), {"hermitian": True}
            for b in (a.flip(-1), a[..., :1], a.flip(-1).mT.contiguous().mT):
                yield taken, aten.linalg_lstsq.default, (a, b)
                yield taken and a.shape[-2] <= a.shape[-1], aten.linalg_lstsq.default, (a, b), {"driver": "gels"}
            yield False, aten.linalg_lstsq.default, (a, a), {"driver": "gelsd"}
            square = a @ a.mT
            taken = bool(square.numel()) and bool(square.isfinite().all())
            for uplo in ("L", "U"):
                for vectors in (True, False):
                    yield taken, aten._linalg_eigh.default, (square.triu() if uplo == "U" else square, uplo, vectors)
        yield False, aten._linalg_svd.default, (torch.full((2, 2), float("inf"), dtype=dtype),)

    with steps.arithmetic(_random_decompositions.Nearest()):
        checked(calls(), general)


def test_steps_of_stacks():
    """Those of the library beside those of the arithmetic to nearest; the control: to nearest too, but with a sum in another order."""
    nearest, seen = _random_decompositions.Nearest(), 0
    for a in stacks(torch.float64):
        x = np.ascontiguousarray(a.numpy().reshape(math.prod(a.shape[:-2]), *a.shape[-2:]))
        if not np.isfinite(x).all():
            continue
        for function, *rest in ((steps.svd, True, False), (steps.svd, True, True), (steps.eigh, True), (steps.qr, True)):
            if function is steps.eigh and x.shape[1] != x.shape[2]:
                continue
            found = function(x, *rest)
            with steps.arithmetic(nearest):
                wanted = function(x, *rest)
            for one, other in zip(found, wanted, strict=True):
                assert one.shape == other.shape and one.tobytes() == np.ascontiguousarray(other).tobytes()
            seen += function is steps.svd and bool((found[1] != steps.svd(x[:, ::-1], *rest)[1]).any())
    assert seen
