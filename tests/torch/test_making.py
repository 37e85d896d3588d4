"""What makes and stores models runs inside of reproducible(); parameters that were made outside are told; what is not ours is counted."""

import copy
import io
import pathlib
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode  # noqa: E402

import repmath  # noqa: E402
import repmath.torch as rt  # noqa: E402

HERE = pathlib.Path(__file__).parent


def network():
    return nn.Sequential(nn.Linear(5, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 3))


def told(work):
    """The warnings about parameters that a piece of work causes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [w for w in caught if issubclass(w.category, rt.OutsideParameterWarning)]


X = torch.ones(2, 5)


def test_a_model_that_was_made_outside():
    model, block = network(), rt.reproducible()

    def work():
        with block:
            for _ in range(3):
                model(X).sum().backward()
        with block:
            model(X)

    (warning,) = told(work)  # once per block
    assert warning.filename == __file__ and "test_making" in warning.filename
    assert "shape (4,)" in str(warning.message) and "repmath.torch.trust(model)" in str(warning.message)
    assert issubclass(warning.category, UserWarning)
    with pytest.raises(rt.OutsideParameterWarning), warnings.catch_warnings(), rt.reproducible():
        warnings.simplefilter("error", rt.OutsideParameterWarning)
        model(X)

    def other():
        with rt.reproducible():
            model(X)

    assert len(told(other)) == 1  # another block
    rt.trust(model)
    assert not told(other)
    with pytest.raises(TypeError, match="trust takes modules"):
        rt.trust("weights")


def step(model):
    update = torch.optim.Adam(model.parameters())
    model(X).sum().backward()
    update.step()


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.LazyLinear(3)

    def forward(self, x):
        return self.inner(x)


def stored():
    file = io.BytesIO()
    torch.save(network().state_dict(), file)
    file.seek(0)
    return file


def loaded(assign):
    model = network()
    model.load_state_dict(torch.load(stored()), assign=assign)
    return model


def averaged():
    model = torch.optim.swa_utils.AveragedModel(network())
    model.update_parameters(network())
    return model


def drawn_later():
    """The storage first, on the device without numbers."""
    with torch.device("meta"):
        model = network()
    model.to_empty(device="cpu")
    for layer in model:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    return model


MADE_INSIDE = {
    "made": network,
    "copied": lambda: copy.deepcopy(network()),
    "pickled": lambda: pickle.loads(pickle.dumps(network())),
    "loaded": lambda: loaded(False),
    "assigned": lambda: loaded(True),
    "converted": lambda: network().double().float(),
    "lazy": Lazy,
    "averaged": averaged,
    "drawn later": drawn_later,
    "orthogonal": lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(5, 4))),
}


@pytest.mark.parametrize("way", MADE_INSIDE)
def test_a_model_that_was_made_inside(way):
    """Whatever makes it; also where it is used in another block than the one that made it."""
    kept = []

    def work():
        torch.manual_seed(1)
        with rt.reproducible():
            kept.append(MADE_INSIDE[way]())
            step(kept[0])

    assert not told(work)
    torch.manual_seed(1)
    with rt.reproducible():
        again = MADE_INSIDE[way]()
        step(again)
    assert rt.digest(again) == rt.digest(kept[0])

    def later():
        with rt.reproducible():
            step(kept[0])

    assert not told(later)


def test_weights_that_were_drawn_or_read_again_inside():
    drawn, read = network(), network()

    def work():
        with rt.reproducible():
            for p in drawn.parameters():
                nn.init.normal_(p)
            read.load_state_dict(network().state_dict())
            step(drawn)
            step(read)

    assert not told(work)


def test_what_is_not_drawn_by_pytorch():
    """Modules of repmath draw the same numbers everywhere; frozen parameters are somebody's choice."""
    ours, frozen = rt.nn.Linear(5, 4), nn.Linear(5, 4).requires_grad_(False)

    def work():
        with rt.reproducible():
            ours(X)
            frozen(X)
            nn.functional.linear(X, ours.weight)

    assert not told(work)


def test_only_so_many_operators_are_looked_at():
    model, block = network(), rt.reproducible()
    block._looks = 3

    def work():
        with block:
            for _ in range(3):
                X.exp()
            model(X)

    assert not told(work) and block._looks == 0


def test_parameter_is_restored():
    plain = nn.Parameter.__dict__["__new__"]
    with rt.reproducible():
        assert nn.Parameter.__dict__["__new__"] is not plain
        assert type(nn.Parameter(X, requires_grad=False)) is nn.Parameter
    assert nn.Parameter.__dict__["__new__"] is plain


def test_reading_and_storing():
    """torch.load, pickle, copies and digests, inside."""
    with rt.reproducible():
        model = network()
        want = rt.digest(model)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        assert rt.digest(torch.load(file, weights_only=False)) == want
        assert rt.digest(pickle.loads(pickle.dumps(model))) == want
        state = copy.deepcopy(model.state_dict())
        assert rt.digest(state) == rt.digest(model.state_dict()) == repmath.digest(*(state[name] for name in sorted(state)))
        assert (
            repmath.sum(X) == 10
            and isinstance(repmath.sum(X), torch.Tensor)
            and repmath.digest(X) == repmath.digest(X.numpy())
        )
        assert not X.is_pinned()


def test_without_numbers():
    """Shapes alone: the device "meta" draws nothing and rounds nothing; numbers come with the state dict."""
    with rt.reproducible():
        torch.manual_seed(3)
        before = torch.get_rng_state()
        with torch.device("meta"):
            model = network()
            nn.init.normal_(model[0].weight)
            y = model(torch.randn(2, 5))
            drawn = [torch.rand(2), torch.randint(0, 3, (2,)), torch.randperm(3)]
        assert all(t.is_meta for t in (y, *drawn)) and y.shape == (2, 3)
        assert torch.rand(2, device="meta").is_meta and X.to("meta").sum().is_meta
        assert torch.equal(before, torch.get_rng_state())
        source = network()
        model.load_state_dict(source.state_dict(), assign=True)
        assert torch.equal(model(X), source(X))
        with pytest.raises(NotImplementedError, match="meta"):
            y.to("cpu")


def test_pretrained(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.GPT2Config(
        vocab_size=64, n_positions=16, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    ids = torch.arange(6)[None]

    def work():
        with rt.reproducible():
            torch.manual_seed(2)
            model = transformers.GPT2LMHeadModel(config)
            model.save_pretrained(tmp_path)
            read = transformers.GPT2LMHeadModel.from_pretrained(tmp_path)
            assert torch.equal(model.eval()(input_ids=ids).logits, read.eval()(input_ids=ids).logits)
            read(input_ids=ids, labels=ids).loss.backward()

    assert not told(work)


def test_fake_tensors():
    """Inside of FakeTensorMode, and around it, no number is computed, and what is drawn is no number."""
    with rt.reproducible(), FakeTensorMode() as mode:
        made = [torch.rand(3), torch.ones(3).exp(), network()(torch.ones(2, 5)), mode.from_tensor(X) @ torch.ones(5, 2)]
        assert all(isinstance(t, FakeTensor) for t in made)
    with FakeTensorMode(), rt.reproducible():
        assert isinstance(torch.randn(3).softmax(0), FakeTensor)


def test_export():
    with rt.reproducible():
        model = network()
        exported = torch.export.export(model, (X,))
        assert torch.equal(exported.module()(X), model(X))


LOOSE = {
    "hann_window": lambda: torch.hann_window(8),
    "hamming_window": lambda: torch.hamming_window(8),
    "blackman_window": lambda: torch.blackman_window(8),
    "kaiser_window": lambda: torch.kaiser_window(8),
    "bartlett_window": lambda: torch.bartlett_window(8),
    "fftfreq": lambda: torch.fft.fftfreq(7),
    "polygamma": lambda: torch.polygamma(1, torch.arange(1, 4)),
    "i0": lambda: torch.arange(3).i0(),
    "zeta": lambda: torch.special.zeta(torch.arange(2, 4), 2),
    "eigvals": lambda: torch.linalg.eigvals(torch.eye(2)),
    "bessel": lambda: torch.special.bessel_j0(torch.arange(3)),
}


@pytest.mark.parametrize("name", LOOSE)
def test_what_is_not_ours_is_counted(name):
    """Also of what has no float among its arguments; strictly it raises."""
    block = rt.reproducible(strict=False)
    strict = False
    try:
        with rt.reproducible():
            made = LOOSE[name]()
    except rt.UncoveredOperatorError as error:
        strict = True
        assert "docs/aten.md" in str(error) and error.operator in str(error) and __file__ in error.call_site
    with block:
        loose = LOOSE[name]()
    assert bool(block.uncovered) == strict
    if not strict:
        assert torch.equal(made, loose)
