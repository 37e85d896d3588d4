"""repmath.torch.stochastic(): results against rationals, words by program order, what it does not have, and unmodified models."""

import functools
import os
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
import rounding_oracle
import torch_models
from exact_oracle import bits as bits_of_array

torch = pytest.importorskip("torch")

from torch.utils import _python_dispatch  # noqa: E402

import repmath  # noqa: E402
import repmath.torch  # noqa: E402
from repmath import _random_convolution as _stochastic_convolution  # noqa: E402
from repmath import cli, rounding, study  # noqa: E402
from repmath.torch import UncoveredOperatorError, _blocks, _dispatch_key, _stochastic, reproducible, stochastic  # noqa: E402
from repmath.torch import _stochastic_formulas as _formulas  # noqa: E402

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
pytestmark = pytest.mark.filterwarnings("ignore")  # models of tests are made outside


def bits(t):
    return bits_of_array(repmath.torch._tensors.as_array(t.detach().contiguous())).reshape(-1).tolist()


def check(got, exact, seed, stream, mode):
    """Results against exact values, which are doubles or fractions."""
    values = [Fraction(v) for v in (exact.reshape(-1).tolist() if hasattr(exact, "reshape") else exact)]
    each = rounding_oracle.words(seed, stream, 0, len(values)).tolist()
    fmt = FORMATS[got.dtype]
    want = [rounding_oracle.rounded(v, fmt, mode, w) if v else 0 for v, w in zip(values, each, strict=True)]
    assert bits(got) == want


def integers(*shape, bits=14, dtype=torch.float32, seed=0):
    """Numbers whose products and sums binary64 holds, and float32 does not."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randint(-(2**bits), 2**bits, shape, generator=generator).to(dtype)


@pytest.mark.parametrize("mode", (*rounding_oracle.MODES, *rounding_oracle.DIRECTED))
def test_operators_and_their_numbers_in_program_order(mode):
    a, b, c = integers(5, 7), integers(7, 3), integers(3)
    with stochastic(seed=4, sample=9, mode=mode) as block:
        first = torch.addmm(c, a, b)
        moved = first.t().contiguous().relu()
        second = a.sum(1)
        third = torch.mul(a, 0.1)
        fourth = torch.add(a, a.flip(0), alpha=-0.3)
    assert block.calls == 4 and moved.shape == (3, 5)
    stream = 9 << 32
    check(first, a.double() @ b.double() + c.double(), 4, stream, mode)
    check(second, a.double().sum(1), 4, stream + 1, mode)
    tenth, third_of = Fraction(0.1), Fraction(-0.3)
    check(third, [Fraction(v) * tenth for v in a.reshape(-1).tolist()], 4, stream + 2, mode)
    pairs = zip(a.reshape(-1).tolist(), a.flip(0).reshape(-1).tolist(), strict=True)
    check(fourth, [Fraction(v) + Fraction(w) * third_of for v, w in pairs], 4, stream + 3, mode)


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 4, 7, 6), (6, 4, 3, 2), {}),
        ((2, 4, 8, 7), (4, 2, 3, 3), {"stride": (2, 1), "padding": (1, 2), "groups": 2}),
        ((1, 3, 9, 8), (2, 3, 2, 3), {"stride": 3, "padding": 1, "dilation": (2, 1)}),
        ((2, 4, 11), (4, 1, 3), {"groups": 4, "stride": 2, "padding": 3}),
        ((1, 2, 5, 4, 4), (3, 2, 2, 2, 2), {"padding": 1}),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_convolutions_and_their_gradients(shape, kernel, options, dtype):
    bits = 12 if dtype is torch.float32 else 7
    x, w, b = (integers(*s, bits=bits, dtype=dtype).requires_grad_() for s in (shape, kernel, kernel[:1]))
    convolve = {3: torch.conv1d, 4: torch.conv2d, 5: torch.conv3d}[len(shape)]
    doubles = [t.detach().double().requires_grad_() for t in (x, w, b)]
    want = convolve(*doubles, **options)
    g = integers(*want.shape, bits=bits, dtype=dtype, seed=3)
    want.backward(g.double())
    with stochastic(seed=2, sample=1) as block:
        got = convolve(x, w, b, **options)
        got.backward(g)
    stream = 1 << 32
    assert block.calls == 4
    check(got, want.detach(), 2, stream, "stochastic")
    for i, (ours, theirs) in enumerate(zip((x, w, b), doubles, strict=True)):
        check(ours.grad, theirs.grad, 2, stream + 1 + i, "stochastic")


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_of_many_tiles_are_products_of_windows(stride, transposed):
    """Rows of tiles that end inside an image, and the residues of a stride, take the words of their elements."""
    x, w, b = integers(5, 4, 13, 11), integers(4, 6, 3, 3) if transposed else integers(6, 4, 3, 3), integers(6)
    x, w = x * 2.0**-3, w / 3  # most sums are no numbers of the format
    convolve = torch.conv_transpose2d if transposed else torch.conv2d
    with stochastic(3, 1):
        got = convolve(x, w, b, stride, 1)

    def product(left, right, bias):
        return rounding.matmul(left, right, "stochastic", bias=bias, seed=3, stream=1 << 32)

    a, k, steps = x.numpy(), w.numpy(), ((stride, stride), (1, 1), (1, 1), 1)
    if transposed:
        want = _stochastic_convolution.grad_input(product, a, k, tuple(got.shape), *steps, b.numpy())
    else:
        want = _stochastic_convolution.forward(product, a, k, b.numpy(), *steps)
    assert bits(got) == bits(torch.from_numpy(np.ascontiguousarray(want)))
    moved = got.flatten()[1:], torch.from_numpy(want).flatten()[:-1]
    assert bits(moved[0]) != bits(moved[1])


def model(norms=False):
    torch.manual_seed(1)
    layers = [
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.Tanh(),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 8),
        torch.nn.ReLU(),
        torch.nn.Linear(8, 2),
    ]
    if norms:
        layers.insert(4, torch.nn.LayerNorm(8))
        layers.insert(1, torch.nn.BatchNorm2d(4))
    return torch.nn.Sequential(*layers)


def trained(**options):
    """Losses and weights of three steps of stochastic gradient descent."""
    network, x = model(norms=True), torch.randn(8, 1, 6, 6, generator=torch.Generator().manual_seed(2))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    with stochastic(**options) as block:
        for _ in range(3):
            optimizer.zero_grad()
            loss = ((network(x) - 0.5) ** 2).mean()
            loss.backward()
            optimizer.step()
    return {"loss": loss.detach(), **{k: v.detach().clone() for k, v in network.named_parameters()}}, block


def test_an_unmodified_training_has_one_result_for_each_sample():
    one, block = trained(seed=5, sample=1)
    again, _ = trained(seed=5, sample=1)
    other, _ = trained(seed=5, sample=2)
    assert block.calls > 60 and not block.uncovered
    assert all(bits(one[k]) == bits(again[k]) for k in one)
    assert any(bits(one[k]) != bits(other[k]) for k in one)
    network, x = model(), torch.ones(2, 1, 6, 6)
    found = study.variability(lambda: {"y": network(x)}, 6, block=lambda i: stochastic(sample=i), method="parker")
    assert 5 < found["y"].summary()["median"] < 7.3


SCRIPT = """
import sys; sys.path[:0] = sys.argv[1:]
import repmath, torch, test_stochastic
for options in ({"seed": 5}, {"mode": "up_down"}, {"mode": "random", "sample": 3}):
    print(repmath.torch.digest(*test_stochastic.trained(**options)[0].values()))
"""


def test_a_training_has_one_digest_for_instruction_sets_and_threads():
    folder = os.path.dirname(__file__)
    seen = set()
    for number, isa in enumerate(repmath._core.available_isas()):
        threads = str(1 + number % 2)
        environment = os.environ | {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT, folder, os.path.dirname(rounding_oracle.__file__)]
        support = os.path.join(os.path.dirname(folder), "controls")
        done = subprocess.run([*command, support], env=environment, capture_output=True, text=True, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1 and len(set(next(iter(seen)).split())) == 3


def test_filters_change_no_word_of_the_rest():
    a, b = integers(4, 4), integers(4, 4, seed=5)

    def run(**options):
        with stochastic(seed=1, **options):
            return (a @ b), torch.exp(a / 2**14), (b @ a)

    everything, some, rest = run(), run(only="mm*"), run(exclude=["mm.default"])
    with repmath.torch.reproducible():
        nearest = (a @ b), torch.exp(a / 2**14), (b @ a)
    assert [bits(some[i]) == bits(everything[i]) for i in (0, 1, 2)] == [True, False, True]
    assert bits(some[1]) == bits(nearest[1]) and bits(rest[1]) == bits(everything[1])
    assert bits(rest[0]) == bits(nearest[0]) and bits(everything[0]) != bits(nearest[0])


def run_of(row, column, start, size, place, words, mode):
    """A running sum of products that is rounded after every three terms."""
    total = Fraction(start)
    for block, k in enumerate(range(0, len(row), 3)):
        total += sum((Fraction(a) * Fraction(b) for a, b in zip(row[k : k + 3], column[k : k + 3], strict=True)), Fraction(0))
        made = rounding_oracle.rounded(total, "f32", mode, int(words[block * size + place]))
        total = Fraction(float(np.uint32(made).view(np.float32)))
    return made


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_running_sums_round_after_so_many_terms(mode):
    generator = torch.Generator().manual_seed(4)
    x, w, b = (torch.randn(*n, generator=generator) for n in ((2, 3, 4, 4), (5, 3, 2, 1), (5,)))
    a, c = x.reshape(6, 16)[:, :7].contiguous(), x.reshape(-1)[:35].reshape(7, 5)
    with stochastic(9, 2, mode, sums=3):
        product, added, total, image = a @ c, torch.addmm(b, a, c), a.sum(1), torch.nn.functional.conv2d(x, w, b)
        axes = x.sum((2, 0))  # whose order is that of the array
    windows = torch.nn.functional.unfold(x, (2, 1)).transpose(1, 2)  # (N, L, C K)
    cases = [
        (product, lambda i, j: (a[i], c[:, j], 0.0)),
        (added, lambda i, j: (a[i], c[:, j], float(b[j]))),
        (total[:, None], lambda i, j: (a[i], torch.ones(7), 0.0)),
        (image.flatten(2), lambda n, o, at: (windows[n, at], w[o].reshape(-1), float(b[o]))),
        (axes, lambda i, j: (x[:, i, :, j].reshape(-1), torch.ones(8), 0.0)),
    ]
    for number, (made, terms) in enumerate(cases):
        words = rounding_oracle.words(9, (2 << 32) + number, 0, 3 * made.numel())
        got = bits(made)
        for place, at in enumerate(np.ndindex(*made.shape)):
            row, column, start = terms(*at)
            want = run_of(row.tolist(), column.tolist(), start, made.numel(), place, words, mode)
            assert got[place] == want, (number, at)


def test_running_sums_change_nothing_else():
    a, b = integers(4, 4), integers(4, 4, seed=5)

    def run(**options):
        with stochastic(seed=1, **options) as block:
            return bits(a @ b / 3), bits(torch.exp(a / 2**14)), bits((a / 3).mean()), bits((a / 3).sum()), block.calls

    exact = run()
    assert run(sums=16) == exact
    some = run(sums=2)
    assert some[1:3] == exact[1:3] and some[4] == exact[4] and some[3] != exact[3]
    other = run(sums=2, exclude="mm*")
    assert other[1:] == some[1:]


def test_operators_without_the_rule_are_named():
    x, g, weight = torch.randn(3, 6), torch.randn(3, 6), torch.ones(6)
    g[0, 0] = torch.nan

    def gradient():
        _, mean, root = torch.ops.aten.native_layer_norm(x, [6], weight, None, 1e-5)
        return torch.ops.aten.native_layer_norm_backward(g, x, [6], mean, root, weight, None, [False, True, False])[1]

    with (
        stochastic(),
        pytest.raises(UncoveredOperatorError, match=r"aten\.native_layer_norm_backward\.default.*stochastic rounding"),
    ):
        gradient()
    with stochastic(strict=False) as block:
        got = gradient()
    assert (
        block.uncovered["native_layer_norm_backward.default: of infinities and NaN it is not there"]
        == 1
        == len(block.uncovered)
    )
    with repmath.torch.reproducible():
        assert got[1:].isfinite().all() and got[0].isnan() and gradient()[0].isnan()


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_activations_of_several_branches(dtype, mode):
    """hardswish and softplus, which PyTorch composes, and their gradients, of one rounding each."""
    x = (torch.randn(60, generator=torch.Generator().manual_seed(2)) * 3).to(dtype)
    x[:6], g = torch.tensor([3.0, -3.0, 0.0, 5.0, -9.0, 1.5]).to(dtype), x.flip(0) + 0.5
    values, slopes = [Fraction(v) for v in x.tolist()], [Fraction(v) for v in g.tolist()]
    bent = [v * max(0, min(v + 3, 6)) / 6 for v in values]
    back = [a * (0 if v < -3 else 1 if v > 3 else v / 3 + Fraction(1, 2)) for a, v in zip(slopes, values, strict=True)]
    with stochastic(3, 1, mode) as block:
        made = torch.nn.functional.hardswish(x), torch.ops.aten.hardswish_backward(g, x)
        soft = torch.nn.functional.softplus(x), torch.ops.aten.softplus_backward(g, x, 1, 20)
    assert block.calls == 4
    for number, (got, wanted) in enumerate(zip(made, (bent, back), strict=True)):
        check(torch.where(got == 0, 0.0, got), wanted, 3, 2**32 + number, mode)
    arrays = [repmath.torch._tensors.as_array(t) for t in (g, x)]
    for number, (got, name) in enumerate(zip(soft, ("softplus", "softplus_backward"), strict=True), 2):
        want = _stochastic._random_modes.elementwise(name, tuple(arrays[3 - number :]), mode, 3, 2**32 + number, None, True)
        assert bits(got) == bits_of_array(want).reshape(-1).tolist()


def test_up_down_moves_every_result_by_one_step():
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    x = torch.randn(2, 5, 16)
    with stochastic(mode="up_down") as block:
        got = torch.softmax(x, 2)
        layer(x).sum().backward()
    with repmath.torch.reproducible():
        want = torch.softmax(x, 2)
    steps = np.array(bits(got), np.int64) - np.array(bits(want), np.int64)
    each = rounding.words(want.numel()) >> 31
    assert (steps == np.where(each == 1, 1, -1)).all() and block.calls > 20 and not block.uncovered


class Seen(_python_dispatch.TorchDispatchMode):
    """A mode that lists operators."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def chain(x):
    return repmath.torch.digest((x.exp() * x).sum(0), x.clone().mul_(x).add_(x, alpha=0.3))


@pytest.mark.parametrize("mode", rounding_oracle.MODES)
def test_modes_beside_the_block_change_no_bit(mode):
    """The dispatch key calls the block, and where there are other modes it is one itself."""
    x = torch.linspace(-2, 2.3, 60).reshape(20, 3)
    with reproducible():
        nearest = chain(x)
    found, other = [], stochastic(seed=8, mode=mode)
    with stochastic(seed=7, mode=mode):
        assert _blocks._length() == 0 and len(_python_dispatch._get_current_dispatch_mode_stack()) == 2
        found.append(chain(x))
    with stochastic(seed=7, mode=mode):
        with Seen() as seen:
            assert _blocks._length() == 3
            found.append(chain(x))
        assert _blocks._length() == 0 and {"aten::exp", "aten::mul_.Tensor"} <= set(seen.names)
    with Seen(), stochastic(seed=7, mode=mode):
        found.append(chain(x))
    with reproducible(), stochastic(seed=7, mode=mode), reproducible():
        found.append(chain(x))
    with stochastic(seed=7, mode=mode) as block:
        with _python_dispatch._disable_current_modes():
            chain(x)
        assert block.calls == 0
        assert _blocks._length() == 0
        found.append(chain(x))
    with stochastic(seed=7, mode=mode):  # left in another order
        other.__enter__()
    inside = chain(x)
    other.__exit__(None, None, None)
    assert len(set(found)) == 1 and found[0] != nearest and inside != found[0]
    with stochastic(seed=8, mode=mode):
        assert inside == chain(x)
    assert _blocks._length() == 0
    assert not torch._C._dispatch_tls_is_dispatch_key_included(_dispatch_key.STEPS_KEY)


def test_a_linear_map_without_gradients_is_not_left_out():
    x, w = torch.linspace(-1, 1, 40).reshape(5, 8), torch.linspace(-0.7, 1.3, 24).reshape(3, 8)
    with torch.no_grad(), reproducible():
        nearest = torch.nn.functional.linear(x, w)
    with torch.no_grad(), stochastic(seed=1, mode="up_down") as block:
        made = torch.nn.functional.linear(x, w)
    assert block.calls == 1 and (made != nearest).all()


def test_blocks_nest_and_end():
    a = integers(6, 6)
    with stochastic(seed=1) as outer:
        first = a @ a
        with pytest.raises(RuntimeError, match="stop"), stochastic(seed=2):
            raise RuntimeError("stop")
        second = a @ a
    assert outer.calls == 2 and bits(first) != bits(second)
    with outer:
        assert bits(a @ a) == bits(first)
    with repmath.torch.reproducible():
        plain = a @ a
        assert bits(plain) != bits(first)


def test_a_block_changes_no_attention_of_other_threads():
    """Whether attention is one operator or its steps is a thread's: blocks of several threads end in any order, and the choice that PyTorch keeps for the
    whole process is left alone."""
    g = torch.Generator().manual_seed(2)
    q = torch.randn(2, 3, 7, 8, generator=g)
    attention = functools.partial(torch.nn.functional.scaled_dot_product_attention, q, q, q, is_causal=True)

    def flags():
        of = torch.backends.cuda
        return of.flash_sdp_enabled(), of.mem_efficient_sdp_enabled(), of.math_sdp_enabled()

    def with_reproducible():
        with reproducible():
            return attention()

    before, whole = flags(), with_reproducible()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # the control
        assert not torch.equal(with_reproducible(), whole)
    with stochastic(1):
        alone = attention()
    turns = [threading.Event() for _ in range(4)]
    made = {}

    def first():
        with stochastic(1):
            turns[0].set()
            assert turns[1].wait(60)
            made["first"] = attention()
        turns[2].set()

    def second():
        assert turns[0].wait(60)
        with stochastic(1):
            turns[1].set()
            assert turns[2].wait(60)  # the other block, which began first, has ended
            made["second"] = attention()
            turns[3].set()

    threads = [threading.Thread(target=f) for f in (first, second)]
    for t in threads:
        t.start()
    assert turns[0].wait(60)
    assert torch.equal(with_reproducible(), whole) and flags() == before
    for t in threads:
        t.join(60)
    assert turns[3].is_set() and torch.equal(made["first"], alone) and torch.equal(made["second"], alone)
    assert torch.equal(with_reproducible(), whole) and flags() == before


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"mode": "nearest"}, ValueError, "mode"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": 1.0}, TypeError, "seed"),
        ({"sample": 2**32}, ValueError, "sample"),
        ({"sample": True}, TypeError, "sample"),
        ({"only": [1]}, TypeError, "only"),
        ({"exclude": [None]}, TypeError, "exclude"),
        ({"strict": 1}, TypeError, "strict"),
        ({"phases": "sideways"}, ValueError, "phases"),
        ({"where": 1}, TypeError, "where"),
        ({"sums": 0}, ValueError, "sums"),
        ({"sums": "exactly"}, ValueError, "sums"),
        ({"sums": True}, ValueError, "sums"),
        ({"sums": 8, "mode": "up_down"}, ValueError, "sums"),
    ],
)
def test_errors_name_the_argument(options, error, name):
    with pytest.raises(error, match=name):
        stochastic(**options)


class Cancelling(torch.nn.Module):
    """A layer that loses 20 bits of what it passes on."""

    def forward(self, x):
        return (x + 2.0**20) - 2.0**20


def unstable():
    with repmath.torch.reproducible():
        torch.manual_seed(3)
        return torch.nn.Sequential(
            torch.nn.Linear(6, 6),
            torch.nn.Tanh(),
            torch.nn.Sequential(torch.nn.Linear(6, 6), Cancelling(), torch.nn.Tanh()),
            torch.nn.Linear(6, 3),
        )


def test_phases_and_layers_of_calls():
    network, x = unstable(), torch.ones(4, 6)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    seen = []
    with stochastic(where=lambda call: seen.append(call) or True) as block:
        network(x).square().sum().backward()
        optimizer.step()
    places = {(c.phase, c.layer, c.operator.split(".")[0]) for c in seen}
    assert {
        ("forward", "0", "addmm"),
        ("forward", "2.1", "add"),
        ("forward", "2.2", "tanh"),
        ("forward", "", "sum"),
    } <= places
    assert {
        ("backward", "3", "mm"),
        ("backward", "2.0", "mm"),
        ("backward", "1", "tanh_backward"),
        ("backward", "", "mul"),
    } <= places
    assert any(phase == "step" for phase, _, _ in places)
    assert [c.number for c in seen] == sorted({c.number for c in seen}) and seen[-1].number < block.calls


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"phases": "forward"}, lambda c: c.phase == "forward"),
        ({"phases": ("backward", "step")}, lambda c: c.phase != "forward"),
        ({"only": "3"}, lambda c: c.layer == "3"),
        ({"exclude": "convolution_backward.default"}, lambda c: c.operator != "convolution_backward.default"),
        ({"exclude": ("0", "add*")}, lambda c: c.layer != "0" and not c.operator.startswith("add")),
    ],
)
def test_a_filter_changes_no_word_of_the_rest(filters, kept):
    """Calls have the same numbers, whatever is left out: also after one that rounds several arrays."""

    def calls(**options):
        seen = []
        network, x = model(), torch.randn(8, 1, 6, 6, generator=torch.Generator().manual_seed(2)).requires_grad_()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
        with stochastic(where=lambda call: seen.append(call) or True, **options):
            for _ in range(2):
                network(x).square().mean().backward()
                optimizer.step()
        return seen

    everything, some = calls(), calls(**filters)
    assert 0 < len(some) < len(everything)
    assert some == [c for c in everything if kept(c)]


def far(y):
    return bool((y - CLEAN).abs().max() > 1e-3)


with repmath.torch.reproducible():
    CLEAN = unstable()(torch.linspace(-1, 1, 12).reshape(2, 6)).detach()


@pytest.mark.parametrize("mode", ["stochastic", "up_down"])
def test_localize_finds_a_planted_layer(mode):
    network, x = unstable(), torch.linspace(-1, 1, 12).reshape(2, 6)
    found = study.localize(lambda: network(x), far, mode=mode)
    assert found.places == ["2.1 (forward)"] and found.finished and found.candidates == 6
    by_call = study.localize(lambda: network(x), far, mode=mode, by="call")
    assert [c.layer for c in by_call.calls] == ["2.1"] and by_call.calls[0].operator == "add.Tensor"
    by_operator = study.localize(lambda: network(x), far, mode=mode, by="operator")
    assert by_operator.places == ["add.Tensor"]
    # Without the layer the result holds: the place is the cause.
    with stochastic(seed=0, sample=found.sample, mode=mode, exclude="2.1"):
        assert not far(network(x))


def test_the_example_of_make_study():
    from repmath.study import example

    found = study.localize(example.step, example.broken)
    assert found.places == ["2 (forward)"] and found.finished


def test_localize_says_what_it_cannot_do():
    network, x = unstable(), torch.ones(2, 6)
    with pytest.raises(ValueError, match="nothing to localize"):
        study.localize(lambda: network(x), lambda y: True)
    with pytest.raises(ValueError, match="none of 2 samples"):
        study.localize(lambda: network(x), lambda y: False, samples=2)
    turns = iter(range(100))
    with pytest.raises(ValueError, match="not deterministic"):
        study.localize(lambda: network(x + next(turns)), lambda y: False)
    with pytest.raises(ValueError, match="by must be one of layer, operator, call, not 'module'"):
        study.localize(lambda: network(x), far, by="module")
    with pytest.raises(ValueError, match="samples must be an integer of at least 1"):
        study.localize(lambda: network(x), far, samples=0)
    with pytest.raises(TypeError, match="broken must be callable"):
        study.localize(lambda: network(x), True)
    with pytest.raises(ValueError, match="phases must be of forward, backward, step, not 'loss'"):
        stochastic(phases=("forward", "loss"))
    with pytest.raises(TypeError, match="where must be callable"):
        stochastic(where="layer")


def test_localize_keeps_what_an_interrupted_search_has(monkeypatch):
    network, x, calls = unstable(), torch.linspace(-1, 1, 12).reshape(2, 6), []

    def broken(y):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return far(y)

    found = study.localize(lambda: network(x), broken)
    assert not found.finished and "2.1 (forward)" in found.places


STEP = """
import torch
torch.manual_seed(3)
network = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
x = torch.linspace(-1, 1, 12).reshape(2, 6)

def step():
    y = (network(x) + 2.0**20) - 2.0**20
    return {"y": y.detach(), "x": network(x).detach()}

def broken(found):
    return bool((found["y"] - found["x"]).abs().max() > 0.0626)
"""


def test_studies_of_a_script_from_the_command_line(tmp_path, capsys):
    script = tmp_path / "steps.py"
    script.write_text(STEP)
    out = tmp_path / "out"
    assert cli.main(["study", "variability", f"{script}:step", "--samples", "4", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "y: " in text and (out / "digits.csv").read_text().startswith("result,least,median")
    assert cli.main(["study", "localize", f"{script}:step", "--by", "operator", "--out", str(out)]) == 0
    assert "add.Tensor" in capsys.readouterr().out and "add.Tensor" in (out / "places.csv").read_text()
    assert cli.main(["study", "localize", f"{script}:step", "--broken", "fails", "--out", str(out)]) == 2
    assert "has no function 'fails'" in capsys.readouterr().err


FORMULAS = {
    "scaled": (1, lambda a, x: a * x),
    "over": (1, lambda a, x: x / a),
    "under": (1, lambda a, x: a / x),
    "added": (1, lambda a, x: x + a),
    "plus": (2, lambda a, x, y: x + a * y),
    "between": (2, lambda a, x, y: (1 - a) * x + a * y),
    "product": (3, lambda a, x, y, z: x + a * y * z),
    "quotient": (3, lambda a, x, y, z: x + a * y / z),
    "tanh": (2, lambda a, x, y: x * (1 - y * y)),
    "sigmoid": (2, lambda a, x, y: x * y * (1 - y)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("inside", [False, True])
def test_formulas_whose_elements_are_left_open(name, inside, monkeypatch):
    """Elements that binary64 leaves open are rational numbers that are rounded once; the others stay, also where the result is an argument."""
    arity, formula = FORMULAS[name]
    rng = np.random.default_rng(len(name))
    n, a = 20_000, 2.0**-60 + 0.75
    arrays = [(rng.integers(1, 2**12, n) * 2.0 ** rng.integers(-40, 3, n)).astype("f4") for _ in range(arity)]
    left = []
    settle = _formulas.settle
    monkeypatch.setattr(_formulas, "settle", lambda *call: left.extend(call[4]) or settle(*call))
    monkeypatch.setattr(
        _stochastic._random_modes, "formula", functools.partial(open_formula, _stochastic._random_modes.formula)
    )
    block = stochastic(5, 2)
    tensors = [torch.from_numpy(v.copy()) for v in arrays]
    with block:
        at = _stochastic._Place(block)
        at.into = tensors[0] if inside else None
        made = at.formula(name, a, *tensors)
    assert (made is tensors[0]) == inside and len(left) > n // 200
    words = rounding_oracle.words(5, 2 << 32, 0, n).tolist()
    got = np.asarray(made).view("u4").tolist()
    for i in range(n):
        value = formula(Fraction(a), *(Fraction(float(v[i])) for v in arrays))
        want = rounding_oracle.rounded(value, "f32", "stochastic", words[i]) if value else 0
        assert got[i] == want, (name, i)


def open_formula(formula, name, a, arrays, place, out=None):
    """As it is, but leaves each hundred and twenty-eighth element open."""
    before = [v.reshape(-1).copy() for v in arrays]
    made, left = formula(name, a, arrays, place, out)
    more = np.union1d(left, np.arange(7, made.size, 128))
    if made is out:
        made.reshape(-1)[more] = before[0][more]
    return made, more


@pytest.mark.sample(2)
@pytest.mark.parametrize("mode", (*rounding_oracle.MODES, *rounding_oracle.DIRECTED))
@pytest.mark.parametrize("name", ["unet", "resnet18", "encoder", "vae"])
def test_networks_run_as_they_are(name, mode):
    """A step forward and back, strictly; a sample has one digest, and another sample another one where words are asked."""
    with repmath.torch.reproducible():
        torch.manual_seed(2)
        model, loss = getattr(torch_models, name)()
    seen = set()
    for sample in (1, 1, 2):
        with stochastic(0, sample, mode) as block:
            torch.manual_seed(5)
            gradients = torch.autograd.grad(loss(), list(model.parameters()))
        assert not block.uncovered and block.calls > 20
        seen.add(repmath.torch.digest(*gradients))
    assert len(seen) == 1 + (mode in rounding_oracle.MODES)
