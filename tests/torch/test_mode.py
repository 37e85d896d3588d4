"""reproducible(): the same bits whatever the machine does, strictness, and that what it changes is restored."""

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import torch_models  # noqa: E402
from exact_oracle import bits, round_rational  # noqa: E402

import repmath  # noqa: E402
import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import table  # noqa: E402

TESTS = pathlib.Path(__file__).resolve().parents[1]
PLAIN = ["lstm", "gru", "vae", "convolutions", "encoder", "resnet18", "resnet50", "mobilenet", "unet"]
TRANSFORMERS = ["gpt2", "bert", "llama", "vit", "whisper"]


def test_table():
    names = [line.name for line in table.lines()]
    # Those of other names are forms with `out`.
    own = [line for o, line in table.OPERATORS.items() if str(o) == f"aten.{line.name}"]
    gone = set() if torch.__version__ < "2.14" else {"cholesky.default"}
    assert len(names) == len(set(names)) and set(names) - {line.name for line in own} == gone  # PyTorch has each other one
    for line in table.lines():
        assert line.way in ("moves", "rounds", "composes", "draws"), line
        assert (line.way == "moves") == (not line.function), line
    tool = TESTS.parent / "tools/gen_aten.py"
    assert subprocess.run([sys.executable, str(tool), "--check"]).returncode == 0  # docs/aten.md


def test_zeros_have_one_sign():
    x = torch.tensor([[-0.0, -0.0], [0.0, -0.0], [-0.0, 0.0]])
    with rt.reproducible():
        made = [x.relu(), x.amax(1), x.amin(1), x.max(), torch.maximum(x, x.flip(1))[1:], x.clamp(min=0.0)]
    assert not any(torch.signbit(v).any() for v in made)


@pytest.mark.parametrize("name", PLAIN + TRANSFORMERS)
def test_models_train_strictly(name):
    if name in TRANSFORMERS:
        pytest.importorskip("transformers", reason="transformers is not installed")
    first = torch_models.train(name)
    assert torch_models.train(name) == first
    assert torch_models.train(name, autocast=True) != first
    for optimizer in ("SGD", "AdamW", "fused"):
        torch_models.train(name, optimizer, steps=1)


def test_one_digest_everywhere():
    """Each instruction set, 1 and 2 threads, PyTorch's own choices: one digest a model. PyTorch alone gives several."""
    from repmath._core import available_isas

    every = available_isas()
    beside = [isa for isa in every if isa in ("amx", "avx512bf16")]  # avx512 with another engine for products
    isas = [isa for isa in every if isa != "avx512" or not beside]
    models, found = ["lstm", "convolutions", "vae", "mobilenet", "unet"], set()
    for isa, threads, capability in [
        (isa, 1 + i % 2, c) for i, (isa, c) in enumerate(zip(isas, ("default", "avx2", "avx512")))
    ]:
        environment = os.environ | {
            "REPMATH_ISA": isa, "OMP_NUM_THREADS": str(threads), "ATEN_CPU_CAPABILITY": capability, "PYTHONHASHSEED": str(threads)
        }  # fmt: skip
        command = [sys.executable, str(TESTS / "support/torch_models.py"), *models]
        found.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(found) == 1
    assert found.pop() == "".join(f"{name} {torch_models.train(name)}\n" for name in models)


def test_control_an_uncovered_operator(monkeypatch, request):
    """Without its line, mm is refused by name, and found by comparing traces."""

    def run(mode):
        torch.manual_seed(3)
        x = torch.randn(64, 64, requires_grad=True)
        with mode, rt.trace() as calls:
            (x.tanh() @ x).sum().backward()
        return calls

    good = run(rt.reproducible())
    assert rt.first_difference(good, run(rt.reproducible())) is None
    monkeypatch.delitem(table.FUNCTIONS, torch.ops.aten.mm.default)
    _core.prepare_call(torch.ops.aten.mm.default, _core.Call())  # which takes none
    request.addfinalizer(lambda: _core.prepare_call(torch.ops.aten.mm.default, _core.Product(2)))
    with pytest.raises(rt.UncoveredOperatorError, match=r"aten\.mm\.default, called at .*test_mode\.py:\d+") as caught:
        run(rt.reproducible())
    assert caught.value.operator == "aten.mm.default" and "test_mode.py" in caught.value.call_site
    loose = rt.reproducible(strict=False)
    other = run(loose)
    assert sum(loose.uncovered.values()) == 3
    found = rt.first_difference(good, other)
    assert found.what == "outputs" and found.a.operator == "aten.mm.default" and "outputs differ" in str(found)


def test_traces_in_files(tmp_path):
    def run(scale):
        with rt.reproducible(), rt.trace() as calls:
            torch.exp(torch.ones(3) * scale).sum()
        return calls

    run(1.0).save(tmp_path / "a")
    run(1.0).save(tmp_path / "b")
    run(2.0).save(tmp_path / "c")
    assert rt.first_difference(tmp_path / "a", tmp_path / "b") is None
    found = rt.first_difference(tmp_path / "a", str(tmp_path / "c"))
    assert found.a.operator == "aten.mul.Tensor"
    (tmp_path / "d").write_text("{}\n")
    with pytest.raises(ValueError, match="line 1"):
        rt.first_difference(tmp_path / "a", tmp_path / "d")


def test_what_it_changes_is_restored():
    x = torch.linspace(0, 1, 1000).reshape(10, 100)
    plain = torch.exp(x).sum()
    enabled = torch._C._get_mkldnn_enabled()
    with contextlib.suppress(KeyError), rt.reproducible(), rt.reproducible(strict=False):
        raise KeyError
    mode = rt.reproducible()
    for _ in range(2):
        with mode, mode:
            exact = torch.exp(x).sum()
            assert not torch._C._get_mkldnn_enabled()
    assert torch._C._get_mkldnn_enabled() == enabled
    assert torch.equal(torch.exp(x).sum(), plain)
    assert exact.item() == float(repmath.sum(repmath.exp(x.numpy())))
    seen = []
    with rt.reproducible():
        thread = threading.Thread(target=lambda: seen.append(torch.linalg.svdvals(x)))  # another thread is not in the block
        thread.start()
        thread.join()
    assert len(seen) == 1
    with pytest.raises(TypeError, match="strict"):
        rt.reproducible(strict=1)


def test_flushing_layout_and_threads():
    tiny = torch.full((1000,), 1e-40)
    w = torch.randn(8, 3, 3, 3)
    x = torch.randn(2, 3, 9, 9)
    with rt.reproducible():
        want = tiny * 0.5, torch.nn.functional.conv2d(x, w), torch.softmax(x, 1)
    assert want[0][0] == 5e-41
    torch.set_flush_denormal(True)
    try:
        with rt.reproducible():
            assert torch.equal(tiny * 0.5, want[0])
        assert (tiny * 0.5)[0] == 0  # the caller's choice is his again
    finally:
        torch.set_flush_denormal(False)
    last, odd = x.contiguous(memory_format=torch.channels_last), torch.stack([x, x], -1)[..., 0]
    for n in (1, 3):
        repmath.set_num_threads(n)
        for other in (last, odd):
            with rt.reproducible():
                assert torch.equal(torch.nn.functional.conv2d(other, w), want[1])
                assert torch.equal(torch.softmax(other, 1), want[2])
    repmath.set_num_threads(1)


def test_linear_of_any_layout():
    """PyTorch fuses the bias of a contiguous input of three axes, and adds it otherwise: here it is always inside the one rounding."""
    layer, x = torch.nn.Linear(40, 50), torch.randn(6, 7, 40)
    with rt.reproducible():
        want = torch.stack([layer(row) for row in x])
        for given in (x, x.transpose(0, 1).contiguous().transpose(0, 1), x[None], x[None].expand(2, 6, 7, 40)):
            made = layer(given)
            assert torch.equal(made, want.expand_as(made))


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_of_any_layout(name):
    """As of linear: the bias of the inputs' product is added within its rounding, whatever axis comes first."""
    torch.manual_seed(2)
    first = getattr(torch.nn, name)(5, 6, 2)
    other = getattr(torch.nn, name)(5, 6, 2, batch_first=True)
    other.load_state_dict(first.state_dict())
    x = torch.randn(7, 3, 5)
    results = []
    with rt.reproducible():
        for model, given in ((first, x), (first, x.transpose(0, 2).contiguous().transpose(0, 2)), (other, x.transpose(0, 1))):
            model.zero_grad()
            y, last = model(given)
            y = y if model is first else y.transpose(0, 1)
            y.square().sum().backward()
            results.append(rt.digest([y, *(last if name == "LSTM" else [last]), *(p.grad for p in model.parameters())]))
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [7, 7, 7])
        assert torch.equal(first(packed)[0].data, first(x)[0].reshape(21, 6))
        shorter = torch.nn.utils.rnn.pack_padded_sequence(x.requires_grad_(), [7, 4, 2])
        made, lengths = torch.nn.utils.rnn.pad_packed_sequence(first(shorter)[0])
        made.sum().backward()
        assert lengths.tolist() == [7, 4, 2] and not x.grad[4:, 1].any() and x.grad[3, 1].all()
    assert len(set(results)) == 1


def test_attention_of_any_layout():
    """Its linear maps are called inside of a function of PyTorch's: they too round once whatever axis comes first."""
    torch.manual_seed(2)
    first, other = (torch.nn.MultiheadAttention(16, 2, batch_first=b) for b in (False, True))
    torch.nn.init.normal_(first.in_proj_bias)
    other.load_state_dict(first.state_dict())
    x, y = torch.randn(7, 3, 16), torch.randn(5, 3, 16)
    with rt.reproducible():
        for given in ((x, x, x), (x, y, y), (x, y, y.clone())):
            turned = {id(t): t.transpose(0, 1).contiguous() for t in given}
            assert torch.equal(first(*given)[0], other(*(turned[id(t)] for t in given))[0].transpose(0, 1))


def test_batches():
    """A row's result does not depend on the others; gradients do not depend on the order of rows."""
    model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.GELU(), torch.nn.LayerNorm(40), torch.nn.Linear(40, 7))
    x, y = torch.randn(32, 30), torch.randint(0, 7, (32,))
    with rt.reproducible():
        whole = model(x)
        assert all(torch.equal(model(x[i : i + 1])[0], whole[i]) for i in range(32))
        gradients = []
        for order in (torch.arange(32), torch.randperm(32)):
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(x[order]), y[order]).backward()
            gradients.append(rt.digest([p.grad for p in model.parameters()]))
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("name", ["resnet18", "mobilenet", "unet", "vit"])
def test_whole_models_on_images(name):
    """The bits of a model depend neither on the batch nor on layout, threads or flushing; its gradients not on the order of the batch."""
    if name == "vit":
        pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(4)
    model, _ = getattr(torch_models, name)()
    size = 32 if name == "vit" else 16
    x = torch.randn(32, 3, size, size) * 1e-3
    forward = (lambda v: model(pixel_values=v).logits) if name == "vit" else model
    model.eval()
    with rt.reproducible(), torch.no_grad():
        want = forward(x)
        for i in range(0, 32, 5):
            assert torch.equal(forward(x[i : i + 1])[0], want[i])
        wide = torch.stack([x, x], -1)[..., 0]
        for given in (x.contiguous(memory_format=torch.channels_last), wide):
            assert torch.equal(forward(given), want)
        assert torch.equal(forward(x.flip(0)), want.flip(0))
        for n in (2, 3):
            repmath.set_num_threads(n)
            assert torch.equal(forward(x), want)
    repmath.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with rt.reproducible(), torch.no_grad():
            assert torch.equal(forward(x), want)
    finally:
        torch.set_flush_denormal(False)
    model.train()
    found = set()
    with rt.reproducible():
        for order in (torch.arange(32), torch.randperm(32)):
            for module in model.modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = 0.0  # what is dropped is a matter of the place in the batch
            model.zero_grad()
            forward(x[order]).square().mean().backward()
            found.add(rt.digest([p.grad for p in model.parameters()]))
    assert len(found) == 1


def test_whole_models_of_text():
    pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(4)
    model, _ = torch_models.gpt2()
    model.eval()
    ids = torch.randint(0, 256, (32, 24))
    with rt.reproducible(), torch.no_grad():
        want = model(input_ids=ids).logits
        for i in range(0, 32, 5):
            assert torch.equal(model(input_ids=ids[i : i + 1]).logits[0], want[i])
        assert torch.equal(model(input_ids=ids.t().contiguous().t()).logits, want)


@pytest.mark.parametrize("grad", [torch.no_grad, torch.inference_mode])
def test_without_gradients(grad):
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 3), torch.nn.Dropout(0.5)
    ).eval()
    x = torch.randn(2, 1, 4, 4)
    with rt.reproducible():
        want = model(x)
        with grad():
            assert torch.equal(model(x), want)


def test_errors_are_those_of_pytorch():
    cases = [
        lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)),
        lambda: torch.ones(3) + torch.ones(4),
        lambda: torch.softmax(torch.ones(3), 2),
        lambda: torch.ones(3).sum(4),
        lambda: torch.nn.functional.conv2d(torch.ones(1, 2, 4, 4), torch.ones(1, 3, 2, 2)),
        lambda: torch.nn.functional.layer_norm(torch.ones(2, 3), [4]),
    ]
    for case in cases:
        with pytest.raises((RuntimeError, IndexError)) as own:
            case()
        with pytest.raises(type(own.value)) as ours, rt.reproducible():
            case()
        assert str(ours.value).splitlines()[0] == str(own.value).splitlines()[0]


def test_random_numbers():
    def draw(generator=None):
        with rt.reproducible():
            return [
                torch.rand(5, generator=generator), torch.randn(4, generator=generator), torch.randperm(9, generator=generator),
                torch.empty(3).uniform_(-1, 1, generator=generator), torch.empty(3).normal_(1, 2, generator=generator),
                torch.randint(0, 100, (4,), generator=generator), torch.empty(6).bernoulli_(0.3, generator=generator),
            ]  # fmt: skip

    torch.manual_seed(5)
    first = draw()
    state = torch.get_rng_state()
    second = draw()
    torch.set_rng_state(state)
    assert rt.digest(draw()) == rt.digest(second) != rt.digest(first)
    assert rt.digest(draw(torch.Generator().manual_seed(5))) == rt.digest(first)
    torch.manual_seed(5)
    key = int(torch.empty((), dtype=torch.int64).random_())
    assert np.array_equal(first[0].numpy(), repmath.random.uniform(key, 5, dtype=np.float32))


def test_digest():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    arrays = [p.detach().numpy() for p in model.parameters()] + [b.numpy() for b in model.buffers()]
    assert rt.digest(model) == repmath.digest(*arrays)
    update = torch.optim.Adam(model.parameters())
    before = rt.digest(update)
    model(torch.randn(4, 3)).sum().backward()
    update.step()
    assert rt.digest(update) != before
    assert rt.digest(torch.ones(2, dtype=torch.bfloat16)) == rt.digest([torch.ones(2, dtype=torch.bfloat16)])
    with pytest.raises(TypeError, match="str"):
        rt.digest("weights")


class Eigenvalues(torch.nn.Module):
    """Of a function that the table has not."""

    def forward(self, x):
        return torch.linalg.eigvals(torch.diag_embed(x)).real


def test_audit(capsys):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), Eigenvalues())
    found = rt.audit(model, torch.randn(4, 3))
    printed = capsys.readouterr().out
    assert "aten.addmm.default" in printed and "NO: it is not in the table" in printed
    assert sorted(found.uncovered) == [
        "aten._linalg_solve_ex.default",
        "aten.linalg_eig.default",
    ]  # of complex numbers in the gradient
    assert {line.phase for line in found.lines} == {"forward", "backward"}
    assert all(p.grad is None for p in model.parameters())


def test_numbers_are_exact():
    """A Python number counts as binary64: x*0.1 is not x times the float32 beside 0.1."""
    x, w, i = torch.randn(200), torch.rand(200), torch.arange(-7, 193)
    with rt.reproducible():
        made = {
            "mul": x * 0.1,
            "div": x / 0.3,
            "add": x + 0.1,
            "add alpha": torch.add(x, 0.1, alpha=0.3),
            "sub": torch.sub(x, x.flip(0), alpha=0.1),
            "sub alpha": torch.sub(x, 3, alpha=0.3),
            "rsub": torch.rsub(x, 0.1),
            "rsub alpha": torch.rsub(x, 3, alpha=2),
            "lerp": torch.lerp(x, x.flip(0), 0.1),
            "lerp each": torch.lerp(x, x.flip(0), w),
            "integers": i * 0.1,
            "mean": i.mean(dtype=torch.float32)[None],
            "arange": torch.arange(0.1, 0.9, 0.007),
            "linspace": torch.linspace(-0.3, 7.1, 33),
        }
    exact, weights = ([Fraction(float(v)) for v in t] for t in (x, w))
    tenth, third, other = Fraction(0.1), Fraction(0.3), exact[::-1]
    want = {
        "mul": [v * tenth for v in exact],
        "div": [v / third for v in exact],
        "add": [v + tenth for v in exact],
        "add alpha": [v + tenth * third for v in exact],
        "sub": [v - w * tenth for v, w in zip(exact, other, strict=True)],
        "sub alpha": [v - 3 * third for v in exact],
        "rsub": [tenth - v for v in exact],
        "rsub alpha": [3 - 2 * v for v in exact],
        "lerp": [v + (w - v) * tenth for v, w in zip(exact, other, strict=True)],
        "lerp each": [v + (w - v) * a for v, w, a in zip(exact, other, weights, strict=True)],
        "integers": [k * tenth for k in range(-7, 193)],
        "mean": [Fraction(sum(range(-7, 193)), 200)],
        "arange": [tenth + k * Fraction(0.007) for k in range(115)],
        "linspace": [Fraction(-0.3) + k * (Fraction(7.1) - Fraction(-0.3)) / 32 for k in range(33)],
    }
    assert set(made) == set(want)
    for name, values in want.items():
        assert bits(made[name].numpy()).tolist() == [round_rational(v, "f32") for v in values], name


def test_interpolation_with_infinities():
    inf = float("inf")
    x, y, w = torch.tensor([inf, 1.0, -inf, 2.0]), torch.tensor([1.0, inf, 3.0, inf]), torch.tensor([0.5, 0.25, 0.5, 0.0])
    with rt.reproducible():
        each = torch.lerp(x, y, w)
        one = torch.stack([torch.lerp(x, y, float(v))[i] for i, v in enumerate(w)])
    assert each.tolist()[:3] == one.tolist()[:3] == [inf, inf, -inf] and each[3].isnan() and one[3].isnan()
    with rt.reproducible():
        assert torch.arange(0.5, 3, device="meta").shape == torch.linspace(0, 1, 3, device="meta").shape == (3,)


def test_integers():
    """Calls of integers alone are PyTorch's; a float among them makes the result one of the table's functions."""
    i = torch.arange(6)
    with rt.reproducible():
        made = [
            i + i,
            i.sum(),
            i**2,
            torch.arange(3),
            i.clamp(min=2),
            torch.pow(i, 0.5),
            i.clamp(min=0.5),
            i.sum(dtype=torch.float64),
        ]
    assert [t.dtype for t in made] == [torch.int64] * 5 + [torch.float32] * 2 + [torch.float64]
    assert np.array_equal(made[5].numpy(), repmath.sqrt(i.numpy().astype("f4")))
    assert made[6].tolist() == [0.5, 1, 2, 3, 4, 5] and made[7] == 15


def test_mixed_formats_and_complex_numbers_are_refused():
    x, z = torch.randn(4), torch.complex(torch.randn(4), torch.randn(4))
    for case in (lambda: torch.lerp(x, x.half(), 0.5), lambda: torch.lerp(x, x.half(), x)):
        with pytest.raises(RuntimeError, match="expected dtype"), rt.reproducible():
            case()
    for case in (lambda: z.prod(), lambda: z.tanh(), lambda: z.sin(), lambda: z.pow(3.5), lambda: z.cumsum(0)):
        with pytest.raises(rt.UncoveredOperatorError), rt.reproducible():
            case()


def test_assigning_to_one_place_twice():
    """The last value stays, whatever the number of threads."""
    at = torch.tensor([3, 1, 3, 0, 3]).repeat(4000)
    values = torch.arange(20000.0)
    with rt.reproducible():
        x, rows = torch.zeros(5), torch.zeros(2, 5)
        x[at] = values
        rows[:, at] = values
        rows[rows == 0] = -1.0
    assert x.tolist() == [19998, 19996, 0, 19999, 0]
    assert rows.tolist() == [[19998, 19996, -1, 19999, -1]] * 2


def test_torch_compile_compiles_nothing():
    x = torch.randn(50)
    with rt.reproducible():
        made = torch.compile(lambda x: x.exp() * 0.1)(x)
        assert torch.equal(made, x.exp() * 0.1)
        with pytest.raises(RuntimeError, match="dispatch mode"):
            torch.compile(lambda x: x.exp() - 1, fullgraph=True)(x)


def steps(name, x, y, w):
    """Composed operators by repmath's functions of arrays, step by step, and the slopes that the table states."""
    f4, rm = np.float32, repmath
    if name == "elu":
        slope = rm.multiply(rm.exp(x), f4(0.5))
        return np.where(x > 0, x, rm.multiply(rm.expm1(x), f4(0.5))), np.where(x > 0, f4(1), slope)
    if name == "mish":
        return rm.multiply(x, rm.tanh(rm.softplus(x))), None
    a, b = np.maximum(rm.log(y), f4(-100)), np.maximum(rm.log1p(-y), f4(-100))
    terms = np.stack([-w, np.full_like(w, -1), w], -1)[:, None], np.stack([a, b, b], -1)[..., None]
    below = np.maximum(rm.multiply(y, rm.subtract(f4(1), y)), f4(1e-12))
    return rm.matmul(*terms).reshape(-1), rm.divide(rm.subtract(y, w), below)


@pytest.mark.parametrize("name", ["elu", "mish", "binary_cross_entropy"])
def test_operators_of_several_steps(name):
    torch.manual_seed(6)
    x, y, w = torch.randn(300), torch.rand(300), torch.rand(300)
    x[5], y[0], y[1] = 0, 0, 1
    functional = torch.nn.functional
    calls = {
        "elu": lambda x, y: functional.elu(x, 0.5),
        "mish": lambda x, y: functional.mish(x),
        "binary_cross_entropy": lambda x, y: functional.binary_cross_entropy(y, w.to(y.dtype), reduction="none"),
    }
    with np.errstate(divide="ignore"):
        want, slope = steps(name, x.numpy(), y.numpy(), w.numpy())
    varied, other = (y, x) if name == "binary_cross_entropy" else (x, y)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        leaf = varied.to(dtype).requires_grad_()
        given = (other.to(dtype), leaf) if varied is y else (leaf, other.to(dtype))
        with rt.reproducible() if dtype is torch.float32 else contextlib.nullcontext():
            made = calls[name](*given)
            gradients.append(torch.autograd.grad(made[2:].sum(), leaf)[0][2:])
        if dtype is torch.float32:
            assert made.detach().numpy().tobytes() == want.astype(np.float32).tobytes()
    if slope is not None:
        assert gradients[0].numpy().tobytes() == slope[2:].astype(np.float32).tobytes()
    # The formula itself, and those that PyTorch composes, whose steps are its own: three roundings from its binary64.
    torch.testing.assert_close(gradients[0], gradients[1].float(), rtol=1e-6, atol=1e-7)


def test_gradient_of_elu_by_its_result():
    torch.manual_seed(6)
    x, f4 = torch.randn(300), np.float32
    leaf = x.clone().requires_grad_()
    with rt.reproducible():
        (made,) = torch.autograd.grad(torch.nn.functional.elu(leaf * 1, 0.5, inplace=True).sum(), leaf)
    y = repmath.multiply(repmath.expm1(x.numpy()), f4(0.5))
    assert np.array_equal(made.numpy(), np.where(x.numpy() > 0, f4(1), repmath.add(y, f4(0.5))))


@pytest.mark.parametrize("options", [{"size": (7, 5)}, {"size": (3, 9), "align_corners": True}, {"scale_factor": 1.7}])
def test_linear_interpolation(options):
    """Exact weights, rounded; an exact sum along each axis, rounded. The gradient likewise, in the other order."""
    torch.manual_seed(7)
    x = torch.randn(2, 2, 4, 6, requires_grad=True)
    plain = torch.nn.functional.interpolate(x.detach().double(), mode="bilinear", **options)

    def weights(n, m, align_corners=False, scale_factor=None, size=None):
        rows = []
        for i in range(m):
            if align_corners:
                at = Fraction(i * (n - 1), m - 1)
            else:
                step = 1 / Fraction(scale_factor) if scale_factor else Fraction(n, m)
                at = max(Fraction(0), (i + Fraction(1, 2)) * step - Fraction(1, 2))
            tent = (max(Fraction(0), 1 - abs(min(at, n - 1) - k)) for k in range(n))
            rows.append([Fraction(float(np.float32(float(v)))) for v in tent])
        return rows

    def along(a, table):  # the last axis
        flat = [[Fraction(float(v)) for v in row] for row in a.reshape(-1, a.shape[-1])]
        out = [[round_rational(sum(w * v for w, v in zip(ws, row, strict=True)), "f32") for ws in table] for row in flat]
        return np.array(out, np.uint32).view(np.float32).reshape(*a.shape[:-1], len(table))

    down, across = (weights(n, m, **options) for n, m in zip((4, 6), plain.shape[2:], strict=True))
    turned = lambda table: list(zip(*table, strict=True))  # noqa: E731
    g = torch.randn(plain.shape)
    with rt.reproducible():
        made = torch.nn.functional.interpolate(x, mode="bilinear", **options)
        made.backward(g)
        line = torch.nn.functional.interpolate(x[0], size=9, mode="linear")
        h = torch.ones_like(line)
        (back,) = torch.autograd.grad(line, x, h)
    want = along(along(x.detach().numpy(), across).swapaxes(2, 3), down).swapaxes(2, 3)
    assert np.array_equal(made.detach().numpy(), want)
    want = along(along(g.numpy().swapaxes(2, 3), turned(down)).swapaxes(2, 3), turned(across))
    assert np.array_equal(x.grad.numpy(), want)
    assert np.array_equal(line.detach().numpy(), along(x[0].detach().numpy(), weights(6, 9)))
    assert np.array_equal(back[0].numpy(), along(h.numpy(), turned(weights(6, 9))))
    torch.testing.assert_close(made.detach(), plain.float())  # PyTorch's definition, which rounds otherwise


def test_draws_of_categories():
    """The bits of the steps that the table states; and the distributions."""
    p = torch.tensor([[0.1, 0.0, 0.6, 0.3], [0.0, 1.0, 0.0, 0.0]])

    def exponential(shape):
        key = int(torch.empty((), dtype=torch.int64).random_())
        return -repmath.log1p(-repmath.random.uniform(key, shape, dtype=np.float32))

    with rt.reproducible():
        torch.manual_seed(3)
        drawn = torch.multinomial(p, 20000, replacement=True)
        apart = torch.multinomial(p[0].expand(500, 4), 3)
        times = torch.empty(20000).exponential_(2.0)
        with pytest.raises(RuntimeError):
            torch.multinomial(p, 3)
    torch.manual_seed(3)
    with np.errstate(all="ignore"):
        race = repmath.divide(p.numpy()[:, None], exponential((2, 20000, 4)))
        assert np.array_equal(drawn.numpy(), np.nan_to_num(race, posinf=np.inf).argmax(-1))
        race = repmath.divide(p.numpy()[:1], exponential((500, 4)))
        assert np.array_equal(apart.numpy(), np.argsort(-race, axis=-1, kind="stable")[:, :3])
    assert np.array_equal(times.numpy(), repmath.divide(exponential(20000), np.float32(2)))
    counts = torch.bincount(drawn[0], minlength=4) / 20000
    assert counts[1] == 0 and bool((drawn[1] == 1).all())
    assert bool(((counts - p[0]).abs() <= 5 * (p[0] * (1 - p[0]) / 20000).sqrt()).all())  # five standard deviations
    assert all(sorted(row) == [0, 2, 3] for row in apart.tolist())
    assert abs(float(times.mean()) - 0.5) < 5 * 0.5 / 20000**0.5 and float(times.min()) >= 0


def test_attention_is_evaluated_as_it_is_trained():
    """Without gradients PyTorch has one operator for all of an attention layer, and for all of an encoder's."""
    fast = torch.backends.mha.get_fastpath_enabled()
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
    with rt.reproducible(strict=True):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        trained = layer(x), attention(x, x, x)[0]
        layer.eval()
        attention.eval()
        with torch.no_grad():
            evaluated = layer(x), attention(x, x, x)[0]
    assert all(map(torch.equal, trained, evaluated))
    assert torch.backends.mha.get_fastpath_enabled() is fast
